# SPDX-License-Identifier: GPL-3.0-or-later
"""The parser of read-backs on captured output and on damaged output."""

from __future__ import annotations

import json
import random
import re

import pytest

from flent_aqm.base.errors import ParseError
from flent_aqm.router.metadata import as_metadata
from flent_aqm.router.proof import differences
from flent_aqm.router.tc.read_back import (
    bit_per_s,
    parse_classes,
    parse_qdiscs_json,
    parse_qdiscs_text,
    parse_read_back,
)
from flent_aqm.spec.queues.units import parse_psched
from flent_aqm.spec.scenario import Scenario
from tests import files

GOLDEN = files.GOLDEN / "tc"
TEXT = (GOLDEN / "read_back_fq_codel_after_load.txt").read_text()


def test_read_back_when_captured_gives_typed_records() -> None:
    """Hierarchy, parameters, exact bursts, counters and offloads of one direction."""
    report = parse_read_back(TEXT)
    up = report.directions["up"]
    assert report.kernel == "7.3.4"
    assert (report.clock.ticks_per_us, report.clock.hz) == (15.625, 10**9)
    assert [(q.kind, q.handle, q.parent) for q in up.qdiscs] == [
        ("htb", "1:", "root"), ("fq_codel", "10:", "1:1")]
    assert up.qdiscs[1].parameters["ecn"] is True
    assert up.qdiscs[1].counters["new_flow_count"] == 13
    [htb] = up.classes
    assert (htb.handle, htb.parent, htb.leaf, htb.rate, htb.ceil) == (
        "1:1", "root", "10:", "20Mbit", "32Mbit")
    assert (htb.burst_ticks, htb.cburst_ticks) == (96_000, 120_000)
    assert (htb.counters["packets"], htb.counters["tokens"]) == (4994, -4167)
    assert (up.device, up.txqueuelen, up.offloads) == (
        "up", 1000, {"tso": False, "gso": False, "gro": False})


@pytest.mark.parametrize("text", [
    "", "{", "@", "@format 2", "router hook: tc failed", TEXT[:-5], TEXT[:500], TEXT + TEXT,
    TEXT.replace("@format 2", "@format 3"),
    TEXT.replace("@device down", "@device sideways", 1),
    TEXT.replace("@kernel 7.3.4\n", ""),
    TEXT.replace("3b9aca00", "0"),
    TEXT.replace("00000040 ", "00000000 "),
    TEXT.replace("@txqueuelen 1000", "@txqueuelen many", 1),
    TEXT.replace("@gso off", "@gso false", 1),
    TEXT.replace('"drops":148', '"drops":"x"', 1),
    TEXT.replace('"flows":1024', '"flows":{}', 1),
    TEXT.replace('"kind":"fq_codel"', '"kind":7', 1),
    TEXT.replace('"parent":"1:1",', "", 1),
    TEXT.replace("rate 20Mbit", "rate fast"),
    TEXT.replace("buffer [00017700]", "buffer [00017"),
    TEXT.replace(" tokens: -4167 ctokens: 117394", ""),
    TEXT.replace("class htb", "klass htb"),
    TEXT.replace("class htb", "class hfsc"),
], ids=range(24))
def test_read_back_when_damaged_is_refused(text: str) -> None:
    """Whatever is cut off, renamed or of another type: ParseError of one line."""
    assert text != TEXT
    with pytest.raises(ParseError) as raised:
        parse_read_back(text)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(("text", "message"), [
    (TEXT.replace("@gso", "@gsx"),
     "unknown line '@gsx': is router_hooks/ changed, or of another version"),
    (TEXT.replace("@gso off", "@gso off\n@gso off"), "line '@gso' is given twice"),
])
def test_an_unknown_line_and_a_repeated_one_are_told_apart(text: str, message: str) -> None:
    assert text != TEXT
    with pytest.raises(ParseError, match=message):
        parse_read_back(text)


def test_line_of_another_tc_is_shown_whole_with_device_and_version() -> None:
    """A newer tc may add a word, and what is missing may stand at the end of a long line."""
    text = TEXT.replace(" cbuffer [", " cells [")
    assert text != TEXT
    with pytest.raises(ParseError, match=r"device down \(down\): can't parse tc's line on a class "
                       r"of HTB: 'class htb 1:1 .* cells \[[0-9a-f]{8}\]'; the router's tc is "
                       r"'tc utility, iproute2-[^']*': if it is not of iproute2 4\.4 to 7\.2, "):
        parse_read_back(text)


@pytest.mark.parametrize("number", ["10000000000000000000", "-1"])
def test_number_out_of_range_is_not_called_no_whole_number(number: str) -> None:
    """Twenty digits pass as a counter, and are too many for the length of a queue."""
    with pytest.raises(ParseError, match=f"from 0, of up to 19 digits, got '{number}'"):
        parse_read_back(TEXT.replace("@txqueuelen 1000", f"@txqueuelen {number}", 1))


def test_offloads_when_ethtool_is_missing_are_unknown() -> None:
    """unknown is None, which is neither on nor off."""
    up = parse_read_back(TEXT.replace("@gso off", "@gso unknown")).directions["up"]
    assert up.offloads == {"tso": False, "gso": None, "gro": False}


def test_offloads_that_are_on_or_off_are_told_apart() -> None:
    """Each by itself: an offload that is on hides the queue."""
    up = parse_read_back(TEXT.replace("@gso off", "@gso on")).directions["up"]
    assert up.offloads == {"tso": False, "gso": True, "gro": False}


def test_threshold_of_a_field_is_read_from_texts_hexadecimal_as_json_has_it() -> None:
    """fq_codel's ce_threshold_selector, 0x10/0x1f in text."""
    [queue] = parse_qdiscs_text(
        "qdisc fq_codel 10: parent 1:1 limit 10240p flows 1024 quantum 1514 target 5ms "
        "interval 100ms memory_limit 32Mb ce_threshold_selector 0x10/0x1f drop_batch 64 \n"
        " Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0) \n backlog 0b 0p requeues 0\n",
        "up")
    assert (queue.parameters["ce_threshold_selector"],
            queue.parameters["ce_threshold_mask"]) == ("16", "31")


def test_classes_when_there_are_none_or_several_are_counted_right() -> None:
    """Empty text has none; a second class's counters are its own."""
    text = "class" + TEXT.split("\nclass")[-1].removesuffix("@end\n")
    other = text.replace("1:1", "1:2").replace("Sent 7523562", "Sent 5")
    assert parse_classes("", "up").htb == parse_classes("\n", "up").htb == ()
    first, second = parse_classes(text + "\n" + other, "up").htb
    assert (first.handle, first.counters["bytes"]) == ("1:1", 7_523_562)
    assert (second.handle, second.counters["bytes"]) == ("1:2", 5)


def test_class_above_others_has_no_priority_and_no_quantum() -> None:
    """tc prints neither for it; 0 stands for none."""
    text = "class" + TEXT.split("\nclass")[-1].removesuffix("@end\n")
    inner, = parse_classes(text.replace("leaf 10: prio 0 quantum 1514 ", "")
                           .replace("level 0", "level 7"), "up").htb
    assert (inner.leaf, inner.prio, inner.quantum_bytes) == ("", 0, 0)


@pytest.mark.parametrize(("word", "value"), [("ecn ", True), ("noecn ", False)])
def test_switch_of_text_is_on_or_off(word: str, value: bool) -> None:
    """tc before 4.16 has no JSON for qdiscs."""
    [queue] = parse_qdiscs_text(
        f"qdisc pie 10: parent 1:1 limit 1000p target 15ms tupdate 15ms {word}\n"
        " Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0) \n backlog 0b 0p requeues 0\n",
        "up")
    assert queue.parameters["ecn"] is value


def test_counter_that_json_has_as_true_is_the_number_1() -> None:
    """A data file has numbers alone."""
    read = parse_read_back(TEXT.replace('"drops":148', '"drops":true', 1))
    drops = [queue.counters["drops"] for one in read.directions.values() for queue in one.qdiscs]
    assert all(type(number) is int for number in drops)
    assert 1 in drops


def test_link_layer_of_a_class_is_tcs_word() -> None:
    """Ethernet if tc names none."""
    text = "class" + TEXT.split("\nclass")[-1].removesuffix("@end\n")
    for printed, expected in (("linklayer atm ", "atm"), ("linklayer ethernet ", "ethernet"),
                              ("", "ethernet")):
        one, = parse_classes(text.replace("linklayer ethernet ", printed), "up").htb
        assert one.linklayer == expected


def test_class_of_hfsc_has_no_priority_and_no_quantum() -> None:
    """As iproute2 6.18 prints one; nor has it HTB's bursts."""
    one, = parse_classes(
        "class hfsc 1:1 parent 1: leaf 10: ls m1 0bit d 0us m2 20Mbit ul m1 0bit d 0us m2 20Mbit \n"
        " Sent 90 bytes 1 pkt (dropped 0, overlimits 0 requeues 0) \n"
        " backlog 0b 0p requeues 0\n period 1 work 90 bytes level 0 \n", "up").htb
    assert (one.prio, one.quantum_bytes, one.overhead_bytes, one.mpu_bytes) == (0, 0, 0, 0)
    assert (one.parent, one.rate, one.ceil) == ("root", "20Mbit", "20Mbit")


def test_block_that_is_cut_off_after_its_first_line_is_not_blamed_on_that_line() -> None:
    """Nor is a report that is empty called one of another version."""
    first = "class hfsc 1:1 parent 1: ls m1 0bit d 0us m2 20Mbit ul m1 0bit d 0us m2 20Mbit"
    for code, text in (
            (lambda: parse_classes(first + " \n", "up"), "up: no line 'period … level …'"),
            (lambda: parse_qdiscs_text("qdisc pie 10: root limit 1000p\n", "up"), "no line 'Sent"),
            (lambda: parse_read_back("\n"), "is empty; .* is router_hooks/ changed")):
        with pytest.raises(ParseError, match=text):
            code()


@pytest.mark.parametrize(("printed", "size_bytes"), [
    ("1514b", 1514), ("3Kb", 3072), ("2Mb", 2 << 20)])
def test_sizes_with_a_unit_are_bytes(printed: str, size_bytes: int) -> None:
    """Of a DRR class's quantum, and of a queue's backlog."""
    sent = " Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0) \n"
    one, = parse_classes(f"class drr 10:1 root quantum {printed} \n{sent}"
                         " backlog 0b 0p requeues 0\n", "up").drr
    assert one.quantum_bytes == size_bytes
    queue, = parse_qdiscs_text(f"qdisc pfifo 10: parent 1:1 limit 1000p \n{sent}"
                               f" backlog {printed} 7p requeues 0\n", "up")
    assert (queue.counters["backlog"], queue.counters["qlen"]) == (size_bytes, 7)


def test_psched_when_ticks_are_nanoseconds_ignores_the_hack_for_old_tc() -> None:
    """A clock of 10^9 a second says 1000 in its first word, and has 1000 ticks a microsecond."""
    assert parse_psched("000003e8 00000001 3b9aca00 000000fa").ticks_per_us == 1000


@pytest.mark.parametrize(("text", "rate"), [
    ("64bit", 64), ("768Kbit", 768_000), ("100Mbit", 10**8), ("40Gbit", 4 * 10**10),
    ("2Tbit", 2 * 10**12)])
def test_rate_when_printed_with_a_unit_is_read_in_bit_per_s(text: str, rate: int) -> None:
    """tc's units are powers of 1000."""
    assert bit_per_s(text) == rate


def test_options_that_tc_does_not_know_are_no_parameters() -> None:
    """As tc 6.1 prints the queue of a user's own kernel without its q_NAME.c."""
    [own] = parse_qdiscs_text(
        "qdisc headdrop 10: parent 1:1 [Unknown qdisc, optlen=8] \n"
        " Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0) \n backlog 0b 0p requeues 0\n",
        "up")
    assert (own.kind, own.handle, own.parent) == ("headdrop", "10:", "1:1")
    assert own.parameters == {}


@pytest.mark.parametrize("text", [
    pytest.param(path.read_text(), id=path.stem)
    for path in sorted((GOLDEN / "hostile").glob("*.txt"))])
def test_read_back_with_impossible_numbers_is_refused_in_one_line(text: str) -> None:
    """A router's whole answers, which once ended in OverflowError or ValueError: numbers of 400
    digits, a fraction of a packet, negative counters."""
    with pytest.raises(ParseError) as raised:
        parse_read_back(text)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 400


def test_hostile_read_backs_are_there() -> None:
    assert len(list((GOLDEN / "hostile").glob("*.txt"))) == 4


NINES = "9" * 400
# In the place of any number or word of a router's answer.
ODD = (NINES, f"{NINES}.5", "-5", "1e999", "-1e999", "NaN", "Infinity", "1.2.3", "1..2", "0",
       "18446744073709551616", "1e300", "null", "true", "[]", "{}", '""', "", "0bit", "[ffffffff]")


@pytest.mark.parametrize(("before", "after"), [
    ('"bytes":', f'"bytes":{NINES}.5,"b":'), ('"drops":', '"drops":1e999,"d":'),
    ('"drops":', '"drops":NaN,"d":'), ('"flows":', '"flows":-Infinity,"f":'),
    ("rate 20Mbit", f"rate {NINES}Mbit"), ("prio 0", f"prio {NINES}"),
    ("Sent ", f"Sent {NINES}"),
])
def test_read_back_with_a_number_that_no_kernel_has_is_refused(before: str, after: str) -> None:
    """They ended in OverflowError or ValueError, some of them when the data file was written."""
    text = TEXT.replace(before, after, 1)
    assert text != TEXT
    with pytest.raises(ParseError) as raised:
        parse_read_back(text)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 300


def test_any_answer_is_refused_or_fits_into_a_data_file() -> None:
    """Words and numbers of real answers, JSON and text, replaced by odd ones."""
    texts = [text for path in sorted(GOLDEN.rglob("*.txt"))
             if (text := path.read_text()).startswith("@format")]
    chance = random.Random(55)
    refused = read = 0
    for _ in range(3000):
        text = chance.choice(texts)
        for _ in range(chance.choice((1, 1, 2))):
            match = chance.choice(list(re.finditer(r"\d+\w*|\[[0-9a-f]{8}\]|\b\w+\b", text)))
            text = text[:match.start()] + chance.choice(ODD) + text[match.end():]
        try:
            report = parse_read_back(text)
            json.dumps(as_metadata(report), allow_nan=False)
            differences(Scenario(), report)
            read += 1
        except ParseError:
            refused += 1
    assert refused > 1000
    assert read > 200


def test_filter_of_a_kind_that_is_never_made_here_is_seen() -> None:
    """Its list's heading isn't one. The proof then finds a filter that nobody asked for."""
    text = ("filter protocol all pref 49152 bpf chain 0 \n"
            "filter protocol all pref 49152 bpf chain 0 handle 0x1 shape.o:[cls] direct-action \n")
    assert parse_classes(text, "up").filters == ("all bpf unknown to nowhere",)


@pytest.mark.parametrize("field", ['"drops":148', '"flows":1024'])
def test_numbers_are_those_of_64_bits(field: str) -> None:
    """Counters and parameters; what is larger no kernel has."""
    assert TEXT.count(field)
    name = field.partition(":")[0]
    parse_read_back(TEXT.replace(field, f"{name}:{2**64 - 1}", 1))
    for number in (str(2**64), "1e999", str(-2**64)):
        with pytest.raises(ParseError):
            parse_read_back(TEXT.replace(field, f"{name}:{number}", 1))


@pytest.mark.parametrize(("text", "lines"), [
    ("filter parent 1: protocol ip pref 1 u32 chain 0", []),  # the heading of a list
    ("filter parent 1: pref 1 u32 protocol ip", []),  # in any order
    ("filter parent 1: protocol ip pref 1 u32 chain 0 fh 800: ht divisor 1", []),
    (("filter parent 1: protocol ip pref 1 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 "
      "flowid 1:11 not_in_hw\n  match 00b80000/00fc0000 at 0"),
     ["ip u32 00b80000/00fc0000 at 0 to 1:11"]),
    (("filter parent 1: protocol ipv6 pref 2 u32 chain 0 fh 800::800 *flowid 1:13\n"
      "  match 00b80000/00fc0000 at 0\n  match 00000001/000000ff at 20"),
     ["ipv6 u32 00b80000/00fc0000 at 0 and 00000001/000000ff at 20 to 1:13"]),
    (("filter protocol all pref 1 u32 fh 800::800\n  match 00000000/00000000 at 0\n\taction order "
      "1: mirred (Egress Redirect to device flent-ifb) stolen"),
     ["all u32 00000000/00000000 at 0 to egress redirect flent-ifb"]),
    # a redirection is where packets go, also if a class is named
    (("filter protocol all pref 1 u32 fh 800::800 flowid 1:1\n  match 00000000/00000000 at 0\n"
      "\taction order 1: mirred (Egress Mirror to device eth9) pipe"),
     ["all u32 00000000/00000000 at 0 to egress mirror eth9"]),
    ("filter protocol all pref 1 u32 fh 800::800\n  match 00000000/00000000 at 0",
     ["all u32 00000000/00000000 at 0 to nowhere"]),
    ("filter protocol all pref 1 matchall chain 0 handle 0x1 flowid 1:1",
     ["all matchall all to 1:1"]),
    (("filter parent 10: protocol all pref 1 flow handle 0x1 hash keys src,dst divisor 64 "
      "baseclass 10:1"), ["all flow src,dst in 64 to 10:1"]),
    (("filter parent 1: protocol ip pref 1 flow handle 0x1 map keys dst  and 0x0000ffff addend "
      "0xffffffff  baseclass 1:1"), ["ip flow map dst and 0x0000ffff addend 0xffffffff to 1:1"]),
    ("filter protocol all pref 7 bpf", []), ("filter protocol all pref 7 bpf handle 0x1",
                                             ["all bpf unknown to nowhere"]),
])
def test_filter_is_one_line_by_protocol_kind_rule_and_target(text: str, lines: list[str]) -> None:
    """As `tc filter show` prints it; headings and tables are no filters."""
    assert list(parse_classes(f"{text}\n", "up").filters) == lines


@pytest.mark.parametrize("line", [
    "filter parent 1: pref 1 u32", "filter parent 1: protocol ip u32",
    "filter parent 1: pref 1 u32 protocol", "filter parent 1: protocol ip pref",
    "filter parent 1: protocol ip pref 1"])
def test_filter_without_its_kind_or_protocol_is_refused(line: str) -> None:
    """Also where the line ends in their names."""
    with pytest.raises(ParseError, match=(
            f"^up: expected a filter with 'protocol' and 'pref', got '{line}'$")):
        parse_classes(f"{line}\n", "up")


CLASS = ("class htb 1:1 root leaf 10: prio 0 quantum 1514 rate 20Mbit ceil 32Mbit linklayer "
         "ethernet burst 15Kb/1 mpu 0b cburst 30Kb/1 mpu 0b level 0 buffer [00017700] cbuffer "
         "[0001d4c0] \n Sent 1 bytes 2 pkt (dropped 3, overlimits 4 requeues 5) \n backlog 0b 0p "
         "requeues 0\n lended: 6 borrowed: 7 giants: 8\n tokens: -9 ctokens: 10\n")


@pytest.mark.parametrize(("printed", "changed", "fields"), [
    ("", "", {}),
    ("rate 20Mbit ", "rate 20Mbit overhead 38 ", {"overhead_bytes": 38}),
    ("15Kb/1 mpu 0b", "15Kb/1 mpu 64b", {"mpu_bytes": 64}),
    ("15Kb/1 mpu 0b", "15Kb/1 mpu 2Kb", {"mpu_bytes": 2048}),
    ("15Kb/1 mpu 0b", "15Kb/1 mpu 0b overhead 0b", {}),  # before iproute2 4.5
    ("root leaf", "parent 1:9 leaf", {"parent": "1:9"}),
    ("prio 0 quantum 1514", "prio 7 quantum 1600", {"prio": 7, "quantum_bytes": 1600}),
    ("prio 0 quantum 1514", "prio 3", {"prio": 3, "quantum_bytes": 0}),
    ("level 0", "level 7", {"level": 7}), ("[00017700]", "[000000ff]", {"burst_ticks": 255}),
    ("[0001d4c0]", "[00000100]", {"cburst_ticks": 256}),
])
def test_class_of_htb_has_what_tc_prints_of_it(
        printed: str, changed: str, fields: dict[str, object]) -> None:
    """Sizes in bytes, bursts in ticks out of hexadecimal numbers; counters by their names."""
    one, = parse_classes(CLASS.replace(printed, changed, 1) if printed else CLASS, "up").htb
    expected = {"handle": "1:1", "parent": "root", "leaf": "10:", "prio": 0, "quantum_bytes": 1514,
                "rate": "20Mbit", "ceil": "32Mbit", "overhead_bytes": 0, "linklayer": "ethernet",
                "mpu_bytes": 0, "level": 0, "burst_ticks": 96_000, "cburst_ticks": 120_000,
                "counters": {"bytes": 1, "packets": 2, "drops": 3, "overlimits": 4, "requeues": 5,
                             "lended": 6, "borrowed": 7, "giants": 8, "tokens": -9, "ctokens": 10}}
    assert vars(one) == {**expected, **fields}


@pytest.mark.parametrize(("without", "names"), [
    ("lended: 6", "lended, borrowed, giants"), ("tokens: -9", "tokens, ctokens"),
    ("Sent 1", "bytes, packets, drops, overlimits, requeues")])
def test_class_without_one_of_its_counters_is_refused(without: str, names: str) -> None:
    with pytest.raises(ParseError, match=r"^up: class 1:1: tc's text lacks a counter, or has it in "
                                         rf"another form; expected {names}$"):
        parse_classes(CLASS.replace(without, "x"), "up")


def test_long_line_of_a_class_is_told_by_its_first_400_characters() -> None:
    """Whole, as long as tc's are."""
    line = "class cbq " + "x" * 500
    with pytest.raises(ParseError) as raised:
        parse_classes(f"{line}\n second", "up")
    assert str(raised.value) == (
        f"up: expected only classes of HTB, HFSC or DRR, got {line[:400]!r}")


@pytest.mark.parametrize(("kind", "words", "parameters"), [
    # of iproute2 6.19, a time or a number of packets under one name
    ("dualpi2", "limit 9p step_thresh 1ms", {"limit": "9p", "step-thresh-us": "1ms"}),
    ("dualpi2", "limit 9p step_thresh 5p", {"limit": "9p", "step-thresh-pkts": "5p"}),
    # old versions print the divisor behind the flows, and once more
    ("sfq", "limit 127p flows 128/1024 divisor 1024",
     {"limit": "127p", "flows": "128", "divisor": "1024"}),
    ("sfq", "limit 127p divisor 1024", {"limit": "127p", "divisor": "1024"}),
    ("pie", "flows 1/2", {"flows": "1/2"}),
    ("ingress", "----------------", {}),
    ("pfifo", "refcnt 2 limit 9p", {"limit": "9p"}),
    ("fq", "bands 3 priomap 1 2 2 2 buckets 9", {"bands": "3", "priomap": "1", "buckets": "9"}),
    ("pfifo", "limit", {"limit": ""}),
    # a queue of the user's own kernel
    ("mine", "limit 5p ecn", {"limit": "5p", "ecn": True}), ("mine", "noecn", {"ecn": False}),
])
def test_words_of_a_queue_are_names_with_a_value_and_switches(
        kind: str, words: str, parameters: dict[str, object]) -> None:
    """What tc prints beside them is no parameter."""
    [queue] = parse_qdiscs_text(
        f"qdisc {kind} 10: parent 1:1 {words} \n Sent 0 bytes 0 pkt (dropped 0, overlimits 0 "
        "requeues 0) \n backlog 0b 0p requeues 0\n", "up")
    assert queue.parameters == parameters


def test_first_line_of_another_report_is_told_by_40_characters() -> None:
    with pytest.raises(ParseError) as raised:
        parse_read_back(f"@{'x' * 41}\n@end\n")
    assert f"begins with '@{'x' * 40}'; expected '@format 2'" in str(raised.value)


@pytest.mark.parametrize("form", ["json", "text"])
def test_only_values_of_text_are_compared_as_printed(form: str) -> None:
    """JSON's are numbers: a text in their place is another value."""
    report = parse_read_back((GOLDEN / form / "codel.txt").read_text())
    assert {queue.printed for one in report.directions.values() for queue in one.qdiscs} == {
        form == "text"}
    text = (GOLDEN / "json" / "codel.txt").read_text()
    changed = text.replace('"limit":1000', '"limit":"1000p"')
    assert changed != text
    assert any("codel limit: asked for 1000 packets, the kernel reports 1000p" in line
               for line in differences(Scenario().but(aqm="codel", rate_down_mbps=100,
                                                      rate_up_mbps=20), parse_read_back(changed)))


def test_words_before_the_report_are_told() -> None:
    """Such as a shell's, which the report doesn't begin with."""
    with pytest.raises(ParseError, match=r"begins with 'sh: x: not found.*; expected '@format 2': "
                                         "does the router's shell print this when it starts"):
        parse_read_back(f"sh: x: not found\n{TEXT}")


@pytest.mark.parametrize(("text", "seen"), [
    ("@format 2", "ends with '@format 2'"), (f"{TEXT}bye\n", r"ends with '.*@end\\nbye'"),
    (TEXT.removesuffix("@end\n")[:-5], "ends with '")])
def test_end_of_the_report_is_told_as_it_is(text: str, seen: str) -> None:
    """It may be cut off, or something may follow it."""
    with pytest.raises(ParseError, match=f"{seen}.*; expected '@end': did the connection"):
        parse_read_back(text)


@pytest.mark.parametrize(("line", "is_card"), [
    ("@hardware device\n", True), ("@hardware none\n", False), ("", False)])
def test_network_card_is_told_from_a_virtual_device(line: str, is_card: bool) -> None:
    """One that says nothing of it is taken for virtual."""
    text = re.sub(r"@hardware .*\n", "", TEXT).replace("@txqueuelen", f"{line}@txqueuelen")
    assert {one.hardware for one in parse_read_back(text).directions.values()} == {is_card}


def test_words_before_the_first_queue_or_class_are_told() -> None:
    """Those before it, not its own line."""
    with pytest.raises(ParseError, match=r"^up: tc's list of qdiscs begins with 'odd'; expected"):
        parse_qdiscs_text("odd\nqdisc pfifo 10: root limit 9p\n", "up")
    with pytest.raises(ParseError, match=r"^up: tc's list of classes and filters begins with 'odd"):
        parse_classes(f"odd\n{CLASS}", "up")


def test_answer_that_is_nested_beyond_reason_is_refused() -> None:
    """A router's answer ended with an error of Python, and its text form was never asked for."""
    with pytest.raises(ParseError, match="eth0: tc's list of qdiscs is not valid JSON"):
        parse_qdiscs_json("[" * 100_000, "eth0")
