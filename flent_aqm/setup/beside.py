# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a part of set-up in a second process beside the others.

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
from flent_aqm.base.words import end_of


@contextmanager
def beside(do: Callable[[], None]) -> Iterator[None]:
    """Context manager: call `do` in a forked process while the block runs, and wait for the process
    at the block's end. An exception in the block ends the process.

    At the block's end, raises SetupError with the message of an AqmError in the process, or if a
    signal ended the process. Raises OSError as it was raised there, and RuntimeError with the
    traceback of any other exception there.

    do: function without arguments and result.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_run_in_process, args=(do, sender))
    process.start()
    sender.close()
    try:
        yield
        fault = receiver.recv()
    except EOFError:
        process.join()
        raise SetupError(f"set-up's second process ended with {end_of(process.exitcode or 0)} "
                         "before its work was done: was it stopped, such as for lack of memory? "
                         "run the same command again") from None
    finally:
        process.terminate()
        process.join()
        receiver.close()
    if fault is not None:
        raise fault


def _run_in_process(do: Callable[[], None], sender: Connection) -> None:
    """Run in the forked process: call `do`, and send None, or the exception that the parent has to
    raise: a SetupError with the message of an AqmError, an OSError as it is, a RuntimeError with
    the traceback of any other. SIGINT and SIGTERM raise KeyboardInterrupt in it, so that programs
    which `do` has started end with the process. Then nothing is sent.

    Args:
        do: the function to call.
        sender: the end of a pipe.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
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


def _interrupt(*_: object) -> None:
    """Handle SIGINT or SIGTERM: raise KeyboardInterrupt, and ignore both signals from now on."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # a second signal would interrupt the cleaning up
    raise KeyboardInterrupt
