# SPDX-License-Identifier: GPL-3.0-or-later
"""Dask's worker, without its HTTP server unless that is asked for."""

from __future__ import annotations

from typing import Any

from flent_aqm.parts.cluster.extra import load_distributed


def worker_class() -> Any:
    """Return the class, which takes what Dask's takes. dashboard, dashboard_address: whether
    and where, as (host, port), it serves its pages."""
    stock: Any = load_distributed().Worker

    class Worker(stock):  # type: ignore[misc]
        def start_http_server(self, *arguments: Any, **options: Any) -> None:
            # Dask listens for HTTP, at a port of its choice, also without a dashboard.
            if self._dashboard:
                super().start_http_server(*arguments, **options)

    return Worker
