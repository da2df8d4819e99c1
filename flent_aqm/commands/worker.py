# SPDX-License-Identifier: GPL-3.0-or-later
"""`flent-aqm worker`: makes runs for sweeps that a scheduler gives them to."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
import tempfile

from flent_aqm.base.errors import AqmError
from flent_aqm.sweep.cluster.address import parse_scheduler
from flent_aqm.sweep.cluster.cluster import load_distributed
from flent_aqm.sweep.jobs import parse_jobs
from flent_aqm.testbed.place import kill_all

_AGAIN_S = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `flent-aqm worker`."""
    parser.description = (
        "Make runs for sweeps with `scheduler=ADDRESS`, until ^C. When the scheduler is gone, "
        "wait for it. Start the scheduler with: dask scheduler")
    parser.add_argument("scheduler", metavar="ADDRESS", help="such as tcp://192.0.2.1:8786")
    parser.add_argument("--jobs", metavar="N", help="runs side by side (default: the cores)")


def main(args: argparse.Namespace) -> int:
    """Work; returns the exit status."""
    address, jobs = parse_scheduler(args.scheduler), parse_jobs(args.jobs)
    assert address is not None
    load_distributed()
    try:
        asyncio.run(_work(address, jobs))
    except KeyboardInterrupt:
        pass
    finally:
        kill_all()
        sys.stderr.flush()
    # Threads of Dask's that wait for a lab would wait for its end.
    os._exit(0)


async def _work(address: str, jobs: int) -> None:
    loop, end = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, end.set)
    waiting = asyncio.create_task(end.wait())
    told = False
    while not end.is_set():
        serving = asyncio.create_task(_serve(address, jobs))
        await asyncio.wait((serving, waiting), return_when=asyncio.FIRST_COMPLETED)
        if not serving.done():
            serving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            try:
                await serving
                told = False
            except AqmError:
                raise
            except Exception as error:  # whatever Dask has when nobody is there
                if not told:
                    print(f"flent-aqm: no scheduler at {address} "
                          f"({type(error).__name__}); waiting for it", file=sys.stderr, flush=True)
                told = True
        kill_all()  # nobody waits for them any more
        if not end.is_set():
            await asyncio.sleep(_AGAIN_S)


async def _serve(address: str, jobs: int) -> None:
    """Work for a scheduler until it is gone."""
    from distributed import Worker

    with tempfile.TemporaryDirectory(prefix="flent-aqm-worker-") as folder:
        async with Worker(address, nthreads=jobs, local_directory=folder, memory_limit=0,
                          dashboard=False, silence_logs=40) as worker:
            print(f"flent-aqm: worker at {worker.address}, {jobs} side by side", file=sys.stderr,
                  flush=True)
            await worker.finished()
