# SPDX-License-Identifier: GPL-3.0-or-later
"""Part that makes a topology's clients stations of a modelled Wi-Fi channel: docs/wifi.md."""

from flent_aqm.base.part import Part
from flent_aqm.parts.wifi.keys import Wifi

PART = Part(records={"wifi": Wifi},
            path_models={"wifi": "flent_aqm.parts.wifi.in_lab:WifiModel"})
