# SPDX-License-Identifier: GPL-3.0-or-later
"""Every part that is needed, whether it is there, how to get it."""

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
from flent_aqm.setup.irtt import is_fit as irtt_is_fit
from flent_aqm.setup.kernel.locate import find_kernel
from flent_aqm.setup.kernel.named import all_named
from flent_aqm.setup.optional import find, folder_of, is_python
from flent_aqm.setup.package_list import SystemPackage, read_packages
from flent_aqm.setup.tools import find_tool
from flent_aqm.setup.whole_program import is_whole
from flent_aqm.tools.table import OPTIONAL

# How a program is asked for its version, where --version isn't it.
VERSION_WORDS = {
    "netperf": "-V", "netserver": "-V", "fping": "-v", "ping": "-V", "ip": "-V", "tc": "-V",
    "irtt": "version",
}
# Their version can't be asked for.
NO_VERSION = {"netserver"}

PYTHON_PACKAGES = {
    "flent": "run", "numpy": "run", "matplotlib": "run", "rich": "run", "websockets": "run",
    "h2": "run", "h11": "run", "cryptography": "run", "PySide6-Essentials": "gui", "qtpy": "gui",
    "pytest": "test", "mypy": "test", "ruff": "test",
}
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
# In place of a version
DAMAGED = "damaged"


@dataclass(frozen=True)
class Part:
    """One part. version and where are empty when it isn't found or doesn't say."""

    name: str
    group: str
    found: bool
    version: str
    where: str
    how_to_get: str


def missing(parts: list[Part]) -> list[Part]:
    """Parts that must be there and aren't.

    What only set-up uses is needed until the lab kernel and the NDT7 client are built.
    """
    built = all(part.found for part in parts
                if part.how_to_get == GET_BUILT and part.group == "run")
    needed = {"run"} if built else {"run", "build"}
    return [part for part in parts if part.group in needed and not part.found]


def all_parts() -> Iterator[Part]:
    """Look for everything."""
    yield _kernel()
    yield from _named_kernels()
    yield _irtt()
    yield _program("ndt7-client", "run", GET_BUILT)
    yield _new_tc()
    installed = _installed_packages()
    for package in read_packages():
        if package.programs:
            for program in package.programs:
                yield _program(program, package.group, GET_SYSTEM)
        else:
            yield _library(package, installed)
    for name in OPTIONAL:
        yield _speedtest(name)
    for name, group in PYTHON_PACKAGES.items():
        yield _python_package(name, group)


def _kernel() -> Part:
    try:
        kernel = find_kernel()
    except ToolMissing:
        return Part("lab kernel", "run", False, "", "", GET_BUILT)
    without = [name.removesuffix(".patch") for name in kernel.left_out]
    version = ", without ".join([kernel.version, *without])
    if not is_whole(kernel.path):
        return Part("lab kernel", "run", False, DAMAGED, str(kernel.path), GET_BUILT)
    return Part("lab kernel", "run", True, version, str(kernel.path), GET_BUILT)


def _named_kernels() -> Iterator[Part]:
    for kernel in all_named():
        path = kernel.program
        there = path is not None and is_whole(path)
        version = ", with ".join([kernel.version, *kernel.made_of])
        yield Part(f"kernel {kernel.name}", "kernel", there,
                   version if there or path is None else DAMAGED, str(path or ""), kernel.command)


def _irtt() -> Part:
    part = _program("irtt", "run", GET_BUILT)
    if part.found and not irtt_is_fit(Path(part.where)):
        # It works, but no run could be repeated with it.
        return Part("irtt", "run", False, f"{part.version}, by an old Go", part.where, GET_BUILT)
    return part


def _new_tc() -> Part:
    path = find_new_tc()
    if path is None:
        return Part("tc for dualpi2", "dualpi2", False, "", "", GET_BUILT)
    return Part("tc for dualpi2", "dualpi2", True, _version(path, "tc"), str(path), GET_BUILT)


def _speedtest(name: str) -> Part:
    program = OPTIONAL[name]
    path = find(program)
    version = ""
    if path is not None and is_python(program):
        with suppress(metadata.PackageNotFoundError):
            version = metadata.version(program.package)
    elif path is not None and folder_of(program) in path.resolve().parts:
        version = program.version  # programs of others may do anything when asked for theirs
    return Part(name, "speedtest", path is not None, version, str(path or ""),
                f"{GET_BUILT} --speedtests {name}")


def _program(name: str, group: str, how_to_get: str) -> Part:
    path = find_tool(name) if how_to_get == GET_BUILT else find_program(name)
    if path is None:
        return Part(name, group, False, "", "", how_to_get)
    if how_to_get == GET_BUILT and not is_whole(path):
        return Part(name, group, False, DAMAGED, str(path), how_to_get)
    version = _version(path, name) or _version_of_folder(path.resolve().parent, name)
    return Part(name, group, True, version, str(path), how_to_get)


def _version(path: Path, name: str) -> str:
    if name in NO_VERSION:
        return ""
    try:
        text = run([path, VERSION_WORDS.get(name, "--version")], timeout_s=10)
    except AqmError as error:
        # some print their version and end with an error
        text = str(getattr(error, "stdout", "")) + str(getattr(error, "stderr", ""))
    match = re.search(r"\d+(\.\d+)+\w*|\d{8}", text)
    return match[0] if match else ""


def _version_of_folder(folder: Path, name: str) -> str:
    # what set-up has put into CACHE/tools/NAME-VERSION
    return folder.name.removeprefix(f"{name}-") if folder.name.startswith(f"{name}-") else ""


def _installed_packages() -> dict[str, str]:
    """Version by package name; empty where there is no dpkg."""
    try:
        listed = run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package} ${Version}\n"])
    except AqmError:
        return {}
    lines = (line.split() for line in listed.splitlines())
    return {words[1]: words[2] for words in lines if words[0] == "installed"}


def _library(package: SystemPackage, installed: dict[str, str]) -> Part:
    for name in package.names:
        if name in installed:
            return Part(name, package.group, True, installed[name], "", GET_SYSTEM)
    return Part(package.names[0], package.group, False, "", "", GET_SYSTEM)


def _python_package(name: str, group: str) -> Part:
    how_to_get = GET_TEST_PYTHON if group == "test" else GET_PYTHON
    try:
        package = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return _without_metadata(name, group, how_to_get)
    return Part(name, group, True, package.version, str(package.locate_file("")), how_to_get)


def _without_metadata(name: str, group: str, how_to_get: str) -> Part:
    """Return a package of which only its modules tell: Debian's Flent has nothing else."""
    spec = find_spec(name) if name == "flent" else None
    if spec is None or spec.origin is None:
        return Part(name, group, False, "", "", how_to_get)
    version: str = import_module("flent.build_info").VERSION
    return Part(name, group, True, version, str(Path(spec.origin).parents[1]), how_to_get)


def tool_versions() -> dict[str, str]:
    """Return, by name, the version of each part found that measuring needs, as it is kept with
    each run; "" where it doesn't say."""
    return {part.name: part.version for part in all_parts() if part.group == "run" and part.found}
