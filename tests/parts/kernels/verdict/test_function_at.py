# SPDX-License-Identifier: GPL-3.0-or-later
"""The function that a changed line is named after."""

from __future__ import annotations

import pytest

from flent_aqm.parts.kernels.verdict.exercised import function_at

CODE = """\
#include <net/pkt_sched.h>

int foo_later(struct sk_buff *skb,
		int number);
DEFINE_RAW_SPINLOCK(foo_lock);
struct foo { int a; };

static int foo_enqueue(struct sk_buff *skb,
			struct Qdisc *sch)
{
	if (skb) {
		return 1;
	}
	return 0;
}

static const struct nla_policy foo_policy[] = {
	[1] = { .type = NLA_U32 },
};

static void foo_reset(struct Qdisc *sch)
{
}

static inline void foo_destroy(struct Qdisc *sch) { }

static inline u32 foo_limit(struct Qdisc *sch,
			u32 most)
{ return min(sch->limit, most); } /* packets */
static struct foo foo_one;

static inline struct foo *foo_of(struct Qdisc *sch) {
	return &foo_one;
}
EXPORT_SYMBOL(foo_of);
"""


@pytest.mark.parametrize(("line", "name"), [
    (1, ""), (4, ""), (5, ""), (6, ""), (8, "foo_enqueue"), (9, "foo_enqueue"),
    (12, "foo_enqueue"), (15, "foo_enqueue"), (17, ""), (18, ""), (21, "foo_reset"),
    (23, "foo_reset"), (24, ""), (25, "foo_destroy"), (26, ""), (27, "foo_limit"),
    (29, "foo_limit"), (30, ""), (31, ""), (32, "foo_of"), (34, "foo_of"), (35, "")])
def test_line_is_named_after_the_function_around_it(line: int, name: str) -> None:
    """Not after one that has ended before it, nor after one that is only declared."""
    assert function_at(CODE, line) == name
