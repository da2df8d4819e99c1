# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists the subcommands of `flent-aqm`, and makes the parser of each."""

from __future__ import annotations

import argparse
import importlib
import textwrap
from types import ModuleType

from flent_aqm.base.part import Command, parts

# The module of a command is imported only when the command runs, because imports take time in the
# guest.
_CORE = {
    "assert": Command(
        "flent_aqm.commands.assert_", "check a condition on the numbers of data files",
        "flent-aqm assert 'p99(latency_loaded) < 20ms' results/"),
    "completion": Command(
        "flent_aqm.commands.completion", "print a script that lets a shell complete these "
                                         "commands",
        "flent-aqm completion bash >~/.local/share/bash-completion/completions/flent-aqm"),
    "doctor": Command(
        "flent_aqm.commands.doctor", "list every part: found or missing, its version, how to get "
                                     "it",
        "flent-aqm doctor"),
    "export": Command(
        "flent_aqm.commands.export", "write data files as a table: Parquet, CSV or JSON",
        "flent-aqm export results/ -o runs.parquet"),
    "figures": Command(
        "flent_aqm.commands.figures", "draw the study's figures, with the numbers behind them",
        "flent-aqm figures results/paper-* -o figures"),
    "lab": Command(
        "flent_aqm.commands.lab", "run a command on the client of a lab in virtual time",
        "flent-aqm lab --aqm fq_codel --rate 100 -- flent rrul -H server -l 30"),
    "replay": Command(
        "flent_aqm.commands.replay", "repeat the run of a data file and compare",
        "flent-aqm replay results/quick-*/FILE.flent.gz"),
    "report": Command(
        "flent_aqm.commands.report", "write one page about data files, or serve one that follows a "
                                     "sweep",
        "flent-aqm report results/ -o report.html"),
    "score": Command(
        "flent_aqm.commands.score", "show every metric and score of data files",
        "flent-aqm score results/"),
    "serve": Command(
        "flent_aqm.commands.serve", "serve speed tests: NDT7, and those over HTTP",
        "flent-aqm serve"),
    "setup": Command(
        "flent_aqm.commands.setup", "build the lab kernel and fetch the tools it needs",
        "flent-aqm setup"),
    "share": Command(
        "flent_aqm.commands.share", "copy data files with host names, addresses and users removed, "
                                    "also as a folder to publish",
        "flent-aqm share results/quick-* -o shared --publish"),
    "speedtest": Command(
        "flent_aqm.commands.speedtest", "measure a line as speedtest-netperf.sh does",
        "flent-aqm speedtest -H netperf.example.net -t 30 --concurrent"),
}
_OF_PARTS = {name: command for part in parts().values() for name, command in part.commands.items()}
COMMANDS = dict(sorted({**_CORE, **_OF_PARTS}.items()))


def module_of(name: str) -> ModuleType:
    """Import and return the module of a command, whose name is a key of COMMANDS."""
    return importlib.import_module(COMMANDS[name].module)


def fill(parser: argparse.ArgumentParser, name: str) -> argparse.ArgumentParser:
    """Import a command's module, add the command's description, example and arguments to a parser,
    and return the parser. The module may set a longer description.

    Args:
        parser: the parser, which is changed.
        name: name of the command, a key of COMMANDS.
    """
    command = COMMANDS[name]
    parser.description = f"{command.summary[0].upper()}{command.summary[1:]}."
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = f"example:\n  {command.example}"
    module_of(name).add_arguments(parser)
    # The formatter leaves the lines of description and epilog as they are.
    parser.description = textwrap.fill(parser.description, 78, break_on_hyphens=False)
    return parser
