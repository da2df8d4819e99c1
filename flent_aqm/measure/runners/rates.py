# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes the rate of the router's shaper during a test, and restores it: a runner for Flent."""

from __future__ import annotations

import subprocess
import time
from contextlib import suppress
from typing import IO, Any

from flent_aqm.base.errors import BadResult
from flent_aqm.base.flent_api import RunnerCheckError
from flent_aqm.measure.runners.process import DUE, KILLED, Parsed, SupervisedRunner
from flent_aqm.measure.runners.qdisc import DEVICES
from flent_aqm.spec.flow_groups import ONLY_IN_NAMESPACES
from flent_aqm.spec.queues.table import FRAME_BYTES

# tc's command for HTB's class, as router/tc/words.py creates it. tc computes other values from the
# rate.
_CLASS = ("class change dev {device} parent 1: classid 1:1 "
          f"htb rate {{bit_s}}bit ceil {{bit_s}}bit quantum {FRAME_BYTES}\n")


class AqmRatesRunner(SupervisedRunner):
    """Changes HTB's rate on both devices of a router in a network namespace.

    Keys of the data set:
        rates_mbps: rates, used cyclically.
        step_s: seconds for which each rate lasts.
        length: seconds in all. The last step may be shorter than the others.
        usual_mbps: device -> rate before and after. None if the router isn't in a network
            namespace, which check() refuses by RunnerCheckError.

    Series and raw samples: the rate in Mbit/s, which is the same for both devices, at each change
    but the last, which restores the usual rates.
    """

    def __init__(self, *, rates_mbps: list[float], step_s: float, length: float,
                 usual_mbps: dict[str, float] | None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rates_mbps = rates_mbps
        self.step_s = step_s
        self.run_for_s = length
        self.usual_mbps = usual_mbps or {}
        self.command = "ip netns exec router tc -batch -"

    def check(self) -> None:
        if not self.usual_mbps:
            raise RunnerCheckError(f"rates_mbps: {ONLY_IN_NAMESPACES}")
        super().check()

    def read(self, output: IO[str], error: IO[str]) -> Parsed:
        """Return the stored changes as a series of epoch seconds and Mbit/s, and as raw samples,
        without metadata. Raises BadResult if the rate was never changed."""
        text = output.read()
        if not text:
            raise BadResult("the router's rate was never changed: the test ended before its "
                            "first change")
        series = [[float(word) for word in line.split()] for line in text.splitlines()]
        return series, [{"t": at_s, "val": mbps} for at_s, mbps in series], {}

    def _run_tool(self) -> None:
        """Change the rates through one running tc, in place of a tool, and restore the usual rates.
        A failure of tc is stored in `stopped_by`, and the rates may stay changed then. Raises
        OSError if tc can't be started."""
        self.started_s = time.time()
        self.returncode = 0
        # One process for all changes. tc ends with a message if it refuses a change.
        with subprocess.Popen(self.command.split(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True) as tc:
            assert tc.stdin is not None
            assert tc.stdout is not None
            try:
                self._write_changes(tc.stdin)
                for device in DEVICES:
                    tc.stdin.write(_rate_command(device, self.usual_mbps[device]))
                tc.stdin.close()
                printed = tc.stdout.read().strip()
            except BrokenPipeError:
                with suppress(BrokenPipeError):  # of what is still to be written
                    tc.stdin.close()
                printed = tc.stdout.read().strip() or "tc ended early"
        if printed or tc.returncode:
            first = printed.splitlines()[0] if printed else f"tc ended with status {tc.returncode}"
            self.stopped_by = f"the router's rate could not be changed or restored: {first}"
        self.stdout.flush()

    def _write_changes(self, tc: IO[str]) -> None:
        """Write a change of the rate to tc every step_s seconds, and store its time and rate. End
        after `length`, in which the last step may be shorter, or when the runner is stopped:
        `stopped_by` is DUE or KILLED then. Raises BrokenPipeError if tc has ended.

        Args:
            tc: standard input of the running tc.
        """
        begin = time.monotonic()
        run_for_s = self.run_for_s or 0.0
        count = 0
        # Sums of steps are not exact.
        while count * self.step_s < run_for_s - 1e-6:
            mbps = self.rates_mbps[count % len(self.rates_mbps)]
            for device in DEVICES:
                tc.write(_rate_command(device, mbps))
            tc.flush()
            self.stdout.write(f"{time.time():.6f} {mbps:g}\n")
            count += 1
            until = begin + min(count * self.step_s, run_for_s)
            if self.kill_event.wait(max(0, until - time.monotonic())):
                self.stopped_by = KILLED
                return
        self.stopped_by = DUE


def _rate_command(device: str, mbps: float) -> str:
    """Return the line for `tc -batch`, with its end, that sets rate and ceil of HTB's class on a
    device to a rate in Mbit/s."""
    return _CLASS.format(device=device, bit_s=round(mbps * 1e6))
