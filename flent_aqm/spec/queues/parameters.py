# SPDX-License-Identifier: GPL-3.0-or-later
"""A queue's parameters as people write them: checked."""

from __future__ import annotations

from flent_aqm.base.errors import ConfigError
from flent_aqm.spec.queues.external import OPTIONS, queue_of


def check_parameter(aqm: str, name: str, text: str) -> str:
    """Return the text, when it is a parameter of that AQM; raises ConfigError that names both."""
    parameters = queue_of(aqm).parameters
    if name not in parameters:
        raise ConfigError(f"aqm_{name}: {aqm} has no such parameter; known: {', '.join(parameters)}"
                          + (f"; give it as aqm_{OPTIONS} = {name} {text[:40]}"
                             if OPTIONS in parameters else ""), f"aqm_{name}")
    try:
        value = parameters[name].read(text)
    except ConfigError as fault:
        raise ConfigError(f"aqm_{name}: {text!r} for {aqm}: {fault}", f"aqm_{name}") from None
    if not value and not isinstance(value, bool) and not parameters[name].zero:
        raise ConfigError(f"aqm_{name}: {text!r} for {aqm}: 0 is not allowed; omit the key "
                          "to use the default", f"aqm_{name}")
    # A hook's own reading of switches and sizes is not needed then.
    if isinstance(value, bool):
        return "yes" if value else "no"
    return text
