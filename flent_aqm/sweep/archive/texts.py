# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes an archive's README, licence and citation."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from flent_aqm import __version__
from flent_aqm.base.words import counted
from flent_aqm.sweep.archive.check import ReplayedRuns
from flent_aqm.sweep.archive.folder import BATCH, DATA, KERNEL, Packed
from flent_aqm.sweep.archive.licences import LICENCES

README = f"""\
# {{title}}

{{files}} of Flent (tests: {{tests}}), published by flent-aqm share {{version}}.

| | |
| --- | --- |
| `{DATA}/` | the data: gzipped JSON in Flent's format, with all raw samples |
{{more}}| `versions.json` | kernel, tools and packages that the data were made with |
| `SHA256SUMS` | checksums; `sha256sum -c SHA256SUMS` compares |
| `LICENSE` | {{licence}} for the data |

## Available

This folder is to be deposited as it is, for example on Zenodo. The deposit's own page has the DOI.

## Functional

Every file in it was read and checked when it was archived. To look at them, install flent-aqm
{{version}} as the README of its source tree says, and type:

```
flent-gui {DATA}/*.flent.gz
flent-aqm report {DATA} -o report.html
```

## Reproduced

{{reproduced}}
"""
KERNEL_LINE = (f"| `{KERNEL}/` | options and patches of the lab's kernel; its source is Debian's "
               "package named in `kernel.json` |\n")
REPRODUCED = ("{identical} of {all} runs were made again out of this folder when it was made, with "
              "identical samples, results and counters:")


def write_texts(target: Path, packed: Sequence[Packed], checked: ReplayedRuns, *, title: str,
                authors: Sequence[str], licence: str, batch: str) -> None:
    """Write README.md and LICENSE, and CITATION.cff if there are authors.

    Args:
        target: folder of the archive.
        packed: its data files.
        checked: the runs that were repeated from the archive.
        title: title of the data, as the user gives it.
        authors: each as "Family, Given".
        licence: SPDX identifier, a key of LICENCES.
        batch: name of the batch file in the archive, or "".
    """
    (target / "README.md").write_text(
        _readme(target, packed, checked, title, licence, batch), encoding="utf-8")
    name, address = LICENCES[licence]
    (target / "LICENSE").write_text(
        f"SPDX-License-Identifier: {licence}\n\nThe data in {DATA}/ and this folder's texts: "
        f"{name},\n{address}\n\nThe files in {BATCH}/ and {KERNEL}/, where they are: "
        "GPL-3.0-or-later and, for\nchanges to the kernel, GPL-2.0-only.\n", encoding="utf-8")
    if authors:
        (target / "CITATION.cff").write_text(
            _citation(title, authors, licence), encoding="utf-8")


def _readme(target: Path, packed: Sequence[Packed], checked: ReplayedRuns, title: str, licence: str,
            batch: str) -> str:
    """Return the text of README.md."""
    more = f"| `{BATCH}/{batch}` | the batch that the runs came from |\n" if batch else ""
    if (target / KERNEL).is_dir():
        more += KERNEL_LINE
    return README.format(
        title=_words(title), files=counted(len(packed), "data file"), more=more, licence=licence,
        tests=", ".join(sorted({_words(one.test) for one in packed})), version=__version__,
        reproduced="\n".join(_reproduced(packed, checked)))


def _words(text: str) -> str:
    """Replace characters that have a meaning in Markdown or HTML, because the text may come from
    anyone."""
    return re.sub(r"[\[\]`<>*_|\\]", " " if " " in text else "-", text)


def _reproduced(packed: Sequence[Packed], checked: ReplayedRuns) -> list[str]:
    """Return the README's lines on the runs that were repeated, and on those that can't be."""
    if not checked.identical and not checked.not_again:
        return ["No run was made again when this folder was made."]
    lines = [REPRODUCED.format(identical=len(checked.identical), all=len(packed)), ""]
    lines += [f"- `{name}`" for name in checked.identical] or ["- none"]
    if checked.not_again:
        lines += ["", "These can't be made again:", ""]
        lines += [f"- `{name}`: {_words(why)}" for name, why in checked.not_again.items()]
    if checked.identical:
        lines += ["", "To do the same for a file:", "",
                  "```", "flent-aqm setup",
                  f"flent-aqm replay {DATA}/{checked.identical[0]}", "```"]
    return lines


def _citation(title: str, authors: Sequence[str], licence: str) -> str:
    """Return the text of CITATION.cff."""
    # JSON strings are YAML strings
    lines = ["cff-version: 1.2.0", 'message: "If you use these data, please cite them."',
             "type: dataset", f"title: {json.dumps(title)}", f"license: {licence}", "authors:"]
    for author in authors:
        family, _, given_names = (part.strip() for part in author.partition(","))
        lines.append(f"  - family-names: {json.dumps(family)}")
        if given_names:
            lines.append(f"    given-names: {json.dumps(given_names)}")
    return "\n".join(lines) + "\n"
