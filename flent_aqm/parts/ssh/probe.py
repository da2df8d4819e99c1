# SPDX-License-Identifier: GPL-3.0-or-later
"""Query a router's properties and capabilities, and check them before anything is changed.

router_hooks/probe.sh prints them. The text comes from the router, so it is untrusted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from flent_aqm.base.errors import ParseError, TestbedError

# Free memory for the original state that is stored on the router during a sweep (session.sh tries
# 256 KB).
NEEDED_KB = 300

# Function that runs a command of on_router.sh with its settings and returns the output.
Ask = Callable[..., str]

_NAME = re.compile(r"[A-Za-z0-9_.@-]{1,15}")
_NAMES = "names of 1 to 15 letters, digits and _.@-"
# First word of a line -> the line's form, and what to do about another one, for messages.
_FORMS = {
    "link": (f"'link NAME STATE TXQUEUELEN DRIVER- BQL BELOW-' with {_NAMES}",
             ("rename a device with another name, or make its operstate and tx_queue_len in "
              "/sys/class/net readable")),
    "route": (f"'route ADDRESS DEVICE' with {_NAMES}",
              "rename a device with another name"),
    "kind": ("'kind NAME yes' or 'kind NAME no WHY'",
             "is router_hooks/ changed, or of another version of flent-aqm?")}


@dataclass(frozen=True)
class RouterDevice:
    """A network device of the router.

    Attributes:
        name: name of the device.
        state: operational state, such as `up`.
        txqueuelen: length of its transmit queue, in packets.
        driver: name of the driver, "" for a virtual device.
        bql: True if the driver has byte queue limits.
        lower: names of the devices below it, such as a bridge's ports.
    """

    name: str
    state: str
    txqueuelen: int
    driver: str
    bql: bool
    lower: tuple[str, ...]


@dataclass(frozen=True)
class RouterProperties:
    """A router's properties and capabilities, from the output of probe.sh.

    Attributes:
        text: name such as `kernel`, `tc`, `uid` or `free_kb` -> its text.
        management: device that carries the ssh connection, "" if the router doesn't know it.
        links: name -> device.
        routes: address -> name of the device that the route to it uses. Addresses without a route
            are left out.
        kinds: each kind of qdisc, filter or device that was tried -> why the router lacks it, "" if
            it has it.
    """

    text: Mapping[str, str]
    management: str
    links: Mapping[str, RouterDevice]
    routes: Mapping[str, str]
    kinds: Mapping[str, str]

    def beneath(self, name: str) -> set[str]:
        """Return the names of a device and of all devices below it, such as a bridge's ports. Of a
        device that the router doesn't have, return only the name."""
        devices: set[str] = set()
        waiting = [name]
        while waiting:
            one = waiting.pop()
            if one not in devices:
                devices.add(one)
                waiting += self.links[one].lower if one in self.links else ()
        return devices


def probe(ask: Ask, *, kinds: Collection[str] = (), addresses: Collection[str] = (),
          machine: str = "router") -> RouterProperties:
    """Query the router or another machine, and return what it tells.

    Args:
        ask: function (command, *settings) that runs a command of on_router.sh and returns its
            output, such as SshConnection.run.
        kinds: kinds of qdisc, filter or device to try.
        addresses: addresses whose routes to look up.
        machine: word for the machine in messages.

    Raises ParseError if the answer has another form, and the errors of `ask`.
    """
    return parse_probe(ask("probe", *(f"route={address}" for address in addresses),
                           *(f"kind={kind}" for kind in sorted(kinds))), machine)


def parse_probe(text: str, machine: str = "router") -> RouterProperties:
    """Parse the output of probe.sh. Texts and reasons are cut to 200 characters. Raises ParseError
    if it doesn't begin with `format 1` and end with `end`, or a line on a device, route or kind
    between them has another form.

    Args:
        text: the output.
        machine: word for the machine in messages.
    """
    lines = text.splitlines()
    if not lines:
        raise ParseError(f"the {machine}'s answer to the probe is empty; expected lines from "
                         "'format 1' to 'end': is the user's login shell there one such as "
                         "/bin/sh?")
    if lines[:1] != ["format 1"]:
        raise ParseError(f"the {machine} printed {''.join(lines[:1])[:60]!r} before its answer to "
                         "the probe; expected 'format 1': let its shell's start files print "
                         "nothing")
    if lines[-1:] != ["end"]:
        raise ParseError(f"the {machine}'s answer to the probe ends with {lines[-1][:60]!r}; "
                         "expected 'end': the answer is cut off, or something was printed after "
                         "it; try again, and let its shell print nothing of its own")
    texts: dict[str, str] = {}
    links: dict[str, RouterDevice] = {}
    routes: dict[str, str] = {}
    kinds: dict[str, str] = {}
    for line in lines[1:-1]:
        name, _, rest = line.partition(" ")
        match name, rest.split():
            case "link", [device, state, length, driver, bql, lower] if (
                    length.isdecimal() and len(length) <= 10):
                links[device] = RouterDevice(
                    device, state, int(length), driver.removesuffix("-"), bql == "yes",
                    tuple(filter(None, lower.removesuffix("-").split(","))))
            case "route", [address, device] if _NAME.fullmatch(device):
                routes[address] = device
            case "kind", [kind, "yes"]:
                kinds[kind] = ""
            case "kind", [kind, "no", *why]:
                kinds[kind] = " ".join(why)[:200]
            case "link" | "route" | "kind", _:
                form, mend = _FORMS[name]
                raise ParseError(f"the {machine}'s answer to the probe has an unexpected line "
                                 f"{line[:80]!r}; expected {form}: {mend}")
            case _:
                texts[name] = rest[:200]
    return RouterProperties(texts, routes.pop("management", ""), links, routes, kinds)


def check_host(facts: RouterProperties, machine: str = "router") -> None:
    """Raise TestbedError if hooks can't work on a machine: the user isn't known to be root, tc
    doesn't tell its version, or, behind ssh, less than 300 KB are free in /var/run. An unknown free
    size is accepted.

    Args:
        facts: what the machine told.
        machine: word for it in messages, "machine" for this one, without ssh.
    """
    is_here = machine == "machine"
    if not facts.text.get("uid"):
        raise TestbedError(f"the {machine} doesn't tell by `id -u` whether its user is root, and "
                           "only root may change queues; install id there (coreutils, or busybox "
                           "with it)")
    if facts.text["uid"] != "0":
        become = "run this as root" if is_here else f"log in as root: ssh://root@{machine.upper()}"
        raise TestbedError(f"the user on the {machine} is not root, and only root may change "
                           f"queues; {become}")
    if not facts.text.get("tc"):
        raise TestbedError(f"the {machine} has no tc that tells its version by `tc -V`; install it "
                           "by the package iproute2 (OpenWrt: tc-full)")
    if is_here:  # no state is stored
        return
    free_kb = facts.text.get("free_kb", "")
    if free_kb.isdecimal() and int(free_kb) < NEEDED_KB:
        raise TestbedError(f"only {free_kb} KB are free in /var/run; {NEEDED_KB} are needed to "
                           f"save the {machine}'s state, which is restored after the sweep; make "
                           "room")


def check_devices(facts: RouterProperties, devices: Mapping[str, str]) -> None:
    """Check that the devices can be shaped.

    Args:
        facts: what the router told.
        devices: batch key (`dev_down`, `dev_up`) -> name of the device.

    Raises TestbedError if a device doesn't exist, carries the ssh connection, or serves both
    directions, or if the device of the ssh connection isn't known.
    """
    if not facts.management:
        raise TestbedError("the router doesn't tell which of its devices carries the ssh "
                           "connection, so none can be shaped safely: no SSH_CONNECTION in the "
                           "session, or no route back in `ip route get`; see what is missing with "
                           "ssh ROUTER 'set -x; ip route get ${SSH_CONNECTION%% *}'")
    for key, name in devices.items():
        if not _NAME.fullmatch(name) or name not in facts.links:
            names = ", ".join(link for link in facts.links if link != "lo")
            raise TestbedError(f"{key}: the router has no device {name!r}; it has "
                               f"{names or 'only lo'}")
        if name in facts.beneath(facts.management):
            through = facts.management
            detail = f" (the ssh connection comes through {through})" if through != name else ""
            raise TestbedError(
                f"{key}: {name} carries the ssh connection to the router{detail}, and shaping it "
                "would cut off the sweep from it; reach the router by another of its devices")
    if len(set(devices.values())) < len(devices):
        raise TestbedError(f"{' and '.join(devices)} are both {next(iter(devices.values()))}; the "
                           "router has to be between client and server: give the device towards "
                           "the client as dev_down, and the one towards the server as dev_up")


def check_kinds(facts: RouterProperties, kinds: Collection[str], instead: str = "") -> None:
    """Check that the router has all kinds of qdisc, filter and device.

    Args:
        facts: the router's capabilities.
        kinds: kinds that the sweep needs.
        instead: option that leaves the AQMs in question out of the sweep, for the message. "" for
            none.

    Raises TestbedError if the router lacks a kind, or probe() didn't try it. The message names all
    such kinds, each with the reason.
    """
    lacking = [f"{kind} ({facts.kinds.get(kind, 'not tried')})" for kind in sorted(kinds)
               if facts.kinds.get(kind, "?")]
    if lacking:
        which = "it" if len(lacking) == 1 else "them"
        without = f"; to leave {which} out: {instead}" if instead else ""
        raise TestbedError(f"the router lacks {', '.join(lacking)}; "
                           f"flent-aqm doctor --testbed ADDRESS shows what it has{without}")
