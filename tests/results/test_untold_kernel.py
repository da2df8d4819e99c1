# SPDX-License-Identifier: GPL-3.0-or-later
"""A run on set-up's kernel doesn't tell so, and is told apart from others all the same."""

from __future__ import annotations

from flent_aqm.results.grouping import factors, grouped, setting


def test_runs_that_tell_no_kernel_had_the_stock_one() -> None:
    """Beside a run that tells one; among themselves the kernel is nothing that differs."""
    stock: dict[str, str | float | bool] = {"aqm": "pie", "seed": 1}
    mine = {**stock, "kernel": "mine"}
    assert factors([stock, mine]) == ["kernel"]
    assert factors([stock, {**stock, "seed": 2}]) == []
    assert list(grouped([(mine, 1), (stock, 2)], ["kernel"])) == [("mine",), ("stock",)]
    assert setting(stock, "kernel") == "stock"
    assert setting(stock, "txqueuelen") is None
