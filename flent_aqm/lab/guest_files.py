# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the files that the scripts of guest/ read inside the lab: variables, and a list of mounts.

Every value goes through shlex.quote, so nothing in it is taken for shell code.

The list of mounts, which guest/init.pl reads, has five strings for each mount, each ended by a zero
byte: type, source, mount point, flags of mount(2), options. A mount point that doesn't exist is
created. If it can't be created, as on the read-only root, the mount is left out.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, Unpack

from flent_aqm.base import defaults, environment, paths
from flent_aqm.base.errors import ConfigError, ToolMissing
from flent_aqm.lab.own_programs import OwnPrograms
from flent_aqm.lab.package_copy import package_folder
from flent_aqm.lab.path_model import path_models
from flent_aqm.lab.topology_files import addresses as addresses_of
from flent_aqm.lab.topology_files import write_topology
from flent_aqm.router.hook import ON_ROUTER, apply_words
from flent_aqm.router.tc.words import IN_LAB, Devices
from flent_aqm.setup.kernel.named import find_named
from flent_aqm.setup.tc_plugin import find_tc
from flent_aqm.setup.tools import SYSTEM_PATH, tool_dirs
from flent_aqm.spec.batch_keys.path import DUMBBELL
from flent_aqm.spec.kernel import STOCK
from flent_aqm.spec.queues.external import queue_of
from flent_aqm.spec.scenario import Scenario
from flent_aqm.spec.testbeds import VIRTUAL
from flent_aqm.spec.topology.topology import parse_topology
from flent_aqm.tools import own
from flent_aqm.tools.table import listening, port_variables, start_script

# Folder of the scripts that run inside.
GUEST_DIR = Path(__file__).resolve().parent / "guest"
IN_GUEST = "/run/lab"  # where the guest sees the lab's folder
# Path of the script that puts the queue onto the router, as seen inside.
APPLY_IN_GUEST = f"{IN_GUEST}/apply.sh"
# Command that waits for the next full second of the clock.
FULL_SECOND = ["perl", f"{IN_GUEST}/guest/full_second.pl"]
OUT = "out"  # the folder in the lab's folder that the guest can write to
RESULTS_IN_GUEST = "/run/results"  # files written here are copied to the user
# Folder in the results with Flent's files, in a run with programs of the user.
FLENT_FILES = ".flent-aqm"
FLENT_FILES_IN_GUEST = f"{RESULTS_IN_GUEST}/{FLENT_FILES}"
# Where the guest sees the Python environment, and the folder that this package is in. Their paths
# on the host must not matter: a path shifts the memory of programs that know it, and Python
# iterates over sets of objects in the order of their addresses.
PYTHON_IN_GUEST = "/run/python"
PACKAGE_IN_GUEST = "/run/package"
# Folder of the programs that come first on the guest's PATH.
PROGRAMS_IN_GUEST = "/run/bin"

# Flags of mount(2), from linux/mount.h.
READ_ONLY, SYNCHRONOUS, BIND = 1, 16, 4096

# Folder of mounts from which only a single file is needed.
ASIDE = "/run/aside"
# Names in /run that the guest uses itself.
OWN_IN_RUN = ("aside", "bin", "home", "lab", "netns", "package", "python", "results", "work")
# Names of these that a command may mean: the lab's namespaces, and its outputs (docs/lab.md).
_MEANT_IN_RUN = ("netns", "lab")


class CommandOptions(TypedDict, total=False):
    """How a command runs inside, besides its words. write() and the run environments Lab and
    Namespaces take these options as keyword arguments, each of which may be left out. A switch that
    is left out is false.

    Attributes:
        servers: names of the servers to start, see tools/table.py. By default defaults.SERVERS.
        programs: further programs for the PATH inside, name -> path on the host.
        prelude: commands to run before the command. If one fails, the run ends with its exit
            status.
        env: environment variables for the command, in addition to the lab's, or in place of those
            of the same name.
        cwd: the command's working directory, a path on the host. By default the current directory.
        interactive: the command has the user's terminal.
        writable_cwd: in the virtual lab, files that the command writes to `cwd` land in the run
            environment's `results`. If false, the command can't write to `cwd` there. If true,
            files of the host that the command's words name are visible inside even in /tmp, /run
            and /dev/shm.
        for_flent: with writable_cwd: the command is Flent, whose words name no files of the host.
            Its own files go to FLENT_FILES, apart from those of the user's programs.
    """

    servers: Sequence[str]
    programs: Mapping[str, Path]
    prelude: Sequence[Sequence[str]]
    env: Mapping[str, str]
    cwd: Path
    interactive: bool
    writable_cwd: bool
    for_flent: bool


def write(folder: Path, scenario: Scenario, argv: Sequence[str], *, hidden: Sequence[str],
          on_host: bool = False, **options: Unpack[CommandOptions]) -> None:
    """Write all files for one boot of the lab to `folder`: settings.sh, apply.sh, command.sh,
    mounts (not with on_host), etc/, out/, the scripts of guest/, links to programs, and what the
    scenario's features need.

    Args:
        folder: the lab's folder on the host, which exists, and in which none of these exists.
        scenario: the settings of the run.
        argv: the command to run on the client.
        hidden: folders of the host over which others are mounted inside.
        on_host: nothing is mounted: programs, Python, hooks and apply.sh have their paths on the
            host. The variable RESULTS still names a path inside, so `env` has to set it.
        options: how the command runs.

    Raises:
        ConfigError: if a file that a command names can't be made visible inside, if the path of
            `cwd` or of the package has a line break and would be hidden inside, if a setting can't
            be modelled, or if the file of the user's own tool fails.
        LabError: if the package can't be copied.
        ToolMissing: if a queue needs the user's kernel, and that kernel has to be built again, or
            its tc is gone.
        SetupError: if that kernel is too old.
    """
    servers = options.get("servers", defaults.SERVERS)
    more_programs, env = options.get("programs", {}), options.get("env", {})
    writable_cwd, for_flent = options.get("writable_cwd", False), options.get("for_flent", False)
    cwd = options.get("cwd") or Path.cwd()
    map_path = _unchanged if on_host else in_guest
    programs = folder / "bin" if on_host else Path(PROGRAMS_IN_GUEST)
    shutil.copytree(GUEST_DIR, folder / "guest", ignore=shutil.ignore_patterns("__*"))
    (folder / "etc").mkdir()
    (folder / OUT / "results").mkdir(parents=True)
    (folder / "links").mkdir()
    if not on_host:
        package = package_folder(PACKAGE_IN_GUEST, folder / "spare")
        (folder / "links" / "package").symlink_to(package)
        if _has_venv():
            (folder / "links" / "python").symlink_to(sys.prefix)
    (folder / "etc" / "hosts").write_text(_hosts_file(scenario))
    # Host names have an IPv4 and an IPv6 address. Programs get IPv4 by default.
    (folder / "etc" / "gai.conf").write_text("precedence ::ffff:0:0/96 100\n")
    (folder / "etc" / "resolv.conf").write_text("# the lab has no name server\n")
    (folder / "etc" / "nsswitch.conf").write_text("hosts: files\npasswd: files\ngroup: files\n")
    (folder / "guest" / "servers.sh").write_text(start_script(servers))
    settings = {
        **{name: str(getattr(defaults, name)) for name in (
            "CLIENT_IPV4", "CLIENT_IPV6", "SERVER_IPV4", "SERVER_IPV6",
            "ROUTER_DOWN_IPV4", "ROUTER_DOWN_IPV6", "ROUTER_UP_IPV4", "ROUTER_UP_IPV6",
            "TCP_CONGESTION_CONTROL")},
        **port_variables(servers),
        **_command_environment(scenario, programs, map_path),
        environment.APPLY: f"{folder}/apply.sh" if on_host else APPLY_IN_GUEST,
        "TERM": os.environ.get("TERM", "dumb") if options.get("interactive") else "dumb",
        "GUEST_DIR": f"{IN_GUEST}/guest",
        "PYTHON": str(map_path(Path(sys.executable))),
        "SERVERS": " ".join(servers),
        # Path of M-Lab's ndt-server on the host.
        **({"NDT_SERVER": shutil.which("ndt-server") or ""}
           if any(name.startswith("ndt-server") for name in servers) else {}),
        # The veth devices of other kernels have no interrupt moderation.
        "HOST_MODERATION_US": (str(scenario.hosts.host_moderation_us)
                               if scenario.lab.testbed == VIRTUAL else ""),
        "NDT7_CC": scenario.hosts.ndt7_cc,
        "HALF_DELAY_US": str(round(scenario.path.base_delay_ms * 1000 / 2)),
        **_optional_network_variables(folder, scenario),
        **_write_path_models(folder, scenario),
        **_own_tool_variable(),
        "INTERACTIVE": "yes" if options.get("interactive") else "no",
        "RESULTS": RESULTS_IN_GUEST,
        **env,
    }
    _refuse_odd_paths(cwd, hidden)
    _write_programs(folder / "bin", scenario, map_path, more_programs)
    # A user's own command names files of the host. The runs of a sweep name files inside.
    servers_and_programs = [settings.get("NDT_SERVER", ""),
                            *map(str, more_programs.values())]
    program = shlex.split(scenario.router.router_program)
    if program:
        (folder / "router_program").write_text(f"exec {shlex.join(program)}\n")
    for number, command in enumerate(scenario.programs.server_commands, 1):
        (folder / f"server-{number}").write_text(f"exec {shlex.join(command)}\n")
    of_user = argv if writable_cwd and not for_flent else ()
    words = [*of_user, *servers_and_programs, *program, *own.files(), *scenario.programs.words]
    visible = _hidden_but_needed(cwd, words, hidden)
    editable = "" if on_host else _write_path_file(folder / "flent_aqm.pth")
    # These variables are only for init.pl and its scripts, so they aren't exported.
    init_variables = {"KEEP_VISIBLE": "\n".join(visible), "COMMAND_DIR": str(cwd),
                      "PATH_FILE": editable, "LISTENING": listening(servers),
                      "WRITABLE": "yes" if writable_cwd else "",
                      **OwnPrograms(scenario.programs).variables(),
                      **({} if scenario.lab.kernel == STOCK else {"OWN_KERNEL": "yes"})}
    (folder / "settings.sh").write_text("".join(
        f"{'' if name in init_variables else 'export '}{name}={shlex.quote(value)}\n"
        for name, value in {**settings, **init_variables}.items()))
    (folder / "apply.sh").write_text(_apply_line(scenario, env))
    (folder / "command.sh").write_text(
        "".join(f"{shlex.join(words)} >&2 || exit\n" for words in options.get("prelude", ()))
        + _refusal_of_missing(of_user) + f"exec {shlex.join(argv)}\n")
    if not on_host:
        (folder / "mounts").write_bytes(mounts_as_bytes(lab_mounts(
            IN_GUEST, OUT,
            keep_visible=visible,
            shown=sorted(path.name for path in (folder / "links").iterdir()),
            bound=[*((f"etc/{path.name}", f"/etc/{path.name}")
                     for path in sorted((folder / "etc").iterdir())),
                   ("bin", PROGRAMS_IN_GUEST),
                   *([("flent_aqm.pth", editable)] if editable else [])],
            folders=[FLENT_FILES_IN_GUEST] if writable_cwd and for_flent else [],
            writable=str(cwd) if writable_cwd else None)))


def _apply_line(scenario: Scenario, env: Mapping[str, str]) -> str:
    """Return the line of shell, with its line end, that puts the queue onto each router and, if
    that succeeds, starts the router's program, if the scenario has one.

    The scripts inside read it with `.`: starting another shell would take the 100 us of virtual
    time that each start of a program takes.

    Args:
        scenario: the settings of the run.
        env: environment variables. If FLENT_AQM_DEV_DOWN and FLENT_AQM_DEV_UP are both in it and
            not empty, they name the router's devices in place of the lab's.
    """
    names = [env.get(key, "") for key in (environment.DEV_DOWN, environment.DEV_UP)]
    devices = Devices(*names) if all(names) else IN_LAB
    words = shlex.join([f"testbed={scenario.lab.testbed}", *apply_words(scenario, devices)])
    start = (""" && sh -c '. "$GUEST_DIR/own_programs.sh" &&"""
             " start_own_program router router_program /'" if scenario.router.router_program
             else "")
    return f'sh "${environment.HOOKS}/{ON_ROUTER}" apply {words}{start}\n'


def in_guest(path: Path) -> Path:
    """Return the path inside the guest of a file of this Python's virtual environment, or of the
    folder that holds this package. Any other path is returned unchanged. Links are not resolved."""
    if _has_venv() and path.is_relative_to(sys.prefix):
        return Path(PYTHON_IN_GUEST) / path.relative_to(sys.prefix)
    if path.is_relative_to(paths.PACKAGE.parent):
        return Path(PACKAGE_IN_GUEST) / path.relative_to(paths.PACKAGE.parent)
    return path


def _unchanged(path: Path) -> Path:
    """Return the path unchanged: for commands that see the host's files at their own paths."""
    return path


def _write_path_file(path: Path) -> str:
    """Write a copy of the .pth file by which Python finds an editable installation of this package,
    with the package's path inside the guest.

    Return the path inside the guest of the original, in whose place the copy is mounted. Return "",
    and write nothing, if Python's package folder has no readable file of this name. A usual
    installation has one, too, which is copied as it is.

    Args:
        path: the file to write. The original has the same name.
    """
    original = Path(sysconfig.get_path("purelib")) / path.name
    try:
        text = original.read_text(encoding="utf-8")
    except OSError:
        return ""
    path.write_text(text.replace(str(paths.PACKAGE.parent), PACKAGE_IN_GUEST), encoding="utf-8")
    return str(in_guest(original))


def _has_venv() -> bool:
    """Return whether this Python runs in a virtual environment."""
    return sys.prefix != sys.base_prefix


def _refusal_of_missing(command: Sequence[str]) -> str:
    """Return a shell line that says why a command's program can't be started, and exits with a
    shell's status for that, 127. "" without a command. The guest looks, as its PATH is not the
    host's.

    command: words of the user's own command.
    """
    if not command:
        return ""
    name, shown = shlex.quote(command[0]), repr(command[0][:200])
    if "/" in command[0]:
        found = f"[ -f {name} ] && [ -x {name} ]"
        reason = f"{shown} is no executable file in the lab; give the path of a program"
    else:
        found = f"command -v {name} >/dev/null"
        reason = f"no executable program {shown} on the lab's PATH; give its path"
    message = shlex.quote(f"flent-aqm: COMMAND: {reason}, or sh -c '…' for words of a shell")
    return f"{found} || {{ printf '%s\\n' {message} >&2; exit 127; }}\n"


def _write_programs(folder: Path, scenario: Scenario, map_path: Callable[[Path], Path],
                    more_programs: Mapping[str, Path]) -> None:
    """Create the folder that comes first on the guest's PATH, with links to programs.

    These are the tc that came with the user's kernel if a queue is only in that kernel and the
    kernel has a tc, else set-up's newer tc, if there is one and a queue needs it, the programs of
    `more_programs`, the programs that set-up has built unless their names are taken, and a script
    for Flent. The script that pip installed names Python's path on the host, so it can't be used.

    Args:
        folder: the folder, which must not exist.
        scenario: the settings of the run.
        map_path: returns the path inside of a path on the host, for the script's interpreter.
        more_programs: name -> path on the host. None may be called tc if one of those tc is linked.

    Raises ToolMissing if the user's kernel is needed and has to be built again, or its tc is gone,
    SetupError if the kernel is too old.
    """
    folder.mkdir()
    new_tc = paths.find_cached("new-tc", "tc")
    if new_tc and any(queue_of(aqm).needs_new_tc for aqm in scenario.router.queues):
        (folder / "tc").symlink_to(new_tc.resolve())
    own_tc = _tc_of_kernel(scenario)
    if own_tc is not None:
        (folder / "tc").unlink(missing_ok=True)
        (folder / "tc").symlink_to(own_tc)
    for name, path in more_programs.items():
        (folder / name).symlink_to(path.resolve())
    for directory in tool_dirs():
        for path in sorted(directory.iterdir()):
            link = folder / path.name
            if not link.is_symlink():
                link.symlink_to(path.resolve())
    flent = folder / "flent"
    # A link would be followed, and the file on the host overwritten.
    flent.unlink(missing_ok=True)
    flent.write_text(_first_lines_of_script(str(map_path(Path(sys.executable))))
                     + "import sys\nfrom flent import run_flent\nsys.exit(run_flent())\n")
    flent.chmod(0o755)


def _tc_of_kernel(scenario: Scenario) -> Path | None:
    """Return the path of the tc that came with the user's kernel, if a queue of the scenario is
    only in that kernel. None if not, or if the kernel came without a tc. Raises ToolMissing if the
    kernel is needed and has to be built again (missing, damaged, or made for another version of the
    lab), or if its tc is gone, SetupError if the kernel is too old."""
    if not any(queue_of(aqm).external for aqm in scenario.router.queues):
        return None
    kernel = find_named(scenario.lab.kernel)
    try:
        return find_tc(kernel.tc) if kernel.tc else None
    except ToolMissing as fault:
        raise ToolMissing(f"{fault}: {kernel.command}") from None


def _first_lines_of_script(python: str) -> str:
    """Return the first lines, each with its line end, of a script that is to be run by the Python
    interpreter at the path `python`, with option -P.

    A `#!` line can't name a path that is long or has a blank. Then the script is started by a
    shell, to which the following lines are a command, and to Python a string.
    """
    if " " not in python and len(python) < 120:
        return f"#!{python} -P\n"
    return f"#!/bin/sh\n'''exec' {shlex.quote(python)} -P \"$0\" \"$@\"\n' '''\n"


def _optional_network_variables(folder: Path, scenario: Scenario) -> dict[str, str]:
    """Write the topology's files to `folder`, if the scenario has a topology, and return the shell
    variables of optional features, by name: topology, TCP ECN, GSO, reordering, transmit queues,
    second destination, modem (unless a part's model takes its place). Empty if the scenario uses
    none."""
    variables: dict[str, str] = {}
    if scenario.path.topology != DUMBBELL:
        variables |= write_topology(folder, parse_topology("topology", scenario.path.topology))
    if scenario.hosts.tcp_ecn:
        variables["TCP_ECN"] = "yes" if scenario.hosts.tcp_ecn is True else scenario.hosts.tcp_ecn
    if scenario.hosts.host_gso:
        variables["HOST_GSO"] = "yes"
    if scenario.path.reorder_ms:
        variables["REORDER_US"] = str(round(scenario.path.reorder_ms * 1000))
    if (scenario.router.tx_queues or 1) > 1:
        variables["TX_QUEUES"] = str(scenario.router.tx_queues)
    if scenario.path.dest2_delay_ms is not None:
        variables |= {name: str(getattr(defaults, name)) for name in (
            "SERVER_DEST2_IPV4", "DEST2_IPV4", "SERVER_DEST2_IPV6", "DEST2_IPV6")}
        variables["DEST2_HALF_DELAY_US"] = str(round(scenario.path.dest2_delay_ms * 1000 / 2))
    for direction, mbps, buffer_ms in (
        ("DOWN", scenario.path.modem_down_mbps, scenario.path.modem_down_buffer_ms),
        ("UP", scenario.path.modem_up_mbps, scenario.path.modem_up_buffer_ms),
    ):
        if mbps is not None and not scenario.replaces_modem:
            bit_s = round(mbps * 1_000_000)
            variables |= {
                "MODEM": "modem_tbf.sh",
                f"MODEM_{direction}_BIT_S": str(bit_s),
                f"MODEM_{direction}_BURST_BYTES": str(max(
                    bit_s // 8 * defaults.TBF_BURST_US // 10**6, defaults.TBF_MIN_BURST_BYTES)),
                # Room for one frame, even if the buffer is 0 ms long.
                f"MODEM_{direction}_BUFFER_BYTES": str(max(round(mbps * 125 * buffer_ms), 1514)),
            }
    return variables


def _write_path_models(folder: Path, scenario: Scenario) -> dict[str, str]:
    """Write the files of the scenario's path models to `folder`, and copy their scripts to its
    subfolder guest, which must exist. Return their shell variables by name, with PATH_MODELS, which
    lists the scripts, if there are any. Empty if the scenario uses no model. Raises ConfigError if
    a setting can't be modelled."""
    variables: dict[str, str] = {}
    named: list[str] = []
    for model in path_models(scenario):
        variables |= model.write(folder, scenario, IN_GUEST)
        if model.script:
            shutil.copy(model.script, folder / "guest")
            named.append(f"{model.name}:{model.script.name}")
    return {**variables, "PATH_MODELS": " ".join(named)} if named else variables


def _own_tool_variable() -> dict[str, str]:
    """Return the environment variable for the user's own tool module: its name (FLENT_AQM_OWN_TOOL)
    -> absolute path of the module, which is the same inside as on the host. Empty if there is no
    such module. Raises ConfigError if the module can't be loaded."""
    files = own.files()
    return {environment.OWN_TOOL: files[0]} if files else {}


def _hosts_file(scenario: Scenario) -> str:
    """Return the text of /etc/hosts inside: lines with an address and the names of its host. They
    are IPv4 and IPv6 addresses of localhost and of the network's hosts."""
    local = [("127.0.0.1", "localhost"), ("::1", "localhost")]
    if scenario.path.topology != DUMBBELL:
        pairs = [*local, *addresses_of(parse_topology("topology", scenario.path.topology))]
        return "".join(f"{address}\t{name}\n" for address, name in pairs)
    addresses = [
        *local,
        (defaults.CLIENT_IPV4, "client"), (defaults.CLIENT_IPV6, "client"),
        (defaults.ROUTER_DOWN_IPV4, "router"), (defaults.ROUTER_DOWN_IPV6, "router"),
        (defaults.SERVER_IPV4, "server"), (defaults.SERVER_IPV6, "server"),
    ]
    if scenario.path.dest2_delay_ms is not None:
        addresses += [
            (defaults.SERVER_IPV4, "dest1"), (defaults.SERVER_IPV6, "dest1"),
            (defaults.DEST2_IPV4, "dest2"), (defaults.DEST2_IPV6, "dest2"),
        ]
    return "".join(f"{address}\t{name}\n" for address, name in addresses)


def _command_environment(
    scenario: Scenario, programs: Path, map_path: Callable[[Path], Path]
) -> dict[str, str]:
    """Return the environment variables of the command inside that don't depend on the command, by
    name: PATH, folders, language, time zone, settings of Python, folder of the router hooks, and
    the scenario as JSON.

    Args:
        scenario: the settings of the run.
        programs: folder that comes first on PATH, a path inside.
        map_path: returns the path inside of a path on the host.
    """
    bins = [programs, map_path(Path(sys.prefix)) / "bin"]
    return {
        "PATH": ":".join([*map(str, bins), *SYSTEM_PATH]),
        "HOME": "/run/home",
        "TMPDIR": "/tmp",
        "LANG": "C.UTF-8",
        "TZ": "UTC0",  # without it, the host's /etc/localtime
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        environment.HOOKS: str(map_path(paths.resource_dir("router_hooks"))),
        environment.SCENARIO: scenario.as_json(),
    }


def _hidden_but_needed(cwd: Path, words: Sequence[str], hidden: Sequence[str]) -> list[str]:
    """Return the folders and files of the host that are needed inside and that mounts inside would
    hide, sorted. These are Python's own folder, the caches, the results of _named_files(), and,
    unless `cwd` is /, `cwd`, the virtual environment and the folder that holds this package.
    Missing ones, and paths below another of them, are left out.

    Args:
        cwd: the command's working directory.
        words: words of commands, which may be paths.
        hidden: folders of the host over which others are mounted.

    Raises ConfigError if a word names a file in a folder of /run that the lab uses itself.
    """
    needed = [Path(sys.base_prefix), *paths.caches()]
    if cwd != Path("/"):
        # A user's own command may name files by their paths on the host.
        needed += [cwd, paths.PACKAGE.parent, Path(sys.prefix)]
    kept = {str(path) for path in needed if os.path.isdir(path) and _is_below(path, hidden)}
    kept |= {str(path) for path in _named_files(words, cwd, hidden)}
    return sorted(path for path in kept if not _is_below(Path(path), kept - {path}))


def _named_files(words: Sequence[str], cwd: Path, hidden: Sequence[str]) -> Iterator[Path]:
    """Yield the files and folders directly in /tmp, /run and /dev/shm that are, or contain, the
    existing paths among `words`, as far as other mounts hide these three folders. Words without a
    slash are passed over. A file or folder may be yielded several times.

    The whole top-level file or folder is yielded, because a program often needs files beside the
    named file. Raises ConfigError if the path is in a folder of /run that the lab uses itself.

    Args:
        words: words of commands: paths, or options that end in an absolute path, or after "=" in
            any path.
        cwd: folder to which relative paths refer.
        hidden: folders of the host over which others are mounted.
    """
    tops = [top for top in ("/tmp", "/run", "/dev/shm") if _is_below(Path(top), hidden)]
    for word in words:
        if "/" not in word:
            continue
        # The path may be the whole word, or follow the name of an option.
        for name in {os.path.join(cwd, word), word[word.find("/"):],
                     os.path.join(cwd, word.rpartition("=")[2])}:
            path = os.path.abspath(name)
            for top in tops:
                if not path.startswith(f"{top}/") or not os.path.exists(path):
                    continue
                first = Path(path).relative_to(top).parts[0]
                if top == "/run" and first in _MEANT_IN_RUN:
                    continue
                if top == "/run" and first in OWN_IN_RUN:
                    raise ConfigError(f"{word}: this machine's {path} can't be reached in the lab, "
                                      f"which has its own /run/{first}; move it to another folder")
                yield Path(top, first)


def _is_below(path: Path, tops: Iterable[str]) -> bool:
    """Return whether the path is one of the folders `tops`, or is below one of them."""
    return any(path.is_relative_to(top) for top in tops)


def _refuse_odd_paths(cwd: Path, hidden: Sequence[str]) -> None:
    """Raise ConfigError if the path of the package or of the current folder has a line break, and
    has to be made visible inside. The list of such paths has a path per line.

    Args:
        cwd: the current folder.
        hidden: folders of the host over which others are mounted.
    """
    for what, path in (("this package", paths.PACKAGE), ("the current folder", cwd)):
        if _is_below(path, hidden) and "\n" in str(path):
            raise ConfigError(f"{what} is in {path!s:.200}: the lab can't make a temporary folder "
                              "visible whose path has a line break; move it or rename it")


@dataclass(frozen=True)
class Mount:
    """The arguments of one call of mount(2), or an operation of init.pl.

    Attributes:
        type: type of file system, or bind. Two types are operations of init.pl, which mount
            nothing: file makes an empty file at `place`, folder makes a folder there.
        source: device, or path of the file or folder to bind.
        place: path of the mount point inside.
        flags: flags of mount(2).
        options: options of the file system, separated by commas. For hostfs, the path on the host.
    """

    type: str
    source: str
    place: str
    flags: int = 0
    options: str = ""


def host_folder(path: str, place: str) -> Mount:
    """Return the mount of a folder of the host, read-only.

    Args:
        path: path on the host.
        place: path of the mount point inside.
    """
    return Mount("hostfs", "host", place, READ_ONLY, path)


def bind(source: str, place: str) -> Mount:
    """Return the mount that makes a file or folder of the guest visible at another path, `place`,
    too. A missing `place` is made as a folder, so for a file it must exist."""
    return Mount("bind", source, place, BIND)


def empty_folder(place: str) -> Mount:
    """Return the entry that makes init.pl create a folder at the path `place` inside, with those
    above it, unless the path exists."""
    return Mount("folder", "", place)


def shown_at_its_place(paths: Iterable[str]) -> Iterator[Mount]:
    """Yield the mounts that make files and folders of the host visible at the same path, read-only.

    Only folders of the host can be mounted. For a file, the folder that contains it (links
    resolved) is mounted below ASIDE, and the file is bound to its path from there.

    paths: paths on the host.
    """
    for number, path in enumerate(paths):
        if os.path.isdir(path):
            yield host_folder(path, path)
        else:
            above, name = os.path.split(os.path.realpath(path))
            yield host_folder(above, f"{ASIDE}/{number}")
            yield Mount("file", "", path)
            yield bind(f"{ASIDE}/{number}/{name}", path)


def overlay(lower: str) -> Mount:
    """Return the mount that makes the folder `lower` writable: files written to it go to
    /run/results."""
    # These three characters have a meaning in overlayfs's options; see its documentation, "Multiple
    # lower layers".
    escaped = re.sub(r"([\\:,])", r"\\\1", lower)
    return Mount("overlay", "overlay", lower, 0,
                 f"lowerdir={escaped},upperdir=/run/results,workdir=/run/work")


def lab_mounts(lab: str, out: str, *, keep_visible: Iterable[str], shown: Sequence[str],
               bound: Iterable[tuple[str, str]], folders: Iterable[str] = (),
               writable: str | None) -> list[Mount]:
    """Return all mounts of a guest, in the order in which they have to be made.

    Args:
        lab: path inside the guest at which the lab's folder of the host is mounted.
        out: name of the subfolder that the guest can write to.
        keep_visible: files and folders of the host that are needed inside and that the mounts on
            /tmp, /run and /dev would hide.
        shown: names of symbolic links to folders of the host, in the subfolder links of the lab's
            folder. The folders are mounted as /run/NAME.
        bound: pairs of a file or folder, as a path relative to the lab's folder, and the path
            inside at which it appears.
        folders: paths inside of empty folders to make.
        writable: the folder to which the command may write, through an overlay whose upper layer is
            /run/results. None if it may write to none.
    """
    return [
        Mount("proc", "proc", "/proc"),
        Mount("sysfs", "sys", "/sys"),
        Mount("devpts", "pts", "/dev/pts", 0, "newinstance,ptmxmode=0666"),
        Mount("tmpfs", "shm", "/dev/shm"),
        Mount("tmpfs", "run", "/run"),
        Mount("tmpfs", "tmp", "/tmp"),
        *(empty_folder(f"/run/{name}") for name in ("home", "netns", "results", "work")),
        # Through the working folder of the guest's process on the host: the host follows this link
        # and those below, so the guest resolves no path of the host.
        host_folder("/proc/self/cwd", lab),
        # Synchronous, because the host shows the command's output while it runs.
        Mount("hostfs", "lab", f"{lab}/{out}", SYNCHRONOUS, f"/proc/self/cwd/{out}"),
        *shown_at_its_place(keep_visible),
        *(host_folder(f"/proc/self/cwd/links/{name}", f"/run/{name}") for name in shown),
        *(bind(f"{lab}/{name}", place) for name, place in bound),
        *map(empty_folder, folders),
        *([overlay(writable)] if writable else []),
    ]


def mounts_as_bytes(mounts: Iterable[Mount]) -> bytes:
    """Return the content of the file `mounts`, which init.pl reads: five strings for each mount,
    each ended by a zero byte."""
    return b"".join(
        word.encode("utf-8", "surrogateescape") + b"\0"
        for mount in mounts
        for word in (mount.type, mount.source, mount.place, str(mount.flags), mount.options))
