# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs batch files. Batches with the key `testbed` are planned as a sweep.

Replaces Flent's batch runner, of which it is a subclass. Flent's own methods inherit and expand
values, and determine commands and file names. All runs are checked before the first one starts.
"""

from __future__ import annotations

import argparse
import configparser
import hashlib
import itertools
import os
import random
import re
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from flent.batch import BatchRunner
from flent.loggers import get_logger
from flent.settings import parser as settings_parser
from flent.util import clean_path, format_date, utcnow

from flent_aqm.base.errors import ConfigError, cause_of
from flent_aqm.base.paths import base_batch
from flent_aqm.spec.cell import ROUTER_COMMAND, ROUTER_HOOK, Cell
from flent_aqm.spec.kernel import STOCK
from flent_aqm.spec.queues.table import QUEUES
from flent_aqm.spec.readers import as_text
from flent_aqm.sweep.plan.arguments import (
    SWITCHES,
    argument_lists,
    refuse_unsplittable,
    restore_zeros,
)
from flent_aqm.sweep.plan.cells import add_cross_traffic_parameter, make_cell
from flent_aqm.sweep.plan.definitions import Definitions, refuse_unknown_test
from flent_aqm.sweep.plan.places import placed, placed_sections
from flent_aqm.sweep.plan.unread_keys import refuse_unread_keys
from flent_aqm.sweep.resumed import Resumed
from flent_aqm.sweep.sweep import Stopped, Sweep

_EXPECTED_SECTION = "expected [Batch::NAME], [Arg::NAME] or [Command::NAME]"
_KINDS = {"arg": "args", "batch": "batches", "command": "commands"}
# Settings of Flent that a batch may set -> the option of the command line for them.
_OPTIONS = {"length": "-l", "step_size": "-s", "delay": "-d", "hosts": "-H"}
_logger = get_logger(__name__)


class SweepRunner(BatchRunner):  # type: ignore[misc]  # Flent has no types
    """Flent's batch runner, with sweeps: reads batch files, and run() runs their batches. Batches
    without the key `testbed` are left to Flent.

    Args:
        settings: Flent's settings, whose batch files are read at once.

    Raises ConfigError if a batch file can't be read or parsed, has a wrong section, or a section
    that inherits from one that doesn't exist.
    """

    def __init__(self, settings: Any) -> None:
        self._base_file: Path | None = None
        self._definitions = Definitions()
        self._warned: set[str] = set()
        self._sweep = Sweep()
        with _as_config_errors():
            super().__init__(settings)

    def read(self, filename: str) -> None:
        """Read a batch file, after the base.batch that base_batch() finds for it, from which its
        batches may inherit. A base.batch that was read for the file before is not read again.

        If a base.batch is read before the file, an argument for each queue is predefined. The
        command that sets the router always is. Raises ConfigError if a section's name is wrong or a
        file can't be read, configparser.Error if a file can't be parsed, RuntimeError if a section
        inherits from one that doesn't exist.
        """
        self.commands.setdefault(ROUTER_HOOK, dict(ROUTER_COMMAND[ROUTER_HOOK]))
        base = base_batch(Path(filename))
        # Read once: a second reading would undo changes of a file before this one.
        if base is not None and base not in (Path(filename), self._base_file):
            self._base_file = base
            for name in QUEUES:
                self.args.setdefault(name, {"aqm": name})
            self._read_sections(str(base))
        self._read_sections(filename)

    def _read_sections(self, filename: str) -> None:
        """Read the sections of a file into batches, arguments and commands, by their names in lower
        case, in place of earlier ones of the same name. Apply `inherits` to all sections that were
        read so far, and make True and False of yes, no and the like. Record the file's SHA-256 in
        the sweep.

        Raises ConfigError for a section whose name has no "::" or an unknown type before it, or if
        the file can't be read, configparser.Error if it can't be parsed, RuntimeError if a section
        inherits from one that doesn't exist.
        """
        path = Path(filename).absolute()
        if os.path.isfile(path):
            with suppress(OSError):  # placed_sections() reports it
                self._sweep.batch_files[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
        for section, values in placed_sections(filename):
            kind, mark, name = section.partition("::")
            if not mark:
                raise ConfigError(f"{filename}: section [{section}] has no '::' in its name; "
                                  f"{_EXPECTED_SECTION}")
            if kind.lower() not in _KINDS:
                raise ConfigError(f"{filename}: section [{section}] is of the unknown type "
                                  f"{kind!r}; {_EXPECTED_SECTION}")
            getattr(self, _KINDS[kind.lower()])[name.lower()] = values
        self.expand_groups()

    def run(self) -> bool:
        """Plan and run the batches that -b names, or all for -b ALL, without those that are
        abstract or disabled, and return True. Without -b, run the batches that have the name of a
        batch file and are neither abstract nor disabled, or if there are none, all that are
        neither. It can be called once.

        A dry run only plans and prints. Raises an AqmError if a batch is wrong or a run of a sweep
        has failed, KeyboardInterrupt if it was interrupted and not all planned runs have succeeded.
        """
        with _as_config_errors():
            names = self._batches_to_run()
            restore_zeros(self.settings.BATCH_OVERRIDE)
            resumed = self._open_resumed()
            self.settings.BATCH_UUID = resumed.uuid if resumed else str(uuid.uuid4())
            self.settings.LOG_FILE = None
            planned = {name: list(self._plan_batch(name)) for name in names if self._is_sweep(name)}
            if resumed:
                resumed.refuse_to_leave(self._sweep.planned)
            with self._sweep:
                try:
                    if planned and not self.settings.BATCH_DRY:
                        # Printed before the progress bar is, because both use the same line.
                        for name in planned:
                            _logger.info("Running batch '%s'.", name)
                        with self._with_positions(*map(self._keys_of_batch, planned)):
                            self._sweep.start(resume=resumed is not None)
                    for name in names:
                        if name not in planned or self.settings.BATCH_DRY:
                            _logger.info("Running batch '%s'.", name)
                        if name in planned:
                            self._run_cells(name, planned[name], resume=resumed is not None)
                        else:
                            self.run_batch(name)
                except Stopped:
                    pass  # report() prints the reason
            self._sweep.report()
            _logger.info("%s %d tests.", "Would have run" if self.settings.BATCH_DRY else "Ran",
                         self.tests_run)
            if self.settings.BATCH_DRY:
                for testbed in self._sweep.testbeds_elsewhere():
                    _logger.info("A dry run asks no other machine: whether %s and its server can "
                                 "do this, flent-aqm doctor --testbed %s --server SERVER tells.",
                                 testbed, testbed)
            return True

    def _batches_to_run(self) -> Sequence[str]:
        """Return the names, in lower case, of the batches to run, each once: those that -b names,
        or for -b ALL all, in both cases also abstract and disabled ones. Without -b, those that
        have the name of a batch file and are neither abstract nor disabled, or if there are none,
        all that are neither; they are logged.

        Raises ConfigError if there are no batches, if -b names an unknown one, also for a name with
        capitals, or if without -b all batches are abstract or disabled.
        """
        settings = self.settings
        files = ", ".join(settings.BATCH_FILES)
        names = ", ".join(self.batches) or "none"
        if not self.batches:
            raise ConfigError(f"{files}: no batch to run: there is no section [Batch::NAME]; add "
                              "one")
        if settings.BATCH_NAMES == ["ALL"]:
            return list(self.batches)
        if settings.BATCH_NAMES:
            if unknown := [name for name in settings.BATCH_NAMES if name not in self.batches]:
                lower = " (in lower case, as Flent reads them)" if any(
                    name.lower() in self.batches for name in unknown) else ""
                raise ConfigError(f"{files}: unknown batch {', '.join(unknown)}; batches{lower}: "
                                  f"{names}")
            return list(dict.fromkeys(settings.BATCH_NAMES))
        runnable = [name for name in self.batches if not _must_not_run(self._keys_of_batch(name))]
        if not runnable:
            raise ConfigError(f"{files}: no batch to run: all are abstract or disabled (keys "
                              f"abstract, disabled and enabled), also with -b; batches: {names}")
        # Flent keeps batch names in lower case.
        stems = {Path(file).stem.lower() for file in settings.BATCH_FILES}
        selected = [name for name in runnable if name in stems] or runnable
        _logger.info("No -b given, running: %s.", ", ".join(selected))
        return selected

    def _keys_of_batch(self, name: str) -> dict[str, Any]:
        """Return the keys and values of a batch, not expanded, with overrides applied, also those
        of rate_mbps and the like to the keys of one direction (see _of_both())."""
        return self._of_both({**self.batches[name], **self.settings.BATCH_OVERRIDE})

    def inherit(self, parent: Mapping[str, Any], child: Mapping[str, Any]) -> Any:
        """As Flent's method: return the parent's keys and values, replaced by the child's. A key of
        both directions in the child, such as rate_mbps, also replaces those of one direction that
        only the parent has: otherwise it would do nothing."""
        # Imported late, as in argument_lists().
        from flent_aqm.spec.scenario import KEYS

        replaced = {key: f"${{{KEYS[key].both}}}" for key in parent
                    if key not in child and key in KEYS and KEYS[key].both in child}
        return {**super().inherit(parent, child), **replaced}

    def interpolate(self, string: Any, ivars: Mapping[str, object], settings: Any = None) -> Any:
        """As Flent's method: return a value with each ${name} in it replaced. Raises ConfigError
        with the value if the names refer to each other in a circle."""
        try:
            return super().interpolate(string, ivars, settings)
        except RuntimeError:
            raise ConfigError(f"{string[:60]!r}: the ${{name}} in it refer to each other, or to "
                              "their own keys, in a circle; give one of these another value"
                              ) from None

    def commands_for(self, batch: Mapping[str, Any], settings: Any = None) -> Any:
        """As Flent's method: return the sections of a batch's commands and of their extra_commands,
        with expanded values, without disabled ones. Raises ConfigError if a list of commands can't
        be split, RuntimeError if a command has no section."""
        for key, value in (("commands", batch.get("commands", "")), *(
                ("extra_commands", keys.get("extra_commands", ""))
                for keys in self.commands.values())):
            refuse_unsplittable(key, value, "Command")
        return super().commands_for(batch, settings)

    def _of_both(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return a copy of keys and values in which keys of one direction, such as rate_up_mbps,
        have the value "${rate_mbps}", a reference to the key of both, if an override gives that,
        but not the key itself: otherwise the override would do nothing."""
        # Imported late, as in argument_lists().
        from flent_aqm.spec.scenario import KEYS

        overrides = self.settings.BATCH_OVERRIDE
        return {key: f"${{{KEYS[key].both}}}" if key not in overrides and key in KEYS
                and KEYS[key].both in overrides else value for key, value in values.items()}

    def _is_sweep(self, name: str) -> bool:
        """Return whether a batch, with overrides applied, has the key `testbed` and is neither
        abstract nor disabled."""
        keys = self._keys_of_batch(name)
        return "testbed" in keys and not _must_not_run(keys)

    def _open_resumed(self) -> Resumed | None:
        """Return the folder of --batch-resume, and set Flent's TIME to its batch's time, if that is
        known. None without the option. Raises ConfigError if the folder can't be read."""
        if self.settings.BATCH_RESUME is None:
            return None
        resumed = Resumed(self.settings.BATCH_RESUME)
        self.settings.TIME = resumed.time or self.settings.TIME
        return resumed

    def _plan_batch(self, name: str) -> Iterator[Cell]:
        """Check the batch's runs one after the other, add them to the sweep, and yield their cells
        in the order of the batch's lists, without those that Sweep.plan() doesn't add again. Raises
        ConfigError if a run can't be made, RuntimeError if Flent refuses it, such as for an unknown
        test or command, or a value that a setting can't take."""
        batch = self._keys_of_batch(name)
        with self._with_positions(batch):
            _pause_s(name, batch)
            lists = argument_lists(self, batch)
        for *arguments, repetition in itertools.product(*lists):
            settings = self.settings.copy()
            settings.BATCH_NAME, settings.BATCH_TIME = name, self.settings.TIME
            settings.TIME = utcnow()
            values = {**batch, "repetition": f"{repetition:02d}", "batch_time": format_date(
                settings.BATCH_TIME, fmt="%Y-%m-%dT%H%M%S")}
            for argument in arguments:
                values |= self._of_both(self.args[argument])
            section = self.apply_args(values, {}, settings)
            if "test_name" not in section:
                raise ConfigError(f"batch {name} has no test; set the key test_name, such as "
                                  "test_name = ndt7")
            for key in ("filename_extra", "output_path", "test_name", "title"):
                if isinstance(section.get(key), bool):
                    raise ConfigError(f"{key}: {SWITCHES}; expected a text, such as sqm-off", key)
            add_cross_traffic_parameter(section)
            self._warn_of_unused_options(section)
            with self._with_positions(values):
                _load_settings(f"batch {name}", settings, section)
                refuse_unknown_test(section["test_name"])
            settings.NAME = section["test_name"]
            self._definitions.load(settings)
            settings.DATA_FILENAME = self._file_name(
                settings, section, values, arguments, repetition)
            folder = (clean_path(section["output_path"], allow_dirs=True)
                      if "output_path" in section else settings.DATA_DIR)
            refuse_unread_keys(self, section, values, f"batch {name}", settings_parser)
            with self._with_positions(self._keys_of_one_command(), values):
                cell = make_cell(section, settings, self.commands_for(section, settings),
                                 Path(folder), settings_parser)
                is_new = self._sweep.plan(cell, section)
            if is_new:
                yield cell

    def _warn_of_unused_options(self, section: Mapping[str, Any]) -> None:
        """Log a warning for each of Flent's options (_OPTIONS) to which the user gave a value other
        than its default, here or in ~/.flentrc, if the batch sets another one. The same warning is
        logged once only.

        section: keys and values of the run's batch section.
        """
        for key, option in _OPTIONS.items():
            given = getattr(self.settings, key.upper())
            used = section.get(key)
            text = ", ".join(given) if isinstance(given, list) else str(given)
            is_default = given == settings_parser.get_default(key.upper())
            if used is None or is_default or text == str(used):
                continue
            warning = (f"{option} {text} is not used, because the batch sets {key} to {used}; "
                       f"write --batch-override {key}={text}")
            if warning not in self._warned:
                self._warned.add(warning)
                _logger.warning("%s", warning)

    def _keys_of_one_command(self) -> dict[str, object]:
        """Return the keys and values of commands that only one command of the files has: an error
        names the key, but not the command."""
        commands = [keys for name, keys in self.commands.items() if name != ROUTER_HOOK]
        return {key: value for keys in commands for key, value in keys.items()
                if sum(key in others for others in commands) == 1}

    def _with_positions(self, *sections: Mapping[str, object]) -> Any:
        """Return the context manager that puts the position of a value of these sections before a
        ConfigError. Later sections win over earlier ones."""
        merged: dict[str, object] = {}
        for values in sections:
            merged |= values
        return placed(merged, self.settings.BATCH_OVERRIDE)

    def _file_name(self, settings: Any, section: Mapping[str, Any], values: Mapping[str, Any],
                   arguments: Sequence[str], repetition: int) -> str:
        """Return the name of a run's data file without suffix.

        The name of the user's own kernel is appended, unless ${kernel} is in the batch's
        filename_extra, so that batches needn't know of kernels.

        Args:
            settings: Flent's settings of the run.
            section: the batch section, expanded.
            values: the batch section before it was expanded.
            arguments: names of the run's arguments.
            repetition: number of the repetition.

        """
        name: str = self.gen_filename(settings, section, tuple(arguments), repetition)
        kernel = str(section.get("kernel") or STOCK)
        if kernel == STOCK or "${kernel}" in str(values.get("filename_extra", "")):
            return name
        return str(clean_path(f"{name}-{kernel}"))

    def _run_cells(self, name: str, cells: list[Cell], *, resume: bool) -> None:
        """Run the cells of a batch, and wait until all have ended. After each start, wait as long
        as the batch's key `pause` says. Add the number of runs that succeeded to tests_run. A dry
        run only prints the names of the cells that would run, and adds their number. Raises Stopped
        if no more cells are started.

        Args:
            name: the batch's name.
            cells: the batch's runs. They run in random order, unless the user gives
                --batch-no-shuffle.
            resume: leave out cells whose data file exists.
        """
        left = [cell for cell in cells if not (resume and cell.data_file.exists())]
        if self.settings.BATCH_DRY:
            for cell in left:
                _logger.info(" %s (dry run)", cell.name)
            self.tests_run += len(left)
            return
        if self.settings.BATCH_SHUFFLE:
            random.shuffle(left)
        pause_s = _pause_s(name, self._keys_of_batch(name))
        for cell in left:
            self._sweep.submit(cell)
            time.sleep(pause_s)
        self._sweep.drain()
        self.tests_run += self._sweep.take_count()


def _load_settings(where: str, settings: Any, section: Mapping[str, object]) -> None:
    """Have Flent's settings take the values of a batch section. Raises ConfigError with the key and
    the value if Flent can't read one.

    Args:
        where: names the batch in the message.
        settings: Flent's settings.
        section: keys and expanded values.
    """
    faults = (RuntimeError, ValueError, TypeError, AttributeError, argparse.ArgumentTypeError)
    try:
        settings.load_rcvalues(section.items(), override=True)
    except faults:
        for key, value in section.items():
            try:
                settings.parse_rcvalues([(key, value)])
            except faults as fault:
                why = SWITCHES if isinstance(value, bool) else (
                    f"Flent can't read the value {str(value)[:60]!r}: {cause_of(fault)}")
                raise ConfigError(f"{where}: {key}: {why}", key) from None
        raise


def _must_not_run(keys: Mapping[str, object]) -> bool:
    """Return whether a batch must not run: `abstract` or `disabled` has a value that is neither
    False nor empty, or `enabled` is False or empty. Of a file's values, Flent makes False of no,
    off and false, but not of 0, which counts as on."""
    return bool(keys.get("abstract") or keys.get("disabled") or not keys.get("enabled", True))


def _pause_s(name: str, keys: Mapping[str, object]) -> int:
    """Return the batch's key `pause` in s, 0 without it. True and False, which Flent makes of yes
    and no, count as 1 and 0. Raises ConfigError if it is not a whole number from 0 to 999999.

    Args:
        name: the batch's name, for the message.
        keys: keys and values of the batch.
    """
    text = as_text(keys.get("pause", 0))
    if not re.fullmatch(r"\d{1,6}", text.strip(), re.ASCII):
        raise ConfigError(f"batch {name}: pause: {text[:40]!r}; expected whole seconds from 0 "
                          "to 999999, such as 5, and no ${variable}",
                          # The position would be that of the variable's value.
                          "" if "${" in text else "pause")
    return int(text)


@contextmanager
def _as_config_errors() -> Iterator[None]:
    """Context manager: raise ConfigError, with the text in one line, instead of the RuntimeErrors
    of Flent and the errors of configparser that the block raises."""
    try:
        yield
    except (RuntimeError, configparser.Error) as error:
        raise ConfigError(" ".join(str(error).split())) from error
