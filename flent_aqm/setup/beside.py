# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs one part of set-up in parallel to others.

Downloads and linking leave processors idle.
"""

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
    """Call `do` in a forked process while the block runs, and wait for it at the block's end. An
    exception in the block ends the process.

    Raises SetupError with the message of an AqmError in the process, OSError as it was raised
    there, and RuntimeError with the traceback of any other exception there.
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
        raise SetupError("set-up's second process was ended from outside (exit status "
                         f"{process.exitcode}); run flent-aqm setup again") from None
    finally:
        process.terminate()
        process.join()
        receiver.close()
    if fault is not None:
        raise fault


def _tell(do: Callable[[], None], sender: Connection) -> None:
    """In the forked process: call `do` and send its exception, or None. Programs that `do` has
    started end with it."""
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
        return  # the parent has ended this process, or sees its end
    except Exception:
        fault = RuntimeError(traceback.format_exc())
    sender.send(fault)


def _end(*_: object) -> None:
    """Signal handler: raise KeyboardInterrupt and ignore further signals."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # a second signal would interrupt the cleaning up
    raise KeyboardInterrupt
