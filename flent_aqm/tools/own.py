# SPDX-License-Identifier: GPL-3.0-or-later
"""The test `own_test`: a speed test of the user's, from a file that isn't in this package.

The variable FLENT_AQM_OWN_TOOL names the file. It is Python, with a TOOL as speed tests of parts
one have, and a measure(call, report), or a TOOL that command_tool() makes of two commands
(command.py). On the server its commands find the file as "$FLENT_AQM_OWN_TOOL".
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
from dataclasses import replace
from functools import cache
from types import ModuleType

from flent_aqm.base import environment
from flent_aqm.base.errors import ConfigError
from flent_aqm.tools.client import main
from flent_aqm.tools.tool import WAYS, Server, Shown, Tool

NAME = "own_test"
PORT = 9300
_EXPECTED = (f"a file of Python with a TOOL, as flent_aqm/parts/speedtests/msak.py; see "
             f"{environment.OWN_TOOL}")
# Without a file: the test's definition refuses it.
UNSET = Tool(NAME, Server(NAME, {"OWN_PORT": (PORT,)}, "false", program=NAME, behind_ssh=False,
                          in_lab=False))
REFUSAL = f"{NAME}: no file is named; set {environment.OWN_TOOL} to one with a TOOL"


@cache
def module() -> ModuleType | None:
    """Return the user's, None where the variable isn't set. Raises ConfigError."""
    path = os.environ.get(environment.OWN_TOOL)
    if not path:
        return None
    spec = importlib.util.spec_from_file_location("flent_aqm_own_tool", path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{path}: its name doesn't end in .py; expected {_EXPECTED}")
    made = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(made)
    except ConfigError:
        raise
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; expected {_EXPECTED}") from None
    except Exception as error:  # whatever is wrong with it, it is the user's to mend
        raise ConfigError(f"{path}: {type(error).__name__}: {error}; expected {_EXPECTED}"
                          ) from None
    return made


def tool() -> Tool:
    """Return the user's as the test own_test; UNSET without one. Raises ConfigError."""
    made = module()
    if made is None:
        return UNSET
    path, declared = os.environ[environment.OWN_TOOL], getattr(made, "TOOL", None)
    if declared is None:
        raise ConfigError(f"{path}: the file sets no TOOL; expected {_EXPECTED}")
    if not isinstance(declared, Tool):
        raise ConfigError(f"{path}: its TOOL is of type {type(declared).__name__}; expected "
                          f"{_EXPECTED}")
    names = {number.name for number in declared.numbers}
    if not {f"{way}_mbps" for way in WAYS} & names:
        raise ConfigError(f"{path}: TOOL has the numbers {', '.join(sorted(names)) or 'none'}; "
                          "expected download_mbps or upload_mbps among them")
    shown = declared.shown or Shown(declared.name, tuple(
        number.name for number in declared.numbers
        if number.unit in ("ms", "RPM") and "jitter" not in number.name))
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
    """Return those of which it tells a rate; both of none."""
    names = {number.name for number in tool().numbers}
    return [way for way in WAYS if f"{way}_mbps" in names] or list(WAYS)


def files() -> list[str]:
    """Return the files that its runs read, of the user's, by their places on the host."""
    made = module()
    return [os.environ[environment.OWN_TOOL], *getattr(made, "FILES", ())] if made else []


if __name__ == "__main__":
    measure = getattr(module(), "measure", None)
    sys.exit(main(NAME, measure) if measure else f"error: {NAME}: the file has no measure()")
