# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure a peer of the lab: ns-3, of its package on PyPI, with peer_ns3.cc.

    .venv/bin/python -m research.bench.peer    what it simulates and costs, rate by rate

Both go to the cache folder: the package to tools/ns3-VERSION (300 MB), the program to
tools/peer-ns3-HASH, by the hash of its source and of how it is compiled.
"""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from flent_aqm.base.errors import AqmError, CommandFailed, ToolMissing
from flent_aqm.base.paths import cache_to_write, find_cached
from flent_aqm.base.shell import find_program, run
from flent_aqm.setup import install
from flent_aqm.setup.whole_program import is_whole

VERSION = "3.44.post0"
SOURCE = Path(__file__).with_name("peer_ns3.cc")
MODULES = ("applications", "internet", "point-to-point", "traffic-control", "network", "core")
# As the package's own lib64/cmake/ns3/ns3Targets.cmake has it: its headers depend on them.
FLAGS = ("-std=c++20", "-O2", "-DNS3_BUILD_PROFILE_RELEASE", "-DNS3_LOG_ENABLE",
         "-DNS3_ASSERT_ENABLE")
# Rate in Mbit/s -> seconds to simulate: the cost is even, and 1 Gbit/s takes long.
SIMULATED_S = {100: 5, 1000: 1}


@dataclass(frozen=True)
class Simulated:
    """The result of one simulation.

    Attributes:
        goodput_mbps: goodput of the TCP flow.
        dropped: number of packets that FqCoDel dropped.
        wall_s: wall time per simulated second.
        cpu_s: processor time per simulated second.
    """

    goodput_mbps: float
    dropped: int
    wall_s: float
    cpu_s: float


def simulate(program: Path, rate_mbps: int) -> Simulated:
    """Simulate one TCP flow through FqCoDel at 100 Mbit/s for 5 s, or at 1000 Mbit/s for 1 s, by
    ns-3, and return the result. Raises CommandFailed if the program fails or takes 600 s,
    ToolMissing if it isn't there, KeyError for another rate.

    Args:
        program: path of the compiled program.
        rate_mbps: 100 or 1000.
    """
    seconds = SIMULATED_S[rate_mbps]
    output = json.loads(run([program, str(rate_mbps), str(seconds)], timeout_s=600))
    return Simulated(output["goodput_mbps"], output["dropped"], output["wall_s"] / seconds,
                     output["cpu_s"] / seconds)


def peer_program() -> Path:
    """Return the path of the program that simulates with ns-3. If no cache has it, compile it, and
    before that install ns-3 if the cache to write doesn't have it. Wait while another set-up works
    in that cache.

    Raises ToolMissing if g++ is missing, or if pip can't install ns-3, such as without a network or
    without a package for this machine and Python. Raises CommandFailed if the program can't be
    compiled, SetupError if there is too little space or the cache can't be written.
    """
    key = hashlib.sha256(SOURCE.read_bytes() + repr((VERSION, FLAGS, MODULES)).encode())
    name = f"peer-ns3-{key.hexdigest()[:12]}"
    there = find_cached("tools", name, "peer_ns3")
    if there is not None:
        return there
    compiler = find_program("g++")
    if compiler is None:
        raise ToolMissing("g++ is not installed; apt-get install g++")
    cache = cache_to_write()
    with install.locked(cache):
        library = cache / "tools" / f"ns3-{VERSION}"
        if not _has_libraries(library):
            _install_ns3(cache, library)
        _compile(compiler, library / "ns3", cache, cache / "tools" / name)
    return cache / "tools" / name / "peer_ns3"


def _install_ns3(cache: Path, library: Path) -> None:
    """Install the package ns-3 from PyPI into the folder `library`, without what only its Python
    bindings need. The caller holds the cache's lock. Raises ToolMissing if pip fails, SetupError if
    there is too little space."""
    install.require_space(cache, 1_000_000_000, f"ns-3 {VERSION}")
    with install.staging(cache) as work:
        try:
            run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps",
                 "--disable-pip-version-check", "--only-binary", ":all:",
                 "--target", work / "result", f"ns3=={VERSION}"], timeout_s=600)
        except CommandFailed as failed:
            # pip says what it is in the last line; the command says nothing to a user
            why = (failed.stderr.strip() or str(failed)).splitlines()[-1]
            raise ToolMissing(f"ns-3 {VERSION} from PyPI: {why}") from None
        install.publish(work / "result", library, _has_libraries)


def _has_libraries(library: Path) -> bool:
    """Return whether the folder `library` has a folder for ns-3's libraries."""
    return (library / "ns3" / "lib64").is_dir()


def _compile(compiler: Path, ns3: Path, cache: Path, target: Path) -> None:
    """Compile the program to the file peer_ns3 in `target`, and link it against the package's
    headers and libraries where they are. The caller holds the cache's lock. Raises CommandFailed if
    the compiler fails or takes 600 s.

    Args:
        compiler: path of g++.
        ns3: folder of the package.
        cache: folder of the cache.
        target: folder for the program, created here.
    """
    libraries = ns3 / "lib64"
    release = VERSION.partition(".post")[0]
    with install.staging(cache) as work:
        result = work / "result"
        result.mkdir()
        run([compiler, *FLAGS, f"-I{ns3 / 'include'}", SOURCE, "-o", result / "peer_ns3",
             f"-L{libraries}", f"-Wl,-rpath,{libraries}",
             *(f"-lns{release}-{module}" for module in MODULES)], timeout_s=600)
        install.publish(result, target, lambda folder: is_whole(folder / "peer_ns3"))


def main() -> None:
    """Print the result of each rate. Raises SystemExit if the program can't be had or fails."""
    try:
        program = peer_program()
        for rate_mbps in SIMULATED_S:
            print(f"{rate_mbps} Mbit/s: {simulate(program, rate_mbps)}")
    except AqmError as error:
        raise SystemExit(f"peer: {error}") from None


if __name__ == "__main__":
    main()
