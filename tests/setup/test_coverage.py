# SPDX-License-Identifier: GPL-3.0-or-later
"""Which lines of a program ran, by the compiler's and binutils' own output for a real program."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from flent_aqm.base.errors import SetupError
from flent_aqm.parts.kernels.verdict.exercised import (
    Exercised,
    defined_name,
    judge_lines,
    sentence,
)
from flent_aqm.setup.kernel.compile import refuse_not_compiled, warnings_in
from flent_aqm.setup.kernel.coverage import (
    FLAGS,
    ChangedFile,
    Instrumented,
    changed_lines,
    changes_between,
    read_instrumented,
    write_note,
)

# As in the kernel: a value is chosen in a branch that has no code of its own, a function is put
# into its caller, with a copy that nobody calls, and a line that runs for one packet in a thousand.
QUEUE = """\
#define LIMIT 100
static const int weight = 3;

unsigned int choose(unsigned int hash, int is_ipv6)
{
	if (is_ipv6)
		return 0;
	return hash * weight
		% 1024;
}

unsigned int enqueue(unsigned int hash, int is_ipv6, unsigned int length)
{
	unsigned int queue = choose(hash, is_ipv6);

	if (length > LIMIT)
		queue += 7;
	/* told by nobody */
	return queue;
}
"""
MAIN = """\
#include <stdio.h>
static struct { unsigned long at, count; } ran[1000];
unsigned int enqueue(unsigned int, int, unsigned int);
void __sanitizer_cov_trace_pc(void)
{
	unsigned long at = (unsigned long)__builtin_return_address(0);
	int place = 0;
	while (ran[place].at && ran[place].at != at)
		place++;
	ran[place].at = at;
	ran[place].count++;
}
int main(int argc, char **argv)
{
	for (int packet = 1; packet <= 1000; packet++)
		enqueue(packet, argc > 1, packet == 1000 ? 200 : 50);
	for (int place = 0; ran[place].at; place++)
		printf("%lx %lu\\n", ran[place].at, ran[place].count);
}
"""
LINES = tuple(range(1, QUEUE.count("\n") + 1))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    (folder / "queue.c").write_text(QUEUE)
    (folder / "main.c").write_text(MAIN)
    for words in (["-O2", "-g", "-fno-pie", *FLAGS.split(), "-c", "queue.c"],
                  ["-O2", "-fno-pie", "-c", "main.c"],
                  ["-no-pie", "queue.o", "main.o", "-o", "program"]):
        subprocess.run(["gcc", *words], cwd=folder, check=True)
    write_note(folder, folder / "program")
    return folder / "program"


def exercised(program: Path, *words: str) -> Exercised:
    """What ran of the queue, in a cell called `load`."""
    output = subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout
    counts = {int(at, 16): int(count) for at, count in map(str.split, output.splitlines())}
    return judge_lines([ChangedFile("queue.c", LINES, QUEUE)], read_instrumented(program.parent),
                       {"load": counts})


def counts_of(program: Path, *words: str) -> dict[int, int]:
    return {line: cells["load"] for (_, line), cells in exercised(program, *words).ran.items()}


def test_program_without_instrumented_functions_is_refused_with_the_way_out(tmp_path: Path) -> None:
    """As a kernel in whose changed files gcc has left out all functions."""
    (tmp_path / "main.c").write_text("int main(void)\n{\n\treturn 0;\n}\n")
    subprocess.run(["gcc", "-g", "main.c", "-o", "program"], cwd=tmp_path, check=True)
    with pytest.raises(SetupError, match=r"no function of the changed files.*; give --no-coverage"):
        write_note(tmp_path, tmp_path / "program")


def test_lines_that_ran_are_told_from_those_that_never_did(program: Path) -> None:
    """Also a branch that only chooses a value, into which the compiler puts no call."""
    ipv4 = exercised(program)
    assert [line for _, line in ipv4.never] == [7]
    assert "never: queue.c line 7, in choose()" in sentence(ipv4)
    assert not ipv4.is_whole
    ipv6 = exercised(program, "ipv6")
    assert {line for _, line in ipv6.never} == {2, 8, 9}
    counts = counts_of(program)
    assert counts[6] == counts[8] == 1000
    assert counts_of(program, "ipv6")[7] == 1000


def test_a_line_that_ran_once_is_named(program: Path) -> None:
    """It took part in no load."""
    one = exercised(program)
    assert ("queue.c", 17) in one.rarely
    assert "1 times at most: queue.c line 17, in enqueue()" in sentence(one)


def test_a_line_without_code_stands_for_what_names_it_or_for_its_statement(program: Path) -> None:
    """A macro, a constant, the second line of an expression; but no comment and no brace."""
    counts = counts_of(program)
    assert counts[1] == counts[16] == 1000
    assert counts[2] == counts[9] == 1000
    assert not {3, 5, 10, 18} & counts.keys()
    text = QUEUE.splitlines()
    assert (defined_name(text, 1), defined_name(text, 2), defined_name(text, 8)) == (
        "LIMIT", "weight", "")


def test_assignment_in_a_function_stands_for_its_statement_only() -> None:
    """Another function with a variable of that name has run, this one hasn't."""
    text = ["int one(int x)", "{", "\tint ret = 0;", "", "\tret = x;", "\treturn ret;", "}",
            "int two(int x)", "{", "\tint ret = 0;", "", "\tif (0)", "\t\tret = x;",
            "\treturn ret;", "}"]
    assert [defined_name(text, line) for line in (3, 5, 13)] == [""] * 3
    names = {"static const int weight = 3;": "weight", "int table[2] = {": "table",
             "unsigned int limit __read_mostly = 5;": "limit", "\t#define SIZE 5": "SIZE",
             "\tint size = 5;": "", "\tq->size = 5;": ""}
    assert {line: defined_name([line], 1) for line in names} == names
    code = Instrumented([(16, (), True, True), (32, (), True, True)],
                        {"queue.c": {6: (0,), 10: (1,), 14: (1,)}})
    judged = judge_lines([ChangedFile("queue.c", (13,), "\n".join(text))], code,
                         {"load": {16: 1000}})
    assert judged.never == [("queue.c", 13)]


@pytest.mark.parametrize(("line", "ran"), [
    (1, True), (2, True), (3, None), (5, False), (6, True), (7, None), (10, None)])
def test_head_and_braces_of_a_function_are_not_those_of_one_copy(line: int, ran: bool | None
                                                                 ) -> None:
    """One copy has code of the first line, another one of a brace. A line of no function has none
    (None), also behind a function in a single line."""
    text = ["int one(int x,", "\tint y)", "{", "\tif (!x)", "\t\treturn 0;", "\treturn y;", "}",
            "static inline int two(void) { return 2; }", "", "static struct foo foo;"]
    code = Instrumented([(16, (), True, True), (32, (), True, True)], {"queue.c": {
        1: (1,), 3: (0,), 4: (0, 1), 5: (1,), 6: (0, 1), 7: (1,), 8: (0,)}})
    judged = judge_lines([ChangedFile("queue.c", (line,), "\n".join(text))], code,
                         {"load": {16: 1000}})
    assert [bool(lines) for lines in (judged.ran, judged.never)] == [ran is True, ran is False]


def test_nothing_is_said_of_a_change_that_never_ran() -> None:
    none = Exercised({}, [("queue.c", 7)], changes=[ChangedFile("queue.c", (7,), QUEUE)])
    assert none.is_none
    assert sentence(none) == ("Of 1 changed line with code none ran; never: queue.c line 7, in "
                              "choose().")


def test_changed_lines_are_new_ones_and_the_neighbours_of_removed_ones() -> None:
    assert changed_lines("a\nb\nc\n", "a\nB\nc\n") == (2,)
    assert changed_lines("a\nb\nc\n", "a\nc\n") == (1, 2)
    assert changed_lines("", "a\nb\n") == (1, 2)
    rest = "/* c\n * d */\n}\ne;\n"
    assert changed_lines(f"a;\n\nb;\n\n{rest}", f"a;\n\n{rest}") == (1, 6)
    assert changed_lines("a\n", "a\n") == ()


def test_a_change_is_what_one_kernel_has_beyond_the_other(tmp_path: Path) -> None:
    """Both may have patches: what they share is none, and what only the base has is removed."""
    for side, name, state, text in (
            ("base", "same.c", "before", "a\n"), ("base", "same.c", "after", "a\nb\n"),
            ("test", "same.c", "before", "a\n"), ("test", "same.c", "after", "a\nb\n"),
            ("base", "gone.c", "before", "a\nc\n"), ("base", "gone.c", "after", "a\nb\nc\n"),
            ("test", "new.c", "after", "x\n"), ("test", "Makefile", "after", "x\n")):
        path = tmp_path / side / "own" / state / "net" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert [(one.path, one.lines) for one in changes_between(
        tmp_path / "base", tmp_path / "test", {"net/git.c": (b"1\n", b"2\n")})] == [
        ("net/git.c", (1,)), ("net/gone.c", (1, 2)), ("net/new.c", (1,))]


@pytest.mark.parametrize(("base", "test", "of_source", "lines"), [
    (("a\n", "b\n"), ("a\n", None), None, None), (("a\n", None), ("a\n", None), None, None),
    (("a\nb\n", None), None, None, (1, 2)), (("a\nb\n", None), ("a\nb\n", "a\nc\n"), None, (1, 2)),
    (("a\n", "b\n"), None, (b"a\n", None), None), (None, ("a\n", None), (b"b\n", b"a\n"), None),
    (None, ("a\n", "a\nb\n"), (None, b"a\n"), (1, 2))],
    ids=["changed, deleted", "both", "base", "deleted, changed", "gone in the test's source",
         "deleted in a newer source", "new in the test's source"])
def test_file_that_a_kernel_deletes_is_not_there(
        base: tuple[str, str | None] | None, test: tuple[str, str | None] | None,
        of_source: tuple[bytes | None, bytes | None] | None, lines: tuple[int, ...] | None,
        tmp_path: Path) -> None:
    """Of one that the other side leaves as it is, the kernel keeps no copy."""
    for side, states in (("base", base), ("test", test)):
        for state, text in zip(("before", "after"), states or (), strict=False):
            if text is not None:
                path = tmp_path / side / "own" / state / "one.c"
                path.parent.mkdir(parents=True)
                path.write_text(text)
    found = changes_between(tmp_path / "base", tmp_path / "test",
                            {"one.c": of_source} if of_source else {})
    assert [one.lines for one in found] == ([] if lines is None else [lines])


def test_a_change_of_what_is_not_compiled_is_refused(tmp_path: Path) -> None:
    """A syntax error there would go unnoticed. Where a part of it is compiled, the rest is told."""
    folder = tmp_path / "net" / "sched"
    folder.mkdir(parents=True)
    for name in ("sch_ets.c", "sch_codel.c", "sch_codel.o"):
        (folder / name).touch()
    (folder / ".sch_codel.o.cmd").write_text(
        "source_net/sched/sch_codel.o := net/sched/sch_codel.c\n\ndeps_x := \\\n"
        "  include/net/codel.h \\\n")
    with pytest.raises(SetupError, match=r"^nothing of the change .*: net/sched/sch_ets\.c is not "
                                         "compiled"):
        refuse_not_compiled(tmp_path, ["net/sched/sch_ets.c", "net/sched/Makefile"], [])
    with pytest.raises(SetupError, match=r"net/ets\.h is not compiled .* \(switch .*; "
                                         r"Documentation/a\.rst is left out by set-up, as User"):
        refuse_not_compiled(tmp_path, ["include/net/ets.h"], ["Documentation/a.rst"])
    assert refuse_not_compiled(
        tmp_path, ["net/sched/sch_ets.c", "include/net/codel.h"], []) == ["net/sched/sch_ets.c"]


def test_warnings_about_the_users_files_are_shown_once() -> None:
    line = "net/sched/sch_foo.c:12:3: warning: unused variable 'x' [-Wunused-variable]"
    output = f"  CC      net/sched/sch_foo.o\n{line}\n{line}\nnet/core/dev.c:1: warning: other\n"
    assert warnings_in(output, ["net/sched/sch_foo.c"]) == [line]
