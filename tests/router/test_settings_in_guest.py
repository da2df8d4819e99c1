# SPDX-License-Identifier: GPL-3.0-or-later
"""Parameters, shapers, tiers, ingress and txqueuelen, set and proved in the lab's kernel."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.router.hook import apply_command, read_back_command
from flent_aqm.router.proof import differences
from flent_aqm.router.tc.read_back import parse_read_back
from flent_aqm.router.tc.words import tc_lines
from flent_aqm.spec.cell import derive_seed
from flent_aqm.spec.queues.table import QUEUES
from flent_aqm.spec.scenario import Scenario

from ..on_router import UNDO
from . import test_tc_words as words

InGuest = Callable[..., str]

# Values that the kernel or tc rounds, bounds or derives others from. Of one set of hosts, and of
# the stock kernel.
SETTINGS = [requested for requested in map(json.loads, words.SETTINGS)
            if not {"topology", "kernel", "tx_queues"} & requested.keys()]


def scenario(settings: dict[str, object]) -> Scenario:
    """With rates that end in a fraction of what tc prints."""
    return Scenario.from_settings({**settings, "rate_down_mbps": 100.7, "rate_up_mbps": 20})


@pytest.mark.lab
@pytest.mark.parametrize(("new_tc", "part"), [(False, 0), (False, 1), (True, 0)],
                         ids=["half", "other half", "dualpi2"])
def test_settings_when_applied_are_proved_and_undone(
        in_guest: InGuest, new_tc: bool, part: int) -> None:
    """Each reads back as computed, from tc's JSON and from its text, differs from the one before
    it, and the last one leaves neither queues nor an IFB behind when it is undone."""
    requested = [each for each in map(Scenario.from_settings, SETTINGS)
             if new_tc == any(QUEUES[aqm].needs_new_tc for aqm in each.router.queues)]
    # all of them are more than a command line holds
    half = len(requested) // 2
    requested = requested if new_tc else requested[half:] if part else requested[:half]
    code = "on_router tc qdisc >/tmp/qdiscs; on_router ip -o link | cut -c-40 >/tmp/links\n"
    for each in requested:
        code += shlex.join(apply_command(each)) + " || exit\n"
        for more in ("", " tc_json=no"):
            code += shlex.join(read_back_command(each)) + more + " || exit\n"
    code += f"{UNDO} || exit\n"
    code += ("on_router tc qdisc | cmp - /tmp/qdiscs && "
             "on_router ip -o link | cut -c-40 | cmp - /tmp/links && echo same")
    printed = in_guest(code, requested[0].router.aqm)
    texts = re.findall(r"@format .*?@end\n", printed, re.DOTALL)
    assert len(texts) == 2 * len(requested)
    for of_one_format in (texts[::2], texts[1::2]):
        reports = [parse_read_back(text) for text in of_one_format]
        assert [differences(*pair) for pair in zip(requested, reports, strict=True)] == [
            [] for _ in requested]
        assert all(differences(one, report)
                   for one, report in zip(requested, reports[1:], strict=False))
    assert printed.endswith("same\n")


@pytest.mark.lab
def test_three_tiers_when_all_want_the_rate_share_it_as_stated(in_guest: InGuest) -> None:
    """EF no more than a third, background a fifth; alone, background has nearly all."""
    tiers = scenario({"aqm": "fq_codel", "tiers": 3})
    printed = in_guest(f"""
        {shlex.join(apply_command(tiers))} || exit
        counts() {{ on_router tc -s class show dev up | grep -A1 '1:1[123] ' |
            sed -n 's/^class htb \\(1:1.\\).*/\\1/p; s/ *Sent \\([0-9]*\\) .*/\\1/p'; }}
        ip netns exec server sh -c 'for port in 1 2 3; do iperf3 -s -D -p 530$port; done'
        sleep 1
        iperf3 -c server -p 5303 -S 0x20 -t 3 >/dev/null || exit
        counts
        iperf3 -c server -p 5301 -S 0xb8 -t 4 >/dev/null &
        iperf3 -c server -p 5302 -t 4 >/dev/null &
        iperf3 -c server -p 5303 -S 0x20 -t 4 >/dev/null
        wait
        counts
    """).split()
    alone, together = (dict(zip(part[::2], map(int, part[1::2]), strict=True))
                       for part in (printed[:6], printed[6:]))
    sent = {handle: together[handle] - alone[handle] for handle in together}
    shares = {handle: count / sum(sent.values()) for handle, count in sent.items()}
    assert alone["1:13"] > 0.9 * 3 * 20e6 / 8
    assert shares["1:11"] == pytest.approx(0.33, abs=0.03)
    assert shares["1:13"] == pytest.approx(0.20, abs=0.04)


@pytest.mark.parametrize(("settings", "message"), [
    ({"tbf_burst_ms": 5}, "tbf_burst_ms: needs shaper = tbf, not htb"),
    ({"shaper": "tbf", "tbf_burst_ms": 0}, "tbf_burst_ms: 0 ms is out of range"),
    ({"ndt7_cc": "bbr2"}, "'bbr2'; did you mean 'bbr'? Known: bbr, cubic, reno"),
    ({"aqm": "fq_codle"}, "aqm: unknown value 'fq_codle'; did you mean 'fq_codel'? Known: no_aqm"),
    ({"ndt7_cc": "reno", "ndt7_server": "mlab"}, ("ndt7_cc: reno can't be set with ndt7_server = "
                                                 "mlab")),
    ({"ndt7_cc": "reno", "testbed": "ssh://r"}, "server by hand with --congestion-control"),
    ({"aqm": "codel", "aqm_taget": "5ms"}, "aqm_taget: codel has no such parameter; known: limit"),
    ({"aqm": "codel", "aqm_target": "5"}, "with its unit and without a blank"),
    ({"aqm": "no_aqm", "aqm_limit": "-3"}, "whole number"),
    ({"aqm": "no_aqm", "aqm_limit": "3; reboot"}, "whole number"),
    ({"aqm": "codel", "aqm_limit": 0}, "aqm_limit: '0' for codel: 0 is not allowed"),
    ({"aqm": "fq_pie", "aqm_target": "0ms"}, "omit it for the default, or give a larger"),
    ({"aqm": "fq_pie", "aqm_target": "0.5us"}, "'0.5us' for fq_pie: it is rounded down to 0, whi"),
    ({"aqm": "codel", "aqm_options": "target 0ms"}, "aqm_options: target: '0ms' for codel: 0 is not"
     ),
    ({"aqm": "codel", "aqm_options": "a,b"}, "aqm_options: 'a,b': expected words of letters"),
    ({"aqm": "cake", "aqm_diffserv": False},
     "aqm_diffserv: 0 (no, off and false count as 0) for cake: expected one of diffserv3"),
    ({"shaper_quantum": False},
     "shaper_quantum: 0 (no, off and false count as 0) for htb: expected a whole number from 1"),
    ({"aqm_target": "5ms"}, "known: limit; for a parameter of another queue, give aqm, too"),
    ({"up_aqm_target": "5ms"}, "for a parameter of another queue, give up_aqm, too"),
    ({"shaper": "cake"}, "but aqm is no_aqm; give aqm = cake or cake_mq, or another shaper"),
    ({"aqm": "cake_mq", "tx_queues": 2}, "but shaper is htb; give shaper = cake or none"),
    # A remedy that would be refused next isn't named.
    ({"aqm": "cake_mq", "tx_queues": 2, "shaper": "none", "burst_shaping": "yes"},
     "burst_shaping: needs shaper = htb, not none; leave burst_shaping out"),
    ({"shaper": "hfsc", "tiers": 3, "burst_shaping": "yes"}, "not hfsc; leave burst_shaping out"),
    ({"shaper": "none", "burst_shaping": "yes"}, "not none; give that, or leave burst_shaping out"),
    ({"aqm": "cake_mq", "tx_queues": 2, "shaper": "none", "tiers": 3}, "not none; leave tiers out"),
    ({"shaper": "tbf", "tiers": 3}, "not tbf; give one of these, or leave tiers out"),
    ({"shaper": "htb", "tiers": 3, "tbf_burst_ms": 5}, "not htb; leave tbf_burst_ms out"),
    ({"shaper": "htb", "tbf_burst_ms": 5}, "not htb; give that, or leave tbf_burst_ms out"),
    ({"aqm": "cake_mq", "shaper": "none", "topology": "clients:2"},
     "or leave topology out and give tx_queues, such as tx_queues = 4"),
    ({"testbed": "ssh://r", "aqm": "choke"}, "unknown value 'choke'"),
    ({"link_loss": "1%", "link_down_loss": "no", "modem_mbps": 9},
     "; for none in this direction, give the other direction's key, and not link_loss"),
    ({"modem_mbps": 20, "modem_up_mbps": 0},
     "; both directions have one, or neither: for none, leave out the keys of both and modem_mbps"),
    # With shaper = cake, the download's queue would be refused next.
    ({"up_aqm": "cake_mq", "aqm": "fq_codel", "tx_queues": 2}, "is htb; give shaper = none"),
    ({"aqm": "sfb", "aqm_increment": ".5"}, "expected a number from 0 to 1 in the form 0.02"),
    ({"aqm": "red", "aqm_probability": "2%"},
     "expected a number from 0 to below 1 in the form 0.02"),
    ({"aqm": "dualpi2", "aqm_alpha": ".5"}, "expected a number in the form 2 or 0.5"),
    ({"aqm": "dualpi2", "aqm_step_thresh": "0p"}, "or a number of packets, 1 or more"),
    ({"aqm": "codel", "aqm_target": "4295s"}, "expected a time of 4294.967295 s at most"),
    ({"aqm": "codel", "aqm_target": "5 ms"}, "with its unit and without a blank"),
    ({"aqm": "bfifo", "aqm_limit": "15 KB"}, "a size in bytes below 4 GB, without a blank"),
    ({"aqm": "codel", "aqm_limit": "-1"}, "a whole number without a sign, 2^32 - 1 at most"),
    ({"aqm": "red", "aqm_probability": 1}, "expected a number from 0 to below 1 in the form 0.02"),
    ({"aqm": "codel", "up_aqm": "pie", "up_aqm_taget": "5ms"}, "up_aqm_taget: pie has no such"),
    ({"aqm": "cake", "aqm_diffserv": "diffserv5"}, "one of diffserv3"),
    ({"aqm": "codel", "shaper": "cake"}, "give aqm = cake"),
    ({"aqm": "codel", "shaper": "tbf", "burst_shaping": 1}, "burst_shaping: needs shaper = htb"),
    ({"aqm": "codel", "shaper": "tbf", "tiers": 3}, "tiers: 3 needs shaper = htb or hfsc"),
    ({"aqm": "codel", "shaper": "hfsc", "burst_shaping": 1}, "burst_shaping: needs shaper = htb"),
    ({"aqm": "codel", "burst_shaping": 1, "tiers": 3}, "can't be combined with burst_shaping"),
    ({"aqm": "codel", "tiers": 2}, "known: 1, 3"),
    ({"aqm": "codel", "ingress": "wan"}, "known: lan, ifb"),
    ({"aqm": "codel", "txqueuelen": "many"}, "txqueuelen: 'many'"),
    ({"tx_queues": 0}, "tx_queues: '0' is not a whole number from 1 to 16"),
    ({"tx_queues": "17"}, "tx_queues: '17' is not"),
    ({"tx_queues": 2, "testbed": "ssh://r"}, "tx_queues: a router behind ssh has"),
    ({"aqm": "cake_mq", "tx_queues": 2}, "aqm: cake_mq works only on the device's own queues"),
    ({"aqm": "cake_mq", "shaper": "cake"}, "give tx_queues from 2 to 16"),
    ({"aqm": "cake", "up_aqm": "cake_mq", "shaper": "cake", "tx_queues": 1}, "up_aqm: cake_mq is"),
    ({"aqm": "cake_mq", "shaper": "none", "tx_queues": 2, "ingress": "ifb"}, (
        "aqm: cake_mq needs ingress = lan: with ingress = ifb the download is shaped on an IFB")),
    ({"aqm": "cake_mq", "up_aqm": "cake", "shaper": "cake", "tx_queues": 2, "ingress": "ifb"},
     "aqm: cake_mq needs ingress = lan"),
    ({"aqm": "cake", "up_aqm": "codel", "shaper": "cake"}, "up_aqm is codel; give up_aqm = cake"),
    ({"aqm": "pfifo"}, "aqm: the qdisc pfifo is called no_aqm here; give aqm = no_aqm"),
    ({"up_aqm": "pfifo", "kernel": "mine"}, "up_aqm: the qdisc pfifo is called no_aqm here"),
    ({"aqm": "codell"}, "did you mean 'codel'? Known: no_aqm, bfifo, red"),
])
def test_settings_when_wrong_are_refused_on_entry(
        settings: dict[str, object], message: str) -> None:
    """One line that names the key and what was expected."""
    with pytest.raises(ConfigError) as raised:
        scenario(settings)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_upload_has_its_own_queues_if_the_download_is_on_the_ifb_device() -> None:
    """Only the IFB device has a single queue, and it shapes the download."""
    ifb = scenario({"aqm": "cake", "up_aqm": "cake_mq", "shaper": "cake", "tx_queues": 2,
                    "ingress": "ifb", "rate_mbps": 20})
    assert "qdisc replace dev up root handle 10: cake_mq bandwidth 20000000bit" in tc_lines(ifb)
    assert any(line.startswith("qdisc replace dev flent-ifb root handle 10: cake ")
               for line in tc_lines(ifb))


def test_seed_follows_from_what_differs_from_the_defaults() -> None:
    """So a new setting leaves the seeds of runs without it: this one is of version 0.2.0."""
    plain = Scenario().but(aqm="codel")
    assert derive_seed("ndt7", plain, 1) == 2_959_408_762_987_353
    requested = scenario({"aqm": "codel", "aqm_target": "10ms", "tiers": 3})
    assert Scenario.from_json(requested.as_json()) == requested
    assert derive_seed("ndt7", Scenario().but(aqm="codel", aqm_parameters=(("target", "10ms"),)),
                       1) != derive_seed("ndt7", plain, 1)
