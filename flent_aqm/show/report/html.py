# SPDX-License-Identifier: GPL-3.0-or-later
"""Render the report as one HTML page that loads nothing from elsewhere.

Jinja2 escapes text from data files. Data for the plots is JSON that can't end its element. As a
second line of defence, the page's policy allows only this package's scripts, by their hashes, and
forbids loading anything.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import jinja2
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from flent_aqm.base.words import counted, plain
from flent_aqm.show.report.gather import LISTED_MS
from flent_aqm.show.report.model import GLITCHES_AT_ONCE, Report


def render(report: Report, *, follow: int | None = None) -> str:
    """Return the page as HTML.

    Args:
        report: contents of the page.
        follow: version of its data if it is for `report --follow`, whose page asks for updates.
            None for a page in a file.
    """
    environment = _environment()
    scripts = [_plotly(), Markup(_source("report.js"))]
    if follow is not None:
        scripts.append(Markup(_source("follow.js")))
    policy = ["default-src 'none'", "img-src data: blob:", "style-src 'unsafe-inline'",
              "base-uri 'none'", "form-action 'none'",
              "script-src " + " ".join(f"'sha256-{_hash(one)}'" for one in scripts)]
    if follow is not None:
        policy.append("connect-src 'self'")
    return environment.get_template("report.html").render(
        report=report, scripts=scripts, policy="; ".join(policy), follow=follow,
        style=Markup(_source("report.css")))


def top_html(report: Report) -> str:
    """Return the page's part above the plots as HTML."""
    return _environment().get_template("top.html").render(report=report)


def glitches_html(report: Report) -> str:
    """Return the page's list of glitches as HTML."""
    return _environment().get_template("glitches.html").render(report=report)


def sections_html(report: Report) -> str:
    """Return the page's part below the plots as HTML."""
    return _environment().get_template("sections.html").render(report=report)


def progress_html(progress: Sequence[Mapping[str, Any]]) -> str:
    """Return the progress of sweeps as HTML.

    Args:
        progress: as model.progress() returns it, for each folder.
    """
    return _environment().get_template("progress.html").render(progress=progress)


def fault_html(fault: str) -> str:
    """Return an error of the page itself as HTML."""
    return str(Markup('<p class="bad" role="alert">{}</p>').format(plain(fault)))


def _environment() -> jinja2.Environment:
    """Return the environment of Jinja2 for the page's templates."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("flent_aqm.show.report", "page"), autoescape=True,
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        finalize=_printable)
    environment.filters["duration"] = duration
    environment.filters["counted"] = counted
    environment.globals["GLITCHES_AT_ONCE"] = GLITCHES_AT_ONCE
    environment.globals["LISTED_MS"] = LISTED_MS
    # Keys of JSON are not sorted, because numbers and words can't be compared.
    environment.policies["json.dumps_kwargs"] = {
        "allow_nan": False, "separators": (",", ":"), "ensure_ascii": True}
    return environment


def _printable(value: Any) -> Any:
    """Return text from data files with unprintable characters replaced. Markup, which is this
    package's own, and values other than text are returned unchanged."""
    return plain(value) if type(value) is str else value


def duration(seconds: float | None) -> str:
    """Return a duration as text: "90 s", "45 min" or "2 h 5 min". "" for None."""
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
    """Return the source of Plotly's script."""
    # The script begins with its licence.
    return Markup(get_plotlyjs())


@cache
def _source(name: str) -> str:
    """Return the text of the file `name` in the folder page, in which scripts, styles and templates
    are."""
    environment = _environment()
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


@cache
def _hash(script: str) -> str:
    """Return the SHA-256 of a script in base64, for the page's policy."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
