# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the test `own_test` of a user's speed test, from a file that isn't in this package.

The variable FLENT_AQM_OWN_TOOL names the file. It is Python with a TOOL, as the modules of speed
tests in parts have, and a function measure(call, report). TOOL may also be the result of
command_tool() for two commands (command.py). On the server its commands find the file as
"$FLENT_AQM_OWN_TOOL".
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
from dataclasses import replace
from functools import cache
from traceback import extract_tb
from types import ModuleType

from flent_aqm.base import environment
from flent_aqm.base.errors import ConfigError, cause_of
from flent_aqm.tools.client import main
from flent_aqm.tools.tool import WAYS, Program, Server, Shown, Tool

NAME = "own_test"
PORT = 9300
_EXPECTED = ("a Python file *.py that sets TOOL, as flent_aqm/parts/speedtests/msak.py does; see "
             "docs/extend.md")
# End of messages about the path.
_NAMED_BY = f"; the variable {environment.OWN_TOOL} has this path"
# Programs that each run in the lab has of its own.
_OF_LAB = {"flent", "tc"}
# Without a file: the test's definition refuses it.
UNSET = Tool(NAME, Server(NAME, {"OWN_PORT": (PORT,)}, "false", program=NAME, behind_ssh=False,
                          in_lab=False))
REFUSAL = (f"{NAME}: no file is named; set {environment.OWN_TOOL} to the path of a Python file "
           "that sets TOOL")


@cache
def load_user_file() -> ModuleType | None:
    """Execute the file that the environment variable FLENT_AQM_OWN_TOOL names, and return it as a
    module. None if the variable isn't set or is empty. After a call that returned, later calls
    return the same, a module or None, without a look at the variable. Raises ConfigError if the
    file's name doesn't end in .py, or if it can't be read or raises an error, SystemExit
    included."""
    path = os.environ.get(environment.OWN_TOOL)
    if not path:
        return None
    spec = importlib.util.spec_from_file_location("flent_aqm_own_tool", path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{path}: its name doesn't end in .py; expected {_EXPECTED}{_NAMED_BY}")
    user_module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(user_module)
    except ConfigError as error:  # of command_tool(), whose arguments have the names of options
        raise ConfigError(f"{path}: {error}") from None
    except (Exception, SystemExit) as error:  # whatever is wrong with it, it is the user's to mend
        lines = [one.lineno for one in extract_tb(error.__traceback__)
                 if one.filename == spec.origin]
        if isinstance(error, OSError) and not lines:
            raise ConfigError(f"{path}: {cause_of(error)}; expected {_EXPECTED}{_NAMED_BY}"
                              ) from None
        at = f"line {lines[-1]} raises " if lines else ""
        raise ConfigError(f"{path}: {at}{type(error).__name__}: {error}; mend it, see "
                          "docs/extend.md") from None
    return user_module


def tool() -> Tool:
    """Return the Tool of the user's file, which the environment variable FLENT_AQM_OWN_TOOL names,
    as the test own_test: with this name for the tool and its server, and `shown`, if missing, made
    of its numbers. UNSET, whose test is refused, if the variable isn't set or is empty. Raises
    ConfigError if the file fails, has no TOOL with a rate, or names a program that each run has of
    its own, or if its `shown` has a number of rates other than 0 or 2, names two rates of which the
    tool has neither, or a latency or verdict that it doesn't have."""
    user_module = load_user_file()
    if user_module is None:
        return UNSET
    path, declared = os.environ[environment.OWN_TOOL], getattr(user_module, "TOOL", None)
    if declared is None:
        raise ConfigError(f"{path}: the file sets no TOOL; expected {_EXPECTED}")
    if not isinstance(declared, Tool):
        raise ConfigError(f"{path}: its TOOL is of type {type(declared).__name__}; expected a Tool "
                          "(flent_aqm.tools.tool), or the result of command_tool(); see "
                          "docs/extend.md")
    names = {number.name for number in declared.numbers}
    if not {f"{direction}_mbps" for direction in WAYS} & names:
        raise ConfigError(f"{path}: TOOL declares no download_mbps and no upload_mbps; add one to "
                          f"its numbers (now: {', '.join(sorted(names)) or 'none'})")
    needed = (*declared.programs, *declared.sometimes)
    if taken := _OF_LAB & {one.name for one in needed if isinstance(one, Program)}:
        raise ConfigError(f"{path}: `programs` or `sometimes` of its TOOL has a Program "
                          f"{' and '.join(sorted(taken))}, which each run has of its own; leave it "
                          "out, or if another program is meant, give that another name")
    if declared.shown and (isinstance(declared.shown.rates, str)
                           or len(declared.shown.rates) not in (0, 2)):
        raise ConfigError(f"{path}: `shown` of its TOOL has rates={declared.shown.rates!r}; leave "
                          "rates out, which means download_mbps and upload_mbps, or give two "
                          "names, the download's first; one of them may be missing in its numbers, "
                          "and a test that doesn't fill the line has rates=()")
    shown = declared.shown or Shown(declared.name, tuple(
        number.name for number in declared.numbers
        if number.unit in ("ms", "RPM") and "jitter" not in number.name))
    # One of the rates may be absent: that of a direction that the test doesn't load.
    for named in (*((name,) for name in (*shown.latency, *(name for name, _ in shown.verdict))),
                  shown.rates):
        if named and not names & set(named):
            raise ConfigError(f"{path}: `shown` of its TOOL names {' and '.join(named)}; expected "
                              "names of its numbers: "
                              f"{', '.join(number.name for number in declared.numbers)}")
    return replace(
        declared, name=NAME, prefix=NAME, module=__name__, longest_s=declared.longest_s or 60.0,
        server=replace(
            declared.server, name=NAME, ports={"OWN_PORT": (declared.server.port,)},
            # Each in a shell of its own: one with a ; in it would hold up all others.
            start="\n".join(f"sh -c {shlex.quote(line)}"
                            for line in declared.server.start.splitlines()),
            after=("" if declared.server.protocol != "tcp" else
                   f"listens_or_exit {declared.server.port} {NAME} /run/{NAME}.log"),
            log="", parameter="", behind_ssh=False, in_lab=False),
        servers=(), choose=None, shown=replace(shown, label=shown.label or declared.name, test=""))


def directions() -> list[str]:
    """Return the directions of which the user's tool reports a rate: "download", "upload" or both,
    in this order. Return both if no file is named. Raises ConfigError if the user's file fails, or
    its TOOL is missing or wrong."""
    names = {number.name for number in tool().numbers}
    return [direction for direction in WAYS if f"{direction}_mbps" in names] or list(WAYS)


def files() -> list[str]:
    """Return the paths of the files that runs of the user's tool read: the absolute path of the
    file itself, then those that it names in FILES, unchanged. Empty without a file. Raises
    ConfigError if the file fails."""
    user_module = load_user_file()
    if user_module is None:
        return []
    # Inside the lab, runs have another folder.
    return [os.path.abspath(os.environ[environment.OWN_TOOL]), *getattr(user_module, "FILES", ())]


if __name__ == "__main__":
    try:
        user_file = load_user_file()
    except ConfigError as error:
        sys.exit(f"error: {NAME}: {error}")
    measure = getattr(user_file, "measure", None)
    sys.exit(main(NAME, measure) if measure else
             f"error: {REFUSAL}" if user_file is None else
             f"error: {NAME}: {user_file.__file__} has no function measure(call, report)")
