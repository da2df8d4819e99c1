# SPDX-License-Identifier: GPL-3.0-or-later
"""From a router's state as it is told to the commands that bring it back: tc's words as tc
prints them, in a state made of them. That routers do come back is tried in the lab."""

from __future__ import annotations

import pytest

from flent_aqm.base.errors import ParseError, TestbedError
from flent_aqm.parts.ssh.restore import bursts, parse_state, restore_plan
from flent_aqm.router.expected import new_ticks

PSCHED = "000003e8 00000040 000f4240 3b9aca00"


def state(qdiscs: str = "", classes: str = "", filters: str = "", offloads: str = "") -> str:
    """What state.sh prints of one device."""
    return (f"@tc tc utility, iproute2-6.1.0, libbpf 1.1.0\n@psched {PSCHED}\n@link lo\n@link wan\n"
            f"@device wan\n@txqueuelen 1000\n@qdisc\n{qdiscs}\n@class\n{classes}\n{filters}\n"
            f"@offload\n{offloads}\n")


def commands(**parts: str) -> list[str]:
    """The plan behind its first line."""
    first, *rest = restore_plan(parse_state(state(**parts)))
    assert first == "txqueuelen wan 1000"
    return rest


def test_state_is_read_by_its_sections() -> None:
    """Two devices, filters by what they hang on, offloads by ethtool's names."""
    router_state = parse_state(
        state("qdisc a", "class a",
              "@filter parent 1:\nfilter a\nfilter b\n@filter ingress\nfilter c",
              "tcp-segmentation-offload: on\ngeneric-receive-offload: off")
        + "@device lan\n@txqueuelen 0\n@qdisc\nqdisc b\n")
    assert router_state.links == ("lo", "wan")
    assert router_state.tc == "tc utility, iproute2-6.1.0, libbpf 1.1.0"
    assert (router_state.clock.ticks_per_us, router_state.clock.hz) == (15.625, 10**9)
    wan, lan = router_state.devices["wan"], router_state.devices["lan"]
    assert (wan.txqueuelen, wan.qdiscs, wan.classes) == (1000, ["qdisc a"], ["class a"])
    assert wan.filters == {"parent 1:": ["filter a", "filter b"], "ingress": ["filter c"]}
    assert wan.offloads == {"tcp-segmentation-offload": True, "generic-receive-offload": False}
    assert (lan.txqueuelen, lan.qdiscs, lan.classes, lan.filters) == (0, ["qdisc b"], [], {})


@pytest.mark.parametrize(("text", "output"), [
    ("", "describes no device; expected"), (f"@psched {PSCHED}\n", "describes no device; expected"),
    ("@txqueuelen 5\n", "unexpected line '@txqueuelen 5'"),
    ("@\n", "unexpected line '@'"),
    ("@device a b\n", "unexpected line '@device a b'"),
    ("@device sixteen-letters-\n",
     "the host's network device 'sixteen-letters-' has a name that can't be restored"),
    ("@link wg+home\n", "device 'wg\\+home' has a name that .*: rename or remove the device"),
    ("@device wan\n@txqueuelen\n", "unexpected line '@txqueuelen'"),
    ("@device wan\n@txqueuelen 12345678901\n", "unexpected line '@txqueuelen 12345678901'"),
    ("@device wan\n@qdisc x\n", "unexpected line '@qdisc x'"),
    ("@device wan\n@class x\n", "unexpected line '@class x'"),
    ("@device wan\n@filter\n", "unexpected line '@filter'"),
    ("@device wan\n@offload x\n", "unexpected line '@offload x'"),
    ("@device wan\n@tc late\n", "unexpected line '@tc late'"),
    ("@device wan\n", "no line '@psched WORDS': is router_hooks/ changed, or of another version"),
    ("@psched ten\n@device wan\n", "the host's /proc/net/psched has 'ten'; expected four"),
])
def test_state_of_another_form_is_refused(text: str, output: str) -> None:
    """The text is the router's, so anything that isn't expected is an error."""
    with pytest.raises(ParseError, match=output):
        parse_state(text)


def test_offload_of_another_form_is_refused() -> None:
    """A word that could be a command's."""
    with pytest.raises(ParseError, match="offloads of wan: unexpected line 'tso; reboot: on'"):
        restore_plan(parse_state(state(offloads="tso; reboot: on")))


def test_lengths_and_offloads_come_first_by_the_names_that_are_taken() -> None:
    """ethtool -k's names, but for those which ethtool -K calls otherwise."""
    assert commands(offloads="generic-segmentation-offload: on\n"
                             "generic-receive-offload: off\ntcp-segmentation-offload: on") == [
        "offload wan gso on", "offload wan gro off", "offload wan tcp-segmentation-offload on"]


def test_tree_is_built_from_the_root_on() -> None:
    """Whatever the order in which it is told; the kernel's own queues come by themselves."""
    assert commands(
        qdiscs="qdisc fq_codel 110: parent 1:10 limit 10240p flows 1024 quantum 1514 "
               "target 5ms interval 100ms memory_limit 32Mb ecn drop_batch 64\n"
               "qdisc fq_codel 0: parent :1 limit 10240p\n"
               "qdisc htb 1: root r2q 10 default 0x10 ver 3.17 direct_qlen 1000\n"
               "qdisc ingress ffff: parent ffff:fff1 ----------------",
        classes="class htb 1:10 parent 1:1 leaf 110: prio 0 quantum 125000 rate 10Mbit "
                "overhead 34b ceil 10Mbit linklayer ethernet burst 1600b/1 mpu 64b cburst 1600b/1 "
                "mpu 64b level 0 buffer 00004e20 cbuffer 00004e20\n"
                "class htb 1:1 root rate 10Mbit ceil 10Mbit burst 1600b/1 mpu 0b cburst 1600b/1 "
                "mpu 0b level 7 buffer 00004e20 cbuffer 00004e20\n"
                "class fq_codel 110:1 parent 110:") == [
        "tc qdisc replace dev wan root handle 1: htb r2q 10 default 0x10 direct_qlen 1000",
        "tc qdisc add dev wan ingress",
        ("tc class replace dev wan parent 1: classid 1:1 htb rate 10Mbit ceil 10Mbit burst 1600b "
        "cburst 1600b"),
        ("tc class replace dev wan parent 1:1 classid 1:10 htb prio 0 quantum 125000 rate 10Mbit "
        "overhead 34 ceil 10Mbit linklayer ethernet burst 1600b cburst 1600b mpu 64"),
        ("tc qdisc replace dev wan parent 1:10 handle 110: fq_codel limit 10240 flows 1024 "
        "quantum 1514 target 5ms interval 100ms memory_limit 32Mb ecn drop_batch 64")]


def test_queues_below_mq_come_after_it() -> None:
    """Its places are no classes of their own; and tc may name the device."""
    assert commands(qdiscs="qdisc sfq 2: dev wan parent 1:2 limit 127p quantum 1514b\n"
                           "qdisc mq 1: dev wan root", classes="class mq 1:1 root") == [
        "tc qdisc replace dev wan root handle 1: mq",
        "tc qdisc replace dev wan parent 1:2 handle 2: sfq limit 127 quantum 1514b"]


@pytest.mark.parametrize(("shown", "restored"), [
    ("codel limit 1000p target 4.99ms interval 99us", ("limit 1000 target 4.99ms interval 100us "
                                                      "noecn")),
    ("codel limit 1000p target 5ms ce_threshold 999us ecn", ("limit 1000 target 5ms "
                                                            "ce_threshold 1000us ecn")),
    ("pie limit 1000p target 998us tupdate 15ms alpha 2 beta 20 ecn",
     "limit 1000 target 999us tupdate 15ms alpha 2 beta 20 ecn"),
    ("fq limit 500p flow_limit 100p buckets 1024 quantum 3028b initial_quantum 15Kb",
     "limit 500 flow_limit 100 buckets 1024 quantum 3028 initial_quantum 15360"),
    ("sfq limit 127p quantum 1514b depth 127 flows 128/1024 divisor 1024 perturb 10sec",
     "quantum 1514b depth 127 flows 128 divisor 1024 perturb 10"),
    ("sfq limit 127p quantum 1514b depth 127 flows 127/1024 divisor 1024 headdrop",
     "limit 127 quantum 1514b depth 127 flows 127 divisor 1024 headdrop"),
    (("cake bandwidth 9Mbit diffserv3 triple-isolate nonat nowash no-ack-filter split-gso "
     "rtt 100ms raw overhead 0"), ("bandwidth 9Mbit diffserv3 triple-isolate nonat nowash "
     "no-ack-filter split-gso rtt 100ms raw overhead 0")),
    ("cake bandwidth unlimited autorate-ingress besteffort flows",
     "unlimited autorate-ingress besteffort flows"),
    ("tbf rate 10Mbit burst 1600b/1 lat 50ms linklayer ethernet",
     "rate 10Mbit burst 1600b lat 50ms linklayer ethernet"),
    ("netem limit 1000 delay 998us", "limit 1000 delay 999us"),
    ("prio bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1",
     "bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1"),
    ("pfifo_fast bands 3 priomap 1 2 2 2", ""), ("pfifo limit 100p", "limit 100"),
    ("bfifo limit 15000b", "limit 15000b"), ("netem limit 1000 delay 20ms loss 1%",
                                             "limit 1000 delay 20ms loss 1%"),
])
def test_queue_is_made_again_in_the_words_that_tc_takes(shown: str, restored: str) -> None:
    """Units that are shown and not taken, times that are shown rounded down, what is off."""
    kind, _, options = shown.partition(" ")
    assert commands(qdiscs=f"qdisc {kind} 8001: root {options}") == [
        f"tc qdisc replace dev wan root handle 8001: {kind} {restored}".rstrip()]


@pytest.mark.parametrize(("parts", "output"), [
    ({"qdiscs": "qdisc taprio 1: root"}, ("wan has a queue of kind taprio, which could not be "
                                         "restored exactly; remove it first: tc qdisc del")),
    # The root of the transmit queues is the kernel's own, and can't be removed.
    ({"qdiscs": "qdisc mq 0: root\nqdisc taprio 8001: parent :1"},
     "wan has a queue of kind taprio, .*; remove it first: tc qdisc del dev wan parent :1$"),
    ({"classes": "class qfq 1:1 root"}, "wan has classes of kind qfq"),
    ({"qdiscs": "qdisc dualpi2 8001: root refcnt 2 [Unknown qdisc, optlen=48] "},
     "wan has a queue dualpi2, which the host's tc doesn't know, .*; install a newer tc"),
    ({"qdiscs": "             queues:\\(0:0\\)\nqdisc mqprio 8001: root tc 1 map 0"},
     "wan has a queue of kind mqprio"),
    ({"qdiscs": "  more\nqdisc codel 1: root limit 1"},
     "wan: tc shows a line of a queue that could not be restored exactly: 'more'; remove"),
    ({"qdiscs": "qdisc codel 1: root colour blue"}, "exactly: 'qdisc codel 1: root col"),
    ({"qdiscs": "qdisc codel 1: root limit"}, "exactly: 'qdisc codel 1: root limit'"),
    ({"qdiscs": "qdisc codel 1: below 2:"}, "be restored exactly: "),
    ({"qdiscs": "qdisc codel 1: root limit 1;reboot"}, "be restored exactly: "),
    ({"qdiscs": "qdisc tbf 1: root rate 10Mbit lat 50ms"}, "be restored exactly: "),
    ({"qdiscs": "qdisc tbf 1: root rate 10Mbit burst 5670b/1 mpu 0b lat 49.6ms linklayer atm"},
     "be restored exactly: "),
    ({"qdiscs": "qdisc prio 1: root bands 3 priomap 1 2"}, "be restored exactly: "),
    ({"classes": "class htb 1:1 root colour blue"}, "exactly: 'class htb 1:1 root col"),
    ({"classes": "class htb 1:1 below 1:"}, "classes of kind htb"),
    ({"classes": "class"}, "exactly: 'class'"),
    ({"qdiscs": "qdisc codel 1: parent 2:1\nqdisc codel 2: parent 1:1"},
     "wan: by tc's output, queues or classes are each other's parents"),
])
def test_what_could_not_come_back_is_refused_with_what_to_do(
        parts: dict[str, str], output: str) -> None:
    """Before anything is changed."""
    with pytest.raises(TestbedError, match=output):
        restore_plan(parse_state(state(**parts)))


@pytest.mark.parametrize("kind", ["fq_codel", "dualpi2"])
def test_queue_of_the_kernels_own_comes_back_by_itself(kind: str) -> None:
    """Also one that the router's tc doesn't know. `tc qdisc del` refuses the handle 0."""
    assert commands(qdiscs=f"qdisc {kind} 0: root refcnt 2 [Unknown qdisc, optlen=48] ") == []


HTB = "qdisc htb 1: root r2q 10 default 0x1 direct_qlen 1000"
U32 = ("filter protocol ip pref 10 u32 chain 0\n"
       "filter protocol ip pref 10 u32 chain 0 fh 800: ht divisor 1\n"
       "filter protocol ip pref 10 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 ")


@pytest.mark.parametrize(("where", "shown", "restored"), [
    ("parent 1:", U32 + "*flowid 1:11 not_in_hw\n  match 00b80000/00fc0000 at 0",
     "parent 1: protocol ip pref 10 u32 match u32 0x00b80000 0x00fc0000 at 0 flowid 1:11"),
    ("parent 1:", U32 + "flowid 1:11\n  match 00000000/00000000 at nexthdr+0\n"
     "  match 00060000/00ff0000 at -8", ("parent 1: protocol ip pref 10 u32 match u32 0x00000000 "
     "0x00000000 at nexthdr+0 match u32 0x00060000 0x00ff0000 at -8 flowid 1:11")),
    ("ingress", ("filter parent ffff: protocol all pref 49152 matchall chain 0\n"
     "filter parent ffff: protocol all pref 49152 matchall chain 0 handle 0x1\n  not_in_hw\n"
     "\taction order 1: mirred (Egress Redirect to device ifb4wan) stolen"),
     "parent ffff: protocol all pref 49152 matchall action mirred egress redirect dev ifb4wan"),
    ("egress", ("filter protocol all pref 1 matchall chain 0 handle 0x1 flowid 1:2\n"
     "\taction order 1: mirred (Egress Mirror to device lo) pipe"),
     "egress protocol all pref 1 matchall classid 1:2 action mirred egress mirror dev lo"),
    ("parent 1:", ("filter protocol all pref 3 fw chain 0\n"
     "filter protocol all pref 3 fw chain 0 handle 0x10/0xff classid 1:5"),
     "parent 1: protocol all pref 3 handle 0x10/0xff fw classid 1:5"),
])
def test_filter_is_made_again(where: str, shown: str, restored: str) -> None:
    """u32 with its matches, fw, matchall; to a class, or to another device."""
    assert commands(qdiscs=HTB, filters=f"@filter {where}\n{shown}")[1:] == [
        f"tc filter add dev wan {restored}"]


@pytest.mark.parametrize("shown", [
    U32 + "flowid 1:11", U32 + "flowid 1:11\n  match 00b80000/00fc0000 at 0\n  police rate 1Mbit",
    "filter protocol ip pref 10 flower chain 0 handle 0x1",
    "filter protocol ip pref 10 u32 chain 1 fh 800: ht divisor 1",
    "filter protocol ip pref 10 fw chain 0 handle 0x1 police",
    "  match 00b80000/00fc0000 at 0", "filter something",
])
def test_filter_that_could_not_come_back_is_refused(shown: str) -> None:
    """With the command that removes it."""
    with pytest.raises(TestbedError, match=r"wan has a filter that could not be restored exactly: "
                                           r".*; remove it first: tc filter del dev wan parent 1:"):
        commands(qdiscs=HTB, filters=f"@filter parent 1:\n{shown}")


@pytest.mark.parametrize(("chain", "words"), [(0, ""), (7, " chain 7")])
def test_filter_of_another_chain_is_removed_there(chain: int, words: str) -> None:
    """Without the chain's number, tc removes the filters of chain 0 only."""
    with pytest.raises(TestbedError, match=f"tc filter del dev wan parent 1:{words}$"):
        commands(qdiscs=HTB, filters=(
            f"@filter parent 1:\nfilter protocol ip pref 10 flower chain {chain} handle 0x1\n"
            "  action order 1: gact action goto chain 5"))


@pytest.mark.parametrize(("version", "restored"), [
    # 4001 bytes at 1 Mbit/s take 32,008 us, 500,125 ticks: whole us, so the same by all.
    ("tc utility, iproute2-6.15.0", "4001b"), ("tc utility, iproute2-6.16.0", "4001b"),
    ("tc utility, iproute2-7.0.0", "4001b"), ("tc utility, iproute2-ss200127", "4001b")])
def test_burst_comes_back_by_its_ticks(version: str, restored: str) -> None:
    """The bytes that are shown are one less."""
    clock = parse_state(state()).clock
    assert bursts(version, clock)("4000b/1", "1Mbit", f"{500_125:08x}") == restored


def test_burst_that_new_versions_round_up_is_told_as_shown() -> None:
    """1600 bytes at 33 Mbit/s are 6060.6 ticks: 6061 since iproute2 6.16, 6046 before."""
    clock = parse_state(state()).clock
    shown = ("1600b/1", "33Mbit", f"{6061:08x}")
    for version in ("6.16.0", "6.17.0", "7.0.0"):
        assert bursts(f"tc utility, iproute2-{version}", clock)(*shown) == "1600b"
    # No number of bytes gives 6061 ticks there: as shown, without its cell.
    assert bursts("tc utility, iproute2-6.15.0", clock)(*shown) == "1600b"
    cut_off = ("1596b", "33Mbit", f"{6046:08x}")
    assert bursts("tc utility, iproute2-6.15.0", clock)(*cut_off) == "1597b"
    for version in ("6.16.0", "7.0.0"):
        assert bursts(f"tc utility, iproute2-{version}", clock)(*cut_off) == "1596b"


@pytest.mark.parametrize(("shown", "size_bytes"), [
    ("2Kb", 2033), ("2Kb", 2040), ("2Kb", 2048), ("2Kb", 2063), ("1Mb", 2**20 + 1023)])
def test_burst_that_is_shown_as_a_near_unit_comes_back_by_its_ticks(
        shown: str, size_bytes: int) -> None:
    """A K may be 15 bytes less or more, an M 1023 more."""
    clock = parse_state(state()).clock
    write = bursts("tc utility, iproute2-6.16.0", clock)
    ticks = new_ticks(size_bytes, 125_000, clock)
    assert write(f"{shown}/1", "1Mbit", f"{ticks:08x}") == f"{size_bytes}b"
