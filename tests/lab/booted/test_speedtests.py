# SPDX-License-Identifier: GPL-3.0-or-later
"""Speed tests in the lab, by the real `flent -B`: what they say of a full queue, and that they
repeat."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.paths import resource_dir
from flent_aqm.results.metrics.run import Run, load_run
from flent_aqm.results.metrics.table import METRICS
from flent_aqm.setup.tools import can_start
from flent_aqm.tools.table import SERVERS
from tests.files import load

from ...warm_flent import run_flent

pytestmark = pytest.mark.lab

BIN = Path(sys.executable).parent
# As TCP carries 9.56 of 10 Mbit/s.
CARRIED_MBPS = 10 * 1448 / 1514


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of five clients through drop-tail and a fair queue at 10 Mbit/s."""
    folder = tmp_path_factory.mktemp("speedtests")
    (folder / "base.batch").write_text((resource_dir("batches") / "base.batch").read_text())
    (folder / "try.batch").write_text("""[Batch::try]
inherits = base
output_path = results
rate_mbps = 10
base_delay_ms = 20
test_parameters = interval_s=1;probes_per_s=5
for_aqm = no_aqm, fq_codel
for_tool = librespeed, responsiveness, nuttcp, iperf2""" + (
        ", webrtc" if find_spec("aiortc") else "") + """
filename_extra = ${test_name}-${aqm}

[Arg::nuttcp]
test_name = nuttcp

[Arg::iperf2]
test_name = iperf2_bounceback

[Arg::webrtc]
test_name = webrtc_call
cross_traffic = 1
test_parameters = call_length_s=10

[Arg::librespeed]
test_name = librespeed

[Arg::responsiveness]
test_name = responsiveness
""")
    done = run_flent("-B", "try.batch", cwd=folder, timeout_s=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "results"


def _run(sweep: Path, *parts: str) -> Run:
    file, = (file for file in sweep.glob("*.flent.gz") if all(part in file.name for part in parts))
    return load_run(file)


def _value(run: Run, name: str) -> Any:
    return METRICS[name].of(run)


def test_librespeed_calls_a_full_queue_a_good_ping(sweep: Path) -> None:
    """Its ping is that of the idle line, and its upload is more than the line can carry, while
    the probe beside it waited for a second."""
    run = _run(sweep, "librespeed", "no_aqm")
    assert _value(run, "librespeed_ping_ms") == pytest.approx(20, abs=0.5)
    assert _value(run, "librespeed_download_mbps") == pytest.approx(CARRIED_MBPS * 1.06, rel=0.03)
    assert _value(run, "librespeed_upload_mbps") > CARRIED_MBPS * 1.06
    assert _value(run, "latency_loaded_p95_ms") > 500


def test_probes_go_on_until_5_s_after_a_test_whose_end_nobody_knew(sweep: Path) -> None:
    """Not until the longest that the test could have taken."""
    run = _run(sweep, "librespeed", "fq_codel")
    assert run.load_window is not None
    assert float(run.probe.sent_s[-1]) - run.load_window.end_s == pytest.approx(5, abs=0.5)
    assert float(run.probe.sent_s[-1]) - float(run.probe.sent_s[0]) < 50
    file, = sweep.glob("*librespeed*fq_codel*.flent.gz")
    metadata = load(file)["metadata"]
    load_s = run.load_window.end_s - float(run.probe.sent_s[0])
    assert metadata["TOTAL_LENGTH"] == pytest.approx(load_s + 5, abs=1)


def test_default_plot_is_drawn(sweep: Path, tmp_path: Path) -> None:
    """It has no panel of what the clients don't tell."""
    for name in ("librespeed", "responsiveness"):
        file, = sweep.glob(f"*{name}-fq_codel.flent.gz")
        done = run_flent("-p", "all", "-o", tmp_path / f"{name}.png", file, cwd=tmp_path)
        assert "ERROR" not in done.stdout + done.stderr
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000


def test_responsiveness_tells_queues_apart(sweep: Path) -> None:
    """Poor through drop-tail; and through a fair queue several times as many round trips."""
    full, fair = (_run(sweep, "responsiveness", aqm) for aqm in ("no_aqm", "fq_codel"))
    rpm = METRICS["responsiveness_rpm"]
    bad, good = rpm.of(full), rpm.of(fair)
    assert isinstance(bad, float)
    assert isinstance(good, float)
    assert rpm.text(bad).startswith("poor")
    assert good > 3 * bad
    for run in (full, fair):
        assert 1 <= _value(run, "responsiveness_connections_download") <= 16
        assert _value(run, "responsiveness_goodput_upload_mbps") < CARRIED_MBPS * 1.15


@pytest.mark.skipif(not find_spec("aiortc"), reason="aiortc is optional")
def test_webrtc_call_beside_bulk_keeps_well_in_a_fair_queue(sweep: Path) -> None:
    """Its packets don't wait behind the bulk there, and nearly all of its frames come in time;
    through drop-tail they do. What it sent is in the capture."""
    full, fair = (_run(sweep, "webrtc_call", aqm) for aqm in ("no_aqm", "fq_codel"))
    for way in ("download", "upload"):
        assert _value(fair, f"webrtc_rtt_{way}_ms") < 60
        assert _value(fair, f"webrtc_late_frames_{way}_pct") < 5
        assert _value(fair, f"webrtc_lost_frames_{way}_pct") < 5
        assert _value(fair, f"webrtc_{way}_mbps") > 0.4
        assert (_value(full, f"webrtc_late_frames_{way}_pct")
                + _value(full, f"webrtc_lost_frames_{way}_pct")) > 20
    file, = sweep.glob("*webrtc_call-fq_codel*.flent.gz")
    whole = load(file)
    captured = [one["download"] for one in whole["raw_values"]["Capture"] if one["download"]]
    assert len(captured) > 90


def test_nuttcp_tells_nothing_of_the_queue(sweep: Path) -> None:
    """What the line carries, and a round trip that is the idle line's, for both queues."""
    for aqm in ("no_aqm", "fq_codel"):
        run = _run(sweep, "nuttcp", aqm)
        for way in ("download", "upload"):
            assert _value(run, f"nuttcp_{way}_mbps") == pytest.approx(CARRIED_MBPS, rel=0.05)
        assert _value(run, "nuttcp_rtt_ms") == pytest.approx(20, abs=1)


def test_bounceback_sees_the_queue(sweep: Path) -> None:
    """Its messages wait among the load, many times as long where the queue is one."""
    full, fair = (_run(sweep, "iperf2_bounceback", aqm) for aqm in ("no_aqm", "fq_codel"))
    for way in ("download", "upload"):
        name = f"iperf2_bounceback_{way}_ms"
        assert _value(fair, name) == pytest.approx(20, abs=3)
        assert _value(full, name) > 5 * _value(fair, name)
    for way, filled, empty in (("download", "from", "to"), ("upload", "to", "from")):
        name = f"iperf2_owd_{filled}_server_{way}_ms"
        assert _value(fair, name) == pytest.approx(10, abs=3)
        assert _value(full, name) > 5 * _value(fair, name)
        assert _value(full, f"iperf2_owd_{empty}_server_{way}_ms") == pytest.approx(10, abs=3)


def test_a_speed_test_repeats(sweep: Path) -> None:
    """Made again from its data file, every sample is the same."""
    file, = sweep.glob("*librespeed*fq_codel*.flent.gz")
    done = subprocess.run([BIN / "flent-aqm", "replay", file], cwd=sweep, timeout=300,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_lab_command_has_the_servers_of_every_test(tmp_path: Path) -> None:
    """Nobody has to start them by hand, those of cross traffic neither; those that take time to
    start where the command names what needs them."""
    words = " ".join(server.words[0] for server in SERVERS.values() if server.words)
    done = subprocess.run(
        [BIN / "flent-aqm", "lab", "--rate", "10", "--", "sh", "-c",
         ("flent nuttcp -H server -l 1 --test-parameter cross_traffic=web >&2 && "
          "flent quic_download -H server -l 2 >&2 && "
          "flent librespeed -H server --test-parameter cross_traffic=call >&2 && "
          f"ip netns exec server ss -Hlntu && : {words}")],
        cwd=tmp_path, timeout=300, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    heard = {(line.split()[0], line.split()[4].rpartition(":")[2])
             for line in done.stdout.splitlines()}
    wanted = {(server.protocol, str(port)) for server in SERVERS.values()
              if can_start(server) for port in server.every_port}
    assert wanted <= heard
    file, = tmp_path.glob("nuttcp-*.flent.gz")
    series = load(file)["metadata"]["SERIES_META"]
    for name in ("TCP download", "TCP upload", "Cross download"):
        assert series[name]["MEAN_VALUE"] > 1
    # Here another process than the one that ran them parses what tools wrote into files.
    file, = tmp_path.glob("librespeed-*.flent.gz")
    assert load_run(file).loaded().rtt_ms.size > 1000
    series = load(file)["metadata"]["SERIES_META"]
    assert series["Cross download"]["MEAN_VALUE"] == pytest.approx(1.4, abs=0.1)
    file, = tmp_path.glob("quic_download-*.flent.gz")
    assert _value(load_run(file), "throughput_download_mbps") == pytest.approx(9, abs=1)
