# SPDX-License-Identifier: GPL-3.0-or-later
"""Restrict who can connect to a worker: the address on which it listens, and TLS certificates.

Anybody who reaches one of Dask's ports can run programs there. With TLS, a certificate of the
cluster's own authority is needed.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
from collections.abc import Mapping
from typing import Any

from flent_aqm.base.errors import ConfigError, cause_of
from flent_aqm.parts.cluster.address import refuse_bad_label
from flent_aqm.parts.cluster.extra import load_distributed
from flent_aqm.servers.certificate import context_from_files

WHERE_TO_READ = "see docs/cluster.md"


def security_for(address: str, role: str, paths: Mapping[str, str | None]) -> Any:
    """Return Dask's Security for a scheduler's address. Without TLS it has what Dask's
    configuration says, and no certificate is checked.

    Args:
        address: the scheduler's address.
        role: "worker" or "client".
        paths: paths for `ca_file`, `cert` and `key`, from the options --tls-…. Missing ones are
            taken from Dask's configuration (distributed.comm.tls).

    Raises ConfigError if certificates are missing, can't be read, or are given in `paths` without
    TLS, or if the key has a password or isn't that of the certificate. Raises ToolMissing without
    the package distributed.
    """
    make = load_distributed().Security
    named = {name: value for name, value in paths.items() if value}
    if not address.startswith("tls://"):
        if named:
            options = ", ".join(f"--tls-{name.replace('_', '-')}" for name in named)
            raise ConfigError(f"{options}: {address} is without TLS; give the scheduler as "
                              f"tls://{address.partition('://')[2]}")
        return make()
    fields = {"ca_file": "tls_ca_file", "cert": f"tls_{role}_cert", "key": f"tls_{role}_key"}
    security = make(require_encryption=True,
                        **{fields[name]: value for name, value in named.items()})
    files = security.get_tls_config_for_role(role)
    # Each file -> its option of the worker, and its key in Dask's configuration.
    wanted = {"ca_file": ("--tls-ca-file", "ca-file"), "cert": ("--tls-cert and --tls-key",
                                                                 f"{role}.cert")}
    if lacking := [names for file, names in wanted.items() if not files[file]]:
        options, keys = (", ".join(names) for names in zip(*lacking, strict=True))
        raise ConfigError(f"{address}: TLS needs certificates; give "
                          + (f"{options}, or " if role == "worker" else "")
                          + f"distributed.comm.tls: {keys} in Dask's configuration; "
                          f"{WHERE_TO_READ}")
    # Check the key here, because Dask would ask for its password on the terminal.
    try:
        context = context_from_files(files["cert"], files["key"] or files["cert"])
    except ConfigError as fault:
        if files["key"]:
            raise
        where = "--tls-key, or " if role == "worker" else ""
        raise ConfigError(f"{fault}; the key is looked for in the certificate's file, because none "
                          f"is given ({where}distributed.comm.tls: {role}.key in Dask's "
                          "configuration)") from None
    try:
        context.load_verify_locations(files["ca_file"])
    except OSError as error:
        raise ConfigError(f"certificate authority {files['ca_file']}: "
                          f"{cause_of(error)}; expected a readable PEM file") from None
    return security


def tls_context(security: Any, address: str, role: str) -> ssl.SSLContext | None:
    """Return the TLS context of a Security of security_for() for connections that this machine
    opens, None if the scheduler's address is without TLS: Dask's configuration may have
    certificates that this scheduler doesn't use.

    Args:
        security: Dask's Security.
        address: the scheduler's address.
        role: "worker" or "client".
    """
    if not address.startswith("tls://"):
        return None
    context: ssl.SSLContext | None = security.get_connection_args(role).get("ssl_context")
    return context


def own_address(scheduler: str) -> str:
    """Return this machine's source address for packets to a scheduler. It is a loopback address if
    the scheduler's address is one. Of a name with several addresses, the first with a route counts,
    IPv4 before IPv6.

    Args:
        scheduler: its address, such as tcp://HOST:PORT.

    Raises OSError if the name can't be resolved or there is no route.
    """
    host, _, port = scheduler.partition("://")[2].rpartition(":")
    # IPv4 first if a name has both, as Dask does.
    addresses = sorted(socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_DGRAM),
                       key=lambda one: one[0] != socket.AF_INET)
    for family, kind, protocol, _, name in addresses[:-1]:
        try:
            return _source_address(family, kind, protocol, name)
        except OSError:
            continue
    family, kind, protocol, _, name = addresses[-1]
    return _source_address(family, kind, protocol, name)


def _source_address(family: int, kind: int, protocol: int, name: Any) -> str:
    """Return the source address for packets to an address. Raises OSError if there is no route.

    Args:
        family: address family.
        kind: SOCK_DGRAM, so that nothing is sent.
        protocol: protocol number of the socket.
        name: the address, as socket.getaddrinfo() returns it.
    """
    with socket.socket(family, kind, protocol) as sock:
        sock.connect(name)  # sends nothing, as it is UDP
        return str(sock.getsockname()[0])


def require_own(host: str) -> str:
    """Return the numeric address of a host name or address from --host. Raises ConfigError if it
    isn't an address of this machine, or no host name."""
    refuse_bad_label("--host", host)
    try:
        family, kind, protocol, _, name = socket.getaddrinfo(
            host, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        with socket.socket(family, kind, protocol) as sock:
            sock.bind(name)
    except OSError as error:
        raise ConfigError(f"--host {host[:100]!r}: can't listen there: {cause_of(error)}; "
                          "expected an address of this machine") from None
    return str(name[0])


def is_loopback(host: str) -> bool:
    """Return whether a numeric address is a loopback address, which only this machine can reach."""
    return ipaddress.ip_address(host).is_loopback
