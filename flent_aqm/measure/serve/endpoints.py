# SPDX-License-Identifier: GPL-3.0-or-later
"""What the server answers, by path: the endpoints of every test in table.py.

Sources of the paths: draft-ietf-ippm-responsiveness-09, "Responsiveness Test Server";
librespeed/speedtest, doc.md (garbage, empty, getIP); cloudflare/speedtest, README.md
(`__down`, `__up`); Ookla's protocol is its own, so those two are ours.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from flent_aqm.measure.http.unsent import DRAFT, KERNEL

# At least 8 GB, says the draft.
LARGE_BYTES = 8 * 10**9
MEBIBYTE = 1 << 20
# Of LibreSpeed's garbage.php: chunks of 1 MiB, 4 unless asked for others, no more than 1024.
GARBAGE_CHUNKS, MOST_GARBAGE_CHUNKS = 4, 1024
# Ours: nobody is sent more than this by one request of the others.
MOST_BYTES = 10**10

# Headers of every answer: a page of another origin may read it, and its times, which browsers
# round or hide otherwise.
FOR_OTHER_ORIGINS = (("access-control-allow-origin", "*"), ("timing-allow-origin", "*"))


@dataclass(frozen=True)
class Answer:
    """status; body: of a small answer; length: bytes of filler after it; kind: media type."""

    status: int = 200
    body: bytes = b""
    length: int = 0
    kind: str = "application/octet-stream"

    @property
    def total(self) -> int:
        """Bytes of the whole content."""
        return len(self.body) + self.length


@dataclass(frozen=True)
class Request:
    """What a client asks for. host: of its Host header, or :authority; peer: its address."""

    method: str
    path: str
    query: Mapping[str, str]
    host: str
    peer: str
    secure: bool

    @property
    def unsent(self) -> str:
        """How much the server may leave unsent in its kernel for this connection: KERNEL,
        DRAFT, or bytes."""
        requested = self.query.get("unsent", KERNEL)
        number = requested.isascii() and requested.isdigit() and len(requested) < 10
        return requested if number or requested == DRAFT else KERNEL


def request_of(method: str, target: str, host: str, peer: str, secure: bool) -> Request:
    """Return a request by its target, a path with or without a query."""
    parts = urlsplit(target)
    return Request(method, parts.path, dict(parse_qsl(parts.query)), host, peer, secure)


def answer(request: Request) -> Answer:
    """Return the answer to a request whose content, if any, has been received. To HEAD it is
    that to GET, whose content isn't sent."""
    method = "GET" if request.method == "HEAD" else request.method
    endpoint = ENDPOINTS.get((method, request.path))
    if endpoint is None:
        return Answer(404, b"no such test here\n", kind="text/plain")
    return endpoint(request)


def _config(request: Request) -> Answer:
    scheme = "https" if request.secure else "http"
    return Answer(body=json.dumps({"version": 1, "urls": {
        name: f"{scheme}://{request.host}{path}" for name, path in (
            ("large_download_url", "/large"), ("small_download_url", "/small"),
            ("upload_url", "/upload"),
            # Of older clients.
            ("large_https_download_url", "/large"), ("small_https_download_url", "/small"),
            ("https_upload_url", "/upload"))}}).encode(), kind="application/json")


def _large(request: Request) -> Answer:
    return Answer(length=LARGE_BYTES)


def _small(request: Request) -> Answer:
    return Answer(body=b"1")


def _nothing(request: Request) -> Answer:
    return Answer()


def _garbage(request: Request) -> Answer:
    chunks = _number(request, "ckSize", GARBAGE_CHUNKS)
    return Answer(length=min(max(chunks, 1), MOST_GARBAGE_CHUNKS) * MEBIBYTE)


def _address(request: Request) -> Answer:
    return Answer(body=json.dumps({"processedString": request.peer, "rawIspInfo": ""}).encode(),
                  kind="application/json")


def _bytes(request: Request) -> Answer:
    return Answer(length=min(_number(request, "bytes", 0), MOST_BYTES))


def _number(request: Request, name: str, default: int) -> int:
    text = request.query.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else default


ENDPOINTS: Mapping[tuple[str, str], Callable[[Request], Answer]] = {
    # responsiveness
    ("GET", "/.well-known/nq"): _config,
    ("GET", "/config"): _config,
    ("GET", "/large"): _large,
    ("GET", "/small"): _small,
    ("POST", "/upload"): _nothing,
    # LibreSpeed; its own server has both forms
    **{("GET", f"{folder}/garbage{ending}"): _garbage
       for folder in ("", "/backend") for ending in ("", ".php")},
    **{(method, f"{folder}/empty{ending}"): _nothing for method in ("GET", "POST")
       for folder in ("", "/backend") for ending in ("", ".php")},
    **{("GET", f"{folder}/getIP{ending}"): _address
       for folder in ("", "/backend") for ending in ("", ".php")},
    # Cloudflare
    ("GET", "/__down"): _bytes,
    ("POST", "/__up"): _nothing,
    # Ookla-style
    ("GET", "/download"): _bytes,
    ("POST", "/chunk"): _nothing,
    ("GET", "/latency"): _nothing,
}
