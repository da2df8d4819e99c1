# SPDX-License-Identifier: GPL-3.0-or-later
"""Several series from the output of one tool, each under the name that the test's definition gives
it: a runner puts those beside its own into its metadata, and an AqmPartRunner asks for one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flent_aqm.base.flent_api import NullRunner

# Of a runner's metadata until take_parts(): name of the part -> series, raw samples, metadata.
PARTS = "PARTS"
_ASKED = "PART"


class AqmPartRunner(NullRunner):
    """A further series of a tool that another runner runs.

    Keys of the data set: of, the name of that runner's series; part, what it calls this one.
    """

    def __init__(self, *, of: str, part: str, units: str = "Mbits/s", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.metadata |= {"UNITS": units, _ASKED: (of, part)}


def take_parts(measurements: dict[str, Any], series: Mapping[str, dict[str, Any]],
               raw_values: dict[str, Any]) -> int:
    """Put all parts into their places of what Flent collected, and return how many are empty.

    series: metadata by series.
    """
    parts = {name: about.pop(PARTS, {}) for name, about in series.items()}
    empty = 0
    for name, about in series.items():
        if _ASKED not in about:
            continue
        of, part = about.pop(_ASKED)
        values, samples, metadata = parts[of].get(
            part, ([], [], {"ERROR": [f"{of} gave no {part}"]}))
        measurements[name], raw_values[name] = values, samples
        about |= {"RUNNER": series[of]["RUNNER"], **metadata}
        empty += not values
    return empty
