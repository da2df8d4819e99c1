# SPDX-License-Identifier: GPL-3.0-or-later
"""What is asked of the testbed for one run: a checked, frozen record.

Batch files, command lines and data files give text; everything past this module
works with a Scenario, so a wrong value is found before anything starts.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace

from flent_aqm.asked.cross_traffic import parse_cross_traffic
from flent_aqm.asked.kernel import STOCK, parse_kernel
from flent_aqm.asked.queues.foreign import is_foreign, queue_of
from flent_aqm.asked.queues.parameters import check_parameter
from flent_aqm.asked.queues.table import QUEUES
from flent_aqm.asked.router_model import parse_router_model, with_parameters
from flent_aqm.base import defaults, environment
from flent_aqm.base.errors import ConfigError
from flent_aqm.base.switch import switch

_DEVICE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,14}")
# No name begins with -, which ssh would take for an option.
_SSH = re.compile(r"ssh://([A-Za-z0-9_][A-Za-z0-9_.-]*@)?([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?")

_FIELDS_OF_FIRST_VERSION = 9  # aqm to seed
_FIELDS_TOLD_ALWAYS = 27  # aqm to server_model
_MOST_COMMAND = 4096
# A run's tools get this for a file of the user's, whose path would shift their memory.
INSIDE = "given"
LINK_TRACES = ("link_down_trace", "link_up_trace")
# Queues that shape by themselves: shaper = cake.
_OWN_SHAPER = ("cake", "cake_mq")
DUMBBELL = "dumbbell"


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
        """Return all fields by name, fit for JSON, but for the newest where they are at their
        default: runs without them have the environment, and so the samples, that they always
        had."""
        newest = {field.name for field in fields(self)[_FIELDS_TOLD_ALWAYS:]
                  if getattr(self, field.name) == field.default}
        told = {**asdict(self), "aqm_parameters": dict(self.aqm_parameters),
                "up_aqm_parameters": dict(self.up_aqm_parameters)}
        return {key: value for key, value in told.items() if key not in newest}

    def identity(self) -> dict[str, object]:
        """Return what tells this run from others: the fields of the first version, and those of
        later ones that aren't at their default. So the seeds of old runs stay as they were."""
        later = {field.name for field in fields(self)[_FIELDS_OF_FIRST_VERSION:]
                 if getattr(self, field.name) == field.default}
        told = {key: value for key, value in self.as_dict().items() if key not in later}
        # A trace is the same wherever it lies.
        return told | {key: os.path.basename(str(told[key])) for key in LINK_TRACES if key in told}

    def inside(self) -> Scenario:
        """Return the scenario as a run's tools get it: without the kernel, paths of traces and the
        router's program, whose length would shift their memory. So runs on two kernels differ in
        nothing else. A queue that nobody here knows needs its kernel, and is no other kernel's."""
        foreign = any(queue_of(name).foreign for name in self.queues)
        return replace(
            self, kernel=self.kernel if foreign else STOCK,
            link_down_trace=self.link_down_trace and INSIDE,
            link_up_trace=self.link_up_trace and INSIDE,
            router_program=self.router_program and INSIDE)

    def not_told_inside(self) -> dict[str, object]:
        """Return what a run's tools got otherwise, by the names of fields."""
        inside = self.inside()
        return {field.name: getattr(self, field.name) for field in fields(self)
                if getattr(self, field.name) != getattr(inside, field.name)}

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
        rate = given.get("rate_mbps", 100)
        modem = given.get("modem_mbps")
        kernel = parse_kernel("kernel", given.get("kernel") or STOCK)
        aqm = _aqm("aqm", given.get("aqm", "no_aqm"), kernel)
        scenario = cls(
            aqm=aqm,
            rate_up_mbps=_rate("rate_up_mbps", given.get("rate_up_mbps", rate)),
            rate_down_mbps=_rate("rate_down_mbps", given.get("rate_down_mbps", rate)),
            burst_shaping=parse_flag("burst_shaping", given.get("burst_shaping", False)),
            cross_traffic=parse_cross_traffic("cross_traffic",
                                              given.get("cross_traffic", False)),
            base_delay_ms=_delay("base_delay_ms", given.get("base_delay_ms", 0),
                                 defaults.MAX_FAR_DELAY_MS),
            router_model=with_parameters(str(given.get("router_model", "ideal")),
                                         _router_parameters(given)),
            testbed=_testbed(given.get("testbed", "virtual")),
            seed=_seed(given.get("seed")),
            aqm_parameters=_aqm_parameters(aqm, given, "aqm_"),
            shaper=_choice("shaper", given.get("shaper", "htb"), defaults.SHAPERS),
            ingress=_choice("ingress", given.get("ingress", "lan"), defaults.INGRESSES),
            tiers=int(_choice("tiers", str(given.get("tiers", "1")), ("1", "3"))),
            txqueuelen=_txqueuelen(given.get("txqueuelen")),
            dev_down=_device("dev_down", given.get("dev_down", "")),
            dev_up=_device("dev_up", given.get("dev_up", "")),
            server_testbed=_server(given.get("server_testbed", "")),
            up_aqm=(up_aqm := _up_aqm(aqm, given, kernel)),
            up_aqm_parameters=_aqm_parameters(up_aqm, given, "up_aqm_") if up_aqm else (),
            tcp_ecn=_tcp_ecn("tcp_ecn", given.get("tcp_ecn", False)),
            dest2_delay_ms=_if_given(_far_delay, "dest2_delay_ms", given.get("dest2_delay_ms")),
            modem_down_mbps=_if_given(_rate, "modem_down_mbps",
                                      given.get("modem_down_mbps", modem)),
            modem_up_mbps=_if_given(_rate, "modem_up_mbps", given.get("modem_up_mbps", modem)),
            modem_down_buffer_ms=_delay("modem_down_buffer_ms", given.get(
                "modem_down_buffer_ms", defaults.MODEM_BUFFER_MS)),
            modem_up_buffer_ms=_delay("modem_up_buffer_ms", given.get(
                "modem_up_buffer_ms", defaults.MODEM_BUFFER_MS)),
            client_model=_host_model("client_model", given),
            server_model=_host_model("server_model", given),
            ndt7_server=_choice("ndt7_server", given.get("ndt7_server", "own"),
                                defaults.NDT7_SERVERS),
            kernel=kernel,
            router_program=_program("router_program", given.get("router_program")),
            tx_queues=_tx_queues(given.get("tx_queues")),
            topology=_topology("topology", given.get("topology")),
            **_link_settings(given),  # type: ignore[arg-type]  # checked there
            **_wifi_settings(given),  # type: ignore[arg-type]  # likewise
        )
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


def _choice(key: str, value: object, known: tuple[str, ...]) -> str:
    if value not in known:
        raise ConfigError(f"{key}: unknown value {value!r}; known: {', '.join(known)}")
    return str(value)


def _router_parameters(given: Mapping[str, object]) -> dict[str, object]:
    """Keys router_NAME: parameters of the router's model."""
    return {key.removeprefix("router_"): value for key, value in given.items()
            if key.startswith("router_") and key not in ("router_model", "router_program")}


def _link_settings(given: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a link. What checks them is imported where one is given: each module
    takes its time in the guest, and runs without a link are as they always were."""
    if not any(value not in (None, "") for key, value in given.items()
               if key.startswith("link_") or key.endswith("_buffer_packets")):
        return {}
    from flent_aqm.asked.link.keys import link_settings

    return link_settings(given)


def _wifi_settings(given: Mapping[str, object]) -> dict[str, str]:
    """The fields of a Wi-Fi channel; as with a link's."""
    if not any(value not in (None, "") for key, value in given.items()
               if key.startswith("wifi_")):
        return {}
    from flent_aqm.asked.wifi.keys import wifi_settings

    return wifi_settings(given)


def _program(key: str, value: object) -> str:
    text = str(value or "").strip()
    if not text:
        return ""
    import shlex

    try:
        words = shlex.split(text)
    except ValueError as fault:
        raise ConfigError(f"{key}: {text[:60]!r}: {fault}; give a command as for a "
                          "shell") from None
    if len(text) > _MOST_COMMAND or re.search(r"[\x00-\x1f\x7f]", text) or not words[0]:
        raise ConfigError(f"{key}: {text[:60]!r} is not a command; expected one line of up to "
                          f"{_MOST_COMMAND} characters")
    return text


def _topology(key: str, value: object) -> str:
    """In one form for all ways to write it. What reads it is imported where one is given."""
    if value in (None, "", DUMBBELL):
        return DUMBBELL
    from flent_aqm.asked.topology.topology import parse_topology

    return parse_topology(key, value).text


def _host_model(key: str, given: Mapping[str, object]) -> str:
    model = with_parameters(str(given.get(key) or "ideal"), {}, key)
    if parse_router_model(model, key).timer_latency_us:
        raise ConfigError(f"{key}: {model} has a timer latency, which is the same for all hosts "
                          "of the lab; add +timer_latency_us=0, and give the latency in "
                          "router_model")
    return model


def _number(key: str, value: object, unit: str) -> float:
    try:
        if isinstance(value, bool):
            raise ValueError
        number = float(str(value))
    except ValueError:
        raise ConfigError(f"{key}: {value!r} is not a number; give it in {unit}") from None
    if not math.isfinite(number):
        raise ConfigError(f"{key}: {value!r} is not a finite number; give it in {unit}")
    return number


def _rate(key: str, value: object) -> float:
    rate = _number(key, value, "Mbit/s")
    if not defaults.MIN_RATE_MBPS <= rate <= defaults.MAX_RATE_MBPS:
        raise ConfigError(
            f"{key}: {value} Mbit/s is out of range; "
            f"expected {defaults.MIN_RATE_MBPS:g} to {defaults.MAX_RATE_MBPS:g}")
    return rate


def _delay(key: str, value: object, most_ms: float = defaults.MAX_DELAY_MS) -> float:
    delay = _number(key, value, "ms")
    if not 0 <= delay <= most_ms:
        raise ConfigError(f"{key}: {value} ms is out of range; expected 0 to {most_ms:.10g}")
    return delay


def _far_delay(key: str, value: object) -> float:
    return _delay(key, value, defaults.MAX_FAR_DELAY_MS)


def parse_flag(key: str, value: object) -> bool:
    """Return a switch, by any of the words that Flent takes for one. Raises ConfigError."""
    on = switch(value)
    if on is None:
        raise ConfigError(f"{key}: {value!r} is not a switch; give yes or no")
    return on


def _tcp_ecn(key: str, value: object) -> bool | str:
    """Return a switch, or ACCECN."""
    if value == defaults.ACCECN:
        return defaults.ACCECN
    on = switch(value)
    if on is None:
        raise ConfigError(f"{key}: {value!r} is not known; give 0, 1 or {defaults.ACCECN}")
    return on


def _if_given(check: Callable[[str, object], float], key: str, value: object) -> float | None:
    return None if value is None or value == "" else check(key, value)


def _aqm(key: str, value: object, kernel: str) -> str:
    """Return a queue of the table; on a kernel of the user's any, which is looked for there."""
    if kernel != STOCK and is_foreign(str(value)):
        return str(value)
    return _choice(key, value, tuple(QUEUES))


def _up_aqm(aqm: str, given: Mapping[str, object], kernel: str) -> str | None:
    """Return the AQM of the upload, where it or a parameter of it is given."""
    named = given.get("up_aqm")
    if named:
        return _aqm("up_aqm", named, kernel)
    own = any(key.startswith("up_aqm_") and value for key, value in given.items())
    return aqm if own else None


def _aqm_parameters(aqm: str, given: Mapping[str, object],
                    prefix: str) -> tuple[tuple[str, str], ...]:
    """From one mapping (as_dict's form) and from keys aqm_NAME, checked and sorted."""
    whole = given.get(f"{prefix}parameters") or {}
    if not isinstance(whole, Mapping):
        raise ConfigError(f"{prefix}parameters: {whole!r}; give each one as {prefix}NAME = value")
    asked = {str(name): value for name, value in whole.items()}
    # What a batch leaves empty isn't given.
    asked |= {key[len(prefix):]: value for key, value in given.items()
              if key.startswith(prefix) and key != f"{prefix}parameters" and value != ""}
    # Flent makes True and False of words and of 0 and 1.
    texts = {name: str(int(value)) if isinstance(value, bool) else str(value).strip()
             for name, value in asked.items()}
    return tuple(sorted((name, check_parameter(aqm, name, text))
                        for name, text in texts.items()))


def _txqueuelen(value: object) -> int | None:
    if value is None or value == "":
        return None
    # Flent makes True and False of 1 and 0.
    text = str(int(value)) if isinstance(value, bool) else str(value)
    if not re.fullmatch(r"[0-9]{1,7}", text):
        raise ConfigError(f"txqueuelen: {text!r} is not a number of packets below 10 million")
    return int(text)


def _tx_queues(value: object) -> int | None:
    if value is None or value == "":
        return None
    # Flent makes True of 1.
    text = str(int(value)) if isinstance(value, bool) else str(value)
    if not re.fullmatch(r"[1-9][0-9]?", text) or int(text) > defaults.MOST_TX_QUEUES:
        raise ConfigError(f"tx_queues: {text!r} is not a whole number from 1 to "
                          f"{defaults.MOST_TX_QUEUES}")
    return int(text)


def _device(key: str, value: object) -> str:
    text = str(value)
    if text and not _DEVICE.fullmatch(text):
        raise ConfigError(f"{key}: {text!r} is not a valid name of a network device")
    return text


def _server(value: object) -> str:
    text = str(value)
    if text and not _SSH.fullmatch(text):
        raise ConfigError(f"server_testbed: {text!r} is not an address; "
                          "expected ssh://[user@]server[:port]")
    return text


def _testbed(value: object) -> str:
    text = str(value)
    if text in ("virtual", "netns") or _SSH.fullmatch(text):
        return text
    raise ConfigError(f"testbed: unknown value {text!r}; "
                      "known: virtual, netns, ssh://[user@]router[:port]")


def _seed(value: object) -> int | None:
    if value is None or value == "":
        return None
    text = str(value)
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise ConfigError(f"seed: {text!r} is not a whole number from 0 to 10^18 - 1")
    return int(text)
