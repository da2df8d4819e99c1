# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds a tc that knows the options of a user's own queues.

Each q_NAME.c, in iproute2's form, is compiled to a library that tc loads when it encounters a queue
that it doesn't know.

    CACHE/tc/HASH/tc           script that starts tc with that folder for its libraries
    CACHE/tc/HASH/q_NAME.so

tc itself is that of iproute2.py, and the headers are those of the same version's source.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Iterable
from pathlib import Path

from flent_aqm.base.errors import CommandFailed, ConfigError, SetupError, ToolMissing
from flent_aqm.base.paths import find_cached
from flent_aqm.base.shell import run
from flent_aqm.setup import install
from flent_aqm.setup.apt import DebianArchive
from flent_aqm.setup.iproute2 import find_new_tc
from flent_aqm.setup.kernel.additions import read_bytes
from flent_aqm.setup.kernel.compile import environment, first_fault
from flent_aqm.setup.progress import Progress
from flent_aqm.setup.whole_program import is_whole
from flent_aqm.spec.kernel import REGISTERED

# Folder of the headers in the cache.
_HEADERS = "iproute2-headers"
# The header that every queue's C file includes.
_USED_HEADER = ("tc", "tc_util.h")


def read_files(files: Iterable[Path]) -> list[tuple[str, bytes]]:
    """Read the files given with the option --tc. Return name of the queue and content of each, in
    the order of `files`.

    Raises ConfigError if a file isn't called q_NAME.c with the name of a queue, doesn't contain the
    word NAME_qdisc_util, by which tc finds the queue's options, can't be read or is too large, or
    if two files have the same name.
    """
    queues: list[tuple[str, bytes]] = []
    for path in files:
        named = re.fullmatch(rf"q_({REGISTERED})\.c", path.name)
        if named is None:
            raise ConfigError(f"--tc: {path.name!r} is not called q_NAME.c; expected the queue's "
                              "name as NAME, of at most 15 lower-case letters, digits and _, with "
                              "a letter first")
        if any(named[1] == queue for queue, _ in queues):
            raise ConfigError(f"--tc: {path.name} is given twice; give one file of this name")
        content = read_bytes("--tc", path)
        if f"{named[1]}_qdisc_util" not in content.decode("utf-8", "replace"):
            raise ConfigError(f"--tc: {path} defines no {named[1]}_qdisc_util, by which tc finds "
                              f"the options of {named[1]}; expected a variable struct qdisc_util "
                              "of this name")
        queues.append((named[1], content))
    return queues


def build_tc(cache: Path, files: list[tuple[str, bytes]]) -> str:
    """Build a tc that knows the options of these queues, unless it exists. Return the name of its
    folder below CACHE/tc. The caller holds the cache's lock.

    Args:
        cache: the cache folder.
        files: name of the queue and content of its C file.

    Raises SetupError with the compiler's error, or if a library uses functions that tc hasn't.
    Raises ToolMissing if there is no suitable tc or no gcc. If there is no such tc yet, also raises
    the errors of tc_headers().
    """
    tc = find_new_tc()
    if tc is None:
        raise ToolMissing("--tc: needs tc of iproute2 6.18 or newer; run: flent-aqm setup")
    digest = hashlib.sha256(str(tc.resolve()).encode())
    for name, content in files:
        digest.update(f" {name} {len(content)} ".encode() + content)
    target = cache / "tc" / digest.hexdigest()[:16]

    def is_fit(folder: Path) -> bool:
        """Return whether the folder has the script and all libraries."""
        return all(is_whole(folder / name)
                   for name in ("tc", *(f"q_{queue}.so" for queue, _ in files)))

    if is_fit(target):
        return target.name
    headers = tc_headers(cache, tc.resolve())
    with install.staging(cache) as work:
        result = work / "result"
        result.mkdir()
        for name, content in files:
            source = work / f"q_{name}.c"
            source.write_bytes(content)
            try:
                run(["gcc", "-shared", "-fPIC", "-O2", "-D_GNU_SOURCE",
                     f"-I{headers / 'include'}", f"-I{headers / 'include' / 'uapi'}",
                     f"-I{headers / 'tc'}", "-o", result / f"q_{name}.so", source.name], cwd=work,
                    env=environment())
            except CommandFailed as error:
                raise SetupError(f"q_{name}.c does not compile: {first_fault(error.stderr)}"
                                 ) from None
            _refuse_unloadable(tc, result, name)
        wrapper = result / "tc"
        wrapper.write_text(f"#!/bin/sh\nTC_LIB_DIR={shlex.quote(str(target))} "
                           f'exec {shlex.quote(str(tc.resolve()))} "$@"\n')
        wrapper.chmod(0o755)
        install.publish(result, target, is_fit)
    return target.name


def _refuse_unloadable(tc: Path, folder: Path, name: str) -> None:
    """Let tc load a queue's library once, by asking for the queue's help, which changes no device.
    Raises SetupError if the library uses functions that tc hasn't, with the names of these
    functions. tc itself would only report that the queue is unknown. Any other failure of tc is
    ignored.

    Args:
        tc: path of tc.
        folder: folder of the library.
        name: name of the queue.
    """
    try:
        run([tc, "qdisc", "add", "dev", "lo", "root", name, "help"], env={
            **environment(), "TC_LIB_DIR": str(folder), "LD_BIND_NOW": "1", "LD_DEBUG": "symbols"})
    except CommandFailed as error:
        missing = re.findall(rf"q_{name}\.so: error: symbol lookup error: undefined symbol: (\S+)",
                             error.stderr)
        if missing:
            raise SetupError(f"q_{name}.c can't be loaded by tc, which has no "
                             f"{', '.join(dict.fromkeys(missing))}; expected functions of "
                             f"{tc.resolve()}") from None


def find_tc(folder: str) -> Path:
    """Return the path of the tc that build_tc() made. Raises ToolMissing if it is gone.

    folder: name of its folder below CACHE/tc.
    """
    path = find_cached("tc", folder, "tc")
    if path is None:
        raise ToolMissing("kernel: the tc that was built with this kernel is gone from the cache; "
                          "build the kernel again")
    return path


def tc_headers(cache: Path, tc: Path) -> Path:
    """Return the folder with the headers of a tc's version, in its subfolders include and tc. If tc
    is the system's, they are those of the newest version in Debian's archive, whose index is then
    read at each call.

    They are downloaded to the cache if no cache has them. The caller holds the cache's lock. Raises
    SetupError if the archive can't be read, or if they can't be downloaded, or not as one tarball.
    Raises ToolMissing without apt or tar, CommandFailed if a query of apt or tar fails.

    Args:
        cache: the cache folder.
        tc: real path of tc. One that set-up installed is in a folder called iproute2-VERSION.
    """
    version = tc.parent.name.removeprefix("iproute2-")
    archive = DebianArchive(cache, "apt-sources", sources=True)
    series = version if version != tc.parent.name else archive.newest("iproute2").version
    found = find_cached(_HEADERS, series, *_USED_HEADER)
    if found is not None:
        return found.parents[1]
    Progress("tc").step(f"downloading the source of iproute2 {series}, for its headers")
    with install.staging(cache) as work:
        source = archive.download_source("iproute2", series, work / "source")
        originals = [path for path in source.glob("*.orig.tar.*") if path.suffix != ".asc"]
        if len(originals) != 1:
            names = ", ".join(sorted(path.name for path in source.iterdir()))
            raise SetupError(f"the source of iproute2 {series} has {len(originals)} tarballs "
                             f"*.orig.tar.*; expected one; its files: {names or 'none'}")
        result = work / "headers"
        result.mkdir()
        run(["tar", "-xf", originals[0], "--strip-components=1", "-C", result, "--wildcards",
             "*/include/*", "*/tc/*.h"])
        target = cache / _HEADERS / series
        install.publish(result, target, lambda folder: folder.joinpath(*_USED_HEADER).is_file())
    return target
