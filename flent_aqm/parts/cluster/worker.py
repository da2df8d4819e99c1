# SPDX-License-Identifier: GPL-3.0-or-later
"""Dask's worker, without its HTTP server unless the user requests one."""

from __future__ import annotations

from typing import Any

from flent_aqm.parts.cluster.extra import load_distributed


def worker_class() -> Any:
    """Return a subclass of Dask's Worker that serves HTTP only if its argument `dashboard` is true.

    Its other arguments are those of Dask's Worker, such as `dashboard_address` (host, port). Raises
    ToolMissing without the package distributed.
    """
    stock: Any = load_distributed().Worker

    class Worker(stock):  # type: ignore[misc]
        """Dask's Worker, which serves HTTP only on request."""

        def start_http_server(self, *arguments: Any, **options: Any) -> None:
            """Start Dask's HTTP server, but only if the worker was created with `dashboard`. Dask
            calls this method when the worker starts."""
            # Dask's class listens for HTTP on a port of its choice even without a dashboard.
            if self._dashboard:
                super().start_http_server(*arguments, **options)

    return Worker
