# SPDX-License-Identifier: GPL-3.0-or-later
"""Which kind of key the lab's servers make their certificates with."""

from __future__ import annotations

import pytest

from flent_aqm.lab.protocol import FlentRun
from flent_aqm.lab.virtual import VirtualTestbed
from flent_aqm.spec.scenario import Scenario

pytestmark = pytest.mark.lab


@pytest.mark.parametrize(("encrypted", "browser", "told"), [
    (True, False, True),  # handshakes of one length
    (True, True, False),  # Chromium takes no Ed25519
    (False, False, False),  # another environment would change the data of runs without TLS
])
def test_ed25519_is_for_runs_with_tls_and_without_a_browser(
        encrypted: bool, browser: bool, told: bool) -> None:
    """It is told to the guest's scripts, which start the servers; nothing is booted here."""
    run = FlentRun("", "batch", (), ("irtt", "speedtest"), 1.0, encrypted=encrypted,
                   browser=browser)
    with VirtualTestbed().place(Scenario().but(seed=1), run) as place:
        settings = (place.folder / "settings.sh").read_text()
    assert ("export TLS_KEY=ed25519\n" in settings) is told
