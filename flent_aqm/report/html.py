# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as one page that needs nothing from anywhere.

Text out of data files is escaped by Jinja2; numbers and names for the plots go in as JSON
that can't end its element. Should something slip through, the page's policy lets no script
run but ours, by their hashes, and lets nothing be fetched.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache

import jinja2
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from flent_aqm.report.model import Report


def render(report: Report, *, follow: bool = False) -> str:
    """The page; follow: reload it when runs have come, for `flent-aqm browse`."""
    environment = _environment()
    scripts = [_plotly(), Markup(_source("report.js"))]
    if follow:
        scripts.append(Markup(_source("follow.js")))
    policy = ["default-src 'none'", "img-src data: blob:", "style-src 'unsafe-inline'",
              "base-uri 'none'", "form-action 'none'",
              "script-src " + " ".join(f"'sha256-{_hash(one)}'" for one in scripts)]
    if follow:
        policy.append("connect-src 'self'")
    return environment.get_template("report.html").render(
        report=report, scripts=scripts, policy="; ".join(policy), follow=follow,
        style=Markup(_source("report.css")))


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("flent_aqm.report", "page"), autoescape=True,
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["duration"] = duration
    # Sorting keys would mix numbers with words.
    environment.policies["json.dumps_kwargs"] = {
        "allow_nan": False, "separators": (",", ":"), "ensure_ascii": True}
    return environment


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
