# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes one part of set-up beside the others: downloads and links leave processors idle."""

from __future__ import annotations

import multiprocessing
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

from flent_aqm.base.errors import AqmError, SetupError


@contextmanager
def beside(do: Callable[[], None]) -> Iterator[None]:
    """Call `do` in a fork while the block runs, and wait for it at the block's end.

    A block that fails ends the fork. Raise SetupError with the words of an AqmError of the
    fork's, OSError as it is, RuntimeError with the traceback of what else went wrong there.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_tell, args=(do, sender))
    process.start()
    sender.close()
    try:
        yield
        fault = receiver.recv()
    except EOFError:
        process.join()
        raise SetupError("the part of set-up that ran beside was ended "
                         f"({process.exitcode}); run flent-aqm setup again") from None
    finally:
        process.terminate()
        process.join()
        receiver.close()
    if fault is not None:
        raise fault


def _tell(do: Callable[[], None], sender: Connection) -> None:
    """In the fork: send what went wrong, or None. What `do` has started ends with it."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    try:
        do()
        fault: Exception | None = None
    except AqmError as error:
        fault = SetupError(str(error))
    except OSError as error:
        fault = error
    except KeyboardInterrupt:
        return  # the other side knows, or sees the end
    except Exception:
        fault = RuntimeError(traceback.format_exc())
    sender.send(fault)


def _end(*_: object) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # a second one would disturb clearing up
    raise KeyboardInterrupt
