# SPDX-License-Identifier: GPL-3.0-or-later
"""From JSON to Python's objects, in which every number is finite and all text is whole.

What comes out can be printed, written and computed with: no number is infinite or longer
than a float, no text has half a character.
"""

from __future__ import annotations

import gc
import json
import math
from typing import Any, NoReturn

import orjson

from flent_aqm.base.errors import BadResult

# Python's own parser takes several times as long; files that need it are exceptions.
_SLOW_BYTES = 4 << 20
# Of integers that orjson takes for such; it makes floats of longer ones.
_LONGEST_WHOLE = 18


def parse(text: bytes | bytearray) -> Any:
    """Return what the JSON says. Raises BadResult."""
    # Else each of the first million lists is looked at ten times, and nothing is found.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _parse(text)
    except RecursionError:
        raise BadResult("damaged (nested too deeply)") from None
    except UnicodeDecodeError:
        raise BadResult("damaged (not UTF-8 text)") from None
    except ValueError as error:
        raise BadResult(f"damaged ({error})") from None
    finally:
        if collecting:
            gc.enable()


def _parse(text: bytes | bytearray) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if len(text) > _SLOW_BYTES:
            raise BadResult(f"damaged ({error})") from None
        # It refuses a BOM, and halves of characters, which Flent writes where a title's
        # bytes were no UTF-8.
        return _whole(json.loads(bytes(text), parse_constant=_refuse, parse_int=_int,
                                 parse_float=_float))


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is in the place of a number")


def _int(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_WHOLE else _float(digits)


def _float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:20]} is a number that is not finite")
    return number


def _whole(tree: Any) -> Any:
    """Return the same with ? for halves of characters."""
    if isinstance(tree, str):
        return tree.encode("utf-8", "replace").decode()
    if isinstance(tree, list):
        return [_whole(one) for one in tree]
    if isinstance(tree, dict):
        return {_whole(key): _whole(value) for key, value in tree.items()}
    return tree
