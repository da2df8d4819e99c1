# SPDX-License-Identifier: GPL-3.0-or-later
"""Part for models of slow routers and hosts, with network cards and a processor.

docs/router-models.md explains them.
"""

from flent_aqm.base.part import Command, Part
from flent_aqm.parts.router_models.keys import Models

PART = Part(
    commands={"calibrate": Command(
        "flent_aqm.parts.router_models.calibrate",
        "fit a router model to measurements of a real router",
        "flent-aqm calibrate 800=676 1000=572")},
    records={"models": Models},
    path_models={"models": "flent_aqm.parts.router_models.in_lab:Cards"})
