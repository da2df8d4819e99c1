# SPDX-License-Identifier: GPL-3.0-or-later
"""Speed tests of the user's: a file with a Tool, or two commands; and what they do wrong."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from flent_aqm.base.errors import BadResult, ConfigError
from flent_aqm.lab.own_programs import refuse_missing
from flent_aqm.parts.scorecard.contestant import own_contestant
from flent_aqm.parts.scorecard.steps import keep_earlier, own_folder
from flent_aqm.spec.batch_keys.programs import Programs
from flent_aqm.tools import own
from flent_aqm.tools.command import (
    NumberSource,
    command_tool,
    find_command,
    parse_number_sources,
    read_numbers,
)
from flent_aqm.tools.report import DirectionLoad

HERE = Path(__file__).parent
TINY = HERE.parents[1] / "own_code" / "tiny_speedtest.py"
ODD = HERE / "odd_client.py"
READS = ("json: down.mbps=download_mbps up.mbps=upload_mbps down.ms=latency_download_ms "
         "up.ms=latency_upload_ms")

Scorecard = Callable[..., tuple[int, str, list[str]]]


@pytest.fixture
def scorecard(tmp_path: Path) -> Scorecard:
    """Run the command in a process of its own, as its table of tools is another one; gives status,
    output, and its own lines on standard error."""
    def scorecard(*words: object, cells: str = "fq_codel") -> tuple[int, str, list[str]]:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "flent_aqm.cli", "scorecard", *map(str, words),
             "--cells", "small", "--only", cells, "-o", str(tmp_path)],
            capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, [
            line for line in done.stderr.splitlines() if line.startswith("flent-aqm: ")]
    return scorecard


def commands(how: str = "", server: str = "serve") -> list[str]:
    """The words for a client, its server, and a name."""
    client = f"{ODD} {how} {{host}} {{port}}" if how else f"{TINY} {{host}} {{port}}"
    return ["--client", client, "--server", f"{TINY} {server} {{port}}", "--reads", READS,
            "--name", how or "tiny", "--longest", "5"]


@pytest.mark.lab
def test_two_commands_are_scored_beside_ours(scorecard: Scorecard, tmp_path: Path) -> None:
    """By the same truth: its rate and the round trip that its connection took are right; its 60
    lines of code are all that the page needs. Runs of another version of its files
    move aside, and it is scored again."""
    status, out, faults = scorecard(*commands())
    assert (status, faults) == (0, [])
    card = json.loads((tmp_path / "own-tiny" / "card.json").read_text())
    assert card["label"] == "tiny"
    down = card["readings"][0]["ways"]["download"]
    assert 0.8 < down["shown_mbps"] / down["possible_mbps"] < 1
    assert down["shown_ms"] == pytest.approx(down["others_median_ms"], rel=0.2)
    assert "tiny" in out
    before = (tmp_path / "scorecard.md").read_text().count("| tiny |")
    assert before
    html = (tmp_path / "scorecard.html").read_text()
    assert '<th scope="row"><a href="#test-1">tiny</a></th>' in html
    assert "worst: " in html
    (tmp_path / "own-tiny" / "tool.py").write_text("# of another day\n")
    status, out, faults = scorecard(*commands())
    assert (status, "tiny" in out) == (0, True)
    assert "has changed: the runs of its earlier version are in" in faults[0]
    assert list((tmp_path / "earlier" / "own-tiny-1").glob("*.flent.gz"))
    assert list((tmp_path / "own-tiny").glob("*.flent.gz"))
    assert (tmp_path / "scorecard.md").read_text().count("| tiny |") == before


@pytest.mark.lab
def test_file_with_a_tool_is_scored(scorecard: Scorecard, tmp_path: Path) -> None:
    """Its measure() runs in the lab, its server finds the file by its variable; here it tells of
    one direction, and a verdict."""
    file = tmp_path / "mine.py"
    # beside it, which the guest shows wherever it is
    program = shutil.copy(TINY, tmp_path)
    file.write_text(f'''
import json
import sys
from subprocess import run
from flent_aqm.tools.tool import Number, Server, Tool
import time

TOOL = Tool("mine", Server("mine", {{"PORT": (9400,)}},
            "{program} serve 9400; echo $FLENT_AQM_OWN_TOOL"),
            method="Its own.", longest_s=10, numbers=(
                Number("download_mbps", "Mbit/s", "down"), Number("good", "", "verdict", "higher")))


def measure(call, report):
    way = report.load("download")
    way.begin(time.monotonic())
    told = json.loads(run(["{program}", call.host, str(call.port)], capture_output=True).stdout)
    way.mbps = told["down"]["mbps"]
    way.show(time.monotonic(), way.mbps)
    report.numbers |= {{"download_mbps": way.mbps, "good": 0}}
''')
    status, _, faults = scorecard(file)
    assert (status, faults) == (0, [])
    card = json.loads((tmp_path / "own-mine" / "card.json").read_text())
    (reading,) = card["readings"]
    assert reading["good"] is False
    assert reading["ways"]["upload"]["shown_mbps"] is None
    assert reading["ways"]["download"]["shown_mbps"] > 8
    assert card["scores"]["calls_good_bad"]["value"] == 1


@pytest.mark.lab
@pytest.mark.parametrize(("how", "server", "cause"), [
    ("never-ends", "serve", "own_test still ran after 65 s and was killed"),
    ("fails", "serve", "odd_client.py ended with status 1: the moon is in the way"),
    ("nothing", "serve", "odd_client.py printed nothing; expected JSON"),
    ("table", "serve", ("odd_client.py printed no whole JSON object or list in lines of its own; "
                        "its output starts with 'down 9.4 Mbit/s'")),
    ("kilobits", "serve", "Mbit/s of download, where 9.56 Mbit/s are possible"),
    ("negative", "serve", "odd_client.py: down.mbps is -8."),
    ("words", "serve", ('odd_client.py: down.mbps in the last JSON of its output is the text '
                        '"fast"; expected a finite number; one in quotes can only be read by')),
    ("fails", "snerve", "own_test doesn't serve: "),
])
def test_fault_of_a_client_or_server_is_one_line(
        how: str, server: str, cause: str, scorecard: Scorecard, tmp_path: Path) -> None:
    """With the cell. No page is made of no number, but one that is there is renewed."""
    page = tmp_path / "scorecard.html"
    if how == "words":
        page.write_text("older numbers")
    status, _, faults = scorecard(*commands(how, server))
    assert status == 1
    (line,) = faults
    assert line.startswith(f"flent-aqm: {how}: 10mbit-40ms-fq_codel-seed1: ")
    assert cause in line
    if how == "words":
        assert "No number in 1 run" in page.read_text()
    else:
        assert not page.exists()


@pytest.mark.lab
def test_other_cells_go_on(scorecard: Scorecard, tmp_path: Path) -> None:
    """Where the queue is long the client says nothing."""
    status, _, faults = scorecard(*commands("sometimes"), cells="0mbit-40ms-f")
    assert status == 1
    assert [line.split(": ")[2] for line in faults] == [
        "10mbit-40ms-fifo_250ms-seed1, 10mbit-40ms-fifo_1000p-seed1"]
    card = json.loads((tmp_path / "own-sometimes" / "card.json").read_text())
    assert [one["place"] for one in card["readings"]] == ["10mbit-40ms-fq_codel-seed1"]
    assert "No number in 2 runs." in (tmp_path / "scorecard.md").read_text()


@pytest.mark.lab
def test_client_whose_output_has_no_number_is_not_tried_on_every_line(
        scorecard: Scorecard, tmp_path: Path) -> None:
    """A wrong --reads would fail each run with the same words. Once it is right, all are made."""
    wrong = commands()
    wrong[wrong.index(READS)] = "json: down.speed=download_mbps"
    status, _, faults = scorecard(*wrong, cells="10mbit")
    assert status == 1
    assert faults == [
        ("flent-aqm: tiny: no number on the first line and none on the last, so the other 2 runs "
         "are not made; mend the test, and give the same command again"),
        ("flent-aqm: tiny: 10mbit-40ms-fifo_250ms-seed1, 10mbit-40ms-fq_codel-seed1: "
         'tiny_speedtest.py: down.speed in the last JSON of its output is missing: down has '
         '"mbps", "ms"; expected a finite number')]
    status, _, faults = scorecard(*commands(), cells="10mbit")
    assert (status, faults) == (0, [])
    card = json.loads((tmp_path / "own-tiny" / "card.json").read_text())
    assert len(card["readings"]) == 4


@pytest.mark.lab
def test_client_is_named_without_its_ending(scorecard: Scorecard, tmp_path: Path) -> None:
    """The file with its TOOL has one ending, the page shows none."""
    named = commands()[:-4] + ["--longest", "5"]
    status, _, faults = scorecard(*named)
    assert (status, faults) == (0, [])
    assert [path.name for path in (tmp_path / "own").glob("*.py*")] == ["tiny_speedtest.py"]
    assert json.loads((tmp_path / "own-tiny_speedtest" / "card.json").read_text())[
        "label"] == "tiny_speedtest"


@pytest.mark.parametrize(("text", "cause"), [
    (None, "No such file or directory; expected a Python file with a TOOL"),
    ("TOOL = 1", "its TOOL is of type int; expected a Tool (flent_aqm.tools.tool), or the"),
    ("", "the file sets no TOOL; expected"),
    ("def", "SyntaxError: "),
    ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
    ("1 / 0", "line 1 raises ZeroDivisionError: division by zero; mend it, see docs/extend.md"),
    ("\nopen('no/keys')", "line 2 raises FileNotFoundError: [Errno 2] No such file or directory: "),
    ("raise SystemExit", "line 1 raises SystemExit: ; mend it"),
    ("exit(0)", "line 1 raises SystemExit: 0; mend it"),
    (('from flent_aqm.tools.command import command_tool\n'
      'TOOL = command_tool("x", "true {host}", "true {port}", "json: down=download_mbps")'),
     "--client: 'true {host}' has no {port}; put it where the server's port belongs"),
    (('from flent_aqm.tools.tool import Server, Tool\n'
      'TOOL = Tool("x", Server("x", {"P": (9,)}, "x"))'),
     "TOOL declares no download_mbps and no upload_mbps; add one to its numbers (now: none)")])
def test_file_without_a_tool_is_refused(
        text: str | None, cause: str, scorecard: Scorecard, tmp_path: Path) -> None:
    """In one line that names it."""
    file = tmp_path / "mine.py"
    if text is not None:
        file.write_text(text)
    status, out, faults = scorecard(file)
    assert (status, out) == (1, "")
    (line,) = faults
    assert line.startswith(f"flent-aqm: {file}: ")
    assert cause in line


@pytest.mark.parametrize(("shown", "cause"), [
    ("rates=()", "`shown` of its TOOL has rates=(), but the scorecard needs a rate; leave rates"),
    ('rates=("download_mbps",)', "`shown` of its TOOL has rates=('download_mbps',); leave rates"),
    ('rates=("download_mbps")', "`shown` of its TOOL has rates='download_mbps'; leave rates out"),
    ('rates=("down", "up")', "names down and up; expected names of its numbers: download_mbps, rt"),
    ('latency=("rtt_ms", "ping_ms")', "names ping_ms; expected names of its numbers: download_mbp"),
    ('verdict=(("good", "{}"),)', "names good; expected names of its numbers: download_mbps, rtt_"),
    ('latency=("rtt_ms",), verdict=(("rtt_ms", "{}"),)', ""),
])
def test_what_a_tool_shows_must_be_among_its_numbers(
        shown: str, cause: str, scorecard: Scorecard, tmp_path: Path) -> None:
    """The rate of one direction is enough."""
    file = tmp_path / "mine.py"
    file.write_text(f'''
from flent_aqm.tools.tool import Number, Server, Shown, Tool
TOOL = Tool("mine", Server("mine", {{"PORT": (9400,)}}, "true"),
            numbers=(Number("download_mbps", "Mbit/s", "down"), Number("rtt_ms", "ms", "rtt")),
            shown=Shown("mine", {shown}))
''')
    status, _, faults = scorecard(file, cells="fq_codel" if cause else "no_such_cell")
    assert status == 1
    (line,) = faults
    if cause:
        assert line.startswith(f"flent-aqm: {file}: ")
        assert cause in line
    else:
        assert "no cell of the set small" in line


def test_folder_in_place_of_a_file_is_told_as_such(
        scorecard: Scorecard, tmp_path: Path) -> None:
    """It is there, so "no such file" would be false."""
    folder = tmp_path / "mine.py"
    folder.mkdir()
    assert scorecard(folder)[2] == [
        f"flent-aqm: {folder}: it is a folder; expected a Python file with a TOOL"]


def test_own_test_without_its_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own, "tool", lambda: own.UNSET)
    with pytest.raises(ConfigError, match="own_test: no file is named; set FLENT_AQM_OWN_TOOL to"):
        own_contestant()


def test_two_tests_of_the_users_are_refused(scorecard: Scorecard) -> None:
    """One process has one table of tools."""
    told, = scorecard("mine.py", "other.py")[2]
    assert "only one test of your own at a time" in told
    # Of two versions the later one takes the folder of the name.
    assert told.endswith("another name (--name, or its Tool's), or its runs replace those of the "
                         "first")
    assert "belong together" in scorecard("--client", "x {host}:{port}")[2][0]


def test_reads_are_places_with_factors() -> None:
    """And names of numbers."""
    assert parse_number_sources("json: down.kbps*0.001=download_mbps rtt.0=latency_ms") == [
        NumberSource("download_mbps", ("down", "kbps"), 0.001),
        NumberSource("latency_ms", ("rtt", "0"))]
    text = 'starting\n{"down": {"kbps": 9400}, "rtt": [40.5, 41]}\n'
    assert read_numbers("x", text, parse_number_sources(
        "json: down.kbps*0.001=download_mbps rtt.0=latency_ms")) == {
            "download_mbps": pytest.approx(9.4), "latency_ms": 40.5}


@pytest.mark.parametrize("reads", ["json: 'a.b = download_mbps'", "json: 'a.b=download_mbps '"])
def test_blanks_around_the_name_of_a_number_in_quotes_do_not_count(reads: str) -> None:
    assert parse_number_sources(reads) == [NumberSource("download_mbps", ("a", "b"))]
    found, = parse_number_sources("text: 'Down (.*) Mbit/s=download_mbps '")
    assert found.name == "download_mbps"


def test_place_with_blanks_has_quotes() -> None:
    """As a pattern has."""
    reads = parse_number_sources("json: 'Down load.in kbit/s*0.001=download_mbps' up=upload_mbps")
    assert reads == [NumberSource("download_mbps", ("Down load", "in kbit/s"), 0.001),
                     NumberSource("upload_mbps", ("up",))]
    assert read_numbers("x", '{"Down load": {"in kbit/s": 9000}, "up": 1}', reads) == {
        "download_mbps": 9.0, "upload_mbps": 1.0}


@pytest.mark.parametrize(("before", "after"), [
    ("", ""), ("testing {5 s}\n[1] started\n[\n", "\n[done]\n"), ('{"down": 1}\n', "\n{ bye\n")])
@pytest.mark.parametrize("indent", [None, 0, 2])
def test_json_may_be_in_several_lines_between_others(
        before: str, after: str, indent: int | None) -> None:
    """The last one counts, and not what is within it."""
    printed = json.dumps({"down": 9, "all": [[1], {"down": 2}, [3, 4]]}, indent=indent)
    reads = parse_number_sources("json: down=download_mbps")
    assert read_numbers("x", before + printed + after, reads) == {"download_mbps": 9}


@pytest.mark.parametrize(("reads", "cause"), [
    ("down=download_mbps", "expected 'json: PLACE=NUMBER"),
    ("json: down=download_kbps",
     "unknown number 'download_kbps' at its end; did you mean 'download_mbps'"),
    ("json: down=download_kbps", "another unit needs a factor, down.kbps*0.001=download_mbps"),
    ("text: 'Down (.*)=download_kbps'",
     "another unit needs a factor, 'Download: (.*) kbit/s=download_mbps*0.001'"),
    ("json: down*x=download_mbps", "expected PLACE=NUMBER or PLACE*FACTOR=NUMBER"),
    ("json: rtt=latency_ms", "reads no rate"),
    ("json: down*-1=download_mbps", "the factor '-1'; expected a number above 0, such as 0.001"),
    ("json: down*1e999=download_mbps", "the factor '1e999'; expected a number above 0"),
    ("json: down*0=download_mbps", "the factor '0'; expected a number above 0"),
    ("text: 'Down (.)=download_mbps*nan'", "the factor 'nan'; expected a number above 0"),
    ("text: 'Down (.)=download_mbps*-8'", "the factor '-8'; expected a number above 0"),
    ("text: Down: (.*) Mbit=download_mbps", (
        "'Down:'; expected PATTERN=NUMBER; a pattern with blanks needs quotes, as in")),
    ("json: a.b = download_mbps", "write no blanks around the =, and a place"),
    ("text: Down\\", "nothing follows the backslash at its end; remove it, or write it twice"),
    ("text: 'A (B|C) (.*)=download_mbps'", "others are (?: and ), and parentheses of the te"),
    ("text: 'Down (.{1,99999999999})=download_mbps'",
     "is not a regular expression: the repetition number is too large"),
    ("json:", "expected 'json: PLACE=NUMBER")])
def test_reads_of_another_form_are_refused(reads: str, cause: str) -> None:
    """With what is expected."""
    with pytest.raises(ConfigError, match="--reads: ") as fault:
        parse_number_sources(reads)
    assert cause in str(fault.value)


@pytest.mark.parametrize(("client", "server", "cause"), [
    ("true {host}", "true {port}", "--client: 'true {host}' has no {port}"),
    ("true {host} {port}", "true", "--server: 'true' has no {port}"),
    ("no-such-program {host} {port}", "true {port}",
     "no executable program 'no-such-program' on PATH"),
    ("true '{host} {port}", "true {port}", "no closing quotation mark; add it, or write \\ before"),
    ("true {host} {port} \\", "true {port}", "nothing follows the backslash at its end"),
    ("~/client {host} {port}", "true {port}",
     "no program '~/client'; give the path of one, in which ~ and $NAME are not replaced")])
def test_commands_that_cannot_be_run_are_refused(client: str, server: str, cause: str) -> None:
    """Before anything runs."""
    with pytest.raises(ConfigError) as fault:
        command_tool("x", client, server, "json: down=download_mbps")
    assert cause in str(fault.value)


@pytest.mark.parametrize(("text", "cause"), [
    ('{"down": null}', "down in the last JSON of its output is null; expected a finite n"),
    ('{"Down": 1, "up": 2}', 'is missing: it has "Down", "up"; expected a finite n'),
    ("{}", "is missing: it has no keys"),
    (json.dumps(dict.fromkeys("abcdefghij", 1)), '"h" and 2 more; expected'),
    ('{"down": 1e999}', "down in the last JSON of its output is Infinity; expected a"),
    (f'{{"down": 1{"0" * 400}}}', "down in the last JSON of its output is 1000000000"),
    ("[]", "down in the last JSON of its output is missing: it has 0 elements"),
    ('"words"', "printed no whole JSON object or list in lines of its own"),
    ("[" * 100_000, "printed no whole JSON object or list in lines of its own"),
    ("[\n" * 20_000, "printed no whole JSON object or list in lines of its own")])
def test_numbers_that_are_none_are_refused(text: str, cause: str) -> None:
    """With what was printed."""
    with pytest.raises(BadResult) as fault:
        read_numbers("x", text, parse_number_sources("json: down=download_mbps"))
    assert cause in str(fault.value)


def test_null_in_a_list_is_there() -> None:
    """It is not missing, as in a dict; what stands behind it is."""
    for place, cause in (("rtt.1", "is null; expected a finite"), ("rtt.1.ms", "missing: rtt.1 is"),
                         ("rtt.2", "missing: rtt has 2 elements")):
        with pytest.raises(BadResult) as fault:
            read_numbers("x", '{"rtt": [5, null]}',
                         parse_number_sources(f"json: {place}=download_mbps"))
        assert cause in str(fault.value)


def test_number_that_its_factor_makes_infinite_is_refused() -> None:
    with pytest.raises(BadResult, match=r"down is 1e\+300, which is too large .* factor 1e\+09;"):
        read_numbers("x", '{"down": 1e300}', parse_number_sources("json: down*1e9=download_mbps"))


def test_index_of_thousands_of_digits_is_none() -> None:
    """int() would take no such text."""
    with pytest.raises(BadResult, match="expected a finite number"):
        read_numbers("x", "[5]", parse_number_sources(f"json: {'9' * 5000}=download_mbps"))


def test_number_of_a_text_that_its_factor_makes_infinite_is_refused() -> None:
    with pytest.raises(BadResult, match=r"'down \(\.\*\)' is 1e\+300, which is too large to be"):
        read_numbers("x", "down 1e300", parse_number_sources("text: 'down (.*)=download_mbps*1e9'"))


def test_rate_of_a_time_before_the_last_one_does_not_move_the_end_back() -> None:
    """The next rate would count its bytes twice."""
    load = DirectionLoad()
    load.begin(1.0)
    for at_s in (3.0, 2.0, 4.0):
        load.show(at_s, 8.0)
    assert load.rates == [(3.0, 2.0, 2_000_000), (4.0, 1.0, 1_000_000)]
    assert load.end_s == 4
    load.show(3.5, 8.0)
    assert load.end_s == 4


@pytest.mark.parametrize("mbps", [-1.0, 1e9 + 1, 1.1e9, 1e308, math.inf, math.nan])
def test_rate_that_no_client_measures_is_refused(mbps: float) -> None:
    load = DirectionLoad()
    load.begin(1.0)
    load.show(2.0, 5.0)
    with pytest.raises(BadResult, match=r"expected 0 to 1000000000: perhaps it has another"):
        load.show(3.0, mbps)
    assert load.rates == [(2.0, 1.0, 625_000)]


def test_missing_number_is_told_by_where_the_way_to_it_ends() -> None:
    for text, cause in (('{"end": {"bps": 1}}',
                         'end.sum.bps in the last JSON of its output is missing: end has "bps"'),
                        ('{"end": {"sum.bps": 1}}', (
                            'end has "sum.bps"; a key with a dot in it can only be read by text:')),
                        ('{"end": {"sum": 5}}', "is missing: end.sum is 5;"),
                        ('{"end": {"sum": [1]}}', "is missing: end.sum has 1 element;")):
        with pytest.raises(BadResult) as fault:
            read_numbers("x", text, parse_number_sources("json: end.sum.bps=download_mbps"))
        assert cause in str(fault.value)


TEXT = "ping 12 ms\nDown: 47,5 Mbit/s\nDown: 47.1 Mbit/s (final)\nUp: 9000 kbit/s\n"


def test_text_is_read_by_patterns() -> None:
    """The last line that matches counts; a comma may be the point, a factor changes the unit."""
    reads = parse_number_sources("text: 'Down: (\\S+) Mbit/s=download_mbps' "
                        "'Up: (.*) kbit/s=upload_mbps*0.001' 'ping (.*) ms=latency_ms'")
    assert read_numbers("x", TEXT, reads) == {
        "download_mbps": 47.1, "upload_mbps": 9.0, "latency_ms": 12.0}
    comma = parse_number_sources("text: 'Down: ([0-9,]+) Mbit=download_mbps'")
    assert read_numbers("x", TEXT, comma) == {"download_mbps": 47.5}


@pytest.mark.parametrize(("reads", "message"), [
    ("text: 'Down: .* Mbit=download_mbps'", "has 0 groups; expected one"),
    ("text: 'Down: (=download_mbps'", ("not a regular expression: missing ), unterminated "
                                      "subpattern")),
    ("text: 'Down: (.*)=speed'", "unknown number 'speed'"),
    ("text: 'Down: (.*)=download-mbps'",
     "unknown number 'download-mbps' at its end; did you mean 'download_mbps'?"),
    ("text: 'rate=(.*)'", "'rate=(.*)'; expected PATTERN=NUMBER"),
    ("text: 'Down: (.*)='", "'Down: (.*)='; expected PATTERN=NUMBER"),
    ("text: 'Down", "no closing quotation mark"),
    ("text: Down", "expected PATTERN=NUMBER"),
    ("text: 'Down: (.*)=download_mbps*fast'", "the factor 'fast'; expected a number"),
    (f"text: '{'D' * 300}(.*)=download_mbps'", "has 304 characters; expected"),
    ("text: 'A (.*)=download_mbps B (.*)=upload_mbps*0.1 C (.*)=latency_ms'",
     "one pair of quotes has several PATTERN=NUMBER; give each its own, as in \"text: 'Down"),
    (f"text: 'A (.*)=download_mbps {'B' * 200} (.*)=upload_mbps'", "one pair of quotes has"),
    ("json: Down load=download_mbps", "a place with blanks in quotes, as in \"json: 'Down load"),
    ("json: 'Down", "no closing quotation mark"),
    ("json: download_mbps=down.mbps", "expected PLACE=NUMBER; 'down.mbps' is not the name of"),
    ("yaml: a=download_mbps", "expected 'json: PLACE=NUMBER"),
])
def test_reads_that_say_nothing_are_refused(reads: str, message: str) -> None:
    """Before any run, in a line that shows the form."""
    with pytest.raises(ConfigError) as refused:
        parse_number_sources(reads)
    assert message in str(refused.value)


@pytest.mark.parametrize(("pattern", "message"), [
    ("Nothing: (.*)=download_mbps", "no line of its output matches 'Nothing: (.*)'"),
    ("Down: .* (M)bit=download_mbps", "finds 'M'; expected a number without unit, and with one po"),
    ("Down:(5)?=download_mbps", "matches 'Down:' without its group; expected a number in it"),
])
def test_text_without_the_number_fails_the_run(pattern: str, message: str) -> None:
    """With what was looked for."""
    with pytest.raises(BadResult) as failed:
        read_numbers("x", TEXT, parse_number_sources(f"text: '{pattern}'"))
    assert message in str(failed.value)


@pytest.mark.parametrize("found", ["inf", "nan", "-5", "1e999"])
def test_number_of_a_text_that_is_not_finite_or_below_0_is_told_as_printed(found: str) -> None:
    """Infinite is 0 or more, too."""
    with pytest.raises(BadResult, match=f"finds '{found}'; expected a finite number, 0 or more"):
        read_numbers("x", f"Down: {found}", parse_number_sources("text: 'Down: (.*)=upload_mbps'"))


def test_number_too_far_in_a_line_is_told_as_such() -> None:
    """It is there, but only the beginning of a line is searched."""
    sources = parse_number_sources("text: 'Down: (.*) Mbit=download_mbps'")
    with pytest.raises(BadResult, match="in the first 2000 characters of each line, which is all"):
        read_numbers("x", f"{'.' * 2000} Down: 7 Mbit", sources)
    with pytest.raises(BadResult, match=r"Mbit'; it starts with"):
        read_numbers("x", "nothing", sources)


def test_script_that_may_not_be_executed_is_told_how(tmp_path: Path) -> None:
    """Not that there is none."""
    script = tmp_path / "mine.py"
    script.write_text("#!/usr/bin/env python3\n")
    script.chmod(0o644)
    with pytest.raises(ConfigError, match=rf"is not executable; run: chmod \+x {script}"):
        command_tool("mine", f"{script} {{host}} {{port}}", "true {port}", READS)


def test_program_in_the_current_folder_is_told_how_to_be_named(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bare name is looked for on PATH, so chmod alone would not help."""
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "my client"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    with pytest.raises(ConfigError, match=r"is not on PATH, but is a file in the current folder; "
                                          r"write '\./my client'$"):
        find_command("--client", "my client")
    script.chmod(0o644)
    with pytest.raises(ConfigError, match=r"not executable; run: chmod \+x 'my client', and write "
                                          r"'\./my client'$"):
        find_command("--client", "my client")
    with pytest.raises(ConfigError, match=r"no executable program 'FOO=1' on PATH; .* sh -c"):
        find_command("--client", "FOO=1")


def test_program_that_may_not_start_is_not_told_to_be_made_executable_again(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a file system mounted with noexec; and a shell line is whole or left out."""
    script = tmp_path / "mine.py"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    deep = tmp_path / ("x" * 100) / ("y" * 100)
    deep.mkdir(parents=True)
    (deep / "mine.py").write_text("#!/bin/sh\n")
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    with pytest.raises(ConfigError, match=r"mine\.py is executable, but not by this user .*noexec"):
        find_command("--client", str(script))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"in the current folder, and is executable, but not by "):
        find_command("--client", "mine.py")
    with pytest.raises(ConfigError, match=r"is not executable; make it executable$"):
        find_command("--client", str(deep / "mine.py"))
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    script.chmod(0o644)
    for name in (str(script), "mine.py"):
        with pytest.raises(ConfigError, match=r"not executable; it belongs to another user; ask "
                                              r"its owner, or give another program$"):
            find_command("--client", name)


@pytest.mark.parametrize("text", ["import sys\n", "# späť\nprint(1)\n"])
def test_script_without_an_interpreter_is_told_how(tmp_path: Path, text: str) -> None:
    """A shell would read the Python in it, and tell of a syntax error. With an interpreter before
    it, or in its first line, it starts."""
    script = tmp_path / "mine.py"
    script.write_text(text)
    script.chmod(0o755)
    with pytest.raises(ConfigError, match=rf"{script} has no first line that names its inter"):
        command_tool("mine", f"{script} {{host}} {{port}}", "true {port}", READS)
    with pytest.raises(ConfigError, match=r"server_program: .* has no first line"):
        refuse_missing(Programs(server_program=str(script)))
    command_tool("mine", f"{sys.executable} {script} {{host}} {{port}}", "true {port}", READS)
    script.write_text(f"#!/usr/bin/env python3\n{text}")
    command_tool("mine", f"{script} {{host}} {{port}}", "true {port}", READS)
    refuse_missing(Programs(server_program=str(script)))


def test_what_is_no_program_is_named(tmp_path: Path) -> None:
    """A folder, an empty file, and a script whose editor wrote a mark before its first line: no
    path, and no first line, would help."""
    for content, why in (("", "is an empty file; give a program$"), (
            "\ufeff#!/bin/sh\n", "begins with a byte order mark before its #!; save it as UTF-8")):
        script = tmp_path / "mine.py"
        script.write_text(content)
        script.chmod(0o755)
        with pytest.raises(ConfigError, match=f"^--client: {script} {why}"):
            find_command("--client", str(script))
    with pytest.raises(ConfigError, match=f"'{tmp_path}' is a folder; give the path of a program"):
        find_command("--client", str(tmp_path))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    for name, why in (("pipe", "^--client: '{}' is neither a file nor a folder; give the path of"),
                      ("loop", "^--client: '{}' can't be looked up: Too many levels of symbolic l"),
                      (f"{script.name}/x", "^--client: there is no program '{}'; give the path of"),
                      ("none", "^--client: there is no program '{}'; give the path of one$")):
        with pytest.raises(ConfigError, match=why.format(tmp_path / name)):
            find_command("--client", f"{tmp_path}/{name}")


def test_program_on_path_that_is_none_is_told_with_its_path(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user doesn't know which of that name was found."""
    (tmp_path / "mine").touch(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(ConfigError, match=f"^--client: {tmp_path}/mine is an empty file"):
        find_command("--client", "mine")


def test_folder_with_failed_runs_alone_is_used_again(tmp_path: Path) -> None:
    """What failed has left no runs of another version."""
    file = tmp_path / "mine.py"
    for text in ("# first\n", "# second\n"):
        file.write_text(text)
        folder, earlier = own_folder(tmp_path / "out", "mine", file)
        assert earlier is None
        (folder / "sweep.json").write_text("{}")
        assert (folder / "tool.py").read_text() == text
    assert not (tmp_path / "out" / "earlier").exists()


def test_latency_of_an_own_test_that_shows_none_is_not_searched(tmp_path: Path) -> None:
    """It took a hundred runs to say that none had a result."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "flent_aqm.cli", "scorecard", "--client",
         "true {host}:{port}", "--server", "sleep {port}", "--reads", "json: down=download_mbps",
         "--worst", "latency", "-o", str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == ("flent-aqm: --worst latency: true: it shows no latency; give --worst "
                           "throughput, or another test\n")


@pytest.mark.parametrize("succeeds", [True, False])
def test_changed_test_replaces_the_earlier_one_once_a_run_succeeds(
        succeeds: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A typing error in --reads took a measured row off the page."""
    file = tmp_path / "mine.py"
    file.write_text("# first\n")
    folder, _ = own_folder(tmp_path / "out", "mine", file)
    (folder / "line.flent.gz").write_text("measured")
    (folder / "card.json").write_text("its card")
    file.write_text("# second\n")
    again, earlier = own_folder(tmp_path / "out", "mine", file)
    assert (again, earlier) == (folder, tmp_path / "out" / "earlier" / "own-mine-1")
    assert earlier is not None
    (folder / "line.log").write_text("no number")
    if succeeds:
        (folder / "line.flent.gz").write_text("measured anew")
    capsys.readouterr()
    keep_earlier(folder, earlier)
    told = capsys.readouterr().err
    if succeeds:
        assert told == ""
        assert (folder / "line.flent.gz").read_text() == "measured anew"
        assert (earlier / "line.flent.gz").read_text() == "measured"
        return
    assert told == ("flent-aqm: no run of the changed test succeeded: its row stays that of the "
                    "earlier version, whose runs are back, and the logs of the new one are in "
                    f"{earlier}-failed\n")
    assert (folder / "line.flent.gz").read_text() == "measured"
    assert (folder / "card.json").read_text() == "its card"
    failed = earlier.with_name("own-mine-1-failed")
    assert (failed / "line.log").read_text() == "no number"
    assert not earlier.exists()
    assert (folder / "tool.py").read_text() == "# first\n"
    # The same wrong test again is tried again, and the mended one replaces the first.
    again, earlier = own_folder(tmp_path / "out", "mine", file)
    assert earlier is not None
    (folder / "line.log").write_text("no number again")
    keep_earlier(again, earlier)
    assert (failed / "line.log").read_text() == "no number again"


def test_earlier_runs_that_cannot_come_back_are_named_with_their_place(tmp_path: Path) -> None:
    """A later call doesn't move them back."""
    folder, earlier = tmp_path / "own-mine", tmp_path / "earlier" / "own-mine-1"
    folder.mkdir()
    earlier.parent.mkdir()
    with pytest.raises(ConfigError) as refused:
        keep_earlier(folder, earlier)
    assert str(refused.value) == (
        f"-o: can't move {earlier} to {folder}: No such file or directory; the runs of the earlier "
        f"version are in {earlier}: to keep its row, put this folder in the place of {folder}")


def test_earlier_runs_come_back_if_a_test_before_it_fails(
        scorecard: Scorecard, tmp_path: Path) -> None:
    """What moves back is the folder of the user's own test, not that of the test that failed."""
    folder = tmp_path / "own-tiny"
    folder.mkdir()
    (folder / "tool.py").write_text("# of another day\n")
    (folder / "line.flent.gz").write_text("measured")
    (tmp_path / "iperf3_download").write_text("a file in the way")
    status, _, faults = scorecard("iperf3_download", *commands())
    assert (status, "iperf3_download" in faults[-1]) == (1, True), faults
    assert (folder / "line.flent.gz").read_text() == "measured", faults
    assert (tmp_path / "iperf3_download").read_text() == "a file in the way"
