# SPDX-License-Identifier: GPL-3.0-or-later
"""Parse JSON to Python objects with finite numbers and valid text.

The result can be printed, written and used in computations: no number is infinite or longer than a
float, and no text has a lone surrogate.
"""

from __future__ import annotations

import gc
import json
import math
from typing import Any, NoReturn

import orjson

from flent_aqm.base.errors import BadResult

# Largest text for Python's own parser, which is several times slower. Few files need it.
_SLOW_BYTES = 4 << 20
# Digits of the longest number that stays an integer, as in orjson. Longer ones become floats.
_LONGEST_WHOLE = 18


def parse(text: bytes | bytearray) -> Any:
    """Parse a JSON text. Lone surrogates become "?". Raises BadResult if the text is empty or
    damaged, has NaN or infinite numbers, or is nested too deeply. A text larger than 4 MiB
    (_SLOW_BYTES) is also refused if it has lone surrogates or a BOM, or is not in UTF-8 but in
    UTF-16 or UTF-32."""
    if not text:
        raise BadResult("damaged (it has no content)")
    # The garbage collector would examine each of the first million lists ten times, for nothing.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _parse(text)
    except RecursionError:
        raise BadResult("damaged (nested too deeply)") from None
    except UnicodeDecodeError:
        raise BadResult("damaged, or not JSON (not UTF-8 text)") from None
    except ValueError as error:
        raise BadResult(f"damaged, or not JSON ({error})") from None
    finally:
        if collecting:
            gc.enable()


def _parse(text: bytes | bytearray) -> Any:
    """Parse with orjson, or with Python's json if orjson refuses a text of up to 4 MiB
    (_SLOW_BYTES). In what json returns, lone surrogates are replaced by "?". Raises BadResult for a
    larger text that orjson refuses, RecursionError as json does, and ValueError if the text is not
    JSON or has a number that is not finite."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if len(text) > _SLOW_BYTES:
            raise BadResult(f"damaged, or not JSON ({error}); above {_SLOW_BYTES >> 20} MiB, it "
                            "has to be in UTF-8, without a byte order mark and without lone "
                            "surrogates") from None
        # orjson refuses a BOM, and lone surrogates, which Flent writes if a title was not UTF-8.
        return _without_surrogates(json.loads(
            bytes(text), parse_constant=_refuse_constant, parse_int=_parse_int,
            parse_float=_parse_float))


def _refuse_constant(name: str) -> NoReturn:
    """Raise ValueError. json calls it for the constants NaN, Infinity and -Infinity."""
    raise ValueError(f"{name} stands where a number is expected")


def _parse_int(digits: str) -> int | float:
    """Return the integer for digits of JSON, or a float if they are more than 18 characters
    (_LONGEST_WHOLE), of which a minus sign is one. Raises ValueError if the float is not finite."""
    return int(digits) if len(digits) <= _LONGEST_WHOLE else _parse_float(digits)


def _parse_float(digits: str) -> float:
    """Return the float for a number in JSON. Raises ValueError if it is not finite."""
    number = float(digits)
    if not math.isfinite(number):
        seen = digits if len(digits) <= 20 else f"{digits[:20]}…"
        raise ValueError(f"the number {seen} is too large; expected less than 1.8e308")
    return number


def _without_surrogates(tree: Any) -> Any:
    """Return parsed JSON with lone surrogates in text, also in keys, replaced by "?"."""
    if isinstance(tree, str):
        return tree.encode("utf-8", "replace").decode()
    if isinstance(tree, list):
        return [_without_surrogates(one) for one in tree]
    if isinstance(tree, dict):
        return {_without_surrogates(key): _without_surrogates(value) for key, value in tree.items()}
    return tree
