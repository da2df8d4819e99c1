# SPDX-License-Identifier: GPL-3.0-or-later
"""Results that speed tests showed their users.

Metrics of the same names without a client are estimates from a run's probe. Source: the SPEEDTEST
objects in the file, which the runners of measure/runners write. AIM's tables are in aim.py.
"""

from __future__ import annotations

from flent_aqm.base.errors import NotAvailable
from flent_aqm.results.data_file import a_number
from flent_aqm.results.metrics import aim
from flent_aqm.results.metrics.run import Run


def reported(run: Run, client: str, name: str) -> float:
    """Return a value that a speed test's client reported. Raises NotAvailable.

    Args:
        run: the run.
        client: name of the speed test.
        name: name of the value.
    """
    reports = [one.get("numbers") for one in (flow.speedtest for flow in run.speed_test)
               if one.get("client") == client]
    if not reports:
        raise NotAvailable(f"the test is not {client}'s")
    for numbers in reports:
        value = a_number(numbers.get(name)) if isinstance(numbers, dict) else None
        if value is not None:
            return value
    raise NotAvailable(f"{client} didn't report {name} in this run")


def cloudflare_points(run: Run, experience: str) -> float:
    """Return AIM's points from the values that Cloudflare's client reported, without loss, which it
    doesn't measure. Raises NotAvailable.

    experience: "streaming", "gaming" or "rtc".
    """
    latency_ms = reported(run, "cloudflare", "latency_ms")
    increase_ms = max(reported(run, "cloudflare", f"loaded_latency_{way}_ms")
                      for way in ("download", "upload")) - latency_ms
    return aim.points(
        latency_ms, increase_ms, None,
        download_mbps=(reported(run, "cloudflare", "download_mbps")
                       if experience == "streaming" else None),
        jitter_ms=reported(run, "cloudflare", "jitter_ms") if experience == "rtc" else None)
