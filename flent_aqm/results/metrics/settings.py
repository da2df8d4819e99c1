# SPDX-License-Identifier: GPL-3.0-or-later
"""Collect a run's settings, by which runs are distinguished and grouped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

from flent_aqm.base.words import plain
from flent_aqm.spec.kernel import STOCK

# Hashes that a sentence names.
_MOST_BUILDS = 12
Setting = str | float | bool
_WAYS = ("down", "up")

# Requested parameters of queues -> prefix of the settings that they become.
_PARAMETERS = {"aqm_parameters": "aqm_", "up_aqm_parameters": "up_aqm_",
               "shaper_parameters": "shaper_"}

# TCP's congestion control on the hosts where a test requests none, if it isn't the package's own.
HOST_CC = "host_congestion_control"

# Value of rate_mbps for a line that nothing is known to limit.
NO_SHAPER = "no shaper"


def settings_of(test: str, title: str, batch: str, parameters: Mapping[str, Any],
                requested: Mapping[str, Any]) -> dict[str, Setting]:
    """Return the settings of a run by name: `test`, `title`, `batch`, those of `parameters` and
    `requested`, and some that are made of these:

    The queue's parameters (`aqm_parameters` in `requested`) become aqm_NAME, those of the upload's
    own queue (`up_aqm_parameters`) up_aqm_NAME, the shaper's (`shaper_parameters`) shaper_NAME.
    `rate_mbps` is the link's rate if both directions have the same, else text with both, "100/20".
    With a modem it is the modem's, and `shaper_mbps` is the shaper's, or "off" without a shaper or
    its rates. A link that plays a trace has its name in place of a rate, "trace t.csv", and a Wi-Fi
    channel without a modem its stations' rates, "Wi-Fi 2x144.4+7.2". Without any of these
    `shaper_mbps` is left out. `rate_mbps` is then "no shaper" if there is none, and left out if the
    shaper's rate in a direction is not known. Settings that are not text, a number or a switch are
    left out.

    Args:
        test: name of the test.
        title: the user's title.
        batch: name of the batch.
        parameters: parameters of the test (`--test-parameter`).
        requested: settings of the testbed, by the names of Scenario. They replace others of the
            same name.
    """
    settings: dict[str, Setting] = {"test": test, "title": title, "batch": batch}
    queues = {f"{prefix}{name}": value for key, prefix in _PARAMETERS.items()
              if isinstance(requested.get(key), dict) for name, value in requested[key].items()}
    for source in (parameters, queues, requested):
        settings |= {str(key): value for key, value in source.items()
                     if isinstance(value, (str, float, int, bool))}
    rates = _of_both(*(settings.get(f"rate_{way}_mbps") for way in _WAYS))
    modem = _of_both(*_link_rates(settings))
    if modem is None and (channel := settings.get("wifi_rates_mbps")):
        modem = f"Wi-Fi {channel}"
    if modem is not None:
        settings["shaper_mbps"] = "off" if rates is None or settings.get(
            "shaper") == "none" else rates
        rates = modem
    elif settings.get("shaper") == "none":
        rates = NO_SHAPER
    if rates is not None:
        settings["rate_mbps"] = rates
    return settings


def _link_rates(settings: Mapping[str, Setting]) -> list[Setting | None]:
    """Return the rate of what is in the modem's place, for the download and the upload: the
    modem's, or "trace" and the name of the trace that a link plays, without its folder. None
    without both, or, if the other direction plays a trace, the shaper's rate."""
    traces = [settings.get(f"link_{way}_trace") for way in _WAYS]
    others = "rate_{}_mbps" if any(traces) and not settings.get("modem_up_mbps") else \
        "modem_{}_mbps"
    return [f"trace {PurePath(str(trace)).name}" if trace else settings.get(others.format(way))
            for way, trace in zip(_WAYS, traces, strict=True)]


def _of_both(down: Setting | None, up: Setting | None) -> Setting | None:
    """Return the rate if both directions have the same, else text with both, "100/20". None if one
    is missing."""
    if down is None or up is None:
        return None
    return down if down == up else f"{_rate_text(down)}/{_rate_text(up)}"


def _rate_text(rate: Setting) -> str:
    """Return a rate as text, "600" for 600.0."""
    return str(rate).removesuffix(".0")


def recorded_kernel(aqm: Mapping[str, object]) -> tuple[str, str] | None:
    """Return the name and the hash of a run's kernel from the AQM metadata of a data file. The name
    is STOCK if none is recorded. None if there is no hash, as for other testbeds and early
    versions."""
    kernel = aqm.get("kernel")
    if not isinstance(kernel, dict) or not kernel.get("hash"):
        return None
    return str(kernel.get("name", STOCK)), str(kernel["hash"])


def builds_of_kernels(kernels: Iterable[tuple[str, str] | None]) -> dict[str, dict[str, list[int]]]:
    """Return name of a kernel -> its hash -> positions of its runs in `kernels`, from 0, for the
    kernels of which there are several builds. Runs of different builds are not repetitions of each
    other.

    Args:
        kernels: name and hash of each run's kernel, None if they aren't recorded.
    """
    builds: dict[str, dict[str, list[int]]] = {}
    for position, kernel in enumerate(kernels):
        if kernel:
            name, build = kernel
            builds.setdefault(name, {}).setdefault(build, []).append(position)
    return {name: hashes for name, hashes in builds.items() if len(hashes) > 1}


def rebuilt_kernels(kernels: Iterable[tuple[str, str] | None]) -> list[str]:
    """Return a sentence for each kernel of which there are runs with several builds. It warns that
    these runs count as repetitions of each other, though they are none. Empty if there is no such
    kernel.

    Args:
        kernels: name and hash of each run's kernel, None if they aren't recorded.
    """
    return [f"These runs are of {len(hashes)} builds of "
            f"{'the lab kernel' if name == STOCK else f'the kernel {plain(name)}'} "
            f"({plain(', '.join(list(hashes)[:_MOST_BUILDS]))}), and count as repetitions here: "
            "leave out those of the builds that you don't mean."
            for name, hashes in builds_of_kernels(kernels).items()]
