# SPDX-License-Identifier: GPL-3.0-or-later
"""Part for links whose rate, delay and loss follow a schedule: docs/links.md."""

from flent_aqm.base.part import Part
from flent_aqm.parts.links.keys import Link

PART = Part(records={"link": Link},
            path_models={"link": "flent_aqm.parts.links.plan:LinkModel"})
