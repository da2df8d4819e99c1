# SPDX-License-Identifier: GPL-3.0-or-later
"""Render the report as one HTML page that loads nothing from elsewhere.

Data for the plots is JSON that can't end its element. As a
second line of defence, the page's policy allows only this package's scripts, by their hashes, and
forbids loading anything.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from flent_aqm.base.words import plain
from flent_aqm.results.metrics.latency import LISTED_GLITCH_MS
from flent_aqm.show.report.model import GLITCHES_AT_ONCE, Report
from flent_aqm.show.templates import POLICY, environment, policy_text


def render(report: Report, *, follow: int | None = None) -> str:
    """Return the page as HTML.

    Args:
        report: contents of the page.
        follow: version of its data if it is for `report --follow`, whose page asks for updates.
            None for a page in a file.
    """
    scripts = [_plotly(), Markup(_source("report.js"))]
    if follow is not None:
        scripts.append(Markup(_source("follow.js")))
    # Plotly keeps a plot as a picture by way of blob:.
    policy = {**POLICY, "img-src": "data: blob:",
              "script-src": " ".join(f"'sha256-{_hash(script)}'" for script in scripts)}
    if follow is not None:
        policy["connect-src"] = "'self'"
    return _environment().get_template("report.html").render(
        report=report, scripts=scripts, policy=policy_text(policy), follow=follow)


def top_html(report: Report) -> str:
    """Return the page's part above the plots as HTML, without the title: the number of failures,
    the progress of sweeps, the findings, and the table of failed runs."""
    return _environment().get_template("top.html").render(report=report)


def glitches_html(report: Report) -> str:
    """Return the page's list of glitches as HTML, "" if there are none."""
    return _environment().get_template("glitches.html").render(report=report)


def sections_html(report: Report) -> str:
    """Return the page's part below the plots and tables as HTML: what was run, the router's
    settings, and commands that repeat it."""
    return _environment().get_template("sections.html").render(report=report)


def progress_html(progress: Sequence[Mapping[str, Any]]) -> str:
    """Return the progress of sweeps as HTML. Those that have ended with all runs done are left out;
    "" if no other is there.

    Args:
        progress: for each folder, what model.progress() returns.
    """
    return _environment().get_template("progress.html").render(progress=progress)


def fault_html(fault: str) -> str:
    """Return an error of following the results, which is shown above the page, as an escaped
    paragraph of HTML. fault: its text, of which each character that can't be printed is replaced,
    see plain()."""
    return str(Markup('<p class="bad" role="alert">{}</p>').format(plain(fault)))


def _environment() -> jinja2.Environment:
    """Return a new environment of Jinja2 for the page's templates: that of environment(), with the
    filter `duration` and the globals GLITCHES_AT_ONCE and LISTED_MS."""
    made = environment("flent_aqm.show.report")
    made.filters["duration"] = duration
    made.globals["GLITCHES_AT_ONCE"] = GLITCHES_AT_ONCE
    made.globals["LISTED_MS"] = LISTED_GLITCH_MS
    return made


def duration(seconds: float | None) -> str:
    """Return a duration as text: "90 s" below 2 min, "45 min" (rounded) below 2 h, else "2 h 5 min"
    (rounded down). "" for None."""
    if seconds is None:
        return ""
    whole = round(seconds)
    if whole < 120:
        return f"{whole} s"
    if whole < 7200:
        return f"{whole / 60:.0f} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


@cache
def _plotly() -> Markup:
    """Return the source of Plotly's script. It is Markup, so that templates don't escape it."""
    # The script begins with its licence.
    return Markup(get_plotlyjs())


@cache
def _source(name: str) -> str:
    """Return the text of the script `name` in the folder page."""
    return (resources.files("flent_aqm.show.report") / "page" / name).read_text("utf-8")


@cache
def _hash(script: str) -> str:
    """Return the SHA-256 of a script in base64, for the page's policy."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
