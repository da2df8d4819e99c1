# SPDX-License-Identifier: GPL-3.0-or-later
"""A shaper's rate as a share of the modem's."""

from __future__ import annotations

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.spec.scenario import Scenario


@pytest.mark.parametrize(("settings", "down_mbps", "up_mbps"), [
    ({"rate_mbps": "85%", "modem_mbps": "20"}, 17, 17),
    ({"rate_mbps": "85 %", "modem_down_mbps": "100", "modem_up_mbps": "35"}, 85, 29.75),
    ({"rate_down_mbps": "92.5%", "rate_up_mbps": "5", "modem_mbps": "10"}, 9.25, 5),
])
def test_share_is_of_the_modem_in_that_direction(
    settings: dict[str, object], down_mbps: float, up_mbps: float
) -> None:
    """The scenario has Mbit/s, and is the one that those alone would give."""
    scenario = Scenario.from_settings(settings)
    assert (scenario.router.rate_down_mbps, scenario.router.rate_up_mbps) == (down_mbps, up_mbps)
    assert scenario == Scenario.from_settings(
        settings | {"rate_down_mbps": down_mbps, "rate_up_mbps": up_mbps})


@pytest.mark.parametrize(("settings", "output"), [
    ({"rate_mbps": "85%"},
     "rate_mbps: 85% is a share of the modem's download rate, which is not given; set modem_mbps,"),
    ({"rate_mbps": "85%", "modem_down_mbps": "9"},
     "rate_mbps: 85% is a share of the modem's upload rate, which is not given"),
    ({"rate_up_mbps": "5", "rate_down_mbps": "8%"}, "rate_down_mbps: 8% is a share of the modem's"),
    ({"rate_mbps": "85%", "link_trace": "seeded+mean_mbps=20"},
     "rate_mbps: 85% is a share of the modem's rate, but link_trace gives a rate that changes"),
    ({"rate_up_mbps": "85%", "modem_down_mbps": "9", "link_up_trace": "seeded+mean_mbps=20"},
     "rate_up_mbps: 85% is a share of the modem's rate, but link_up_trace gives a rate that"),
    ({"rate_mbps": "101%", "modem_mbps": "5"}, "rate_mbps: '101%'; expected 1% to 100% of"),
    ({"rate_down_mbps": "nan%", "modem_mbps": "5"}, "rate_down_mbps: 'nan%'; expected 1% to 100%"),
    ({"rate_down_mbps": "%", "modem_mbps": "5"}, "rate_down_mbps: '%'; expected 1% to"),
    ({"rate_mbps": "1%", "modem_mbps": "5"}, "rate_mbps: 1% of the modem's rate is 0.05 Mbit/s; "),
    ({"rate_mbps": "85%", "modem_mbps": "x"}, "modem_mbps: 'x' is not a number; give the"),
    ({"modem_mbps": "85%"}, "modem_mbps: '85%' is not a number; give the number"),
    ({"modem_down_mbps": "85%"}, "modem_down_mbps: '85%' is not a number; give the number"),
])
def test_share_that_makes_no_rate_is_refused(settings: dict[str, object], output: str) -> None:
    """In a line that names the key and what was given."""
    with pytest.raises(ConfigError) as refused:
        Scenario.from_settings(settings)
    assert str(refused.value).startswith(output)
