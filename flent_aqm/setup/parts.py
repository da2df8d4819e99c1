# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists all parts that flent-aqm needs: whether installed, its version, and how to get it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path

from flent_aqm.base.errors import AqmError, ToolMissing
from flent_aqm.base.shell import find_program, run
from flent_aqm.setup.iproute2 import find_new_tc
from flent_aqm.setup.irtt import OLDEST_GO, go_version
from flent_aqm.setup.kernel.locate import find_kernel
from flent_aqm.setup.kernel.named import all_named
from flent_aqm.setup.optional import find, folder_of, is_python
from flent_aqm.setup.package_list import SystemPackage, read_packages
from flent_aqm.setup.tools import find_tool
from flent_aqm.setup.whole_program import is_whole
from flent_aqm.tools.table import OPTIONAL

# Program -> option that prints its version, if that isn't --version.
VERSION_WORDS = {
    "netperf": "-V", "netserver": "-V", "fping": "-v", "ping": "-V", "ip": "-V", "tc": "-V",
    "irtt": "version",
}
# Programs that can't print their version.
NO_VERSION = {"netserver"}

# Python package -> its group.
PYTHON_PACKAGES = {
    "flent": "run", "numpy": "run", "matplotlib": "run", "rich": "run", "websockets": "run",
    "h2": "run", "h11": "run", "cryptography": "run", "PySide6-Essentials": "gui", "qtpy": "gui",
    "pytest": "test", "mypy": "test", "ruff": "test",
}
# Group of parts -> what needs it, in words.
GROUPS = {
    "run": "measuring", "dualpi2": "aqm dualpi2 (optional)", "build": "set-up",
    "kernel": "a kernel of your own", "speedtest": "a speed test (optional)",
    "gui": "flent-gui (optional)",
    "test": "make test (optional)",
}
GET_SYSTEM = "make packages"
GET_PYTHON = "make setup"
GET_TEST_PYTHON = "make test-venv"
GET_BUILT = "flent-aqm setup"
# In place of the version of a damaged program.
DAMAGED = "damaged"


@dataclass(frozen=True)
class Requirement:
    """A program, kernel, library or Python package that flent-aqm needs.

    Attributes:
        name: name of the part for the user.
        group: who needs it, a key of GROUPS such as "run".
        found: True if it is installed and can be used.
        version: its version, with a remark for some parts, such as ", by an old Go". "" if it isn't
            installed, or unknown. DAMAGED if its file is incomplete. A user's kernel keeps its
            version when its program is gone.
        where: path of the program, or of the folder that contains the Python package. "" if it
            isn't installed or has none.
        how_to_get: command line that installs it.
    """

    name: str
    group: str
    found: bool
    version: str
    where: str
    how_to_get: str


def missing(parts: list[Requirement]) -> list[Requirement]:
    """Return the parts that aren't installed or can't be used, of those that measuring needs (group
    "run").

    Parts that only set-up uses (group "build") are included until all that set-up builds or
    downloads for measuring is there: the lab kernel, irtt and the NDT7 client. Parts of other
    groups are never returned.

    parts: all parts, as all_parts() yields them.
    """
    built = all(part.found for part in parts
                if part.how_to_get == GET_BUILT and part.group == "run")
    needed = {"run"} if built else {"run", "build"}
    return [part for part in parts if part.group in needed and not part.found]


def all_parts() -> Iterator[Requirement]:
    """Yield all parts, installed or not. Programs are started to get their version."""
    yield _find_lab_kernel()
    yield from _find_named_kernels()
    yield _find_irtt()
    yield _find_program("ndt7-client", "run", GET_BUILT)
    yield _find_tc_for_dualpi2()
    installed = _installed_packages()
    for package in read_packages():
        if package.programs:
            for program in package.programs:
                yield _find_program(program, package.group, GET_SYSTEM)
        else:
            yield _find_library(package, installed)
    for name in OPTIONAL:
        yield _find_speedtest(name)
    for name, group in PYTHON_PACKAGES.items():
        yield _find_python_package(name, group)


def _find_lab_kernel() -> Requirement:
    """Return the lab's kernel as a Requirement. The version names the patches that it lacks:
    "7.3.4, without NAME, without NAME". A damaged kernel counts as missing."""
    try:
        kernel = find_kernel()
    except ToolMissing:
        return Requirement("lab kernel", "run", False, "", "", GET_BUILT)
    without = [name.removesuffix(".patch") for name in kernel.left_out]
    version = ", without ".join([kernel.version, *without])
    if not is_whole(kernel.path):
        return Requirement("lab kernel", "run", False, DAMAGED, str(kernel.path), GET_BUILT)
    return Requirement("lab kernel", "run", True, version, str(kernel.path), GET_BUILT)


def _find_named_kernels() -> Iterator[Requirement]:
    """Yield each kernel of all_named() as a Requirement, with its user's files and patches in the
    version: "7.3.4, with NAME, with NAME". A kernel whose program is damaged or gone from the cache
    counts as missing."""
    for kernel in all_named():
        path = kernel.program
        there = path is not None and is_whole(path)
        version = ", with ".join([kernel.version, *kernel.made_of])
        yield Requirement(f"kernel {kernel.name}", "kernel", there,
                   version if there or path is None else DAMAGED, str(path or ""), kernel.command)


def _find_irtt() -> Requirement:
    """Return irtt as a Requirement. An irtt that an old Go built, with which runs don't repeat,
    counts as missing, and so does one that doesn't tell its Go, such as one that can't be started.
    """
    part = _find_program("irtt", "run", GET_BUILT)
    if not part.found or (go := go_version(Path(part.where))) >= OLDEST_GO:
        return part
    # It may work, but runs with it wouldn't repeat.
    remark = "by an old Go" if any(go) else "by an unknown Go"
    return Requirement("irtt", "run", False, ", ".join(filter(None, (part.version, remark))),
                       part.where, GET_BUILT)


def _find_tc_for_dualpi2() -> Requirement:
    """Return the tc that knows DualPI2 as a Requirement. It counts as missing if find_new_tc()
    finds none."""
    path = find_new_tc()
    if path is None:
        return Requirement("tc for dualpi2", "dualpi2", False, "", "", GET_BUILT)
    return Requirement("tc for dualpi2", "dualpi2", True, _ask_version(path, "tc"), str(path),
                       GET_BUILT)


def _find_speedtest(name: str) -> Requirement:
    """Return a program of a speed test as a Requirement. Its version is that of the Python package,
    or of the folder into which set-up put it. For any other program it is "", because such a
    program isn't asked for it.

    name: key in OPTIONAL.
    """
    program = OPTIONAL[name]
    path = find(program)
    version = ""
    if path is not None and is_python(program):
        with suppress(metadata.PackageNotFoundError):
            version = metadata.version(program.package)
    elif path is not None and folder_of(program) in path.resolve().parts:
        version = program.version  # other programs aren't started, as they may do anything
    return Requirement(name, "speedtest", path is not None, version, str(path or ""),
                f"{GET_BUILT} --speedtests {name}")


def _find_program(name: str, group: str, how_to_get: str) -> Requirement:
    """Look for a program, and return it as a Requirement, found or not. Its version is the one that
    it prints (_ask_version()), otherwise that in its folder's name.

    Args:
        name: name of the program.
        group: what needs it, a key of GROUPS.
        how_to_get: command that installs it. If it is GET_BUILT, the caches are searched before
            PATH, and a damaged file counts as missing. Otherwise only PATH and the sbin folders are
            searched.
    """
    path = find_tool(name) if how_to_get == GET_BUILT else find_program(name)
    if path is None:
        return Requirement(name, group, False, "", "", how_to_get)
    if how_to_get == GET_BUILT and not is_whole(path):
        return Requirement(name, group, False, DAMAGED, str(path), how_to_get)
    version = _ask_version(path, name) or _version_of_folder(path.resolve().parent, name)
    return Requirement(name, group, True, version, str(path), how_to_get)


def _ask_version(path: Path, name: str) -> str:
    """Start a program and return the version that it prints, "" if unknown. A program in NO_VERSION
    isn't started, and its version is "".

    Args:
        path: path of the program.
        name: its name, by which its option is known.
    """
    if name in NO_VERSION:
        return ""
    try:
        text = run([path, VERSION_WORDS.get(name, "--version")], timeout_s=10)
    except AqmError as error:
        # Some programs print their version and exit with an error.
        text = str(getattr(error, "stdout", "")) + str(getattr(error, "stderr", ""))
    match = re.search(r"\d+(\.\d+)+\w*|\d{8}", text)
    return match[0] if match else ""


def _version_of_folder(folder: Path, name: str) -> str:
    """Return the version in the name of a program's folder CACHE/tools/NAME-VERSION, "" for a
    folder with another name.

    Args:
        folder: the program's folder.
        name: name of the program.
    """
    return folder.name.removeprefix(f"{name}-") if folder.name.startswith(f"{name}-") else ""


def _installed_packages() -> dict[str, str]:
    """Return name -> version of the installed system packages. Empty if there is no dpkg-query, or
    if it fails."""
    try:
        listed = run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package} ${Version}\n"])
    except AqmError:
        return {}
    lines = (line.split() for line in listed.splitlines())
    return {words[1]: words[2] for words in lines if words[0] == "installed"}


def _find_library(package: SystemPackage, installed: dict[str, str]) -> Requirement:
    """Return a system package without programs as a Requirement, under the first of its names that
    is installed. If none is, it is missing under its preferred name.

    Args:
        package: the package.
        installed: name -> version of the installed system packages.
    """
    for name in package.names:
        if name in installed:
            return Requirement(name, package.group, True, installed[name], "", GET_SYSTEM)
    return Requirement(package.names[0], package.group, False, "", "", GET_SYSTEM)


def _find_python_package(name: str, group: str) -> Requirement:
    """Return a Python package as a Requirement, found or not.

    Args:
        name: name under which it is installed, such as "PySide6-Essentials".
        group: what needs it, a key of GROUPS. It also decides which command installs the package.
    """
    how_to_get = GET_TEST_PYTHON if group == "test" else GET_PYTHON
    try:
        package = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return _find_package_without_metadata(name, group, how_to_get)
    return Requirement(name, group, True, package.version, str(package.locate_file("")), how_to_get)


def _find_package_without_metadata(name: str, group: str, how_to_get: str) -> Requirement:
    """Return a Python package that has no metadata as a Requirement. Only Flent is looked for,
    because Debian's has none. Any other package counts as missing.

    Args:
        name: name of the package.
        group: what needs it, a key of GROUPS.
        how_to_get: command that installs it.
    """
    spec = find_spec(name) if name == "flent" else None
    if spec is None or spec.origin is None:
        return Requirement(name, group, False, "", "", how_to_get)
    version: str = import_module("flent.build_info").VERSION
    return Requirement(name, group, True, version, str(Path(spec.origin).parents[1]), how_to_get)


def tool_versions() -> dict[str, str]:
    """Return name -> version of each part that measuring needs and that is installed and can be
    used. They are recorded with each run. "" if a version is unknown. Programs are started, as
    all_parts() does."""
    return {part.name: part.version for part in all_parts() if part.group == "run" and part.found}
