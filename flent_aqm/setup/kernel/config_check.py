# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares a generated .config with the requested options.

kconfig silently drops an option whose dependencies aren't met.
"""

from __future__ import annotations

import re

from flent_aqm.base.errors import SetupError

_SET = re.compile(r"CONFIG_(\w+)=(.*)")


def parse_config(text: str) -> dict[str, str]:
    """Parse lines CONFIG_NAME=value. Return NAME -> value. NAME is without CONFIG_, and the value
    as it stands, with quotes if it has any. An option that is off is missing, or has the value "n".
    Of an option in several lines, the last value counts. Blank lines and lines that begin with #
    are ignored.

    Raises SetupError for any other line.
    """
    options: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        match = _SET.fullmatch(line)
        if match is None:
            raise SetupError(f"kernel options, line {number}: {line[:80]!r}; expected "
                             "CONFIG_NAME=value, or a comment with # at its beginning")
        options[match[1]] = match[2]
    return options


def check_config(fragment: str, generated: str) -> None:
    """Raise SetupError if a requested option has another value in the generated configuration,
    where a missing option counts as "n". The message has all such options. Options that aren't
    requested may have any value. Raises SetupError also if a line of either text is no option,
    blank or comment.

    Args:
        fragment: the requested options, lines CONFIG_NAME=value.
        generated: text of the generated .config.
    """
    wanted, got = parse_config(fragment), parse_config(generated)
    differing = [f"{name}={got.get(name, 'n')} (wanted {value})"
                 for name, value in wanted.items() if got.get(name, "n") != value]
    if differing:
        raise SetupError("kconfig changed requested options (of the lab, or of --config): "
                         f"{', '.join(differing)}; expected options that this kernel's source has, "
                         "whose dependencies are met, that no other option selects, and with a "
                         "value of their kind (not m, as the lab has no modules)")
