# SPDX-License-Identifier: GPL-3.0-or-later
"""What a place for a command prints on its console: as much as a disk and a memory take."""

from __future__ import annotations

import pytest

from flent_aqm.base.errors import LabError
from flent_aqm.lab import place
from flent_aqm.lab.place import RunEnvironment
from flent_aqm.spec.scenario import Scenario


class Noisy(RunEnvironment):
    """As a kernel that warns of every packet."""

    name, hidden, real_time, words = "the lab", (), True, "echo first; exec yes more"

    def _command_line(self) -> list[str]:
        return ["sh", "-c", self.words]


def test_console_without_end_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long before the limit of time; of what it says the beginning and the end are read."""
    monkeypatch.setattr(place, "MOST_CONSOLE_BYTES", 1 << 20)
    monkeypatch.setattr(place, "_READ_BYTES", 1 << 10)
    with Noisy(Scenario(), ["true"], wall_limit_s=300) as noisy:
        with pytest.raises(LabError, match="printed more than 1 MiB on its console"):
            noisy.run()
        assert noisy.console().startswith("first\nmore\n")
        assert len(noisy.console()) <= 2 << 10


def test_short_console_is_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """No line twice where the beginning and the end meet."""
    monkeypatch.setattr(place, "_READ_BYTES", 100)
    monkeypatch.setattr(Noisy, "words", "seq 40")
    with Noisy(Scenario(), ["true"]) as noisy:
        with pytest.raises(LabError, match="ended before its command did: 40"):
            noisy.run()
        assert noisy.console().split() == [str(number) for number in range(1, 41)]
