# SPDX-License-Identifier: GPL-3.0-or-later
"""Networks beside the dumbbell: who is linked to whom, what flows across, what routers report."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flent_aqm.base.errors import ConfigError, LabError, ToolMissing
from flent_aqm.base.paths import resource_dir
from flent_aqm.lab import virtual
from flent_aqm.lab.topology_files import addresses
from flent_aqm.lab.virtual import Lab, VirtualTestbed
from flent_aqm.results.metrics.run import load_run
from flent_aqm.results.metrics.table import METRICS, Unavailable
from flent_aqm.router.hook import apply_command, apply_words, read_back_command
from flent_aqm.router.proof import differences
from flent_aqm.router.tc.read_back import parse_read_back
from flent_aqm.spec.cell import derive_seed
from flent_aqm.spec.flow_groups import FLOWS, refuse_unknown_hosts
from flent_aqm.spec.scenario import Scenario
from flent_aqm.spec.topology.subscribers import class_of, ipv4_of, ipv6_of
from flent_aqm.spec.topology.topology import parse_topology
from tests.files import load

from ...warm_flent import run_flent

RunBatch = Callable[[str], tuple[Path, dict[str, Any]]]


@pytest.mark.parametrize(("text", "hosts", "routers"), [
    ("dumbbell", "client server", "router"),
    ("parking_lot:3", "client middle middle2 server", "router router2 router3"),
    ("clients:3", "client lan client2 client3 server", "router"),
    ("clients:2+servers", "client lan client2 wan server server2", "router"),
    ("client-lan, lan - a, lan-router ,router-server", "client lan a server", "router")])
def test_topologies_have_the_hosts_that_their_names_promise(
    text: str, hosts: str, routers: str
) -> None:
    """Hosts and routers, whatever order they come in; and the text survives a scenario."""
    topology = parse_topology("topology", text)
    assert sorted(topology.graph.hosts) == sorted(hosts.split())
    assert topology.graph.routers == tuple(routers.split())
    scenario = Scenario.from_settings({"topology": text})
    assert Scenario.from_json(scenario.as_json()) == scenario
    assert parse_topology("topology", scenario.path.topology).graph == topology.graph


@pytest.mark.parametrize(("text", "names", "command"), [
    ("clients:2", ["client client1", "client2"], ()),
    ("client-lan, client1-lan, client2-lan, lan-router, router-server",
     ["client", "client1", "client2"], ("ip", "netns", "exec", "client1")),
])
def test_client1_is_the_client_unless_a_host_is_called_so(
    text: str, names: list[str], command: tuple[str, ...]
) -> None:
    """Flows from a host of that name started on the client, whose address the name had, too."""
    topology = parse_topology("topology", text)
    assert len(set(topology.sources)) == len(topology.sources)
    assert topology.source("client1").command == command
    told = [names for _, names in addresses(topology) if names.startswith("client")]
    assert sorted(set(told)) == names


def test_topology_left_out_leaves_a_run_as_it_was() -> None:
    """No word for the hook, the same seed."""
    scenario = Scenario.from_settings({"topology": "dumbbell"})
    assert scenario == Scenario() == Scenario.from_settings({"topology": ""})
    assert "topology" not in scenario.identity()
    assert apply_words(scenario) == apply_words(Scenario())
    assert derive_seed("ndt7", scenario, 1) != derive_seed(
        "ndt7", Scenario.from_settings({"topology": "clients:2"}), 1)


@pytest.mark.parametrize(("text", "output"), [
    ("ring", "unknown value 'ring'"),
    ("parking_lots", "did you mean 'parking_lot'"),
    ("clients:99", "whole number N from 2 to 16"),
    ("clients:2+fast", "unknown word 'fast'"),
    ("clients:2+servers+servers", "servers is given twice; give it once"),
    ("dumbbell:3", "'?dumbbell"),
    ("subscribers:10+plan_mbps=0", "plan_mbps"),
    ("client-router, router-server, a-b", "column 31: no links lead from client to a and b"),
    ("client-router, router-server, server-client", "column 31: .* closes a ring"),
    ("client-router, router:server", "column 15: 'router:server' is not a link"),
    ("Client-router, router-server", "column 1: .* is not a link; .* of a-z, 0-9 and _, a letter"),
    ("client-router, router-wan, wan-server, wan-router2", "router2 has 1 link; .*: link it to a"),
    ("clients:4 + nat", r"expected clients:N or clients:N\+WORD without blanks, with a whole"),
    ("clients:4+nat=0", r"nat takes no value; give \+nat alone, or leave it out"),
    ("parking_lot:3+nat", r"this topology takes no words; leave '\+nat' out"),
    ("client-router, router-server, router-x", "column 1: router has 3 links"),
    ("client-router, router-a, client-b, a-server", "client has 2 links"),
    ("client - lan, lan - router, router - wan, gw - server",
     "column 43: no links lead from client to gw and server; .* each node: link gw to wan$"),
    ("client-lan, lan-router, router-server, router2-x", "each node: link router2 to lan$"),
    ("client-router, gw-server", "each node: link gw to router$"),
    ("client-lan, lan-router, router-server, a-b, c-a", "to a and b; .*: link a to lan$"),
    ("client-router, router-server, a-b", "each node: link a to a host .*, lan - a, lan - router$"),
    ("client-lan, lan-router, a-server, a-router2", "each node: link router2 to router$"),
    ("client-router, router2-a, router2-b, a-c, c-server", "each node: link a to router$"),
    ("client-a, a-server", "no link has 'router'"),
    ("client-router2, router2-server", "have 'router2', but no 'router'; call the first router"),
    ("client-router1, router1-server", "have 'router1', but no 'router'; call the first router"),
    ("parking-lot", "unknown value 'parking-lot'; did you mean 'parking_lot'"),
    ("home-net", "unknown value 'home-net'; known"),
    ("client-router", "no link has 'server'"),
    ("client-a, a-server, a-b, b-router, router-c", "no router is on the path"),
    ("client-router, router-modem, modem-server", "column 23: 'modem' is a name"),
    ("client-router, router-server, links-router", "column 31: 'links' is a name"),
    (", ".join(["client-a", "a-router", "router-server", *(f"a-x{n}" for n in range(40))]),
     "44 nodes"),
    ("/nowhere/mine.topology", "can't be read")])
def test_topologies_that_cannot_be_are_refused_with_place(text: str, output: str) -> None:
    """One line, with the key, what was seen, and the column."""
    with pytest.raises(ConfigError, match=f"^topology: .*{output}"):
        Scenario.from_settings({"topology": text})


def test_topology_file_is_read_and_its_faults_have_line_and_column(tmp_path: Path) -> None:
    """The links count, not where the file lies."""
    path = tmp_path / "mine.topology"
    path.write_text("# a home\nclient - lan\nclient2 - lan  # upstairs\n\nlan - router\n"
                    "router - server\n")
    scenario = Scenario.from_settings({"topology": str(path)})
    assert scenario.path.topology == "client-lan, lan-client2, lan-router, router-server"
    path.write_text("client - router\nrouter - server\n", encoding="utf-8-sig")
    assert parse_topology("topology", str(path)).text == "client-router, router-server"
    path.write_text("client - router\nrouter - server\n  spare - other\n")
    with pytest.raises(ConfigError, match=r"mine\.topology:3:3: no links lead from "
                                          r"client to spare and other; expected a path"):
        Scenario.from_settings({"topology": str(path)})
    path.write_bytes(b"client - router\n\xff\x00\n")
    with pytest.raises(ConfigError, match=r"mine\.topology:2:1: .* is not a link"):
        Scenario.from_settings({"topology": str(path)})
    path.write_bytes(b"#" * 70_000)
    with pytest.raises(ConfigError, match="larger than 65536 bytes; expected 40 nodes at most"):
        Scenario.from_settings({"topology": str(path)})


@pytest.mark.parametrize(("settings", "output"), [
    ({"topology": "clients:2", "modem_mbps": "5"}, "can't be combined with a modem"),
    ({"topology": "clients:2", "dest2_delay_ms": "5"}, "can't be combined with dest2_delay_ms"),
    ({"topology": "clients:2", "router_model": "omnia"}, ("can't be combined with cards or a "
                                                          "processor of the router .router_mod")),
    ({"topology": "clients:2", "router_rx_packet_ns": "100"}, "model, or keys router_….; leave"),
    ({"topology": "clients:2", "modem_buffer_packets": 9}, "and modem_…buffer_packets.; leave one"),
    ({"topology": "clients:2", "tx_queues": "4"}, "can't be combined with tx_queues"),
    ({"topology": "parking_lot", "testbed": "ssh://router"}, "can't set up the hosts and links"),
    ({"topology": "subscribers:10", "tiers": "3"}, "tiers"),
    ({"topology": "subscribers:10", "shaper": "none"}, "shaper"),
    ({"topology": "subscribers:10", "aqm": "drr"}, "^aqm: drr has its own classes"),
    ({"topology": "subscribers:10", "up_aqm": "drr"}, "^up_aqm: drr has its own classes"),
    ({"topology": "subscribers:10", "burst_shaping": "yes"}, "^burst_shaping: 1 can't .* = 0, or"),
    ({"topology": "subscribers:10+plan_mbps=200"}, "plan of 200 Mbit/s down is .*, 100 Mbit/s;"),
    ({"topology": "subscribers:1000", "rate_mbps": "63.99"},
     "with 63.99 Mbit/s down; expected 64 Mbit/s or more, 0.064 for each subscriber")])
def test_topologies_refuse_what_they_leave_no_place_for(
    settings: dict[str, object], output: str
) -> None:
    """The key is named."""
    with pytest.raises(ConfigError, match=output):
        Scenario.from_settings(settings)


def test_topology_with_nat_is_refused_on_a_kernel_without() -> None:
    """Before anything boots, with the command that helps."""
    with pytest.raises(ConfigError, match="kernel build nat --config nat"):
        Lab(Scenario.from_settings({"topology": "clients:2+nat"}), ["true"],
            kernel=VirtualTestbed().kernel("stock"))


def test_topology_with_nat_is_refused_without_iptables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Named kernels and programs are stand-ins: none of CI's kernels can translate addresses."""
    monkeypatch.setattr(virtual, "find_named", lambda _name: SimpleNamespace(can_nat=True))
    monkeypatch.setattr(virtual, "find_program", lambda _name: None)
    with pytest.raises(ToolMissing, match="needs the program iptables-legacy; install the package "
                                          "iptables"):
        Lab(Scenario.from_settings({"topology": "clients:2+nat", "kernel": "nat"}), ["true"],
            kernel=VirtualTestbed().kernel("stock"))


@pytest.mark.lab
def test_topology_that_cannot_be_set_up_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the failed program said, and whose network it was."""
    monkeypatch.setattr(virtual, "_check_can_nat", lambda _scenario, _kernel: None)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    with Lab(Scenario.from_settings({"topology": "clients:2+nat"}), ["true"],
             kernel=VirtualTestbed().kernel("stock")) as lab, \
            pytest.raises(LabError, match=r"can't set up the topology; .*iptables.*; NAT needs the "
                                          "program .*; can't set up the network of router$"):
        lab.run()


@pytest.mark.parametrize(("topology", "flows", "output"), [
    ("clients:2", "1xreno+client3:1xcubic", "column 8: .*'client3' in topology clients:2"),
    ("dumbbell", "client2:1xcubic", "column 1: .*hosts are client, server"),
    ("dumbbell", "1xcubic/dest2", "give dest2_delay_ms"),
    ("clients:2", "1xcubic/lan", "no server runs on 'lan'"),
    ("parking_lot", "server:1xcubic", "server would send to itself, the host of the test; expect"),
    ("subscribers:9", "sub10:1xcubic", "no flow can start from 'sub10'")])
def test_flows_of_hosts_that_are_not_reached_are_refused(
    topology: str, flows: str, output: str
) -> None:
    """With the column, and the hosts that there are."""
    assert re.fullmatch(FLOWS, flows)
    with pytest.raises(ConfigError, match=output):
        refuse_unknown_hosts(flows, Scenario.from_settings({"topology": topology}))


def test_hosts_that_a_topology_lacks_are_refused_by_the_batch(tmp_path: Path) -> None:
    """One line and no run: of the test's own host, and of a flow's."""
    shutil.copy(resource_dir("batches") / "base.batch", tmp_path)
    for keys, output in (("hosts = lan", "'lan' is on the client's side"),
                       ("hosts = elsewhere", "'elsewhere' is not in the topology"),
                       ("test_parameters = flows=client7:1xcubic",
                        "flows: column 1: 'client7:1xcubic'")):
        (tmp_path / "try.batch").write_text(
            f"[Batch::try]\ninherits = base\ntest_name = aqm_flows\ntopology = clients:2\n{keys}\n")
        done = run_flent("-B", "try.batch", "--batch-dry-run", cwd=tmp_path)
        assert done.returncode == 1
        assert output in done.stderr
        assert "Traceback" not in done.stderr


def test_addresses_of_subscribers_end_in_their_class() -> None:
    """As the filter reckons: the last 16 bits, of IPv6's four words one xor the other."""
    for number in (1, 2, 255, 256, 1000):
        parts = [int(part) for part in ipv4_of(number).split(".")]
        assert parts[2] * 256 + parts[3] == class_of(number)
        words = [0x2001, 0x0DB8, 5, 0, 0, 0, 0, int(ipv6_of(number).rpartition(":")[2], 16)]
        seen = words[1] ^ words[3] ^ words[5] ^ words[7] ^ 0x0DB8
        assert seen == class_of(number)


@pytest.fixture
def run_batch(tmp_path: Path) -> RunBatch:
    """A short run of aqm_flows with these keys: its file, and what is in it."""
    def run(keys: str) -> tuple[Path, dict[str, Any]]:
        shutil.copy(resource_dir("batches") / "base.batch", tmp_path)
        (tmp_path / "try.batch").write_text(
            "[Batch::try]\ninherits = base\noutput_path = results\ntest_name = aqm_flows\n"
            f"length = 6\ndelay = 1\nbase_delay_ms = 10\n{keys}\n")
        done = run_flent("-B", "try.batch", cwd=tmp_path, timeout_s=600)
        assert done.returncode == 0, done.stderr
        file, = tmp_path.glob("results/*.flent.gz")
        content: dict[str, Any] = load(file)
        return file, content

    return run


def value(file: Path, name: str) -> float:
    """A metric that has to be there."""
    number = METRICS[name].of(load_run(file))
    assert not isinstance(number, Unavailable), number
    return number


@pytest.mark.lab
def test_clients_share_by_host_where_cake_is_told_to(run_batch: RunBatch) -> None:
    """One flow of the first host gets as much as eight of the second."""
    file, data = run_batch(
        "rate_mbps = 20\ntopology = clients:2\naqm = cake\naqm_isolation = dual-srchost\n"
        "test_parameters = flows=client1:1xcubic+client2:8xcubic; "
        "start_jitter_ms=0")
    assert value(file, "host_fairness_upload") > 0.98
    assert value(file, "host_least_upload_mbps") > 8
    assert value(file, "host_most_upload_mbps") < 11
    assert data["metadata"]["AQM"]["requested"]["topology"] == "clients:2"
    assert data["metadata"]["SERIES_META"]["TCP upload client2:8xcubic"]["FROM_HOST"] == "client2"


@pytest.mark.lab
def test_parking_lot_has_a_proved_queue_at_each_bottleneck(run_batch: RunBatch) -> None:
    """Each link is full with a long and a short flow, and each router dropped for itself."""
    file, data = run_batch(
        "rate_mbps = 20\ntopology = parking_lot\naqm = fq_codel\n"
        "test_parameters = flows=1xcubic+1xcubic/middle+middle:1xcubic; "
        "start_jitter_ms=0")
    flows = {flow.name: flow.mean_mbps or 0.0 for flow in load_run(file).flows}
    long, first, second = flows.values()
    for link in (long + first, long + second):
        assert link == pytest.approx(20 * 1448 / 1514, rel=0.1)
    after = data["metadata"]["AQM"]["after"]
    assert after["routers"]["router2"]["applied"] == after["applied"]
    assert (after["routers"]["router2"]["counters"]["up"]["qdisc"]["packets"]
            > after["counters"]["up"]["qdisc"]["packets"] / 2)


@pytest.mark.lab
def test_subscribers_have_a_class_each_and_its_share(run_batch: RunBatch) -> None:
    """Many connections of one don't take from another; what was sent is told for each who sent."""
    file, data = run_batch(
        "rate_mbps = 30\ntopology = subscribers:20+plan_mbps=20\naqm = cake\nip_version = 6\n"
        "test_parameters = flows=sub1:1xcubic+sub3:6xcubic+sub20:1xcubic; "
        "direction=download; start_jitter_ms=0")
    assert value(file, "host_fairness_download") > 0.98
    after = data["metadata"]["AQM"]["after"]
    assert after["applied"]["down"]["subscribers"]["count"] == 20
    assert after["applied"]["down"]["subscribers"]["ceil_mbps"] == 20
    assert set(after["counters"]["down"]["subscribers"]) == {"sub1", "sub3", "sub20"}
    assert after["counters"]["down"]["qdisc"]["packets"] > 10_000


@pytest.mark.lab
def test_proof_notices_one_subscribers_queue_that_differs() -> None:
    """Every queue is read back: one of 40 that was changed is found and named, and a class."""
    scenario = Scenario.from_settings({
        "rate_mbps": "100", "topology": "subscribers:20+plan_up_mbps=50", "aqm": "fq_codel"})
    change = ("tc qdisc change dev up parent 1:1007 handle 1007: fq_codel limit 77; "
              "tc class change dev down parent 1:1 classid 1:1003 htb rate 1mbit")
    with Lab(scenario, ["sh", "-c", f'"$@" && ip netns exec router sh -c "{change}" && "$@"', "sh",
                        *read_back_command(scenario)],
             servers=(), prelude=[apply_command(scenario)]) as lab:
        assert lab.run().status == 0, lab.stderr.read_text()
        before, after = lab.stdout.read_text().split("@end\n")[:2]
    assert differences(scenario, parse_read_back(f"{before}@end\n")) == []
    faults = "; ".join(differences(scenario, parse_read_back(f"{after}@end\n")))
    assert "up: fq_codel limit: asked for 10240 packets, the kernel reports 77 packets" in faults
    assert "class 1:1003 rate" in faults
