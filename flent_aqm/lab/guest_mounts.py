# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of file systems to mount in the lab's guest, as a file that guest/init.pl reads.

The file has five strings for each mount, each ended by a zero byte: type, source, mount point,
flags of mount(2), options. A mount point that doesn't exist is created. If it can't be created, as
on the read-only root, the mount is left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

# Flags of mount(2), from linux/mount.h.
READ_ONLY, SYNCHRONOUS, BIND = 1, 16, 4096

# Folder of mounts from which only a single file is needed.
ASIDE = "/run/aside"
# Names in /run that the guest uses itself.
OWN_IN_RUN = ("aside", "bin", "home", "lab", "netns", "package", "python", "results", "work")


@dataclass(frozen=True)
class Mount:
    """The arguments of one call of mount(2)."""

    # A file system, or an operation of init.pl: bind, file, folder.
    type: str
    source: str
    # The mount point.
    place: str
    flags: int = 0
    options: str = ""


def host_folder(path: str, place: str) -> Mount:
    """Return the mount of a folder of the host at `place`, read-only."""
    return Mount("hostfs", "host", place, READ_ONLY, path)


def bind(source: str, place: str) -> Mount:
    """Return the mount that makes a file or folder of the guest visible at another place."""
    return Mount("bind", source, place, BIND)


def folder(place: str) -> Mount:
    """Return the entry that creates an empty folder."""
    return Mount("folder", "", place)


def shown_at_its_place(paths: Iterable[str]) -> Iterator[Mount]:
    """Yield the mounts that make files and folders of the host visible at the same path, read-only.

    Only folders of the host can be mounted. For a file, the folder that contains it is mounted
    below ASIDE, and the file is bound to its path from there.
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
    """Return the mount that makes a folder writable: files written to it go to /run/results."""
    # These three characters have a meaning in overlayfs's options; see its documentation, "Multiple
    # lower layers".
    escaped = re.sub(r"([\\:,])", r"\\\1", lower)
    return Mount("overlay", "overlay", lower, 0,
                 f"lowerdir={escaped},upperdir=/run/results,workdir=/run/work")


def lab_mounts(lab: str, out: str, *, keep_visible: Iterable[str], shown: Sequence[str],
               bound: Iterable[tuple[str, str]], writable: str | None) -> list[Mount]:
    """Return all mounts of a guest.

    Args:
        lab: path inside the guest at which the lab's folder of the host is mounted.
        out: name of the subfolder that the guest can write to.
        keep_visible: files and folders of the host that are needed inside and that the mounts on
            /tmp, /run and /dev would hide.
        shown: names of symbolic links in the lab's folder to folders of the host. They are mounted
            as /run/NAME.
        bound: pairs of a file or folder in the lab's folder, and the path inside at which it
            appears.
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
        *(folder(f"/run/{name}") for name in ("home", "netns", "results", "work")),
        # Through the working folder of the guest's process on the host: the host follows this link
        # and those below, so the guest resolves no path of the host.
        host_folder("/proc/self/cwd", lab),
        # Synchronous, because the host shows the command's output while it runs.
        Mount("hostfs", "lab", f"{lab}/{out}", SYNCHRONOUS, f"/proc/self/cwd/{out}"),
        *shown_at_its_place(keep_visible),
        *(host_folder(f"/proc/self/cwd/links/{name}", f"/run/{name}") for name in shown),
        *(bind(f"{lab}/{name}", place) for name, place in bound),
        *([overlay(writable)] if writable else []),
    ]


def as_bytes(mounts: Iterable[Mount]) -> bytes:
    """Return the content of the file that init.pl reads."""
    return b"".join(
        word.encode("utf-8", "surrogateescape") + b"\0"
        for mount in mounts
        for word in (mount.type, mount.source, mount.place, str(mount.flags), mount.options))
