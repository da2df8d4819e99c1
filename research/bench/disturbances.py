# SPDX-License-Identifier: GPL-3.0-or-later
"""Circumstances that must not change a run: what `make identical` varies.

Each function is a context manager that yields a Circumstances object: how to start a command of
this package in these circumstances.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import cycle
from pathlib import Path

from flent_aqm.lab.virtual import WITHOUT_RDRAND
from research.bench.checkouts import copy_checkout

# Changes of a checkout: file, a line of it, and what is put behind that line. The guest's Flent
# imports the first file.
MORE_IMPORTS = ("flent_aqm/measure/runners/all_runners.py", "from __future__ import annotations\n",
                "import colorsys, decimal, fractions, statistics, xmlrpc.client\n")
MORE_PROGRAMS = ("router_hooks/on_router.sh", "\nset -u\n",
                 '[ "$1" != apply ] || { env true; env true; env true; }\n')
# What libraries are told so that they do without what newer processors have, by the bits of CPUID's
# leaves 1 (ECX) and 7 (EBX, ECX), among them what the lab itself hides. Not without AES: Go's
# hash tables would have another order, and so irtt. Processors have it since 2010.
WITHOUT_1 = {"RDRAND": 30, "AVX": 28, "MOVBE": 22, "FMA": 12, "SSSE3": 9, "PCLMUL": 1}
WITHOUT_7 = {"RDSEED": 18, "BMI1": 3, "AVX2": 5, "BMI2": 8, "AVX512F": 16, "AVX512DQ": 17,
             "ADX": 19, "SHA": 29, "AVX512BW": 30, "AVX512VL": 31, "VAES": 41, "VPCLMUL": 42}
OLDER_PROCESSOR = {
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=" + ",".join(f"-{name}" for name in (
        "AVX", "AVX2", "FMA", "FMA4", "AVX512F", "AVX512DQ", "AVX512BW", "AVX512VL", "ERMS",
        "FSRM", "BMI1", "BMI2", "LZCNT", "MOVBE", "POPCNT", "SSSE3", "SSE4_1", "SSE4_2", "XSAVEC",
        "AVX_Fast_Unaligned_Load")),
    "OPENSSL_ia32cap": (f"~{sum(1 << 32 + bit for bit in WITHOUT_1.values()):#x}"
                        f":~{sum(1 << bit for bit in WITHOUT_7.values()):#x}"),
    "GODEBUG": ",".join(f"cpu.{name}=off" for name in (
        "adx", "avx", "avx2", "bmi1", "bmi2", "erms", "fma", "pclmulqdq", "popcnt")),
}
# The same lengths, and nothing hidden: names that glibc doesn't know, the lab's own two bits, what
# Go has on anyway. Go keeps its variables on its heap, which so grows at another moment where they
# are longer, and one of irtt's thousands of time stamps is later by two looks at the clock.
AS_LONG = {
    "GLIBC_TUNABLES": OLDER_PROCESSOR["GLIBC_TUNABLES"].lower(),
    "OPENSSL_ia32cap": ":".join(
        f"~0x{own.removeprefix('~0x').zfill(len(older) - len('~0x'))}" for own, older in zip(
            *(known["OPENSSL_ia32cap"].split(":") for known in (WITHOUT_RDRAND, OLDER_PROCESSOR)),
            strict=True)),
    "GODEBUG": OLDER_PROCESSOR["GODEBUG"].replace("=off", "=on").ljust(
        len(OLDER_PROCESSOR["GODEBUG"]), ","),
}
_IN_GUEST = 'WITHOUT_RDRAND = {"OPENSSL_ia32cap": "~0x4000000000000000:~0x40000"}\n'
OLDER_IN_GUEST, AS_LONG_IN_GUEST = (
    ("flent_aqm/lab/virtual.py", _IN_GUEST, f"WITHOUT_RDRAND |= {variables!r}\n")
    for variables in (OLDER_PROCESSOR, AS_LONG))
FLAGS = "flags\t\t: fpu tsc msr cx8 cmov mmx fxsr sse sse2 syscall nx lm constant_tsc cx16"
PATH_LENGTHS = (1, 9, 17, 25, 33, 49, 65, 97, 130, 200)
BUSY = [sys.executable, "-c", "import os\nwhile os.getppid() != 1: sum(range(10**5))"]


@dataclass(frozen=True)
class Circumstances:
    """How a command of this package is started in some circumstances.

    Attributes:
        bin: folder with the program `flent-aqm`.
        before: words in front of the command.
        env: environment variables of the command.
        cwd: working folder of the command.
    """

    bin: Path = Path(sys.executable).parent
    before: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    cwd: Path = Path("/")

    def run(self, *words: str | Path) -> subprocess.CompletedProcess[bytes]:
        """Run `flent-aqm WORDS` and return the finished process with its standard output and
        standard error. A status other than 0 is no error. Raises OSError if the command can't be
        started."""
        return subprocess.run([*self.before, self.bin / "flent-aqm", *words], cwd=self.cwd,
                              env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
                              check=False)


@contextmanager
def nothing() -> Iterator[Circumstances]:
    """Context manager: yield the usual circumstances: this checkout, this process's environment
    variables, and / as working folder."""
    yield Circumstances()


@contextmanager
def load() -> Iterator[Circumstances]:
    """Context manager: yield the usual circumstances, with two busy processes for each core
    meanwhile."""
    with _processes_running([BUSY] * 2 * (os.cpu_count() or 1)):
        yield Circumstances()


@contextmanager
def jobs_beside() -> Iterator[Circumstances]:
    """Context manager: yield the usual circumstances, with another lab on the machine meanwhile, in
    which iperf3 sends for up to an hour of virtual time."""
    around = Circumstances()
    with _processes_running([[str(around.bin / "flent-aqm"), "lab", "--seed", "99", "--aqm", "sfq",
                              "--",
                              "iperf3", "-c", "server", "-t", "3600"]]):
        yield around


@contextmanager
def other_folder() -> Iterator[Circumstances]:
    """Context manager: yield how to run a copy of the checkout in /var/tmp. Its path contains
    blanks, and its own modules have no compiled files yet."""
    with _changed_checkout(Path("/var/tmp"), "another place/of the sources") as around:
        yield around


@contextmanager
def below_tmp() -> Iterator[Circumstances]:
    """Context manager: yield how to run a copy of the checkout in /tmp, which the guest hides and
    has to show again."""
    with _changed_checkout(Path("/tmp"), "a/b/c") as around:
        yield around


@contextmanager
def other_user() -> Iterator[Circumstances]:
    """Context manager: yield how to run as the user nobody, with a copy of the checkout and an
    empty folder that is home, temporary and working folder. Needs root: otherwise PermissionError
    is raised."""
    with _changed_checkout(Path("/var/tmp"), "flent-aqm") as around, _as_nobody(around) as other:
        yield other


@contextmanager
def earlier_files() -> Iterator[Circumstances]:
    """Context manager: yield circumstances whose working folder, which is also the temporary folder
    and the home, already has data files with random bytes, folders named like the lab's, a module
    flent that must not be imported, and a .flentrc."""
    with tempfile.TemporaryDirectory(prefix="flent-aqm-full-") as name:
        folder = Path(name)
        for number in range(50):
            (folder / f"batch-cell-{number}.flent.gz").write_bytes(os.urandom(number))
            (folder / f"flent-aqm-lab-{number}").mkdir()
        (folder / "flent.py").write_text("raise SystemExit('imported the wrong file')\n")
        (folder / ".flentrc").write_text("[global]\nlength = 1\n")
        yield Circumstances(cwd=folder, env={**os.environ, "TMPDIR": name, "HOME": name})


@contextmanager
def other_environment() -> Iterator[Circumstances]:
    """Context manager: yield circumstances with another locale, time zone, terminal, hash seed,
    umask and limits, and 200 more variables."""
    yield Circumstances(
        before=["sh", "-c", 'umask 077; ulimit -n 512; ulimit -s 16384; exec "$@"', "sh"],
        env={**os.environ, "LC_ALL": "tr_TR.UTF-8", "LANG": "C", "TZ": "Asia/Kolkata",
             "TERM": "xterm-256color", "COLUMNS": "40", "PYTHONHASHSEED": "77",
             **{f"OTHER_{number}": "x" * number for number in range(200)}})


@contextmanager
def other_host_name() -> Iterator[Circumstances]:
    """Context manager: yield circumstances in which the command sees another host name and has no
    address space layout randomization. The machine's own host name stays as it is. Needs root:
    otherwise the command fails."""
    yield Circumstances(before=["unshare", "--uts", "sh", "-c",
                                'hostname another.example; exec "$@"',
                                "sh", "setarch", "-R"])


@contextmanager
def more_imports() -> Iterator[Circumstances]:
    """Context manager: yield how to run a copy of the checkout whose runners import five more
    modules in the guest."""
    with _changed_checkout(Path("/var/tmp"), "flent-aqm", MORE_IMPORTS) as around:
        yield around


@contextmanager
def more_programs() -> Iterator[Circumstances]:
    """Context manager: yield how to run a copy of the checkout whose router hook starts three more
    programs to apply a queue."""
    with _changed_checkout(Path("/var/tmp"), "flent-aqm", MORE_PROGRAMS) as around:
        yield around


@contextmanager
def paths() -> Iterator[Circumstances]:
    """Context manager: yield circumstances whose working folder has a name as long as the next of
    PATH_LENGTHS, and a variable LONG of that length. Each call takes the next length, and after the
    last the first again."""
    length = next(_lengths)
    with tempfile.TemporaryDirectory(prefix="flent-aqm-") as name:
        folder = Path(name) / ("x" * length)
        folder.mkdir()
        yield Circumstances(cwd=folder, env={**os.environ, "LONG": "x" * length})


_lengths = cycle(PATH_LENGTHS)


@contextmanager
def older_processor() -> Iterator[Circumstances]:
    """Context manager: yield how to run a copy of the checkout from which a processor's newer
    instructions are hidden, on the host and in the guest: glibc, OpenSSL and Go are told by
    variables to do without them, and /proc/cpuinfo doesn't list them. Needs root: otherwise the
    command fails. Programs that use the instruction CPUID themselves still see them."""
    with (_changed_checkout(Path("/var/tmp"), "flent-aqm", OLDER_IN_GUEST) as around,
          tempfile.NamedTemporaryFile("w", prefix="cpuinfo-") as file):
        file.write("".join(f"{FLAGS if line.startswith('flags') else line}\n"
                           for line in Path("/proc/cpuinfo").read_text().splitlines()))
        file.flush()
        yield replace(
            around, env={**os.environ, **OLDER_PROCESSOR},
            before=["unshare", "--mount", "sh", "-c",
                    'mount --bind "$0" /proc/cpuinfo && exec "$@"', file.name])


@contextmanager
def as_long_variables() -> Iterator[Circumstances]:
    """Context manager: yield how to run a copy of the checkout that sets the variables of
    older_processor() in the guest, with values of the same lengths that hide no more than the lab
    always does. It is what a run in older_processor() is compared with."""
    with _changed_checkout(Path("/var/tmp"), "flent-aqm", AS_LONG_IN_GUEST) as around:
        yield around


@contextmanager
def all_at_once() -> Iterator[Circumstances]:
    """Context manager: yield circumstances with another user (if this one is root), a copy of the
    checkout whose path contains blanks, more imports, more programs in the router's hook, and many
    variables, together."""
    with _changed_checkout(Path("/var/tmp"), "another place/of the sources", MORE_IMPORTS,
                           MORE_PROGRAMS) as around:
        env = {**os.environ, **{f"OTHER_{number}": "x" * number for number in range(200)}}
        if os.geteuid() != 0:
            yield replace(around, env=env)
            return
        with _as_nobody(around) as other:
            yield replace(other, env={**env, **{key: other.env[key]
                                                for key in ("HOME", "TMPDIR", "USER")}})


ALL: Mapping[str, Callable[[], AbstractContextManager[Circumstances]]] = {
    "nothing": nothing,
    "load": load,
    "jobs_beside": jobs_beside,
    "other_folder": other_folder,
    "below_tmp": below_tmp,
    "other_user": other_user,
    "earlier_files": earlier_files,
    "other_environment": other_environment,
    "other_host_name": other_host_name,
    "more_imports": more_imports,
    "more_programs": more_programs,
    "paths": paths,
    "older_processor": older_processor,
}
# What is to be the same as what: a run in one of these, as a run in the other.
COMPARED_WITH = {"older_processor": as_long_variables}
NEEDS_ROOT = ("other_user", "other_host_name", "older_processor")


def possible() -> list[str]:
    """Return the keys of ALL that this user can bring about: without root, those of NEEDS_ROOT are
    left out."""
    return [name for name in ALL if os.geteuid() == 0 or name not in NEEDS_ROOT]


@contextmanager
def _as_nobody(around: Circumstances) -> Iterator[Circumstances]:
    home = around.cwd / "home"
    home.mkdir()
    os.chown(home, 65534, 65534)
    yield replace(
        around, cwd=home,
        before=["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"],
        env={**os.environ, "HOME": str(home), "TMPDIR": str(home), "USER": "nobody"})


@contextmanager
def _processes_running(commands: Sequence[Sequence[str]]) -> Iterator[None]:
    """Context manager: run a process for each command line, without input and output, in /. At the
    end terminate them and wait until they have ended."""
    with ExitStack() as stack:
        for words in commands:
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, cwd="/")
            stack.callback(process.wait)
            stack.callback(process.terminate)
        yield


@contextmanager
def _changed_checkout(base: Path, name: str,
                      *changes: tuple[str, str, str]) -> Iterator[Circumstances]:
    """Context manager: yield how to run a copy of the checkout and of its Python environment. It
    lies below a new temporary folder, which is the working folder, and is removed at the end.

    Args:
        base: folder for the temporary folder.
        name: path of the checkout in the temporary folder. If `base` is /tmp, its blanks become -.
        changes: (file, line, text) of each change: path of the file in the checkout, and a text
            that is inserted behind the first occurrence of `line`. Both texts contain their line
            ends.

    Raises AssertionError if a file doesn't have the line, FileNotFoundError if there is no such
    file, CalledProcessError if the environment can't be copied.
    """
    with tempfile.TemporaryDirectory(prefix="flent-aqm-checkout-", dir=base) as temporary:
        top = Path(temporary)
        top.chmod(0o755)
        # A mount in the guest can't have blanks in it.
        folder = top / (name if base != Path("/tmp") else name.replace(" ", "-"))
        copy_checkout(folder)
        for part, line, more in changes:
            changed = folder / part
            before, match, behind = changed.read_text().partition(line)
            assert match, f"{part} has no line {line!r}"
            changed.write_text(before + line + more + behind)
        yield Circumstances(bin=folder / ".venv" / "bin", cwd=top)
