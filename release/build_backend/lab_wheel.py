# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the wheel flent-aqm-lab: what `flent-aqm setup` builds and fetches, ready-made.

    python -m release.build_backend.lab_wheel DIST

It takes the lab's kernel and ndt7-client as set-up has built them, and fetches irtt and tc anew
into build/lab-parts, with their licences. The same parts give the same bytes. Its folders are those
of set-up's cache, but for links, which a wheel can't hold (flent_aqm/base/paths.py).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from flent_aqm import __version__
from flent_aqm.base.errors import AqmError, SetupError
from flent_aqm.base.paths import READY_MADE
from flent_aqm.setup import ndt7_client
from flent_aqm.setup.apt import DebianArchive
from flent_aqm.setup.install import find_tool_link
from flent_aqm.setup.iproute2 import set_up_new_tc
from flent_aqm.setup.irtt import set_up_irtt
from flent_aqm.setup.kernel import recipe
from flent_aqm.setup.kernel.locate import find_kernel
from release.build_backend import lab_papers
from release.build_backend.flent_aqm_backend import write_wheel

HERE = Path(__file__).resolve().parent
PARTS = HERE.parent / "build" / "lab-parts"
# By the policy of the index a wheel for Linux in general says how old a C library may be.
# ndt7-client wants glibc 2.34; the others are static or bring theirs.
TAG = "py3-none-linux_x86_64"
INFO = f"{READY_MADE}-{__version__}.dist-info"
METADATA = """\
Metadata-Version: 2.4
Name: flent-aqm-lab
Version: {version}
Summary: Ready-made programs for flent-aqm's lab: kernel, irtt, tc, ndt7-client
License-Expression: {licence}
{files}Requires-Python: >=3.11
Description-Content-Type: text/markdown

{readme}"""
LICENCE = ("GPL-2.0-only AND GPL-2.0-or-later AND LGPL-2.1-or-later AND Apache-2.0 "
           "AND BSD-3-Clause AND ISC AND MIT AND Unicode-3.0")
INIT = '''\
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ready-made programs of flent-aqm's lab; flent_aqm looks into this folder."""
'''


def build(directory: Path) -> Path:
    """Write the wheel flent-aqm-lab into a folder, which is made if it isn't there, and return the
    wheel's path. First irtt and tc are fetched into PARTS, unless they are there.

    Raises AqmError if the lab isn't set up, its kernel lacks patches, Debian's archive doesn't have
    irtt or tc, or a licence can't be had; OSError if this system lacks one of the licences' files.
    """
    _fetch_parts()
    files: dict[str, bytes] = {f"{READY_MADE}/__init__.py": INIT.encode()}
    executable: set[str] = set()
    for name, path in parts(PARTS):
        member = f"{READY_MADE}/{name}"
        files[member] = path.read_bytes()
        if path.stat().st_mode & 0o100:
            executable.add(member)
    source = _kernel_source()
    files[f"{READY_MADE}/{recipe.CHOICE}"] = f"{json.dumps(asdict(source))}\n".encode()
    debs = lab_papers.debs_of(PARTS)
    files[f"{READY_MADE}/source/sources.txt"] = lab_papers.sources(source, debs).encode()
    papers = lab_papers.licences(PARTS, source)
    for name, text in sorted(papers.items()):
        files[f"{INFO}/licenses/{name}"] = text
    files[f"{INFO}/METADATA"] = METADATA.format(
        version=__version__, licence=LICENCE, readme=(HERE / "lab" / "README.md").read_text(),
        files="".join(f"License-File: {name}\n" for name in sorted(papers))).encode()
    directory.mkdir(parents=True, exist_ok=True)
    wheel = directory / f"{READY_MADE}-{__version__}-{TAG}.whl"
    write_wheel(wheel, INFO, files, executable, TAG)
    return wheel


def _fetch_parts() -> None:
    """Fetch irtt and tc, with their licences and sources' names, into PARTS, unless both programs
    are there. Those in the user's cache may lack licences and names, and are not used. Raises
    AqmError if they can't be fetched."""
    if (PARTS / "bin" / "irtt").exists() and (PARTS / "new-tc" / "tc").exists():
        return
    PARTS.mkdir(parents=True, exist_ok=True)
    archive = DebianArchive(PARTS)
    set_up_irtt(PARTS, archive, update=True)
    set_up_new_tc(PARTS, archive, update=True)


def _kernel_source() -> recipe.KernelSource:
    facts = json.loads(find_kernel().path.with_name("kernel.json").read_text())
    return recipe.KernelSource(facts["package"], facts["version"])


def parts(fetched: Path) -> Iterator[tuple[str, Path]]:
    """Yield (name inside the wheel's package, path) of each file: kernel, irtt, ndt7-client, tc
    with its libraries, and what kernel and client are made with (options, patches, a script that
    fetches the sources).

    Args:
        fetched: a cache folder with irtt and tc.

    Raises AqmError if the lab isn't set up, or its kernel lacks patches.
    """
    kernel = find_kernel()
    if kernel.left_out:
        raise SetupError(f"the lab kernel is built without {', '.join(kernel.left_out)}: "
                         "a kernel to distribute needs all patches: run flent-aqm setup --update")
    for name in ("linux", "config", "kernel.json"):
        yield f"kernels/{kernel.hash}/{name}", kernel.path.with_name(name)
    irtt = (fetched / "bin" / "irtt").resolve()
    yield f"tools/{irtt.parent.name}/irtt", irtt
    client = find_tool_link("ndt7-client")
    if client is None or not ndt7_client.ndt7_client_is_there():
        raise SetupError(f"ndt7-client {ndt7_client.VERSION} is not built; run: flent-aqm setup")
    yield f"tools/{ndt7_client.FOLDER}/ndt7-client", client
    wrapper = (fetched / "new-tc" / "tc").resolve()
    yield "new-tc/tc", wrapper
    yield "new-tc/lib/tc", wrapper.parent / "lib" / "tc"
    for library in lab_papers.libraries_of(wrapper.parent / "lib"):
        yield f"new-tc/lib/{library.name}", library
    yield "source/lab.config", recipe.FRAGMENT
    for patch in sorted(recipe.PATCHES.glob("*.patch")):
        yield f"source/patches/{patch.name}", patch
    yield f"source/{ndt7_client.PATCH.name}", ndt7_client.PATCH
    yield "source/fetch_sources.sh", HERE / "lab" / "fetch_sources.sh"
    yield "source/README.md", HERE / "lab" / "README.md"


if __name__ == "__main__":
    try:
        print(build(Path(sys.argv[1] if len(sys.argv) > 1 else "dist")))
    except AqmError as error:
        sys.exit(f"lab wheel: {error}")
