# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools that only runs need which choose them, by names that no PATH need have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from flent_aqm.base import defaults, environment
from flent_aqm.base.errors import ToolMissing
from flent_aqm.setup.cloudflare_page import find_cloudflare
from flent_aqm.setup.librespeed_page import find_worker
from flent_aqm.setup.ndt7_makers import find_mlab_client, find_ndt7_js
from flent_aqm.setup.tools import (
    SYSTEM_PATH,
    find_goresponsiveness,
    find_librespeed_cli,
    find_tool,
    tool_path,
)

# By the name that a run's tools have inside: how each is found, and who asks for it.
CHOSEN: dict[str, tuple[Callable[[], Path | None], str]] = {
    defaults.MLAB_NDT7_CLIENT: (
        find_mlab_client, "ndt7_client=mlab needs M-Lab's ndt7-client"),
    "ndt-server": (
        lambda: find_tool("ndt-server"), "ndt7_server=mlab needs M-Lab's ndt-server"),
    "nuttcp": (lambda: find_tool("nuttcp"), "the test nuttcp needs nuttcp"),
    "iperf": (
        lambda: find_tool("iperf"), "the test iperf2_bounceback needs iperf, version 2.1 or newer"),
    "goresponsiveness": (
        find_goresponsiveness, "the test goresponsiveness needs the program of that name"),
    **{name: (partial(find_tool, name), f"the test {name.partition('-')[0]} needs {name}")
       for name in ("msak-client", "msak-server", "ethr", "crusader")},
    "librespeed-cli": (find_librespeed_cli, "the test librespeed_cli needs librespeed-cli"),
    defaults.NDT7_JS: (find_ndt7_js, "ndt7_browser needs M-Lab's ndt7.js"),
    "chromium": (
        lambda: find_tool("chromium"), "the tests in a browser need Chromium"),
    defaults.CLOUDFLARE_JS: (
        find_cloudflare, "cloudflare_browser needs npm's @cloudflare/speedtest"),
    defaults.LIBRESPEED_WORKER: (
        find_worker, (f"librespeed_browser needs {defaults.LIBRESPEED_WORKER} of "
                      f"librespeed/speedtest, whose folder {environment.LIBRESPEED} names")),
}
# Python packages in the place of programs.
PACKAGES = {"aioquic": "QUIC (quic_download, cross_traffic=quic, http_version=3)",
            "aiortc": "the test webrtc_call"}


def check_tools(names: Iterable[str]) -> None:
    """Raise ToolMissing for the first that isn't there, of whatever kind."""
    for name in names:
        if name in CHOSEN:
            chosen_path(name)
        elif name in PACKAGES:
            if find_spec(name) is None:
                raise ToolMissing(f"{PACKAGES[name]} needs the Python package {name}; run: "
                                  f"flent-aqm setup --speedtests {name}")
        else:
            tool_path(name)


def chosen_path(name: str) -> Path:
    """Return where one of CHOSEN is. Raises ToolMissing."""
    find, why = CHOSEN[name]
    path = find()
    if path is None:
        raise ToolMissing(f"{why}, and there is none on PATH; flent-aqm setup --speedtests gets "
                          "it where it can be had (docs/reference/tools.md); or leave that out")
    return path


def chosen_of(names: Iterable[str]) -> dict[str, Path]:
    """Of a run's tools those of CHOSEN that are called otherwise here, or aren't where the system's
    programs are, by their name inside. Raises ToolMissing."""
    return _elsewhere({name: chosen_path(name) for name in names if name in CHOSEN})


def chosen_there() -> dict[str, Path]:
    """Return all of them that are on this machine, as chosen_of() gives them."""
    found = {name: find() for name, (find, _why) in CHOSEN.items()}
    return _elsewhere({name: path for name, path in found.items() if path is not None})


def _elsewhere(found: Mapping[str, Path]) -> dict[str, Path]:
    # Chromium's script finds the rest of it by its own place, which a link would not be.
    return {name: path for name, path in found.items()
            if path.name != name or str(path.parent) not in SYSTEM_PATH}
