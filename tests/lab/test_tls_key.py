# SPDX-License-Identifier: GPL-3.0-or-later
"""Which kind of key the lab's servers make their certificates with."""

from __future__ import annotations

import pytest

from flent_aqm.lab.protocol import FlentRun
from flent_aqm.lab.virtual import VirtualTestbed
from flent_aqm.spec.scenario import Scenario

pytestmark = pytest.mark.lab


@pytest.mark.parametrize("browser", [False, True])
def test_ed25519_is_for_runs_without_a_browser(browser: bool) -> None:
    """Its handshakes have one length, and Chromium takes none. It is told to the guest's scripts,
    which start the servers; nothing is booted here."""
    run = FlentRun("", "batch", (), ("irtt", "speedtest"), 1.0, browser=browser)
    with VirtualTestbed().place(Scenario().but(seed=1), run) as place:
        settings = (place.folder / "settings.sh").read_text()
    assert ("export TLS_KEY=ed25519\n" in settings) is not browser
