# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as one page that needs nothing from anywhere.

Text out of data files is escaped by Jinja2; numbers and names for the plots go in as JSON
that can't end its element. Should something slip through, the page's policy lets no script
run but ours, by their hashes, and lets nothing be fetched.
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
from flent_aqm.show.report.model import Report


def render(report: Report, *, follow: int | None = None) -> str:
    """Return the page; follow: version of its data, for `report --follow`, which asks for more."""
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
    """Return the page's part above the plots."""
    return _environment().get_template("top.html").render(report=report)


def sections_html(report: Report) -> str:
    """Return the page's part below the plots."""
    return _environment().get_template("sections.html").render(report=report)


def progress_html(progress: Sequence[Mapping[str, Any]]) -> str:
    """Return how far sweeps are, as model.progress() tells it."""
    return _environment().get_template("progress.html").render(progress=progress)


def fault_html(fault: str) -> str:
    """Return what the page says of a fault of its own."""
    return str(Markup('<p class="bad" role="alert">{}</p>').format(plain(fault)))


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("flent_aqm.show.report", "page"), autoescape=True,
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        finalize=_shown)
    environment.filters["duration"] = duration
    environment.filters["counted"] = counted
    # Sorting keys would mix numbers with words.
    environment.policies["json.dumps_kwargs"] = {
        "allow_nan": False, "separators": (",", ":"), "ensure_ascii": True}
    return environment


def _shown(value: Any) -> Any:
    """Return text out of files, and their names, as any encoder takes it; Markup is ours."""
    return plain(value) if type(value) is str else value


def duration(seconds: float | None) -> str:
    """As people say it."""
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
    # Its licence stands at its head.
    return Markup(get_plotlyjs())


@cache
def _source(name: str) -> str:
    environment = _environment()
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


@cache
def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
