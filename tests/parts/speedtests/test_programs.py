# SPDX-License-Identifier: GPL-3.0-or-later
"""Speed tests that are programs of others: what is read of what they really wrote.

They come from no registry that set-up can rely on, so the last tests have scripts stand in for
them, which print what the real ones printed.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.errors import BadResult
from flent_aqm.parts.speedtests import (
    bbperf,
    crusader,
    ethr,
    goresponsiveness,
    iperf2_bounceback,
    librespeed_browser,
    librespeed_cli,
    msak,
    nuttcp,
)
from flent_aqm.tools.client import Call, OutputLine, call_of, lines_of
from flent_aqm.tools.report import ClientReport, read_report
from tests import files

GOLDEN = files.GOLDEN / "speedtest_programs"
# What TCP carries of 20 Mbit/s.
CARRIED_MBPS = 20 * 1448 / 1514
BEGIN_S = 100.0


def lines(name: str, step_s: float = 0.1) -> Iterator[OutputLine]:
    """A program's output, a line every step."""
    for number, text in enumerate((GOLDEN / f"{name}.txt").read_text().splitlines()):
        yield OutputLine(BEGIN_S + number * step_s, text)


def test_msak_tells_rates_and_round_trips() -> None:
    """Its result is its summary's; on the way it shows means since the start."""
    report = ClientReport("msak")
    msak.read(lines("msak"), report)
    assert report.numbers == {
        "download_mbps": 17.49, "rtt_download_ms": 40.05, "min_rtt_download_ms": 20.05,
        "upload_mbps": 16.94, "rtt_upload_ms": 56.7, "min_rtt_upload_ms": 20.04}
    for name in ("download", "upload"):
        way = report.loads[name]
        assert way.mbps == report.numbers[f"{name}_mbps"]
        assert way.start_s is not None
        assert way.start_s < way.rates[0][0] <= way.end_s
        assert way.rates[-1][2] * 8e-6 / way.rates[-1][1] == pytest.approx(way.mbps, rel=0.02)
        assert way.probes[-1][2] == report.numbers[f"rtt_{name}_ms"]
    assert report.loads["download"].end_s < (report.loads["upload"].start_s or 0)


def test_librespeed_cli_tells_events() -> None:
    """Rates on the way are means since the start; its result comes last."""
    report = ClientReport("librespeed_cli")
    librespeed_cli.read(lines("librespeed_cli", 1.0), report)
    assert report.numbers == {"download_mbps": 18.98, "upload_mbps": 20.4, "ping_ms": 20.01,
                              "jitter_ms": 0}
    assert [round(size * 8e-6, 2) for _at_s, _length_s, size in report.loads["download"].rates] == \
        [18.31, 18.72, 18.86, 18.92, 18.96]
    assert report.loads["upload"].mbps == 20.4


def test_ethr_tells_seconds_and_a_table_of_latencies() -> None:
    """Of the upload it counts what the sender's kernel has taken, which is more than the link
    carries."""
    report = ClientReport("ethr")
    ethr.read_latency(lines("ethr-latency"), report)
    ethr.read_rates(lines("ethr-upload", 1.0), "upload", report)
    assert report.numbers["latency_ms"] == pytest.approx(20.0, abs=0.1)
    assert report.numbers["latency_max_ms"] == pytest.approx(20.1, abs=0.1)
    assert [round(size * 8e-6, 2) for _at_s, _length_s, size in report.loads["upload"].rates] == \
        [21.1, 20.86, 21.89]
    assert report.numbers["upload_mbps"] == pytest.approx((21.1 + 20.86 + 21.89) / 3)
    assert report.numbers["upload_mbps"] > CARRIED_MBPS * 1.1


@pytest.mark.parametrize(("shown", "mbps"), [
    ("950", 0.00095), ("1.5K", 0.0015), ("94.12M", 94.12), ("1.25G", 1250.0)])
def test_ethr_abbreviates_rates(shown: str, mbps: float) -> None:
    """In bits a second, by thousands."""
    report = ClientReport("ethr")
    ethr.read_rates(iter([OutputLine(0.0, "[  3] local a port 1 connected to b port 2"),
                          OutputLine(1.0, f"[    3]     TCP      000-001 sec    {shown}")]),
                    "download", report)
    assert report.numbers["download_mbps"] == pytest.approx(mbps)


def test_crusader_tells_latency_under_load_and_saves_all_of_it() -> None:
    """Its samples stand in its load: rates that sum to what it shows, and times that rise."""
    report = ClientReport("crusader")
    begin_s = crusader.read_text(lines("crusader"), report)
    crusader.read_export(gzip.decompress((GOLDEN / "crusader.json.gz").read_bytes()).decode(),
                         begin_s, report)
    assert set(report.numbers) == {one.name for one in crusader.TOOL.numbers}
    assert report.numbers["idle_ms"] == pytest.approx(20, abs=0.1)
    for name in ("download", "upload"):
        way = report.loads[name]
        assert way.start_s is not None
        assert way.end_s - way.start_s == pytest.approx(2.2, abs=0.4)
        inside_s = sum(length_s for _at_s, length_s, _size in way.rates)
        assert sum(size for _at_s, _length_s, size in way.rates) * 8e-6 / inside_s == \
            pytest.approx(CARRIED_MBPS, rel=0.25)
        # A queue of 1000 packets holds 0.6 s: it fills while packets wait in it.
        assert max(ms for _at_s, _what, ms in way.probes) > 3 * way.probes[0][2]
    assert all(ms < 700 for _at_s, _what, ms in report.idle.probes)
    assert report.loads["download"].start_s == begin_s


def test_goresponsiveness_tells_what_it_can(tmp_path: Path) -> None:
    """NaN and infinite are no numbers. An upload whose first connection is late is one of
    0 Mbit/s, and what that means is noted."""
    report = ClientReport("goresponsiveness")
    goresponsiveness.read_text(lines("goresponsiveness"), report)
    for table in GOLDEN.glob("run-*.csv"):
        (tmp_path / table.name).write_bytes(table.read_bytes())
    goresponsiveness.read_tables(tmp_path, 0.0, report)
    assert report.numbers == {
        "download_mbps": 17.991, "connections_download": 4, "rpm_download": 47,
        "upload_mbps": 0, "connections_upload": 0, "rpm": 35, "trimmed_rpm": 89}
    down, up = report.loads["download"], report.loads["upload"]
    assert down.start_s is not None
    assert down.end_s - down.start_s > 20
    assert 8e-6 * sum(size for _at_s, _length_s, size in down.rates) / \
        (down.end_s - down.start_s) == pytest.approx(18.5, rel=0.05)
    kinds = {what for _at_s, what, _ms in down.probes}
    assert kinds == {"foreign_ms", "self_http_ms"}
    assert [size for _at_s, _length_s, size in up.rates] == [0]
    upload = read_report(report.text(), goresponsiveness.TOOL)["upload"][2]
    assert upload["MEAN_VALUE"] == 0
    assert "upload: no connection within its first interval" in upload["SPEEDTEST"]["notes"]


def test_goresponsiveness_without_a_row_of_either_direction_is_refused(tmp_path: Path) -> None:
    """Nothing says when such a load was."""
    report = ClientReport("goresponsiveness")
    goresponsiveness.read_text(lines("goresponsiveness"), report)
    with pytest.raises(BadResult, match=r"no throughput of either direction .*: if no "
                                        r"connection .*, a longer interval_s"):
        goresponsiveness.read_tables(tmp_path, 0.0, report)


def test_load_of_goresponsiveness_begins_an_interval_before_its_first_row(tmp_path: Path) -> None:
    """However long that is."""
    for table in GOLDEN.glob("run-*.csv"):
        (tmp_path / table.name).write_bytes(table.read_bytes())
    starts_s = []
    for interval_s in (1.0, 5.0):
        report = ClientReport("goresponsiveness")
        goresponsiveness.read_text(lines("goresponsiveness"), report)
        goresponsiveness.read_tables(tmp_path, 0.0, report, interval_s)
        start_s = report.loads["download"].start_s
        assert start_s is not None
        assert report.loads["download"].rates[0][:2] == pytest.approx(
            (start_s + interval_s, interval_s))
        starts_s.append(start_s)
    assert starts_s[0] - starts_s[1] == pytest.approx(4)


def test_time_before_the_last_one_does_not_move_the_end_of_a_load_back(tmp_path: Path) -> None:
    """The client's clock may be set; the next rate would count its bytes twice."""
    name = "run-throughput-download-01-01-2026-00-00-22.csv"
    (tmp_path / name).write_text("head\n" + "".join(
        f"01-01-2026-00-00-{second},1000,1,1,\n" for second in ("24.0", "22.5", "25.0", "24.5")))
    report = ClientReport("goresponsiveness")
    load = report.load("download")
    goresponsiveness.read_tables(tmp_path, 0.0, report)
    assert load.start_s is not None
    assert [(end_s - load.start_s, length_s, size) for end_s, length_s, size in load.rates] == [
        (1, 1, 1000), (2, 1, 1000)]
    assert load.end_s == load.start_s + 2
    heard = librespeed_browser.PageReport(ClientReport("librespeed_browser"))
    for at_ms in (1000, 3000, 2000, 4000, 3500):
        heard.take(json.dumps({"testState": 1, "dlStatus": "8", "at_ms": at_ms}).encode())
    load = heard.report.load("download")
    assert load.start_s is not None
    assert [length_s for _end_s, length_s, _size in load.rates] == pytest.approx([2, 1])
    assert load.end_s - load.start_s == pytest.approx(3)


@pytest.mark.parametrize(("name", "read", "output"), [
    ("librespeed_cli-refused", librespeed_cli.read, "printed no result: .* does the server resp"),
    ("msak-refused", msak.read, "msak-client reported no download: dial tcp .*connection refused"),
    ("ethr-refused", ethr.read_latency, "ethr reported no latency: Error dialing .*refused"),
    ("crusader-refused", crusader.read_text, ("output lacks the value of download_mbps; its last "
     "line is 'Connection refused .os error 111.'")),
    ("goresponsiveness-refused", goresponsiveness.read_text, ("no throughput of the download; its "
     "last line is 'Error: could not connect")),
])
def test_server_that_is_not_there_is_told(name: str, read: object, output: str) -> None:
    """By the program's own words where it ended with status 0."""
    assert callable(read)
    with pytest.raises(BadResult, match=output):
        read(lines(name), ClientReport(name))


def test_what_an_output_lacks_is_named() -> None:
    """Rates without the line that tells when they began; a result without rates; no last rate."""
    with pytest.raises(BadResult, match="output of the upload lacks the line 'connected to'"):
        ethr.read_rates([OutputLine(1.0, "[  5]     TCP    000-001 sec   9.42M")], "upload",
                        ClientReport("x"))
    with pytest.raises(BadResult, match="no rate of its download while it ran"):
        librespeed_cli.read([OutputLine(1.0, '{"event": "result", "reports": [{"download": 9}]}')],
                            ClientReport("x"))
    start = [OutputLine(1.0, "Starting download stream (server: x)"),
             OutputLine(2.0, "Elapsed: 1s download rate: 9.4 Mb/s, rtt: 1ms, minrtt: 1ms")]
    with pytest.raises(BadResult, match="no download: its output has no final rate"):
        msak.read(start, ClientReport("x"))


def test_complaint_of_msak_is_that_of_the_direction_which_failed() -> None:
    """What the download's stream complained of at its end doesn't explain the upload. What came
    before both, such as a server that isn't there, explains either."""
    download = [OutputLine(1.0, "Starting download stream (server: x)"),
                OutputLine(2.0, "Elapsed: 1s download rate: 9.4 Mb/s, rtt: 1ms, minrtt: 1ms"),
                OutputLine(3.0, "websocket: close 1006"),
                OutputLine(4.0, "  download rate: 9.4 Mb/s, rtt: 1ms, minrtt: 1ms"),
                OutputLine(5.0, "Starting upload stream (server: x)")]
    with pytest.raises(BadResult, match="no upload: its output has no rates"):
        msak.read(download, ClientReport("x"))
    with pytest.raises(BadResult, match="no upload: dial tcp: refused"):
        msak.read([*download, OutputLine(6.0, "dial tcp: refused")], ClientReport("x"))
    with pytest.raises(BadResult, match="no download: no such host"):
        msak.read([OutputLine(0.5, "no such host")], ClientReport("x"))


def test_programs_that_write_no_result_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch
                                                 ) -> None:
    """They end with status 0 all the same. Nor is a word a number of round trips."""
    (tmp_path / "bbperf").mkdir()
    # Without it, an installed bbperf would be found first.
    (tmp_path / "bbperf" / "__init__.py").touch()
    (tmp_path / "bbperf" / "bbperf.py").write_text("print('ERROR: no such server')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(BadResult, match="no result file of the download, and printed: ERROR: no"):
        bbperf.measure(Call("192.0.2.1", 1), ClientReport("bbperf"))
    with pytest.raises(BadResult, match="goresponsiveness printed 'many' as RPM"):
        goresponsiveness.read_text([OutputLine(1.0, "Final RPM: many (P90)")], ClientReport("x"))


def test_export_that_is_none_is_refused() -> None:
    """In one line, with how it starts."""
    with pytest.raises(BadResult, match=r"JSON has an unexpected form .* starts with '\{\}'"):
        crusader.read_export("{}", 0.0, ClientReport("crusader"))
    with pytest.raises(BadResult, match="JSON has an unexpected form"):
        crusader.read_export('{"test_data": [{"kind": "Download", "start": {"secs": 1'
                             f'{400 * "0"}, "nanos": 0}}}}]}}', 0.0, ClientReport("crusader"))


def stand_in(folder: Path, script: str) -> str:
    """A program in the place of a real one."""
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_end_of_a_program_is_told_with_its_last_line(tmp_path: Path) -> None:
    """And with its status."""
    program = stand_in(tmp_path, "echo one; echo Error: no such server >&2; exit 3")
    with pytest.raises(BadResult, match=r"^ethr ended with status 3: Error: no such server$"):
        list(lines_of("ethr", [program]))
    with pytest.raises(BadResult, match=r"^ethr was ended by signal 9: it printed nothing$"):
        list(lines_of("ethr", [stand_in(tmp_path, "kill -9 $$")]))


def test_command_prints_a_report(tmp_path: Path) -> None:
    """Of msak, by a script that prints what msak-client printed, and gets its options."""
    program = stand_in(tmp_path, f"echo \"$@\" > {tmp_path}/words; cat {GOLDEN}/msak.txt")
    done = subprocess.run(
        [sys.executable, "-P", "-m", msak.TOOL.module, f"program={program}", "host=2001:db8::1",
         "port=8180", "streams=4"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["numbers"]["download_mbps"] == 17.49
    words = (tmp_path / "words").read_text()
    assert "-server [2001:db8::1]:8180" in words
    assert "-streams 4" in words


@pytest.mark.parametrize("tls", [False, True])
def test_librespeed_cli_gets_the_address_of_the_server_that_runs(tmp_path: Path, tls: bool) -> None:
    """With TLS as well, and then without a check of the server's own certificate."""
    program = stand_in(
        tmp_path,
        f'(echo "$@"; cat "$2") > {tmp_path}/words; cat {GOLDEN}/librespeed_cli.txt')
    report = ClientReport("librespeed_cli")
    librespeed_cli.measure(Call("2001:db8::1", 8490, tls, programs=(program,)), report)
    assert report.numbers["download_mbps"] == 18.98
    words = (tmp_path / "words").read_text()
    assert f'"http{"s" if tls else ""}://[2001:db8::1]:8490/"' in words
    assert ("--skip-cert-verify" in words) == tls


def test_program_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    """Its time limit ends both."""
    program = stand_in(tmp_path, f"echo $$ > {tmp_path}/pid; echo Starting; exec sleep 60")
    with subprocess.Popen(
            [sys.executable, "-P", "-m", msak.TOOL.module, f"program={program}", "host=::1",
             "port=1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
            time.sleep(0.05)
        process.terminate()
        process.wait(30)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_program_ends_also_when_it_has_only_just_started(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGTERM comes while Popen() still works: the program runs, and nobody has its object yet."""
    class Started(subprocess.Popen[str]):
        def __init__(self, *words: Any, **options: Any) -> None:
            super().__init__(*words, **options)
            (tmp_path / "pid").write_text(str(self.pid))
            os.kill(os.getpid(), signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    monkeypatch.setattr(subprocess, "Popen", Started)
    try:
        with pytest.raises(SystemExit):
            list(lines_of("msak-client", [stand_in(tmp_path, "exec sleep 60")]))
    finally:
        signal.signal(signal.SIGTERM, before)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_address_of_both_kinds() -> None:
    """In the form of URLs."""
    assert Call("192.0.2.1", 80).host_and_port == "192.0.2.1:80"
    assert Call("2001:db8::1", 80, tls=True).url == "https://[2001:db8::1]:80"


def test_call_survives_the_way_to_its_process() -> None:
    """Values may hold what separates names from them."""
    call = Call("2001:db8::1", 80, True, 6, ("/a=b/x y", "/c"), {"interval_s": "0.5", "x": "a=b"})
    assert call_of(call.words()) == call
    assert call_of(Call("server", 1).words()) == Call("server", 1)


@pytest.mark.parametrize("bad", ["1.5.5", "9" * 5000])
@pytest.mark.parametrize(("name", "read"), [
    ("ethr-latency", ethr.read_latency),
    ("ethr-upload", lambda printed, report: ethr.read_rates(printed, "upload", report)),
    ("msak", msak.read), ("crusader", crusader.read_text),
    ("goresponsiveness", goresponsiveness.read_text),
    ("../nuttcp/upload-6.1.2", lambda printed, report: nuttcp.read(printed, "upload", report)),
    *((f"../iperf2/{kind}-upload-2.1.8",
       lambda printed, report, read=read: read("\n".join(line.text for line in printed), "upload",
                                               report))
      for kind, read in [("load", iperf2_bounceback.read_load),
                         ("bounceback", iperf2_bounceback.read_messages)])])
def test_number_that_is_none_is_left_out_or_refused(
    name: str, read: Callable[[list[OutputLine], ClientReport], object], bad: str,
) -> None:
    """Each line in turn has such a number in place of its last: no part of it is read, and no
    reader fails in another way."""
    whole = list(lines(name, 1.0))
    changed = 0
    for index, line in enumerate(whole):
        text = re.sub(r"(.*)(?<![\d.])\d+\.\d+", rf"\g<1>{bad}", line.text)
        changed += text != line.text
        report = ClientReport(name)
        report.load("upload").begin(0.0)
        with suppress(BadResult):
            read([*whole[:index], OutputLine(line.at_s, text), *whole[index + 1:]], report)
        values = [*report.numbers.values(), *(load.mbps for load in report.loads.values())]
        assert all(value is None or (isfinite(value) and value != 5.5) for value in values)
    assert changed > 2
