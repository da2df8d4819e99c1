# SPDX-License-Identifier: GPL-3.0-or-later
"""Group runs by their settings: which runs share a line, and how settings are named and sorted.

Runs that differ in a setting are never grouped unless the user requests it. Then pooled_over()
returns the settings in which they differ.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from flent_aqm.base.defaults import TCP_CONGESTION_CONTROL
from flent_aqm.base.errors import ConfigError
from flent_aqm.base.words import plain
from flent_aqm.results.metrics.settings import HOST_CC, Setting
from flent_aqm.spec import key as batch_key
from flent_aqm.spec.kernel import STOCK
from flent_aqm.spec.queues.table import QUEUES
from flent_aqm.spec.scenario import KEYS
from flent_aqm.spec.testbeds import VIRTUAL

Settings = Mapping[str, Setting]
Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)

AQM = "aqm"
RATE = "rate_mbps"
SHAPER_RATE = "shaper_mbps"
TITLE = "title"
# Settings by which runs are distinguished, in this order. Other settings follow.
KNOWN = ("test", AQM, RATE, SHAPER_RATE, "burst_shaping", "cross_traffic", "base_delay_ms",
         "router_model", "testbed", "kernel")
# Settings of a router's configuration besides the queue.
ROUTER = ("up_aqm", "shaper", SHAPER_RATE, "txqueuelen", "tx_queues", "ingress", "tiers")
# Values of settings that files don't record if they have them.
UNRECORDED_DEFAULTS: Mapping[str, Setting] = {"kernel": STOCK, HOST_CC: TCP_CONGESTION_CONTROL}
# Stands for the value of a setting that a file doesn't record.
NOT_TOLD = "not told"
# Settings by which runs are never distinguished: they differ between repetitions, or follow from
# other settings.
NEVER = ("seed", "batch", TITLE, "rate_up_mbps", "rate_down_mbps", "modem_up_mbps",
         "modem_down_mbps", "start_jitter_ms",
         "cross_jitter_ms")

_OF_QUEUES = ("aqm_", "up_aqm")


def _shaper_text(value: str) -> str:
    """Return the rate of the router's shaper beside a modem with its unit, "SQM 40/8 Mbit/s", or
    "SQM off" for "off"."""
    return f"SQM {value}" if value == "off" else f"SQM {value} Mbit/s"



# Settings that are no keys of a batch, or keys that stand for several, with their texts.
_TEXTS: Mapping[str, batch_key.Key] = {
    **{row.both or name: row for name, row in KEYS.items()},
    **{name: batch_key.Key("", "", format=str) for name in ("test", TITLE)},
    SHAPER_RATE: batch_key.Key("", "", heading="SQM", format=_shaper_text)}
_WITHOUT_TEXTS = batch_key.Key("", "")
# Setting -> its name in pages, such as "link rate", if it isn't the setting's own.
LABELS: Mapping[str, str] = {name: row.label for name, row in _TEXTS.items() if row.label}
_AQM_ORDER = list(QUEUES)
# Number at the beginning of a text, by which texts are sorted: "85 % cake" before "100 % cake".
_LEADING_NUMBER = re.compile(r"\d+(\.\d+)?")

# The title that this package's base.batch gives runs. It says again what their settings are.
_TITLE_OF_SETTINGS = re.compile(r"\S+ \S+ Mbit/s burst \S+ cross \S+")

LONGEST_SHOWN = 60
MOST_NAMED = 60

# Short names of settings that people type often.
ALIASES = {"rate": RATE, "rate_up": "rate_up_mbps", "rate_down": "rate_down_mbps",
           "burst": "burst_shaping", "cross": "cross_traffic", "delay": "base_delay_ms",
           "router": "router_model", "tool": "test", "length": "length_s", "server": "host"}
_SHORT = {name: short for short, name in ALIASES.items()}


def own_title(title: object) -> str:
    """Return a run's title if the user gave it, "" for one that base.batch gives, and for None."""
    text = str(title or "")
    return "" if _TITLE_OF_SETTINGS.fullmatch(text) else text


def parse_keys(text: str) -> tuple[str, ...]:
    """Return names of settings from text in which commas separate them, without blanks around them.
    Short names (ALIASES) are replaced by the full ones. Empty names are left out. Unknown names are
    kept, see check_keys()."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    return tuple(ALIASES.get(name, name) for name in names)


def router_models(runs: Sequence[Settings]) -> list[str]:
    """Return the names of the router models that the runs record, sorted, each once. Runs that
    record another testbed than the virtual lab are left out: no model ran there, whatever their
    batch says. Runs that record no testbed count as the lab's."""
    return sorted({str(run["router_model"]) for run in runs
                   if "router_model" in run and run.get("testbed", VIRTUAL) == VIRTUAL})


def factors(runs: Sequence[Settings], beyond: Sequence[str] = ()) -> list[str]:
    """Return the names of the settings that together distinguish all runs which differ in any:
    those of KNOWN, in its order, then others. Settings in NEVER are ignored. A run that doesn't
    record a setting has its default (UNRECORDED_DEFAULTS), else "".

    A setting that distinguishes no more runs than `beyond` and those before it is left out. If no
    setting distinguishes any runs, `beyond` is empty and titles differ, [TITLE] is returned.

    Args:
        runs: settings of each run.
        beyond: names of settings that are used anyway, which are not returned.
    """
    names = list(beyond)
    added = []
    count = len({_values(run, names) for run in runs})
    for name in _setting_names(runs):
        if name in NEVER or name in names:
            continue
        finer = len({_values(run, [*names, name]) for run in runs})
        if finer > count:
            count = finer
            names.append(name)
            added.append(name)
    if not names and len({run.get(TITLE) for run in runs}) > 1:
        return [TITLE]
    return added


def _setting_names(runs: Sequence[Settings]) -> Iterable[str]:
    """Return the names in KNOWN, whether runs have them or not, then those of all other settings of
    the runs, in the order in which they occur. Each name is returned once."""
    return dict.fromkeys((*KNOWN, *(name for run in runs for name in run)))


def pooled_over(runs: Sequence[Settings], used: Sequence[str]) -> list[str]:
    """Return the names of the settings in which runs of one group differ, if runs are grouped by
    the settings in `used`. Settings in NEVER are left out, as well as those that distinguish no
    more runs than `used` and the settings returned before them. Empty if there are none."""
    return [name for name in factors(runs, used) if name != TITLE]


def along_with(runs: Sequence[Settings], used: Sequence[str]) -> list[str]:
    """Return the names of settings in which runs differ, but which distinguish no more runs than
    those in `used` and pooled_over(): a difference between groups may be their effect.

    Parameters of a queue, the upload's queue and settings in NEVER are left out, as well as
    settings that have the same value in all runs that record them. For settings in
    UNRECORDED_DEFAULTS, other runs count with the default.
    """
    apart = {*used, *pooled_over(runs, used), *NEVER}
    return [name for name in _setting_names(runs)
            if name not in apart and not name.startswith(_OF_QUEUES)
            and len({value for run in runs if (value := setting(run, name)) is not None}) > 1]


def alike_in(runs: Sequence[Settings], compared: Sequence[str], beyond: Sequence[str]) -> list[str]:
    """Return the names of the settings that runs must share, besides `beyond`, to differ only in
    the settings in `compared`: first those that distinguish runs which are alike in `beyond` and
    `compared`, then others. Settings in NEVER, and those that distinguish no further runs, are left
    out.

    Parameters of a queue, and the upload's queue, are returned only if runs that are alike in
    `beyond` and `compared` differ in them.

    Args:
        runs: settings of each run.
        compared: names of the settings that are compared.
        beyond: names of settings that runs share anyway, which are not returned.
    """
    shared = factors(runs, (*beyond, *compared))
    apart = len({_values(run, [*beyond, *shared]) for run in runs})
    for name in _setting_names(runs):
        if name in (*NEVER, *beyond, *compared, *shared) or name.startswith(_OF_QUEUES):
            continue
        finer = len({_values(run, [*beyond, *shared, name]) for run in runs})
        if finer > apart:
            apart = finer
            shared.append(name)
    return [name for name in shared if name != TITLE]


def unpooled(runs: Sequence[Settings], requested: Sequence[str], pool: Sequence[str] = ()
             ) -> tuple[tuple[str, ...], list[str]]:
    """Return the names of the settings by which to group: the requested ones, and all others,
    except the title, that factors() needs to distinguish the runs. Also return the names of the
    settings in which runs of one group then differ, see pooled_over().

    Args:
        runs: settings of each run.
        requested: names of settings by which the user groups.
        pool: names of settings that are not added. If "all" is among them, none is added.
    """
    if "all" in pool:
        return tuple(requested), pooled_over(runs, requested)
    rest = [name for name in factors(runs, requested) if name not in pool and name != TITLE]
    keys = (*requested, *rest)
    return keys, pooled_over(runs, keys)


def check_keys(runs: Sequence[Settings], names: Sequence[str]) -> None:
    """Raise ConfigError if `names` has a setting that no run records. The message has that
    setting's short name (ALIASES), too, which the user may have given, and the names of the runs'
    settings, at most 60 (MOST_NAMED), with … if there are more."""
    present = sorted({name for settings in runs for name in settings})
    for name in names:
        if name not in present:
            known = [*map(harmless, present[:MOST_NAMED]), *(["…"] if present[MOST_NAMED:] else [])]
            short = f" (in short {_SHORT[name]!r})" if name in _SHORT else ""
            raise ConfigError(f"no run has the setting {harmless(name)!r}{short}; "
                              f"known: {', '.join(known) or 'none'}")


def grouped(items: Iterable[tuple[Settings, Item]], keys: Sequence[str]
            ) -> dict[tuple[Setting, ...], list[Item]]:
    """Return items grouped by the values of settings: values in the order of `keys` -> items in
    their order. Groups are sorted by their values as _value_order() does, numbers first and by
    size. A run that doesn't record a setting has its default (UNRECORDED_DEFAULTS), else "". Raises
    ConfigError if `keys` has a setting that no run records.

    Args:
        items: (settings of a run, item).
        keys: names of the settings.
    """
    everything = list(items)
    check_keys([settings for settings, _ in everything], keys)
    groups = collect([(_values(settings, keys), item) for settings, item in everything],
                     lambda pair: pair[0])
    ordered = sorted(groups, key=lambda key: [_value_order(one) for one in key])
    return {key: [item for _, item in groups[key]] for key in ordered}


def collect(members: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Group members by the value of a function: value -> members, in the order in which the values
    occur first.

    Args:
        members: the members.
        key: returns the value for a member.
    """
    groups: dict[Key, list[Item]] = {}
    for member in members:
        groups.setdefault(key(member), []).append(member)
    return groups


def shown(value: Setting) -> str:
    """Return the value of a setting as text: "on" or "off" for True or False, a number with up to
    six significant digits (1000000 is "1e+06"), text cut to 60 characters (LONGEST_SHOWN), the last
    of them "…" if there were more, with unprintable characters replaced, see plain()."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (int, float)):
        return f"{value:g}"
    return f"{harmless(value)[:-1]}…" if len(value) > LONGEST_SHOWN else harmless(value)


def heading(name: str) -> str:
    """Return the short name of a setting for a column of a table, such as "delay ms". For a setting
    without one, it is the setting's name with blanks in place of underscores."""
    return _TEXTS.get(name, _WITHOUT_TEXTS).heading or name.replace("_", " ")


def setting_text(name: str, value: Setting | None) -> str:
    """Return a setting's value with words that say which setting it is: "100 Mbit/s", "tiers 3".
    For settings whose values need no words, such as the test, the queue and the title, it is the
    value alone. "not told" (NOT_TOLD) for None. An empty text is told as "no NAME", unless the
    setting needs no words."""
    if value is None:
        return NOT_TOLD
    text_of = _TEXTS.get(name, _WITHOUT_TEXTS).format
    if text_of:
        return text_of(shown(value))
    return f"{harmless(name)} {shown(value)}" if value != "" else f"no {harmless(name)}"


def sorted_values(name: str, values: Iterable[Setting | None]) -> list[Setting | None]:
    """Return the different values of a setting in the order of an axis. None is last.

    Values of AQM are in the order of QUEUES, then unknown ones in alphabetical order. Of other
    settings, numbers and switches are first, by size, then texts by the number at their beginning,
    then texts without one, equal ones in alphabetical order.
    """
    return sorted(set(values), key=lambda value: sort_key(name, value))


def sort_key(name: str, value: Setting | None) -> tuple[int, float, str]:
    """Return the key by which sorted_values() sorts a value of the setting `name`."""
    if value is None:
        return (2, 0.0, "")
    if name == AQM:
        known = value in _AQM_ORDER
        return (0, float(_AQM_ORDER.index(str(value)) if known else len(_AQM_ORDER)), str(value))
    return _value_order(value)


def harmless(text: str) -> str:
    """Return text from a data file cut to 60 characters (LONGEST_SHOWN), with unprintable
    characters replaced, see plain()."""
    return plain(text[:LONGEST_SHOWN])


def setting(settings: Settings, name: str) -> Setting | None:
    """Return a run's value of the setting `name`. If it records none, return the default of
    UNRECORDED_DEFAULTS, or None."""
    return settings.get(name, UNRECORDED_DEFAULTS.get(name))


def _values(settings: Settings, keys: Sequence[str]) -> tuple[Setting, ...]:
    """Return a run's values of the settings in `keys`. For a missing one, it is the default of
    UNRECORDED_DEFAULTS, else ""."""
    return tuple("" if (value := setting(settings, key)) is None else value for key in keys)


def _value_order(value: Setting) -> tuple[bool, float, str]:
    """Return the sort key of a value: numbers and switches first, by size, then texts by the number
    at their beginning, then texts without one, equal ones in alphabetical order."""
    if isinstance(value, (int, float)):
        return (False, float(value), "")
    leading = _LEADING_NUMBER.match(value)
    return (True, float(leading[0]) if leading else math.inf, value)
