# SPDX-License-Identifier: GPL-3.0-or-later
"""Data files of strangers, through our reader and through Flent with this package.

Mutations are drawn from seeds, so that a failure can be had again by its number.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.errors import BadResult
from flent_aqm.results.metrics.run import load_run
from flent_aqm.results.metrics.table import values
from tests.files import RUNS, load, packed, save

GOLDEN = RUNS
FILES = [(GOLDEN / name).read_bytes() for name in (
    "stock_ping.flent.gz", "stock_tcp_download.flent.gz", "iperf3_download.flent.gz")]
MUTATIONS = 330
HOSTILE: list[Any] = [
    None, True, -1, 10**400, 1e308, "", "x" * 100_000, [], {}, [[[]]], {"a": {"b": 1}},
    "../../evil", "/tmp/evil", "\0", "\ud800", "\x1b[2J", "<script>", "a\nb", "%s{0}${HOME}",
    "2026-99-99T99:99:99Z", ["a", 1, None]]
NAMES = ["NAME", "HOSTS", "TIME", "T0", "TEST_PARAMETERS", "SERIES_META", "LENGTH", "OUTPUT",
         "load_test", "copy", "__class__", "__dict__", "PLOTS", "DATA_SETS", "DEFAULTS", "FORMAT",
         "INPUT", "SCALE_DATA", "LOG_FILE", "STEP_SIZE", "TOTAL_LENGTH", "IP_VERSION", "GUI"]


def places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Each container with each of its keys; of long lists some."""
    keys = list(tree) if isinstance(tree, dict) else range(min(len(tree), 5))
    for key in keys:
        yield tree, key
        if isinstance(tree[key], (dict, list)):
            yield from places(tree[key])


def mutated(seed: int) -> bytes:
    """A real file with something wrong in it."""
    draw = random.Random(seed)
    original = draw.choice(FILES)
    text = gzip.decompress(original)
    match seed % 6:
        case 0:
            return original[:draw.randrange(len(original))]
        case 1:
            damaged = bytearray(original)
            for _ in range(draw.randrange(1, 9)):
                damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
            return bytes(damaged)
        case 2:
            damaged = bytearray(text)
            for _ in range(draw.randrange(1, 9)):
                damaged[draw.randrange(len(damaged))] = draw.choice(b'"[]{},:0-9eN\xff')
            return gzip.compress(bytes(damaged), 1)
        case 3:
            whole = json.loads(text)
            whole["metadata"][draw.choice(NAMES)] = draw.choice(HOSTILE)
        case 4:
            whole = json.loads(text)
            tree, key = draw.choice(list(places(whole)))
            tree[key] = draw.choice(HOSTILE)
        case _:
            whole = json.loads(text)
            tree, key = draw.choice(list(places(whole)))
            if draw.random() < 0.5 and isinstance(tree, dict):
                del tree[key]
            else:
                deep: Any = 1
                for _ in range(draw.choice((50, 400))):
                    deep = [deep]
                tree[key] = deep
    return packed(whole)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What a loader did that none should: files opened for writing, processes started, code
    compiled from files outside of the tests' folders."""
    seen: list[str] = []
    active = [True]

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if not active[0]:
            return
        if event in ("subprocess.Popen", "os.system", "os.exec", "os.fork", "os.posix_spawn",
                     "socket.connect", "os.remove", "os.rename", "os.mkdir", "pty.spawn"):
            seen.append(f"{event} {args!r:.100}")
        if (event == "open" and isinstance(args[2], int)
                and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
                and not str(args[0]).endswith(".pyc") and "__pycache__" not in str(args[0])):
            seen.append(f"open {args!r:.100}")

    sys.addaudithook(hook)  # can't be taken away again, only switched off
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield seen
    active[0] = False


def test_each_mutation_opens_or_is_refused_in_one_line_by_our_reader(tmp_path: Path) -> None:
    """And whatever opens gives numbers or reasons."""
    path = tmp_path / "strange.flent.gz"
    opened = 0
    refused: list[str] = []
    for seed in range(MUTATIONS):
        path.write_bytes(mutated(seed))
        try:
            values(load_run(path))
        except BadResult as error:
            refused.append(str(error))
        else:
            opened += 1
    assert opened > 20
    assert len(refused) > 150
    assert [text for text in refused if "\n" in text] == []


def test_each_mutation_opens_or_is_refused_in_one_line_by_flent(
    tmp_path: Path, watched: list[str]
) -> None:
    """The way of `flent FILE` and flent-gui: load, take over settings, execute the definition.
    Nothing else is executed, written, or started."""
    import flent_aqm.bridge.hook

    flent_aqm.bridge.hook.install()
    from flent import resultset
    from flent.settings import new

    path = tmp_path / "strange.flent.gz"
    opened = 0
    refused: list[str] = []
    path.touch()
    assert watched, "the watch sees what is written"
    for seed in range(MUTATIONS):
        path.write_bytes(mutated(seed))
        watched.clear()
        try:
            results = resultset.load(str(path))
            settings = new()
            settings.update(results.meta())
            settings.load_test(informational=True)
        except (RuntimeError, BadResult) as error:
            refused.append(str(error))
        else:
            opened += 1
        assert watched == [], seed
    assert opened > 20
    assert len(refused) > 150
    assert [text for text in refused if "\n" in text] == []


@pytest.mark.parametrize(("change", "why"), [
    (lambda whole: whole["raw_values"]["Ping (ms) ICMP"][3].update(seq=[1]),
     "have values of several kinds for 'seq'; expected numbers alone, or no number"),
    (lambda whole: whole["metadata"]["SERIES_META"]["Ping (ms) ICMP"].update(UNITS=True),
     "are true; expected text"),
    (lambda whole: whole["results"].clear(), "its results are empty")])
def test_file_that_flents_summary_stumbles_over_is_refused(
    change: Any, why: str, tmp_path: Path
) -> None:
    """Before it is shown: means of lists, units without letters, the longest name of none."""
    import flent_aqm.bridge.hook

    flent_aqm.bridge.hook.install()
    from flent import resultset

    golden = Path(__file__).resolve().parents[1] / "golden" / "runs" / "stock_ping.flent.gz"
    whole = load(golden)
    change(whole)
    path = tmp_path / "odd.flent.gz"
    save(path, whole)
    with pytest.raises(BadResult, match=why):
        resultset.load(str(path))


@pytest.mark.parametrize("name", [
    "../../../tmp/evil", "/tmp/evil", "..", "a/b", "a\\b", "a\0b", ""])
def test_file_whose_name_is_a_path_is_refused_by_flent(name: str, tmp_path: Path) -> None:
    """Before anything of that name is looked for."""
    import flent_aqm.bridge.hook

    flent_aqm.bridge.hook.install()
    from flent import resultset

    whole = json.loads(gzip.decompress(FILES[0]))
    whole["metadata"]["NAME"] = name
    path = tmp_path / "evil.flent.gz"
    save(path, whole)
    with pytest.raises(BadResult, match="plain name of a test"):
        resultset.load(str(path))
