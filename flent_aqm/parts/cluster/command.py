# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm worker`: make runs of sweeps that it gets from a Dask scheduler."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
import tempfile
from dataclasses import dataclass
from typing import Any

from flent_aqm.base.errors import AqmError, ConfigError, StorageError, cause_of
from flent_aqm.base.words import bracketed
from flent_aqm.lab.place import kill_all
from flent_aqm.parts.cluster.address import parse_scheduler
from flent_aqm.parts.cluster.extra import load_distributed
from flent_aqm.parts.cluster.probe import why_not
from flent_aqm.parts.cluster.security import (
    is_loopback,
    own_address,
    require_own,
    security_for,
    tls_context,
)
from flent_aqm.sweep.pool import parse_jobs

# Pause before the next attempt to connect. It is longer if the scheduler refused this worker,
# because each attempt is a line in the scheduler's log.
_AGAIN_S = 1.0
_NOT_JOINED_S = 30.0


@dataclass(frozen=True)
class _WorkerOptions:
    """The command's options, checked.

    Attributes:
        scheduler: address of the scheduler.
        jobs: number of parallel runs.
        host: numeric address to listen on. None: this machine's address towards the scheduler.
        dashboard: port of Dask's page, 0 for any free port. None: no page.
        security: Dask's Security, with the certificates if the scheduler's address is tls://….
    """

    scheduler: str
    jobs: int
    host: str | None
    dashboard: int | None
    security: Any


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the description and the arguments of `flent-aqm worker` to its parser: the scheduler's
    address, --jobs, --host, --tls-ca-file, --tls-cert, --tls-key, and --dashboard, which is
    converted to a whole number. Options that aren't given are None."""
    parser.description = (
        "Make runs for sweeps with `scheduler=ADDRESS`, until ^C. When the scheduler is gone, "
        "wait for it. Unless ADDRESS is tls://..., anybody who can reach the worker's port can "
        "run programs as you.")
    parser.add_argument("scheduler", metavar="ADDRESS",
                        help="address of the scheduler, such as tcp://192.0.2.1:8786 or "
                             "tls://192.0.2.1:8786")
    parser.add_argument("--jobs", metavar="N",
                        help="number of parallel runs (default: one per core)")
    parser.add_argument("--host", metavar="ADDRESS",
                        help="address to listen on (default: this machine's address towards the "
                             "scheduler; loopback if the scheduler's is)")
    parser.add_argument("--tls-ca-file", metavar="FILE",
                        help="certificate of the cluster's own authority, PEM")
    parser.add_argument("--tls-cert", metavar="FILE", help="certificate of this worker, PEM")
    parser.add_argument("--tls-key", metavar="FILE", help="its private key, PEM")
    parser.add_argument("--dashboard", metavar="PORT", type=int,
                        help="serve Dask's page about this worker at this port, without a "
                             "password (default: no page)")


def main(args: argparse.Namespace) -> int:
    """Run a worker until a signal ends it, kill its runs, and then end this process with status 0.
    This function doesn't return.

    Raises ConfigError if an option is wrong, ToolMissing without the package distributed,
    StorageError if the worker's temporary folder can't be made.
    """
    requested = _check_options(args)
    try:
        asyncio.run(_keep_serving(requested))
    except KeyboardInterrupt:
        pass
    finally:
        kill_all()
        sys.stderr.flush()
    # sys.exit() would wait for Dask's threads, which may wait for the end of a lab.
    os._exit(0)


def _check_options(args: argparse.Namespace) -> _WorkerOptions:
    """Return the command's options, checked, with the numeric address of --host, and the default of
    --jobs. Raises ConfigError if one is wrong, or the scheduler's address is empty, ToolMissing
    without the package distributed."""
    address, jobs = parse_scheduler(args.scheduler), parse_jobs(args.jobs)
    if address is None:
        raise ConfigError("the scheduler's address is empty; expected tcp://HOST:PORT or "
                          "tls://HOST:PORT, such as tcp://192.0.2.1:8786")
    if args.dashboard is not None and not 0 <= args.dashboard <= 65535:
        raise ConfigError(f"--dashboard {args.dashboard}: expected a port from 1 to 65535, "
                          "or 0 for any free port")
    load_distributed()
    return _WorkerOptions(
        address, jobs, None if args.host is None else require_own(args.host), args.dashboard,
        security_for(address, "worker", {
            "ca_file": args.tls_ca_file, "cert": args.tls_cert, "key": args.tls_key}))


class _NotJoinedError(Exception):
    """The scheduler answers, but this worker can't join it. The text is the reason, as of
    why_not()."""


async def _keep_serving(requested: _WorkerOptions) -> None:
    """Serve the scheduler until SIGINT, SIGTERM or SIGHUP comes. Reconnect, after a pause, whenever
    the scheduler is gone or refuses this worker. Runs under way are killed then, and the reason is
    printed on standard error if it has changed. Raises an AqmError for which a further attempt
    can't help, such as ToolMissing without the package distributed."""
    loop, end = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, end.set)
    waiting = asyncio.create_task(end.wait())
    # Reason why there is no connection. It is printed only when it changes. All errors of an absent
    # scheduler count as the same reason, because their words differ from attempt to attempt.
    last = ""
    while not end.is_set():
        pause_s, why, words = _AGAIN_S, "", ""
        serving = asyncio.create_task(_run_worker(requested))
        await asyncio.wait((serving, waiting), return_when=asyncio.FIRST_COMPLETED)
        if not serving.done():
            serving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            try:
                await serving
            except AqmError:
                raise
            except _NotJoinedError as error:
                why, pause_s = str(error), _NOT_JOINED_S
                words = f"can't join {requested.scheduler}: {error}; trying again"
            except Exception as error:  # Dask's errors when no scheduler answers
                why = "nobody"
                words = (f"no connection to a scheduler at {requested.scheduler} "
                         f"({_first_error(error)}); waiting for it")
        if why and why != last:
            print(f"flent-aqm: {words}", file=sys.stderr, flush=True)
        last = why
        kill_all()  # nobody waits for these runs any more
        if not end.is_set():
            await asyncio.wait((waiting,), timeout=pause_s)


async def _run_worker(requested: _WorkerOptions) -> None:
    """Run a Dask worker until the scheduler is gone. Print its address on standard error, with a
    warning if others can run programs through it. Raises _NotJoinedError if TLS or certificates
    don't fit, StorageError without a temporary folder, OSError or an error of Dask if there is no
    connection, ToolMissing without the package distributed."""
    from flent_aqm.parts.cluster.worker import worker_class

    context = tls_context(requested.security, requested.scheduler, "worker")
    why = await asyncio.to_thread(why_not, requested.scheduler, context)
    if why:
        raise _NotJoinedError(why)
    host = requested.host or own_address(requested.scheduler)
    try:
        own_folder = tempfile.TemporaryDirectory(prefix="flent-aqm-worker-")
    except OSError as error:  # not for the caller, which takes it for an absent scheduler
        raise StorageError(f"the worker's folder for temporary files can't be made: "
                           f"{cause_of(error)}; make room, or set TMPDIR to another folder"
                           ) from None
    with own_folder as folder:
        async with worker_class()(
            requested.scheduler, nthreads=requested.jobs, local_directory=folder, memory_limit=0,
            host=bracketed(host), security=requested.security, silence_logs=40,
            dashboard=requested.dashboard is not None,
            dashboard_address=(host, requested.dashboard or 0),
        ) as worker:
            print(f"flent-aqm: worker at {worker.address}; runs side by side: {requested.jobs}",
                  file=sys.stderr, flush=True)
            if worker.address.startswith("tcp://") and not is_loopback(host):
                print(f"flent-aqm: warning: anybody who can reach {worker.address} can run "
                      "programs as you; with tls:// only those with a certificate can",
                      file=sys.stderr, flush=True)
            await worker.finished()


def _first_error(error: BaseException) -> str:
    """Return the error that began a chain of exceptions (by __cause__, or else __context__) as
    "TYPE: TEXT", or as "TYPE" if it has no text."""
    while error.__cause__ is not None or error.__context__ is not None:
        error = error.__cause__ or error.__context__ or error
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
