# SPDX-License-Identifier: GPL-3.0-or-later
"""Each tool's load runs from the first to the last packet of its data: what data files say, held
against their captures by other code. Beside bulk traffic in a long queue, where connecting takes
seconds."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base import defaults
from flent_aqm.base.paths import resource_dir
from flent_aqm.results.metrics.run import Run, load_run
from flent_aqm.setup.optional import find_mlab_client
from tests.files import load

from ...warm_flent import run_flent, run_flent_aqm
from . import packets

pytestmark = pytest.mark.lab

# Name of a run -> its test, and test parameters beside keep_pcap. Beside bulk traffic in a queue of
# 0.6 s; or alone, as nuttcp, which doesn't wait for so long.
BESIDE = {
    "up": ("iperf3_upload", ""), "down": ("iperf3_download", ""),
    "both": ("iperf3_bidirectional", ""), "eight": ("iperf3_download", "streams=8"),
    "ndt7": ("ndt7", ""), "iperf2": ("iperf2_bounceback", ""),
    "librespeed": ("librespeed", ""), "ookla": ("ookla_style", ""),
    "quic": ("quic_download", ""),
    **({"mlab": ("ndt7_upload", "ndt7_client=mlab")} if find_mlab_client() else {}),
}
ALONE = {
    "nuttcp": ("nuttcp", ""), "cloudflare": ("cloudflare", ""),
    "tls": ("ndt7_upload", "ndt7_tls=yes"),
    "responsiveness": ("responsiveness", "interval_s=1;probes_per_s=5"),
    "flows": ("aqm_flows", "flows=1xcubic+1xudp2@2-5"),
    **({"call": ("webrtc_call", "call_length_s=10")} if find_spec("aiortc") else {}),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all of them."""
    folder = tmp_path_factory.mktemp("windows")
    (folder / "base.batch").write_text((resource_dir("batches") / "base.batch").read_text())
    text = ""
    for cross, names in (("bulk", BESIDE), ("no", ALONE)):
        text += "".join(
            f"[Arg::{name}]\ntest_name = {test}\nname_of_run = {name}\ntest_parameters = "
            f"keep_pcap=yes{';' * bool(more)}{more}\n\n"
            for name, (test, more) in names.items())
        text += (f"[Batch::{cross}]\ninherits = base\noutput_path = results\nrate_mbps = 20\n"
                 f"base_delay_ms = 20\nlength = 8\njobs = 2\nfor_run = {', '.join(names)}\n"
                 f"cross_traffic = {cross}\nfilename_extra = ${{name_of_run}}\n\n")
    (folder / "try.batch").write_text(text)
    done = run_flent("-B", "try.batch", cwd=folder, timeout_s=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "results"


def one(folder: Path, name: str) -> tuple[Run, Path]:
    """A run and its capture."""
    file, = folder.glob(f"*-{name}.flent.gz")
    return load_run(file), file.with_name(file.name.replace(".flent.gz", ".pcap"))


def agree(run: Run, direction: str, seen: tuple[float, float], within_s: float = 1e-5) -> None:
    flows = run.flows_of(direction)
    own = min(flow.start_s for flow in flows), max(flow.end_s for flow in flows)
    assert own == pytest.approx(seen, abs=within_s, rel=0)
    assert run.loaded(direction).sent_s[0] >= seen[0] - within_s


@pytest.mark.parametrize(("name", "ways"), [
    ("up", ("upload",)), ("down", ("download",)), ("both", ("download", "upload")),
    ("eight", ("download",))])
def test_iperf3_begins_with_its_data(runs: Path, name: str, ways: tuple[str, ...]) -> None:
    """Not with the SYN of its control connection, which is the first of all; and what it says of
    its intervals lies there, too."""
    run, capture = one(runs, name)
    control, *data = packets.connections(capture, defaults.IPERF3_PORT)
    for way in ways:
        seen = packets.window(data, way)
        agree(run, way, seen)
        assert seen[0] - control.first_s > 0.1
        flow, = run.flows_of(way)
        carried = flow.mbps > 0
        first = float(flow.at_s[carried][0] - flow.length_s[carried][0])
        assert first == pytest.approx(seen[0], abs=1e-5)


def test_cross_traffic_has_its_own_window(runs: Path) -> None:
    """iperf3 that is stopped."""
    run, capture = one(runs, "down")
    flow, = (flow for flow in run.flows if flow.is_cross)
    _, *data = packets.connections(capture, defaults.IPERF3_CROSS_PORT)
    assert flow.start_s == pytest.approx(packets.window(data, "download")[0], abs=1e-5)


def test_throughput_of_eight_streams_is_that_of_the_capture(runs: Path) -> None:
    """Within what is lost and sent again: the same seconds are looked at."""
    run, capture = one(runs, "eight")
    flow, = run.flows_of("download")
    own = {number for connection in packets.connections(capture, defaults.IPERF3_PORT)[1:]
           for number in connection.data["download"]}
    carried = [length for at_s, source, _, length in packets.packets(capture, "tcp")
               if source[1] == defaults.IPERF3_PORT and length >= packets.FULL
               and flow.start_s <= at_s < flow.start_s + 8]
    assert own
    assert flow.mean_mbps == pytest.approx(sum(carried) * 8e-6 / 8, rel=0.15)


@pytest.mark.parametrize(("test", "port"), [
    ("ndt7", defaults.NDT7_PORT), ("nuttcp", defaults.NUTTCP_PORT + 1),
    ("iperf2", defaults.IPERF2_PORT), ("librespeed", defaults.SPEEDTEST_PORT),
    ("ookla", defaults.SPEEDTEST_PORT)])
def test_tool_that_downloads_and_then_uploads(runs: Path, test: str, port: int) -> None:
    """Each direction has its own times."""
    run, capture = one(runs, test)
    windows = packets.both(packets.connections(capture, port))
    for way in ("download", "upload"):
        agree(run, way, windows[way])
    assert windows["download"][0] < windows["upload"][0]


def test_quic_download(runs: Path) -> None:
    """Handshakes of QUIC are as long as its data, and belong to it: a packet or two."""
    run, capture = one(runs, "quic")
    agree(run, "download", packets.both(
        packets.connections(capture, defaults.QUIC_PORT, "udp"))["download"])


def test_requests_of_growing_sizes_on_one_connection(runs: Path) -> None:
    """Cloudflare's method goes up and down in turns."""
    run, capture = one(runs, "cloudflare")
    windows = packets.both(packets.connections(capture, defaults.SPEEDTEST_PORT))
    for way in ("download", "upload"):
        agree(run, way, windows[way])


def test_load_that_grows_beside_many_small_requests(runs: Path) -> None:
    """Responsiveness: probes are no load."""
    run, capture = one(runs, "responsiveness")
    windows = packets.both(packets.connections(capture, defaults.SPEEDTEST_PORT))
    for way in ("download", "upload"):
        agree(run, way, windows[way])


def test_ndt7_upload_through_tls(runs: Path) -> None:
    """The last message of the server comes up to half a second before the last data."""
    run, capture = one(runs, "tls")
    agree(run, "upload", packets.both(
        packets.connections(capture, defaults.NDT7_TLS_PORT))["upload"])


@pytest.mark.skipif(not find_spec("aiortc"), reason="aiortc is optional")
def test_call(runs: Path) -> None:
    """Its pictures, both ways."""
    run, capture = one(runs, "call")
    windows = packets.both(packets.connections(capture, defaults.WEBRTC_PORT, "udp"))
    for way in ("download", "upload"):
        agree(run, way, windows[way])


def test_flows_that_come_and_go(runs: Path) -> None:
    """Each with its own, of TCP and of UDP."""
    run, capture = one(runs, "flows")
    for flow, port, protocol in zip(run.flows, defaults.IPERF3_FLOW_PORTS, ("tcp", "udp"),
                                    strict=False):
        seen = packets.both(packets.connections(capture, port, protocol))["upload"]
        assert (flow.start_s, flow.end_s) == pytest.approx(seen, abs=1e-5, rel=0)


@pytest.mark.skipif(find_mlab_client() is None, reason="M-Lab's ndt7-client is optional")
def test_mlabs_client_uploads_until_its_last_packet(runs: Path) -> None:
    """Which may come seconds after the server's last message."""
    run, capture = one(runs, "mlab")
    agree(run, "upload", packets.both(
        packets.connections(capture, defaults.NDT7_PORT))["upload"])


@pytest.mark.parametrize("test", ["speedtest_sequential", "speedtest_concurrent"])
def test_netperf_tells_it_by_its_receivers(tmp_path: Path, test: str) -> None:
    """Nobody knows the ports of its data before, so its data file has no capture: by a capture
    beside it, it begins with the data, to an interval; and netperf stops counting when its time
    is over, with the queue of 0.6 s full."""
    done = run_flent_aqm(
        "lab", "--rate", "20", "--delay", "20", "--", "sh", "-c",
        "tcpdump -i eth0 -s 96 -w beside.pcap tcp and not port 5202 & sleep 1; "
        f"flent {test} -H server -l 5 --test-parameter streams=2 "
        "--test-parameter cross_traffic=yes; kill -INT $!; wait", cwd=tmp_path, timeout_s=300)
    assert "ERROR" not in done.stdout + done.stderr, done.stdout + done.stderr
    file, = tmp_path.glob("*.flent.gz")
    run, windows = load_run(file), packets.both(packets.connections(tmp_path / "beside.pcap"))
    for way in ("download", "upload"):
        flows = run.flows_of(way)
        assert min(flow.start_s for flow in flows) == pytest.approx(windows[way][0], abs=0.26)
        assert windows[way][1] - 0.8 < max(flow.end_s for flow in flows) < windows[way][1] + 0.25


def test_file_says_where_its_times_are_from(runs: Path) -> None:
    """And keeps nothing of what led to them."""
    file, = runs.glob("*-ndt7.flent.gz")
    meta: dict[str, Any] = load(file)["metadata"]["SERIES_META"]
    assert meta["TCP download"]["LOAD_TIMES_FROM"] == "capture"
    assert not {"LOAD", "PART", "PARTS", "TRANSFERS"} & {key for one in meta.values()
                                                         for key in one}
