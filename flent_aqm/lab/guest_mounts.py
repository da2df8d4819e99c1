# SPDX-License-Identifier: GPL-3.0-or-later
"""The file systems of the lab's guest, as a file that guest/init.pl reads.

Five words for each mount, in their order, each ended by a zero byte: type, source, place,
flags of mount(2), options. A place that isn't there is made; where it can't be, on the
read-only root, the mount is left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

# Of linux/mount.h.
READ_ONLY, SYNCHRONOUS, BIND = 1, 16, 4096

ASIDE = "/run/aside"
# What the guest has for itself below /run.
OWN_IN_RUN = ("aside", "bin", "home", "lab", "netns", "package", "python", "results", "work")


@dataclass(frozen=True)
class Mount:
    """One call of mount(2)."""

    type: str
    source: str
    place: str
    flags: int = 0
    options: str = ""


def host_folder(path: str, place: str) -> Mount:
    """Return a folder of the host, read-only."""
    return Mount("hostfs", "host", place, READ_ONLY, path)


def bind(source: str, place: str) -> Mount:
    """Return what is at source, at another place too."""
    return Mount("bind", source, place, BIND)


def folder(place: str) -> Mount:
    """Return a folder alone."""
    return Mount("folder", "", place)


def shown_at_its_place(paths: Iterable[str]) -> Iterator[Mount]:
    """Yield folders and files of the host where they are there, read-only. Of the host only
    folders can be mounted: a file is taken out of its own, which stays aside."""
    for number, path in enumerate(paths):
        if os.path.isdir(path):
            yield host_folder(path, path)
        else:
            above, name = os.path.split(os.path.realpath(path))
            yield host_folder(above, f"{ASIDE}/{number}")
            yield Mount("file", "", path)
            yield bind(f"{ASIDE}/{number}/{name}", path)


def overlay(lower: str) -> Mount:
    """What is written into a folder goes to /run/results."""
    # These three have a meaning in overlayfs's options; see its documentation, "Multiple lower
    # layers".
    escaped = re.sub(r"([\\:,])", r"\\\1", lower)
    return Mount("overlay", "overlay", lower, 0,
                 f"lowerdir={escaped},upperdir=/run/results,workdir=/run/work")


def lab_mounts(lab: str, out: str, *, keep_visible: Iterable[str], shown: Sequence[str],
               bound: Iterable[tuple[str, str]], writable: str | None) -> list[Mount]:
    """Return all mounts of a guest.

    lab: where the folder from the host is seen; out: the name of the folder in it that can be
    written to; keep_visible: folders and files of the host that the mounts on /tmp, /run and
    /dev hide, but that are needed inside; shown: names of links in
    the lab's folder to folders of the host, seen as /run/NAME; bound: file or folder in the
    lab's folder, and what it stands for; writable: the folder in which the command may write,
    into an overlay whose upper layer is /run/results.
    """
    return [
        Mount("proc", "proc", "/proc"),
        Mount("sysfs", "sys", "/sys"),
        Mount("devpts", "pts", "/dev/pts", 0, "newinstance,ptmxmode=0666"),
        Mount("tmpfs", "shm", "/dev/shm"),
        Mount("tmpfs", "run", "/run"),
        Mount("tmpfs", "tmp", "/tmp"),
        *(folder(f"/run/{name}") for name in ("home", "netns", "results", "work")),
        # By way of the working folder of the guest's process on the host: the host follows
        # this link and those below, and no path of the host's is walked in the guest.
        host_folder("/proc/self/cwd", lab),
        # Synchronous, as the host shows the command's output while it runs.
        Mount("hostfs", "lab", f"{lab}/{out}", SYNCHRONOUS, f"/proc/self/cwd/{out}"),
        *shown_at_its_place(keep_visible),
        *(host_folder(f"/proc/self/cwd/links/{name}", f"/run/{name}") for name in shown),
        *(bind(f"{lab}/{name}", place) for name, place in bound),
        *([overlay(writable)] if writable else []),
    ]


def as_bytes(mounts: Iterable[Mount]) -> bytes:
    """Return the file's content."""
    return b"".join(
        word.encode("utf-8", "surrogateescape") + b"\0"
        for mount in mounts
        for word in (mount.type, mount.source, mount.place, str(mount.flags), mount.options))
