# SPDX-License-Identifier: GPL-3.0-or-later
"""Restore a router to its original state: parse it, and make the plan before anything is changed.

The state is the output of router_hooks/state.sh, which comes from the router and is untrusted. Any
deviation from its form is an error.

The plan is stored on the router. session.sh carries it out: first it sets lengths of transmit
queues and offloads. Then the devices get the kernel's default queues, and new IFB devices are
removed. Then `tc` creates the original queues. A queue with handle 0: is the kernel's own and isn't
created. tc doesn't accept all words that it prints (iproute2, tc/q_*.c and f_*.c). A queue or
option that is not in the tables below can't be restored for certain, so a sweep doesn't begin.

Bursts: tc takes a burst in bytes. The kernel stores the time that these bytes take at the rate, in
ticks. tc shows that time in bytes again, rounded down. The shown number would therefore give a
smaller burst, so one is computed that the kernel stores as exactly the original one.

Filters: supported are u32 without additional hash tables, fw and matchall, with a class or with one
redirection to another device. Shapers with an IFB device or with DSCP classes use these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from flent_aqm.base.errors import ParseError, TestbedError
from flent_aqm.router.expected import burst_bytes, new_ticks, old_ticks
from flent_aqm.router.printed import size_text
from flent_aqm.router.tc.read_back import OTHER_HOOKS, SIZE_UNIT, bit_per_s
from flent_aqm.spec.queues.table import QUEUES
from flent_aqm.spec.queues.units import Clock, parse_psched
from flent_aqm.spec.queues.values import Expected, codel_us, psched_us

# Names of devices, handles, numbers, words of tc. None of these characters has a meaning in tc's
# batch mode.
WORD = re.compile(r"[A-Za-z0-9_.:@/%+*-]+")
_LINK = re.compile(r"[A-Za-z0-9_.@-]{1,15}")
_OFFLOAD = re.compile(r"([a-z0-9-]+): (on|off)")


@dataclass
class Device:
    """State of a device. Lines are kept as state.sh prints them, for restore_plan().

    Attributes:
        name: name of the device.
        txqueuelen: length of its transmit queue, in packets.
        qdiscs: lines of `tc qdisc show`.
        classes: lines of `tc class show`.
        filters: where filters are attached (`parent 1:`, `ingress`, `egress`) -> lines of `tc
            filter show`.
        offload_lines: lines of `ethtool -k` on offloads that can be changed.
    """

    name: str
    txqueuelen: int = 0
    qdiscs: list[str] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)
    filters: dict[str, list[str]] = field(default_factory=dict)
    offload_lines: list[str] = field(default_factory=list)

    @property
    def offloads(self) -> dict[str, bool]:
        """The offloads that can be changed: ethtool's name -> whether it is on. Raises ParseError
        if a line has another form."""
        by_name = {}
        for line in self.offload_lines:
            match = _OFFLOAD.fullmatch(line)
            if not match:
                raise ParseError(f"offloads of {self.name}: unexpected line {line[:80]!r}; "
                                 "expected 'NAME: on' or 'NAME: off', as ethtool -k prints: "
                                 "update ethtool on the host")
            by_name[match[1]] = match[2] == "on"
        return by_name


@dataclass(frozen=True)
class RouterState:
    """State of a router.

    Attributes:
        links: names of all devices.
        devices: name -> state of each device that a sweep changes.
        tc: output of `tc -V`.
        clock: the kernel's clock of the packet scheduler.
    """

    links: tuple[str, ...]
    devices: Mapping[str, Device]
    tc: str
    clock: Clock


def parse_state(text: str) -> RouterState:
    """Parse the output of state.sh. Lines of tc and ethtool are kept unchecked; restore_plan()
    checks them. Raises ParseError if a line that begins with @ has another form or place or a
    device's name can't be restored, or if there is no device, or no valid line on the scheduler's
    clock."""
    links: list[str] = []
    devices: dict[str, Device] = {}
    device: Device | None = None
    lines: list[str] = []  # lines of the current section
    facts = {"tc": "", "psched": ""}
    for line in text.splitlines():
        if not line.startswith("@"):
            if line.strip():
                lines.append(line)
            continue
        words = line[1:].split()
        section, values = (words[0], words[1:]) if words else ("", [])
        if section in ("link", "device") and len(values) == 1 and not _LINK.fullmatch(values[0]):
            raise ParseError(f"the host's network device {values[0][:40]!r} has a name that "
                             "can't be restored; expected up to 15 letters, digits and _.@-: "
                             "rename or remove the device")
        if section == "link" and len(values) == 1:
            links.append(values[0])
            continue
        if section in facts and device is None:
            facts[section] = " ".join(values)
            continue
        if section == "device" and len(values) == 1:
            device = devices[values[0]] = Device(values[0])
            continue
        if device is None:
            raise ParseError(f"the host's state: unexpected line {line[:80]!r}{OTHER_HOOKS}")
        if section == "txqueuelen" and len(values) == 1 and re.fullmatch("[0-9]{1,10}", values[0]):
            device.txqueuelen = int(values[0])
        elif section == "qdisc" and not values:
            lines = device.qdiscs
        elif section == "class" and not values:
            lines = device.classes
        elif section == "filter" and values:
            lines = device.filters.setdefault(" ".join(values), [])
        elif section == "offload" and not values:
            lines = device.offload_lines
        else:
            raise ParseError(f"the host's state: unexpected line {line[:80]!r}{OTHER_HOOKS}")
    if not devices:
        raise ParseError("the host's state describes no device; expected one or more lines "
                         f"'@device NAME'{OTHER_HOOKS}")
    if not facts["psched"]:
        raise ParseError(f"the host's state has no line '@psched WORDS'{OTHER_HOOKS}")
    return RouterState(tuple(links), devices, facts["tc"], parse_psched(facts["psched"]))


# Function (burst as shown by tc, its rate as shown, its ticks in hexadecimal) -> burst for tc. The
# ticks are "" for TBF, for which tc doesn't show them.
Burst = Callable[[str, str, str], str]

# The texts come from the router, so their length is limited.
_SIZE = re.compile(r"(\d{1,12})([KM]?)b(?:/\d+)?")
_RATE = re.compile(r"\d{1,9}K?bit|\d{1,6}Mbit|\d{1,3}Gbit")
_TICKS = re.compile(r"[0-9a-f]{0,8}")

# First version of iproute2 that doesn't round down to whole microseconds.
_EXACT_SINCE = (6, 16)


def bursts(tc: str, clock: Clock) -> Burst:
    """Return the function that converts a burst that a router's tc shows to one for tc, with which
    the kernel has the same burst again. It takes the burst, its rate and its ticks as shown.

    Args:
        tc: output of `tc -V` on the router, whose versions compute bursts differently. If it has no
            version, an old one is assumed.
        clock: the router's clock of the packet scheduler.
    """
    version = re.search(r"iproute2-(\d+)\.(\d+)", tc)
    exact = version is not None and (int(version[1]), int(version[2])) >= _EXACT_SINCE
    reckon = new_ticks if exact else old_ticks

    def burst(shown: str, rate: str, ticks: str) -> str:
        """Return a number of bytes for tc, such as "1600b", that gives the same ticks, or if these
        aren't known, a burst that tc shows alike. If there is none, or an argument has another
        form, return the burst as shown, without its cell size.

        Args:
            shown: the burst as tc shows it, such as "1600b/1".
            rate: its rate as tc shows it, such as "10Mbit".
            ticks: its length in the scheduler's ticks, hexadecimal. "" if tc doesn't show them, as
                for TBF.
        """
        size, rate_match = _SIZE.fullmatch(shown), _RATE.fullmatch(rate)
        if not size or not rate_match or bit_per_s(rate) < 8 or not _TICKS.fullmatch(ticks):
            return shown.partition("/")[0]
        rate_bytes_per_s = bit_per_s(rate) // 8
        least = int(size[1]) * SIZE_UNIT[size[2]]
        # Search range: the bytes of a microsecond, and the rounding of a size shown in K (16 bytes)
        # or M (1024 bytes).
        near = rate_bytes_per_s // 1_000_000 + {"": 2, "K": 18, "M": 1026}[size[2]]
        for size_bytes in (*range(least, least + near), *range(least - 1, least - near, -1)):
            burst_ticks = reckon(size_bytes, rate_bytes_per_s, clock)
            text = size_text(burst_bytes(burst_ticks, rate_bytes_per_s, clock))
            if burst_ticks == int(ticks, 16) if ticks else text == shown.partition("/")[0]:
                return f"{size_bytes}b"
        return shown.partition("/")[0]

    return burst


_HEAD = re.compile(
    r"filter (?:parent (?P<parent>\S+) )?protocol (?P<protocol>[\w.]+) pref (?P<pref>\d+) "
    r"(?P<kind>\w+) (?:chain (?P<chain>\d+) ?)?(?P<rest>.*)")
_MATCH = re.compile(r"match ([0-9a-f]{8})/([0-9a-f]{8}) at (nexthdr\+)?(-?\d+)")
_MIRRED = re.compile(r"action order 1: mirred \(Egress (Redirect|Mirror) to device ([\w.@-]+)\) "
                     r"(?:stolen|pipe)")
# End of a u32 filter's first line: its class, and values that are always the same.
_U32 = re.compile(r"fh \S+ order \d+ key ht \w+ bkt 0 (?:terminal )?"
                  r"(?:\*?flowid (?P<flow>\S+) ?)?(?:not_in_hw ?)?")
_FW = re.compile(r"handle (?P<handle>0x[0-9a-f]+(?:/0x[0-9a-f]+)?) (?:classid (?P<flow>\S+) ?)?")
_MATCHALL = re.compile(r"handle 0x1 (?:flowid (?P<flow>\S+) ?)?(?:not_in_hw ?)?")


def filter_commands(device: str, where: str, lines: Sequence[str]) -> list[list[str]]:
    """Return the arguments for tc that create filters again, a list per filter.

    Args:
        device: name of the device.
        where: `parent 1:`, `ingress` or `egress`: where the filters are attached.
        lines: output of `tc filter show` for it.

    Raises TestbedError that quotes a filter that can't be created again.
    """
    commands = []
    for filter_ in _split_filters(lines):
        words, named = _filter_arguments(filter_), _HEAD.fullmatch(filter_[0])
        if words is None:
            shown = " ".join(" ".join(filter_).split())
            # Without its number, tc removes the filters of chain 0 only. Actions may name others.
            number = named["chain"] if named else None
            chain = "" if number in (None, "0") else f" chain {number}"
            raise TestbedError(
                f"{device} has a filter that could not be restored exactly: {shown[:120]!r}; "
                f"remove it first: tc filter del dev {device} {where}{chain}")
        if words:
            # The filter's own line is more exact about its parent than `where`.
            place = ["parent", named["parent"]] if named and named["parent"] else where.split()
            commands.append(["filter", "add", "dev", device, *place, *words])
    return commands


def _split_filters(lines: Sequence[str]) -> list[list[str]]:
    """Return the lines of each filter, without indentation. A line that begins with "filter "
    begins a filter. If the first line doesn't, return one filter that has only this line."""
    filters: list[list[str]] = []
    for line in lines:
        if line.startswith("filter "):
            filters.append([])
        if not filters:
            return [[line.strip()]]
        filters[-1].append(line.strip())
    return filters


def _filter_arguments(lines: Sequence[str]) -> list[str] | None:
    """Return the arguments for tc that follow the parent. Empty for a line that is only a heading.
    None if the filter isn't supported.

    Args:
        lines: the lines of one filter.
    """
    head = _HEAD.fullmatch(lines[0])
    if not head or head["chain"] not in (None, "0"):
        return None
    first = ["protocol", head["protocol"], "pref", head["pref"], head["kind"]]
    rest, body = f"{head['rest']} ".lstrip(), list(lines[1:])
    if not body and (not rest.strip() or re.fullmatch(r"fh \w+: ht divisor 1 ", rest)):
        return []
    if body[:1] == ["not_in_hw"]:
        del body[0]
    if head["kind"] == "u32" and (match := _U32.fullmatch(rest)):
        words = []
        while body and (selector := _MATCH.fullmatch(body[0])):
            words += ["match", "u32", f"0x{selector[1]}", f"0x{selector[2]}", "at",
                      f"{selector[3] or ''}{selector[4]}"]
            del body[0]
        if not words:
            return None
        flow = ["flowid", match["flow"]] if match["flow"] else []
    elif head["kind"] == "fw" and (match := _FW.fullmatch(rest)):
        first[4:] = ["handle", match["handle"], "fw"]
        words, flow = [], ["classid", match["flow"]] if match["flow"] else []
    elif head["kind"] == "matchall" and (match := _MATCHALL.fullmatch(rest)):
        words, flow = [], ["classid", match["flow"]] if match["flow"] else []
    else:
        return None
    action: list[str] = []
    if body and (redirect := _MIRRED.fullmatch(body[0])):
        action = ["action", "mirred", "egress", redirect[1].lower(), "dev", redirect[2]]
        del body[0]
    return None if body else [*first, *words, *flow, *action]


# Names in the output of ethtool -k -> names for ethtool -K, if they differ.
_OFFLOADS = {"generic-segmentation-offload": "gso", "generic-receive-offload": "gro"}

# Queues whose classes the kernel creates together with the queue.
_OWN_CLASSES = {"mq", "multiq", "prio", "tbf", "ingress", "clsact",
                *(queue.kind for queue in QUEUES.values() if queue.shows_classes)}

Words = list[str]


def restore_plan(state: RouterState) -> list[str]:
    """Return the lines of the plan: `txqueuelen DEV N`, `offload DEV NAME on|off`, `tc …`.

    Raises TestbedError that names what can't be recreated, ParseError if a line on offloads has
    another form.
    """
    plan = []
    for device in state.devices.values():
        plan.append(f"txqueuelen {device.name} {device.txqueuelen}")
        plan += [f"offload {device.name} {_OFFLOADS.get(name, name)} {'on' if on else 'off'}"
                 for name, on in device.offloads.items()]
    burst = bursts(state.tc, state.clock)
    for device in state.devices.values():
        plan += [f"tc {' '.join(words)}" for words in _tree_commands(device, burst)]
    return plan


def _tree_commands(device: Device, burst: Burst) -> list[Words]:
    """Return the arguments for tc that create a device's queues and classes, parents first, then
    its filters. Queues and classes that the kernel creates by itself are left out. May be empty.

    Args:
        device: state of the device.
        burst: the router's function from bursts(), which converts a shown burst for tc.

    Raises TestbedError if something can't be recreated.
    """
    # A queue's further lines, which state.sh has sorted before it, don't say of which kind it is.
    qdiscs = sorted(device.qdiscs, key=lambda line: not line.startswith("qdisc "))
    nodes = [*(_parse_qdisc(device.name, line, burst) for line in qdiscs),
             *(_parse_class(device.name, line, burst) for line in device.classes)]
    waiting = {node[0]: node for node in nodes if node}
    ordered: list[Words] = []
    while waiting:
        # Parent 1:2 of a queue like mq isn't in the list of classes. It then needs the queue 1:.
        ready = [own for own, (_, parent, _) in waiting.items()
                 if parent not in waiting
                 and (not parent or _handle_of_queue(parent) not in waiting)]
        if not ready:
            raise TestbedError(f"{device.name}: by tc's output, queues or classes are each other's "
                               "parents, and not a tree, so they could not be restored; remove "
                               f"them first: tc qdisc del dev {device.name} root")
        ordered += [waiting.pop(own)[2] for own in ready]
    for where, lines in device.filters.items():
        ordered += filter_commands(device.name, where, lines)
    return ordered


# A queue or class: its handle, its parent's, and the arguments for tc that create it.
Node = tuple[str, str, Words]


def _parse_qdisc(device: str, line: str, burst: Burst) -> Node | None:
    """Parse one line of `tc qdisc show`. Return the queue's handle, its parent's handle ("" for
    none) and the arguments for tc that create it. None if the kernel creates it by itself.

    Args:
        device: name of the device.
        line: the line.
        burst: the router's function from bursts(), which converts a shown burst for tc.

    Raises TestbedError if the queue can't be recreated.
    """
    match line.split():
        case ["qdisc", _, "0:", *_]:
            # also one whose kind tc doesn't know, as a new kernel's default
            return None
        case ["qdisc", unknown, *_] if "[Unknown qdisc" in line:
            raise TestbedError(
                f"{device} has a queue {unknown[:40]}, which the host's tc doesn't know, so it "
                "could not be restored; install a newer tc (OpenWrt: tc-full), or remove the queue "
                f"first: {_removal(device, line)}")
    words = _split_words(device, line)
    match words:
        case ["qdisc", "ingress" | "clsact" as kind, handle, *_]:
            return handle, "", ["qdisc", "add", "dev", device, kind]
        case ["qdisc", kind, handle, "root", *rest]:
            parent, where = "", ["root"]
        case ["qdisc", kind, handle, "parent", parent, *rest]:
            where = ["parent", parent]
        case _:
            raise _not_restorable(device, line)
    if kind not in _WRITERS:
        raise TestbedError(f"{device} has a queue of kind {kind}, which could not be restored "
                           f"exactly; remove it first: {_removal(device, line)}")
    options = _WRITERS[kind](rest)
    if options is None:
        raise _not_restorable(device, line)
    if kind == "tbf":
        shown = _option_values(rest)
        options[options.index("burst") + 1] = burst(shown["burst"], shown["rate"], "")
    # `replace`, because each class of mq has a queue already.
    return handle, parent, ["qdisc", "replace", "dev", device, *where, "handle", handle, kind,
                            *options]


def _parse_class(device: str, line: str, burst: Burst) -> Node | None:
    """Parse one line of `tc class show`. Return the class's handle, its parent's handle and the
    arguments for tc that create it. None if the kernel creates it with its queue.

    Args:
        device: name of the device.
        line: the line.
        burst: the router's function from bursts(), which converts a shown burst for tc.

    Raises TestbedError if the class can't be recreated.
    """
    words = _split_words(device, line)
    match words:
        case ["class", kind, *_] if kind in _OWN_CLASSES:
            return None
        case ["class", "htb", own, "root", *rest]:
            parent = f"{own.split(':')[0]}:"
        case ["class", "htb", own, "parent", parent, *rest]:
            pass
        case ["class", kind, *_]:
            raise TestbedError(f"{device} has classes of kind {kind}, which could not be restored "
                               f"exactly; remove them first: tc qdisc del dev {device} root")
        case _:
            raise _not_restorable(device, line)
    shown = _option_values(rest)
    options = _convert_options(rest, {
        "leaf": None, "prio": str, "quantum": str, "rate": str, "ceil": str,
        # iproute2 before 4.5 also prints it behind each burst
        "overhead": lambda text: text.removesuffix("b"), "linklayer": str,
        "burst": lambda text: burst(text, shown.get("rate", ""), shown.get("buffer", "")),
        "cburst": lambda text: burst(text, shown.get("ceil", ""), shown.get("cbuffer", "")),
        "mpu": None, "level": None, "buffer": None, "cbuffer": None})
    if options is None:
        raise _not_restorable(device, line)
    # shown behind each burst, taken once
    mpu = shown.get("mpu", "0b").removesuffix("b")
    return own, parent, ["class", "replace", "dev", device, "parent", parent, "classid", own,
                         "htb", *options, *(["mpu", mpu] if mpu != "0" else [])]


def _handle_of_queue(class_handle: str) -> str:
    """Return the handle of the queue that a class belongs to: "1:" for the handle "1:2"."""
    return f"{class_handle.split(':')[0]}:"


def _split_words(device: str, line: str) -> Words:
    """Return the words of a line of tc, without `dev DEVICE`. Raises TestbedError if a word has
    unexpected characters."""
    words = line.split()
    # Some versions of tc print the device even if it was on the command line.
    if words[3:5] == ["dev", device]:
        del words[3:5]
    if not all(WORD.fullmatch(word) for word in words):
        raise _not_restorable(device, line)
    return words


def _not_restorable(device: str, line: str) -> TestbedError:
    """Return the error for a queue or class that can't be restored. It quotes the line of tc."""
    if line.split()[:1] not in (["qdisc"], ["class"]):
        return TestbedError(f"{device}: tc shows a line of a queue that could not be restored "
                            f"exactly: {line.strip()[:120]!r}; remove the queue first: "
                            f"tc qdisc del dev {device} root")
    return TestbedError(f"{device} has a queue or class that could not be restored exactly: "
                        f"{line.strip()[:120]!r}; remove it first: {_removal(device, line)}")


def _removal(device: str, line: str) -> str:
    """Return the command that removes the queue of a line of tc, or with a class, all queues of the
    device. The root of a device with several transmit queues may be the kernel's own, which can't
    be removed, unlike a queue below it."""
    match line.split():
        case ["qdisc", _, _, *rest] if rest[:2] == ["dev", device]:
            rest = rest[2:]
        case ["qdisc", _, _, *rest]:
            pass
        case _:
            rest = []
    where = f"parent {rest[1]}" if rest[:1] == ["parent"] and len(rest) > 1 else "root"
    return f"tc qdisc del dev {device} {where}"


# ---- options of each kind of queue -------------------------------------------

# Function that converts a shown value for tc. None: the option is only shown, and is left out.
Writer = Callable[[str], str] | None


def _convert_options(words: Iterable[str], values: dict[str, Writer], flags: Sequence[str] = ()
                     ) -> Words | None:
    """Convert the options of a queue from tc's output to tc's arguments.

    Args:
        words: the options as shown.
        values: name of an option with a value -> function that converts the value, None for an
            option that is left out.
        flags: names of options without a value.

    Returns:
        The arguments. None if a word is neither, or a value is missing.
    """
    rest = iter(words)
    options: Words = []
    for word in rest:
        if word in flags:
            options.append(word)
        elif word in values:
            value, write = next(rest, None), values[word]
            if value is None:
                return None
            if write:
                options += [word, write(value)]
        else:
            return None
    return options


def _packets_for_tc(text: str) -> str:
    """Convert a number of packets from tc's output: "1000p" becomes "1000". Other texts stay as
    they are."""
    return text.removesuffix("p")


def _option_values(words: Words) -> dict[str, str]:
    """Return shown options as name -> value. Words are taken in pairs, so no option may lack its
    value. A single last word is left out."""
    return dict(zip(words[::2], words[1::2], strict=False))


def _bytes_for_tc(text: str) -> str:
    """Convert a size for options where tc shows a unit but takes none: "3028b" becomes "3028",
    "3Kb" becomes "3072". A text of another form is returned as it is."""
    size = re.fullmatch(r"(\d+)([KM]?)b", text)
    return str(int(size[1]) * SIZE_UNIT[size[2]]) if size else text


def _time_writer(kept: Callable[[int], Expected]) -> Callable[[str], str]:
    """Return a function that converts a displayed time, such as "4999us", to a time to set that the
    kernel will display the same way: itself, or 1 us more. It returns other texts, and times for
    which neither works, as they are.

    Args:
        kept: function that returns the time in us that the kernel shows when a time in us was set.
    """
    def write(text: str) -> str:
        """Convert a shown time, such as "4999us", to the same or a time 1 us longer, whichever the
        kernel shows as the shown one. If neither does, or the text has another form, return it as
        it is."""
        shown = text.removesuffix("us")
        if not text.endswith("us") or not shown.isdecimal():
            return text
        near = range(int(shown), int(shown) + 2)
        return f"{next((time for time in near if kept(time) == int(shown)), shown)}us"
    return write


# PIE and netem keep times in ticks of the packet scheduler.
_codel_time, _ticks_time = _time_writer(codel_us), _time_writer(psched_us)


def _seconds_for_tc(text: str) -> str:
    """Convert a time in s from tc's output: "10sec" becomes "10". Other texts stay as they are."""
    return text.removesuffix("sec")


def _flows_for_tc(text: str) -> str:
    """Convert SFQ's number of flows: "127/1024" becomes "127". iproute2 before 5.6 shows the
    divisor with it. A number alone stays as it is."""
    return text.partition("/")[0]


def _options_writer(flags: Sequence[str] = (), **values: Writer) -> Callable[[Words], Words | None]:
    """Return a function that converts a queue's options from words that tc prints to words that tc
    takes, and returns None if one is unknown or lacks its value.

    Args:
        flags: names of options without a value.
        values: name of an option -> function that converts its value, None for an option that is
            left out.
    """
    return lambda words: _convert_options(words, values, flags)


def _codel_writer(**more: Writer) -> Callable[[Words], Words | None]:
    """Return a function that converts the options of CoDel, and those in `more`, from the words
    that tc shows to those that it takes, and returns None if one is unknown or lacks its value. It
    adds `noecn` if `ecn` isn't shown.

    Args:
        more: name of an option -> function that converts its value, None for an option that is left
            out.
    """
    def options(words: Words) -> Words | None:
        """Convert options of CoDel, and those in _codel_writer()'s `more`, from the words that tc
        shows to those that it takes. Add `noecn` if `ecn` isn't shown. None if an option is unknown
        or lacks its value."""
        output = _convert_options(words, {"limit": _packets_for_tc, "target": _codel_time,
                                          "interval": _codel_time, "ce_threshold": _codel_time,
                                          **more},
                                  ["ecn"])
        # Without ecn, tc needs the option noecn.
        return output if output is None or "ecn" in output else [*output, "noecn"]

    return options


def _convert_sfq(words: Words) -> Words | None:
    """Convert SFQ's options from the words that tc shows to those that it takes. A limit below the
    number of flows is left out, because it is the default: a limit that is set lowers the flows to
    it. None if an option is unknown or lacks its value."""
    options = _convert_options(words,
                               {"limit": _packets_for_tc, "quantum": str, "depth": str,
                                "flows": _flows_for_tc,
                                       "divisor": str, "perturb": _seconds_for_tc}, ["headdrop"])
    # tc lowers the flows to a given limit. If there are more flows than that, no limit was given.
    if options and options[:1] == ["limit"] and "flows" in options:
        limit, flows = options[1], options[options.index("flows") + 1]
        if limit.isdecimal() and flows.isdecimal() and int(flows) > int(limit):
            return options[2:]
    return options


def _convert_tbf(words: Words) -> Words | None:
    """Convert TBF's options from the words that tc shows to those that it takes, but leave the
    burst as shown: the caller converts it. None if one is unknown or lacks its value, if rate or
    burst is missing, or if bytes are counted in ATM's cells: tc shows another burst then than it
    takes."""
    options = _convert_options(words, {"rate": str, "burst": str, "lat": str, "mpu": str,
                                       "linklayer": str})
    if options is None or not {"rate", "burst"} <= set(options[::2]):
        return None
    return options if _option_values(options).get("linklayer", "ethernet") == "ethernet" else None


def _convert_prio(words: Words) -> Words | None:
    """Convert PRIO's options from the words that tc shows to those that it takes. None if they
    have another form."""
    match words:
        case ["bands", bands, "priomap", *bands_of] if len(bands_of) == 16:
            return ["bands", bands, "priomap", *bands_of]
    return None


def _without_options(words: Words) -> Words | None:
    """Return an empty list, whatever options tc shows."""
    return []


_CAKE_FLAGS = (
    "besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence",
    "flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost",
    "triple-isolate", "nat", "nonat", "wash", "nowash", "ack-filter", "ack-filter-aggressive",
    "no-ack-filter", "split-gso", "no-split-gso", "ingress", "egress", "autorate-ingress",
    "raw", "atm", "ptm", "noatm",
)


def _convert_cake(words: Words) -> Words | None:
    """Convert CAKE's options from the words that tc shows to those that it takes. None if one is
    unknown or lacks its value."""
    if words[:2] == ["bandwidth", "unlimited"]:  # tc takes the second word alone
        words = words[1:]
    return _convert_options(words, {"bandwidth": str, "rtt": str, "overhead": str, "mpu": str,
                                    "memlimit": str, "fwmark": str}, ["unlimited", *_CAKE_FLAGS])


# Kind of queue -> function that converts the shown options for tc, and returns None if it can't.
_WRITERS: dict[str, Callable[[Words], Words | None]] = {
    "pfifo": _options_writer(limit=_packets_for_tc),
    "bfifo": _options_writer(limit=str),
    "pfifo_head_drop": _options_writer(limit=_packets_for_tc),
    "pfifo_fast": _without_options,
    "mq": _without_options,
    "codel": _codel_writer(),
    "fq_codel": _codel_writer(flows=str, quantum=str, memory_limit=str, drop_batch=str,
                              ce_threshold_selector=str),
    "sfq": _convert_sfq,
    "cake": _convert_cake,
    "cake_mq": _convert_cake,
    "fq": _options_writer(["horizon_drop", "horizon_cap", "pacing", "nopacing"],
                          limit=_packets_for_tc, flow_limit=_packets_for_tc, buckets=str,
                          orphan_mask=str,
                          quantum=_bytes_for_tc,
                          initial_quantum=_bytes_for_tc, low_rate_threshold=str, refill_delay=str,
                          timer_slack=str,
                          horizon=str, maxrate=str),
    "htb": _options_writer(r2q=str, default=str, ver=None, direct_qlen=str),
    "tbf": _convert_tbf,
    "prio": _convert_prio,
    "pie": _options_writer(["ecn", "bytemode"], limit=_packets_for_tc, target=_ticks_time,
                           tupdate=str,
                           alpha=str,
                           beta=str),
    "netem": _options_writer(limit=str, seed=None, delay=_ticks_time, loss=str),
    "drr": _without_options,
}
