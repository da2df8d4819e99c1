# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines for tc, against those that a router gets: tests/golden/tc/words.txt.

A line of settings there, as in a batch, is followed by the lines for tc. After an intended change,
or for a new line of settings:

    KEEP_WORDS=1 .venv/bin/pytest tests/router/test_tc_words.py
"""

from __future__ import annotations

import json
import os

import pytest

from flent_aqm.router.hook import apply_words
from flent_aqm.router.tc.words import IN_LAB, Devices, tc_lines
from flent_aqm.spec.queues.table import QUEUES
from flent_aqm.spec.scenario import Scenario
from tests.files import GOLDEN

FILE = GOLDEN / "tc" / "words.txt"
SETTINGS = [line for line in FILE.read_text().splitlines() if line.startswith("{")]


def test_words_are_those_that_routers_get() -> None:
    """Each queue, parameter, shaper, place and topology."""
    scenarios = [Scenario.from_settings(json.loads(line)) for line in SETTINGS]
    text = "".join(f"{line}\n" + "".join(f"    {each}\n" for each in tc_lines(scenario))
                   for line, scenario in zip(SETTINGS, scenarios, strict=True))
    if os.environ.get("KEEP_WORDS"):
        FILE.write_text(text)
    assert text == FILE.read_text()
    assert {name for scenario in scenarios for name in scenario.router.queues} >= set(QUEUES)
    # each parameter; CAKE's of both its queues are the same
    for name, queue in QUEUES.items():
        names = {one for scenario in scenarios if scenario.router.aqm == (queue.per_queue or name)
                 for one, _ in scenario.router.aqm_parameters}
        assert names == set(queue.parameters), name


@pytest.mark.parametrize("line", SETTINGS)
def test_words_name_the_routers_own_devices(line: str) -> None:
    """And no device of the lab's."""
    scenario = Scenario.from_settings(json.loads(line))
    lines = tc_lines(scenario, Devices("br-lan", "wan.7"))
    assert {each.split(" dev ")[1].split()[0] for each in lines} == (
        {"br-lan", "wan.7"} | ({"flent-ifb"} if scenario.router.ingress == "ifb" else set()))
    assert [each.replace("br-lan", "down").replace("wan.7", "up") for each in lines] == (
        tc_lines(scenario, IN_LAB))


def test_each_queue_is_tried_out_with_what_it_takes() -> None:
    """Both where they differ; tc needn't know one of the user's own kernel."""
    scenario = Scenario.from_settings({
        "aqm": "codel", "aqm_ecn": 1, "up_aqm": "cake", "rate_mbps": 20, "txqueuelen": 7})
    words = apply_words(scenario, Devices("a", "b"))
    assert words[:words.index("--")] == [
        "dev_down=a", "dev_up=b", "txqueuelen=7",
        f"requires={QUEUES['codel'].requires}", "try=codel ecn",
        f"requires={QUEUES['cake'].requires}", "try=cake unlimited"]
    own = apply_words(Scenario.from_settings({"aqm": "mine", "kernel": "k", "rate_mbps": 20}))
    assert own[0] == "foreign=yes"
    assert own[1].startswith("requires=a kernel with sch_mine, ")
    assert own[2:4] == ["try=mine", "--"]
