# SPDX-License-Identifier: GPL-3.0-or-later
"""Templates of HTML pages: the report, the scorecard, the verdict and `flent-aqm why`.

A page extends base.html from the folder page. It loads no other resource, and its policy
forbids loading any. Jinja2 escapes text that comes from data files.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

import jinja2
from markupsafe import Markup, escape

from flent_aqm.base.words import counted, plain

# Directives of the content security policy of a page without scripts.
POLICY: Mapping[str, str] = {
    "default-src": "'none'", "img-src": "data:", "style-src": "'unsafe-inline'",
    "base-uri": "'none'", "form-action": "'none'"}
_CODE = re.compile("`([^`]+)`")
_TABLE_OPEN = '<div class="scroll" tabindex="0" role="region" aria-label="table"><table>\n'


def environment(package: str) -> jinja2.Environment:
    """Return the environment of Jinja2 for a page's templates.

    It escapes text and makes it one line of printable characters, unless it is Markup. A variable
    that a template uses but doesn't get raises jinja2.UndefinedError. The filter tojson raises
    ValueError for NaN and infinity. Templates have the filters `counted` and `with_code`, and the
    global `policy`, the content security policy of a page without scripts.

    Args:
        package: dotted name of the Python package that has them in its folder page. Templates in
            the folder page of flent_aqm.show can be extended and included, too. Of two with the
            same name, that of `package` is used.
    """
    loader = jinja2.ChoiceLoader([jinja2.PackageLoader(package, "page"),
                                  jinja2.PackageLoader("flent_aqm.show", "page")])
    made = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True, finalize=_printable)
    made.filters["counted"] = counted
    made.filters["with_code"] = with_code
    made.globals["policy"] = policy_text(POLICY)
    # Keys of JSON are not sorted, because numbers and words can't be compared.
    made.policies["json.dumps_kwargs"] = {
        "allow_nan": False, "separators": (",", ":"), "ensure_ascii": True}
    return made


def text_page(title: str, markdown: str) -> str:
    """Return a Markdown text as an HTML page. HTML in the text is shown as text.

    Args:
        title: title of the page.
        markdown: the text. Its tables scroll sideways where the screen is too narrow.
    """
    from markdown_it import MarkdownIt

    converter = MarkdownIt("commonmark", {"html": False}).enable("table")
    converter.add_render_rule("table_open", lambda *_: _TABLE_OPEN)
    converter.add_render_rule("table_close", lambda *_: "</table></div>\n")
    return environment("flent_aqm.show").get_template("text.html").render(
        title=title, content=Markup(converter.render(markdown)))


def with_code(sentence: str) -> Markup:
    """Return a sentence that terminals show, too, as HTML: one line of printable characters, with
    what stands between backticks as code, and all else escaped."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(plain(sentence)))))


def policy_text(directives: Mapping[str, str]) -> str:
    """Return a content security policy as text, for a page's head: "NAME VALUE; NAME VALUE".

    Args:
        directives: names of directives -> their values.
    """
    return "; ".join(f"{name} {value}" for name, value in directives.items())


def svg_address(picture: bytes) -> str:
    """Return an SVG picture as a data: address, for the `src` of an image."""
    return f"data:image/svg+xml;base64,{base64.b64encode(picture).decode()}"


def _printable(value: Any) -> Any:
    """Return text as one line of printable characters, as plain() makes it. Markup, which is this
    package's own, and values other than text are returned unchanged. Jinja2 calls it for each value
    that a template prints."""
    return plain(value) if type(value) is str else value
