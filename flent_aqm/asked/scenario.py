# SPDX-License-Identifier: GPL-3.0-or-later
"""What is asked of the testbed for one run: a checked, frozen record.

Batch files, command lines and data files give text; everything past this module
works with a Scenario, so a wrong value is found before anything starts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

from flent_aqm.asked.kernel import STOCK
from flent_aqm.asked.queues.table import QUEUES
from flent_aqm.asked.router_model import parse_router_model
from flent_aqm.asked.scenario_keys import DUMBBELL, read_fields
from flent_aqm.base import defaults, environment
from flent_aqm.base.errors import ConfigError

LINK_TRACES = ("link_down_trace", "link_up_trace")
# Queues that shape by themselves: shaper = cake.
_OWN_SHAPER = ("cake", "cake_mq")


@dataclass(frozen=True)
class Scenario:
    """Requested settings of one run. Rates in Mbit/s, delays in ms."""

    aqm: str = "no_aqm"
    rate_up_mbps: float = 100.0
    rate_down_mbps: float = 100.0
    burst_shaping: bool = False
    # False, True for bulk, or another kind's name; see cross_traffic.py.
    cross_traffic: bool | str = False
    base_delay_ms: float = 0.0
    router_model: str = "ideal"
    testbed: str = "virtual"
    seed: int | None = None
    # Parameters of the AQM that are not at their default, by name, as text: target -> 10ms.
    aqm_parameters: tuple[tuple[str, str], ...] = ()
    shaper: str = "htb"
    ingress: str = "lan"
    tiers: int = 1
    txqueuelen: int | None = None
    # Of a router behind ssh: its devices, "" for those of its routes; the server's address.
    dev_down: str = ""
    dev_up: str = ""
    server_testbed: str = ""
    # The queue of the upload where it is another one than that of the download: AQM and
    # parameters. None: the same.
    up_aqm: str | None = None
    up_aqm_parameters: tuple[tuple[str, str], ...] = ()
    # Hosts ask for ECN in their TCP connections.
    tcp_ecn: bool | str = False
    # A second server that is so much farther away than the first; None: there is none.
    dest2_delay_ms: float | None = None
    # A modem with drop-tail queues between router and server. None: there is no modem.
    modem_down_mbps: float | None = None
    modem_up_mbps: float | None = None
    modem_down_buffer_ms: float = defaults.MODEM_BUFFER_MS
    modem_up_buffer_ms: float = defaults.MODEM_BUFFER_MS
    # Models of slow hosts, as of the router.
    client_model: str = "ideal"
    server_model: str = "ideal"
    # Whose NDT7 server serves; one of defaults.NDT7_SERVERS.
    ndt7_server: str = "own"
    # Which kernel the virtual lab boots: set-up's, or one that the user built under a name.
    kernel: str = STOCK
    # A link that plays a schedule in place of the modem's TBF: asked/link/. Traces are paths.
    link_down_trace: str = ""
    link_up_trace: str = ""
    link_trace_end: str = "repeat"
    link_down_loss: str = ""
    link_up_loss: str = ""
    link_down_jitter_ms: float = 0.0
    link_up_jitter_ms: float = 0.0
    link_down_access: str = ""
    link_up_access: str = ""
    link_outages_s: str = ""
    modem_down_buffer_packets: int | None = None
    modem_up_buffer_packets: int | None = None
    # A command that runs on the router from when its queue is in place: words of a shell.
    router_program: str = ""
    # Transmit queues of each device on the way through the router. None: one; behind ssh, what the
    # router has.
    tx_queues: int | None = None
    # Who is linked to whom, in the words of asked/topology/.
    topology: str = DUMBBELL
    # The topology's clients are stations of a Wi-Fi channel, a model: asked/wifi/. "": of none.
    wifi_rates_mbps: str = ""
    wifi_ap: str = ""
    wifi_phy: str = ""

    def queue(self, role: str) -> tuple[str, tuple[tuple[str, str], ...]]:
        """AQM and parameters of the device that shapes `down` or `up`."""
        if role == "up" and self.up_aqm is not None:
            return self.up_aqm, self.up_aqm_parameters
        return self.aqm, self.aqm_parameters

    @property
    def queues(self) -> tuple[str, ...]:
        """The AQMs of both directions, each once."""
        return tuple(dict.fromkeys(self.queue(role)[0] for role in ("down", "up")))

    @property
    def queues_text(self) -> str:
        """The AQM; where the upload has another one, both with their directions."""
        down, up = self.queue("down")[0], self.queue("up")[0]
        return down if down == up else f"{down} down, {up} up"

    @property
    def has_link(self) -> bool:
        """Whether the modem's devices play a schedule."""
        return any(getattr(self, field.name) != field.default for field in fields(self)
                   if field.name.startswith("link_") or field.name.endswith("_buffer_packets"))

    @property
    def has_cards(self) -> bool:
        """Whether the router has cards and a processor that take their time."""
        return parse_router_model(self.router_model).has_cards

    def models_in_full(self) -> dict[str, object]:
        """Return each model that isn't ideal with all its parameters: `router`, `client`,
        `server`."""
        models = {"router": self.router_model, "client": self.client_model,
                  "server": self.server_model}
        return {host: {"model": text, **parse_router_model(text).as_dict()}
                for host, text in models.items() if text != "ideal"}

    def as_dict(self) -> dict[str, object]:
        """Return all fields by name, fit for JSON."""
        return {**asdict(self), "aqm_parameters": dict(self.aqm_parameters),
                "up_aqm_parameters": dict(self.up_aqm_parameters)}

    def identity(self) -> dict[str, object]:
        """Return what tells this run from others: the fields that differ from their defaults. A
        new field leaves the seeds of runs without it as they are."""
        differing = {field.name for field in fields(self)
                     if getattr(self, field.name) != field.default}
        values = {key: value for key, value in self.as_dict().items() if key in differing}
        # A trace is the same wherever it lies.
        return values | {key: os.path.basename(str(values[key]))
                         for key in LINK_TRACES if key in values}

    def as_json(self) -> str:
        """Return all fields as one line of JSON, the form in which a run's tools get them."""
        return json.dumps(self.as_dict())

    @classmethod
    def from_json(cls, text: str) -> Scenario:
        """Return the reverse of as_json, checked like any other input."""
        try:
            fields = json.loads(text)
        except ValueError:
            raise ConfigError(f"a scenario is expected as JSON, not as {text[:60]!r}") from None
        if not isinstance(fields, dict):
            raise ConfigError(f"a scenario is expected as a JSON object, not as {text[:60]!r}")
        return cls.from_settings(fields)

    @classmethod
    def from_settings(cls, given: Mapping[str, object]) -> Scenario:
        """Check and convert what a batch or command line gives.

        Keys are those of the fields, `rate_mbps` for both directions, and `aqm_NAME` for a
        parameter of the AQM; keys of others are left alone. Raises ConfigError that names
        the key and the value.
        """
        scenario = cls(**read_fields(given))  # type: ignore[arg-type]  # checked there
        scenario._refuse_odd_pairs()
        return scenario

    def _refuse_odd_pairs(self) -> None:
        """Settings that are right alone and can't be had together."""
        for key in ("aqm", "up_aqm"):
            name = getattr(self, key)
            if self.shaper == "cake" and name not in (None, *_OWN_SHAPER):
                raise ConfigError(f"shaper: cake is AQM and shaper in one; give {key} = cake with "
                                  f"it, not {name}")
            if name in QUEUES and QUEUES[name].per_queue:
                self._refuse_single_queue(key, name)
        if self.tx_queues is not None and self.testbed.startswith("ssh://"):
            raise ConfigError("tx_queues: a router behind ssh has the queues that its network "
                              "cards have; leave it out")
        if self.shaper != "htb" and (self.burst_shaping or self.tiers != 1):
            key = "burst_shaping" if self.burst_shaping else "tiers"
            raise ConfigError(f"{key}: needs shaper = htb, not {self.shaper}")
        if self.burst_shaping and self.tiers != 1:
            raise ConfigError("tiers: 3 can't be combined with burst_shaping; switch one of them "
                              "off")
        for way in ("down", "up"):
            if getattr(self, f"link_{way}_trace") and getattr(self, f"modem_{way}_mbps"):
                raise ConfigError(f"link_{way}_trace: the trace gives the rate; leave "
                                  f"modem_{way}_mbps out")
        if (self.modem_down_mbps is None) != (self.modem_up_mbps is None) and not self.has_link:
            raise ConfigError("modem: one of modem_down_mbps and modem_up_mbps is missing; give "
                              "both, or modem_mbps")
        if self.topology != DUMBBELL:
            from flent_aqm.asked.topology.pairs import refuse_odd_pairs

            refuse_odd_pairs(self)
        if self.wifi_rates_mbps:
            from flent_aqm.asked.wifi.plan import wifi_plan

            wifi_plan(self)

    def _refuse_single_queue(self, key: str, name: str) -> None:
        if self.shaper not in ("cake", "none"):
            raise ConfigError(f"{key}: {name} works only on the device's own queues, with no "
                              f"shaper above it; give shaper = cake with it, not {self.shaper}")
        if self.ingress != "lan":
            raise ConfigError(f"{key}: {name} needs ingress = lan, as the IFB device has one queue")
        if self.tx_queues in (None, 1) and not self.testbed.startswith("ssh://"):
            raise ConfigError(f"{key}: {name} is for devices with several queues; give tx_queues "
                              f"from 2 to {defaults.MOST_TX_QUEUES}, such as tx_queues = 4")


def scenario_in_namespace() -> Scenario | None:
    """Return the scenario that this process measures for, if its router is a network namespace of
    this machine, so that its queues can be read, and its rate changed, while a test runs."""
    text = os.environ.get(environment.SCENARIO)
    scenario = None if text is None else Scenario.from_json(text)
    return scenario if scenario and scenario.testbed in ("virtual", "netns") else None
