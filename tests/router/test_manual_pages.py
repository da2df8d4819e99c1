# SPDX-License-Identifier: GPL-3.0-or-later
"""Every word of tc's manual pages of the queues and shapers can be given, or is told why not.

The pages are those of the installed iproute2, and tc's own usage, which has words that the pages
lack.
"""

from __future__ import annotations

import gzip
import re
import subprocess
from pathlib import Path

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.base.paths import find_cached
from flent_aqm.spec.queues.shapers import KEYS_FOR_WORDS, NOT_SETTABLE, SHAPER_PARAMETERS
from flent_aqm.spec.queues.table import OF_KIND, QUEUES
from flent_aqm.spec.queues.values import rate_bytes_per_s
from flent_aqm.spec.scenario import Scenario

FOLDER = Path("/usr/share/man/man8")
KINDS = sorted({*OF_KIND, *SHAPER_PARAMETERS, "hfsc"} - {"cake_mq"})
# Words of the synopsis that stand for a value, or are of tc as a whole.
PLACEHOLDERS = {
    "add", "and", "as", "at", "be", "bu", "bytes", "can", "cell", "chance", "class", "classid",
    "curve", "delay", "description", "divisor", "first", "float", "hashtablesize", "index", "int",
    "intersection", "is", "known", "least", "linkshare", "major", "maximum", "milliseconds",
    "minor", "minor-id", "ms", "must", "no", "number", "of", "one", "only", "or", "packets", "per",
    "please", "priority", "qdisc", "rate", "realtime", "second", "seconds", "section", "see",
    "segment", "service", "slope", "specified", "tc", "the", "unit", "upperlimit", "with", "work",
    "x-coordinate", "also", "marks", "defaults", "blue", "dev", "chosen", "root",
}
# Words that stand at the beginning of a line of a page and are none of tc's, names of other queues,
# and words of a usage that tc doesn't take (HTB's slots).
PROSE = {
    "fq_codel": {"codel"}, "htb": {"tc-pfifo", "tc-tbf", "slot", "pslot"}, "tbf": {"tokens"},
    "sfb": {"bucketdrop", "earlydrop", "marked", "maxprob", "maxqlen", "queuedrop", "ratedrop"},
    "bfifo": {"ifconfig", "ip", "pfifo", "fifo", "pfifo_head_drop"},
    "pfifo": {"ifconfig", "ip", "bfifo", "fifo", "pfifo_head_drop"},
}


def page_words(kind: str) -> set[str]:
    """Return the words of the synopsis, and those that head a paragraph of the description."""
    path = FOLDER / f"tc-{kind}.8.gz"
    if not path.exists():
        return set()
    text = gzip.decompress(path.read_bytes()).decode()
    if redirected := re.match(r"\.so man8/(tc-\w+\.8)", text):
        text = gzip.decompress((FOLDER / f"{redirected[1]}.gz").read_bytes()).decode()
    words: set[str] = set()
    section, heads = "", False
    for line in text.splitlines():
        plain = re.sub(r"\\f[A-Z]|\\&", "", line).replace("\\-", "-").replace('"', "")
        if line.startswith(".SH"):
            section = plain[3:].strip()
        elif section.startswith("SYNOPSIS"):
            body = re.sub(r"^\.[A-Za-z]{1,2}\b", "", plain)
            words |= set(re.findall(r"(?<![\w.-])[a-z][a-z0-9_-]*[a-z0-9](?![\w:])", body))
        elif not section.startswith(("EXAMPLE", "SEE", "AUTHOR", "NAME", "SOURCES", "NOTES")):
            starts = re.match(r"(?:\.(?:B|BR|BI|RB|SS)\s+)?([a-z][a-z0-9_-]*[a-z0-9])\b", plain)
            if starts and (heads or (line.startswith(".") and len(plain.split()) <= 3)):
                words.add(starts[1])
            heads = line.startswith(".TP")
    return words


def usage_words(kind: str) -> set[str]:
    """Return the words of `tc qdisc add ... help`, without values, which are in capitals there."""
    new_tc = find_cached("new-tc", "tc")
    usage = subprocess.run([new_tc or "tc", "qdisc", "add", "dev", "lo", "root", kind, "help"],
                           capture_output=True, text=True, check=False).stderr
    form = "\n".join(line for line in usage.splitlines()
                     if "Usage" in line or line.lstrip().startswith(("[", "...")))
    # [no]ecn and horizon_{cap|drop} stand for two words each
    form = re.sub(r"\[(no_?)\](\w+)", r"\2 \1\2", form)
    form = re.sub(r"(\w+_)\{(\w+)\|(\w+)\}", r"\1\2 \1\3", form)
    return set(re.findall(r"(?<![\w.-])[a-z][a-z0-9_-]*[a-z0-9](?![\w:])", form))


def said(kind: str) -> set[str]:
    """Return the words that a batch can give, or that a table says why not."""
    parameters = (OF_KIND[kind].parameters if kind in OF_KIND
                  else SHAPER_PARAMETERS.get(kind, {}))
    return {kind, *KEYS_FOR_WORDS.get(kind, {}), *NOT_SETTABLE.get(kind, {}),
            *(word for name, one in parameters.items()
              for word in (one.tc_name(name), *one.tc_switches()))}


@pytest.mark.parametrize("kind", KINDS)
def test_each_word_of_the_page_can_be_given(kind: str) -> None:
    """By a parameter, by another key, or it is told that nothing gives it."""
    words = page_words(kind)
    if not words:
        pytest.skip(f"this iproute2 has no page of {kind}")
    assert words & said(kind) - {kind}  # the page was understood
    assert words - said(kind) - PLACEHOLDERS - PROSE.get(kind, set()) == set()


@pytest.mark.parametrize("kind", KINDS)
def test_each_word_of_tcs_usage_can_be_given(kind: str) -> None:
    """As of the page."""
    words = usage_words(kind)
    if not words:
        pytest.skip(f"this tc has no {kind}")
    assert words - said(kind) - PLACEHOLDERS - PROSE.get(kind, set()) == set()


def test_words_that_are_told_of_are_no_parameters() -> None:
    """Each is in one table only."""
    for kind in {*KEYS_FOR_WORDS, *NOT_SETTABLE}:
        parameters = (OF_KIND[kind].parameters if kind in OF_KIND
                      else SHAPER_PARAMETERS.get(kind, {}))
        own = {word for name, one in parameters.items()
               for word in (one.tc_name(name), *one.tc_switches())}
        assert not own & ({*KEYS_FOR_WORDS.get(kind, {})} | {*NOT_SETTABLE.get(kind, {})})


@pytest.mark.parametrize(("settings", "message"), [
    ({"aqm": "cake", "aqm_atm": 1}, "give it as aqm_linklayer = atm"),
    ({"aqm": "cake", "aqm_nonat": True}, "give it as aqm_nat = no"),
    ({"aqm": "cake", "aqm_nonat": False}, "give it as aqm_nat = yes"),
    ({"aqm": "cake", "aqm_split-gso": "no"}, "give it as aqm_split_gso = no"),
    ({"aqm": "cake", "aqm_no-split-gso": "yes"}, "give it as aqm_split_gso = no"),
    ({"aqm": "cake", "aqm_ack-filter": "aggressive"}, "give it as aqm_ack_filter = aggressive"),
    ({"aqm": "cake", "aqm_besteffort": "no"}, "ingress, autorate_ingress\n"),
    ({"aqm_up": "cake"}, "known: limit; the upload's queue is up_aqm, the download's is aqm\n"),
    ({"aqm": "mine", "kernel": "mine", "aqm_ecn": True},
     "give it as aqm_options = ecn 1, or if it is a switch without the value\n"),
    ({"aqm": "mine", "kernel": "mine", "aqm_up": "5"}, "give it as aqm_options = up 5\n"),
    ({"aqm": "cake", "aqm_bandwidth": "5mbit"}, "use rate_mbps, with shaper = cake instead"),
    ({"aqm": "cake", "aqm_options": "bandwidth 5mbit"}, ("use rate_mbps, with shaper = cake "
                                                        "instead")),
    ({"aqm": "cake", "aqm_options": "amt"}, ("cake has no option 'amt' that flent-aqm knows; did "
                                             "you mean")),
    ({"aqm": "cake", "aqm_options": "atm ptm"}, ("'ptm' sets linklayer, which an earlier word has "
                                                "set")),
    ({"aqm": "cake", "aqm_options": "overhead"}, ("overhead lacks its value; expected overhead "
                                                 "VALUE")),
    ({"aqm": "fq_codel", "aqm_options": "limit target 5ms"}, ("limit lacks its value before "
                                                             "target; expected limit VALUE")),
    ({"aqm": "cake", "aqm_options": "rtt internet"}, ("internet stands alone, without rtt before "
                                                     "it; leave rtt out")),
    ({"aqm": "cake", "aqm_options": "lan", "aqm_rtt": "5ms"}, "given twice"),
    ({"aqm": "cake", "aqm_overhead": 257}, "expected either one number of bytes from -64 to 256"),
    ({"aqm": "cake", "aqm_options": "overhead 18 ether-vlan"}, "ether-vlan, and not both"),
    ({"aqm": "cake", "aqm_overhead": "44 atm"}, "and not both; atm is a value of linklayer"),
    ({"aqm": "red", "aqm_options": "qevent mark block 5"}, "flent-aqm doesn't set it"),
    ({"shaper_offload": 1}, "flent-aqm doesn't set it: it leaves the work to a network card"),
    ({"aqm_options": "stab linklayer atm"}, "use shaper_overhead, shaper_mpu and shaper_linklayer"),
    ({"shaper_stab": 1}, "use shaper_overhead, shaper_mpu and shaper_linklayer"),
    ({"shaper": "tbf", "shaper_peakrate": "20mbit"}, "tbf_burst_ms sets how long a burst may be"),
    ({"shaper": "hfsc", "shaper_rt": "1mbit"}, "here each class has one curve with one slope"),
    ({"shaper": "tbf", "shaper_options": "mpu 64"}, "give each as a key, such as shaper_mpu = "),
    ({"shaper": "none", "shaper_overhead": 4},
     ("shaper_overhead: shaper = none has no parameters; leave shaper_overhead out (of shaper = "
      "htb and tbf it is a parameter)\n")),
    ({"shaper": "hfsc", "shaper_r2q": 4}, "leave shaper_r2q out (of shaper = htb it is a par"),
    ({"aqm": "cake", "shaper": "cake", "shaper_overhead": 4}, "out, or give it as aqm_overhead\n"),
    ({"shaper": "none", "shaper_stab": 1}, "; leave shaper_stab out; use shaper_overhead, "),
    ({"shaper_burst": "4KB", "burst_shaping": 1},
     "shaper_burst: burst_shaping sets burst and cburst; leave out shaper_burst, or burst_shaping"),
    ({"shaper_prio": 1, "tiers": 3}, "shaper_prio: with tiers = 3 each class has a priority"),
    ({"shaper_linklayer": "adsl"}, "expected one of ethernet, atm"),
    ({"aqm": "fq_codel", "aqm_ce_threshold_selector": "1"}, "expected VALUE/MASK"),
    ({"aqm": "fq", "aqm_maxrate": "5"}, "with its unit and without a blank, such as 512k"),
    # 2^32 - 1 bytes/s is fq's word for no limit, and tc doesn't show it.
    ({"aqm": "fq", "aqm_maxrate": "34359738360bit"}, "per second below 34359738360bit"),
])
def test_word_that_can_t_stand_there_is_refused_with_the_way_out(
        settings: dict[str, object], message: str) -> None:
    """One line."""
    with pytest.raises(ConfigError) as refused:
        Scenario.from_settings(settings)
    assert message in f"{refused.value}\n"


def test_greatest_rate_of_a_queue_is_taken() -> None:
    """Below 2^32 - 1 bytes/s."""
    assert rate_bytes_per_s("34359738352bit") == 2**32 - 2


def test_words_of_tc_and_keys_say_the_same() -> None:
    """And a file has the same of both."""
    words = Scenario.from_settings({
        "aqm": "cake", "aqm_options": "atm overhead 44 nat dual-srchost rtt 20ms"})
    keys = Scenario.from_settings({
        "aqm": "cake", "aqm_linklayer": "atm", "aqm_overhead": 44, "aqm_nat": 1,
        "aqm_isolation": "dual-srchost", "aqm_rtt": "20ms"})
    assert words == keys
    assert Scenario.from_json(words.as_json()) == words


def test_no_two_parameters_of_a_queue_share_a_word() -> None:
    """Else words could not be taken apart."""
    for name, queue in QUEUES.items():
        words = [word for one, about in queue.parameters.items()
                 for word in (about.tc_name(one), *about.tc_switches()) if word]
        assert len(words) == len(set(words)), name
