# SPDX-License-Identifier: GPL-3.0-or-later
"""Batch keys of router models: how slow the router and the hosts are."""

from __future__ import annotations

from dataclasses import dataclass

from flent_aqm.base.errors import ConfigError, about
from flent_aqm.base.nearest import did_you_mean
from flent_aqm.parts.router_models.model import (
    PARAMETERS,
    parse_router_model,
    parse_value,
    with_parameters,
)
from flent_aqm.spec.key import Record, Settings, key
from flent_aqm.spec.readers import as_text, text_of

IDEAL = "ideal"
_PREFIX = "router_"
_FORM = "a router model, such as omnia or 12us"


def _read_router_model(name: str, settings: Settings) -> str:
    """Return the text of the router's model: the value of the key `name` (default: ideal), extended
    by the keys router_PARAMETER.

    Args:
        name: the key of the model, `router_model`.
        settings: all batch keys of the run.

    Raises ConfigError if the model or a parameter is wrong.
    """
    parameters = {one.removeprefix(_PREFIX): value for one, value in settings.items()
                  if one.startswith(_PREFIX) and one not in (name, "router_program")
                  and value not in ("", None)}
    for parameter, value in parameters.items():
        given = _PREFIX + parameter
        with about(given):
            if parameter not in PARAMETERS:
                raise ConfigError(f"{given}: unknown key{did_you_mean(parameter, PARAMETERS)}; a "
                                  f"router model has the parameters {', '.join(PARAMETERS)}, each "
                                  f"with {_PREFIX} before its name")
            parse_value(given, parameter, as_text(value))
    return with_parameters(text_of(name, settings.get(name) or IDEAL, _FORM), parameters)


def _read_host_model(name: str, value: object) -> str:
    """Return the text of a host's model, with its parameters sorted.

    Args:
        name: the key, for messages.
        value: value of the key.

    Raises ConfigError if the model is wrong or has a timer latency.
    """
    model = with_parameters(text_of(name, value, _FORM), {}, name)
    latency_us = parse_router_model(model, name).timer_latency_us
    if latency_us:
        without = with_parameters(model, {"timer_latency_us": 0}, name)
        if parse_router_model(without) == parse_router_model(IDEAL):
            without = IDEAL
        raise ConfigError(f"{name}: {model} has a timer latency of {latency_us:.12g} us, but all "
                          "hosts of the lab share one, that of the router's model; give "
                          f"{name} = {without}, and router_timer_latency_us = "
                          f"{latency_us:.12g}")
    return model


@dataclass(frozen=True)
class Models(Record):
    """The models of the router, the client and the server, as texts that parse_router_model()
    takes. Those of client and server have no timer latency: all hosts share the router's."""

    heading = "Slow routers and hosts"

    router_model: str = key(
        IDEAL, "`ideal`, `omnia`, `mt7621`, `mt7988`, `12us`, `+NAME=VALUE`; `router_NAME` for "
        "one parameter", "model of a [slow router](../router-models.md)", reader=_read_router_model,
        label="router model", heading="router", format=str)
    client_model: str = key(IDEAL, "as `router_model`, without a timer latency",
                            "model of a slow client", _read_host_model)
    server_model: str = key(IDEAL, "as `router_model`, without a timer latency",
                            "model of a slow server", _read_host_model)

    @property
    def by_host(self) -> dict[str, str]:
        """Each host (`router`, `client`, `server`) -> text of its model, IDEAL without one."""
        return {"router": self.router_model, "client": self.client_model,
                "server": self.server_model}

    @property
    def timer_latency_ns(self) -> int:
        """Delay in ns of the timers of all qdiscs, with which the lab's kernel is booted."""
        return parse_router_model(self.router_model).timer_latency_ns

    @property
    def router_has_cards(self) -> bool:
        """Whether the router's model has more than a timer latency: cards and a processor."""
        return parse_router_model(self.router_model).has_cards

    @property
    def only_in_lab(self) -> str:
        """Error message for a testbed in real time if a model isn't IDEAL, otherwise "": their
        machines have their own cards. The caller puts the testbed in place of "{testbed}"."""
        host, text = next(((host, text) for host, text in self.by_host.items() if text != IDEAL),
                          ("", ""))
        out = f"{host}_model"
        if host == "router":  # its parameters are keys, too
            out += f" and keys {_PREFIX}… of its parameters"
        return host and (f"{host}_model: {text} is a model of the virtual lab, which testbed "
                         f"{{testbed}} doesn't have: leave {out} out, or use testbed virtual")

    def not_with_topology(self) -> dict[str, bool]:
        """Return whether each host's model has cards, by the words for its keys, such as
        `client_model`. Models with cards need the network of client, router and server, and can't
        be combined with a topology."""
        return {"client_model": parse_router_model(self.client_model).has_cards,
                "server_model": parse_router_model(self.server_model).has_cards,
                f"cards or a processor of the router (router_model, or keys {_PREFIX}…)":
                    self.router_has_cards}

    def described(self) -> dict[str, object]:
        """Return `router_model` -> text of the router's model, and name of each host (`router`,
        `client`, `server`) whose model isn't ideal -> its text as `model` and all its parameters.
        """
        return {"router_model": self.router_model, **{
            host: {"model": text, **parse_router_model(text).as_dict()}
            for host, text in self.by_host.items() if text != IDEAL}}
