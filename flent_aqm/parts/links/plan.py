# SPDX-License-Identifier: GPL-3.0-or-later
"""Path model "links": plan the kernel's link qdisc (sch_lablink) on the modem's devices.

The settings are written for the guest, and the kernel's counters reported. The settings depend only
on the scenario's settings, its seed and the content of the trace file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flent_aqm.base.errors import ConfigError
from flent_aqm.lab.path_model import counters
from flent_aqm.parts.links.keys import NS, Loss, parse_seeded
from flent_aqm.spec.model_words import device_line
from flent_aqm.spec.scenario import Scenario

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from flent_aqm.parts.links.schedule import Schedule

WAYS = ("down", "up")
_FOLDER = "link"
# Direction -> the modem's device that sends in it.
_DEVICES = {"down": "lan", "up": "wan"}
_HEADER_BYTES = 14
# A run's schedules begin up to this long before its test, which waits for a full second.
_BEFORE_TEST_S = 1


@dataclass(frozen=True)
class LinkPlan:
    """Settings of one direction of a link.

    Attributes:
        schedule: the schedule, None for a link without a limit of rate.
        lead_ns: shortest time from a packet's arrival to its departure, because the sender requests
            capacity first.
        cycle_ns: length of a cycle, at whose end the link sends what it could have carried in it.
            0: it sends continuously.
        jitter_ns: greatest random delay.
        loss: model of random loss, None without loss.
        limit_bytes: size of the buffer. 0: not limited in bytes.
        limit_packets: size of the buffer. 0: not limited in packets.
        seed: seed of the kernel's random numbers.
        about: description of the link for the data file. Its mean rate is that before access and
            outages.
        dead_ns: time from which a trace that doesn't repeat lets nothing pass. 0: never.
        again_ns: time at which outages, or the steps of a trace that holds, begin again, because
            the schedule was computed up to then. 0: never.
    """

    schedule: Schedule | None
    lead_ns: int = 0
    cycle_ns: int = 0
    jitter_ns: int = 0
    loss: Loss | None = None
    limit_bytes: int = 0
    limit_packets: int = 0
    seed: int = 0
    about: Mapping[str, object] = field(default_factory=dict)
    dead_ns: int = 0
    again_ns: int = 0

    def line(self, device: str, file: str) -> str:
        """Return the device's line for /sys/module/sch_lablink/parameters/link: "DEVICE NAME=VALUE
        …", without values that are 0.

        Args:
            device: name of the device.
            file: path of the packed schedule in the guest, ignored without a schedule.
        """
        loss = self.loss or Loss()
        values: dict[str, int | str] = {
            "limit_bytes": self.limit_bytes, "limit_packets": self.limit_packets,
            "lead_ns": self.lead_ns, "jitter_ns": self.jitter_ns, "seed": self.seed,
            **({"ge_p": _to_kernel_share(loss.p), "ge_r": _to_kernel_share(loss.r),
                "ge_bad": _to_kernel_share(loss.bad),
                "ge_good": _to_kernel_share(loss.good)} if loss.p or loss.good else {}),
        }
        if self.schedule is not None:
            values |= {"period_ns": self.schedule.period_ns,
                       "frame_bytes": 0 if self.schedule.counts_frames else _HEADER_BYTES,
                       "file": file}
        return device_line(device, values)


def _to_kernel_share(share: float) -> int:
    """Return a share from 0 to 1 as the kernel's module takes it: in units of 2^-32, so that 1
    becomes 2^32."""
    return round(share * 2**32)


def link_plans(scenario: Scenario) -> dict[str, LinkPlan]:
    """Return the plan of each direction, by "down" and "up". Empty if all keys of the link have
    their defaults.

    Raises ConfigError if the keys don't fit together, if TCP would starve on the link (after the
    end of a trace that ends, refuse_link_that_ends() checks that), if a schedule gets too many
    steps, or if a trace is wrong or can't be read. If a line of a trace file is wrong, the message
    has its line and column.
    """
    if not scenario.record("link").is_there:
        return {}
    # Imported here, because most runs have no link, and loading numpy takes as long as half a boot.
    from flent_aqm.parts.links.laid_out import lay_out

    return {direction: lay_out(scenario, direction) for direction in WAYS}


def refuse_link_that_ends(scenario: Scenario, length_s: float) -> None:
    """Raise ConfigError if a trace that doesn't repeat leaves the link dead before the run ends, or
    if outages or a trace that holds would begin again in it. A trace that holds a rate after its
    end is accepted. The link has to last for the test and the second before it, in which the
    schedule may begin. Raises ConfigError also where link_plans() does.

    Args:
        scenario: settings of the run.
        length_s: length of the run's test.
    """
    link = scenario.record("link")
    needed_s = length_s + _BEFORE_TEST_S
    # With all digits, so that a time isn't shown as the one that it should have.
    seen = (f"and the run lasts {length_s:.12g} s, {needed_s:.12g} s with the second before its "
            "test")
    for direction, plan in link_plans(scenario).items():
        key, shown = f"link_{direction}_trace", link.shown_key(direction, "link_trace")
        if 0 < plan.dead_ns < needed_s * NS:
            from flent_aqm.parts.links.schedule import ROUND_S

            # Outages of a trace that repeats begin again, too.
            repeat = ("" if link.link_outages_s and needed_s > ROUND_S
                      else ", or link_trace_end = repeat")
            raise ConfigError(
                f"{shown}: {link.of(direction, 'link_trace')} ends after "
                f"{plan.dead_ns / NS:.12g} s, "
                f"{seen}; give a longer trace{repeat}", key)
        if 0 < plan.again_ns < needed_s * NS:
            if link.link_outages_s:
                key = shown = "link_outages_s"
            raise ConfigError(
                f"{shown}: {'the outages begin' if link.link_outages_s else 'the trace begins'} "
                f"again after {plan.again_ns / NS:.12g} s, {seen}; "
                f"expected a run of {plan.again_ns / NS - _BEFORE_TEST_S:.12g} s at most with "
                f"{'a trace that repeats or ' if link.link_outages_s else ''}link_access", key)


class LinkModel:
    """Links of the modem that play a schedule. The methods are documented in lab/path_model.py.

    Attributes:
        name: name of the model's object in a data file.
        script: path of the model's shell script, which the guest runs.
    """

    name = "links"
    script = Path(__file__).parent / "guest" / "link.sh"

    def write(self, folder: Path, scenario: Scenario, in_guest: str) -> dict[str, str]:
        """Write the packed schedules to `folder`/link/down and up, where a direction has one.
        Return the guest's shell variables: MODEM (the script's file name), LINK_DOWN and LINK_UP
        (lines for the kernel's module, see LinkPlan.line()).

        Args:
            folder: the run's folder.
            scenario: settings of the run.
            in_guest: path of `folder` as the guest sees it.

        Raises ConfigError where link_plans() does.
        """
        variables = {"MODEM": self.script.name}
        for direction, plan in link_plans(scenario).items():
            if plan.schedule is not None:
                (folder / _FOLDER).mkdir(exist_ok=True)
                (folder / _FOLDER / direction).write_bytes(plan.schedule.packed())
            variables[f"LINK_{direction.upper()}"] = plan.line(
                _DEVICES[direction], f"{in_guest}/{_FOLDER}/{direction}")
        return variables

    def report(self, scenario: Scenario, counted: str) -> dict[str, object]:
        """Return direction ("down", "up") -> description of the link, with the kernel's counters
        under "counters", by name (empty if `counted` has no line for the device). Empty if all keys
        of the link have their defaults.

        Args:
            scenario: settings of the run.
            counted: output of the guest's script, a line per device: "DEVICE NAME=NUMBER …".

        Raises ConfigError where link_plans() does.
        """
        lines = {words[0]: words[1:] for words in map(str.split, counted.splitlines()) if words}
        return {direction: {**plan.about, "counters": counters(lines.get(_DEVICES[direction], []))}
                for direction, plan in link_plans(scenario).items()}

    def refuse(self, scenario: Scenario, length_s: float) -> None:
        """Refuse a run that lasts longer than its link can, as refuse_link_that_ends() does: its
        trace ends and lets nothing more pass, or outages or a held trace begin again in it.

        Args:
            scenario: settings of the run.
            length_s: length of the run's test.

        Raises ConfigError where that function does.
        """
        refuse_link_that_ends(scenario, length_s)

    def files(self, requested: Mapping[str, Any], reported: object
              ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the key of each requested trace file (link_down_trace, link_up_trace), with that
        direction's description from `reported`. Its entries "trace", "size_bytes" and "sha256" are
        about the file. It is empty if the data file has none. Seeded traces are left out.

        Args:
            requested: batch keys of the run and their values.
            reported: what report() returned, from the data file. None if it isn't there.

        Raises ConfigError if a seeded trace is wrong.
        """
        for direction in WAYS:
            key = f"link_{direction}_trace"
            text = requested.get(key)
            if text not in (None, "") and parse_seeded(key, str(text)) is None:
                yield key, _description(reported, direction)

    def own_delays_ns(self, scenario: Scenario, reported: object, direction: str,
                      arrived_ns: NDArray[Any], left_ns: NDArray[Any]) -> NDArray[Any] | None:
        """Return how much of each packet's time in the link is the link's own delay, see
        own_delay.own_delays_ns(). None without a link, or if its counters don't tell when its
        schedule began.

        Args:
            scenario: settings of the run.
            reported: what report() returned, from the data file. None if it isn't there.
            direction: "down" or "up".
            arrived_ns, left_ns: when each packet arrived and left, in ns since the epoch.

        Raises ConfigError where link_plans() does.
        """
        counted = _description(reported, direction).get("counters")
        start_ns = counted.get("start_ns") if isinstance(counted, dict) else None
        plan = link_plans(scenario).get(direction)
        if plan is None or not isinstance(start_ns, int):
            return None
        from flent_aqm.parts.links.own_delay import own_delays_ns

        return own_delays_ns(plan, arrived_ns - start_ns, left_ns - start_ns)


def _description(reported: object, direction: str) -> Mapping[str, Any]:
    """Return the description of a direction from the data file's object of the links, empty if it
    has none."""
    link = reported.get(direction) if isinstance(reported, dict) else None
    return link if isinstance(link, dict) else {}
