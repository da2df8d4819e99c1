# SPDX-License-Identifier: GPL-3.0-or-later
"""Endpoints of all speed tests over HTTP, by method and path.

Sources of the paths: draft-ietf-ippm-responsiveness-09, "Responsiveness Test Server";
librespeed/speedtest, doc.md (garbage, empty, getIP); cloudflare/speedtest, README.md (`__down`,
`__up`). Ookla's protocol isn't published, so the endpoints of the Ookla-style test are our own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from flent_aqm.base.json_text import json_text
from flent_aqm.servers.protocols.watermarks import DRAFT, KERNEL

# Size of the large object. The draft requires at least 8 GB.
LARGE_BYTES = 8 * 10**9
MEBIBYTE = 1 << 20
# LibreSpeed's garbage.php sends chunks of 1 MiB: 4 by default, at most 1024.
GARBAGE_CHUNKS, MOST_GARBAGE_CHUNKS = 4, 1024
# Our own limit for other endpoints: most bytes of one response.
MOST_BYTES = 10**10

# Headers of every response: pages of other origins may read it, and may measure its times, which
# browsers otherwise round or hide.
FOR_OTHER_ORIGINS = (("access-control-allow-origin", "*"), ("timing-allow-origin", "*"))


@dataclass(frozen=True)
class Response:
    """A response: status, a small body, and filler after it.

    Attributes:
        status: HTTP status.
        body: content of a small response.
        length: number of bytes of filler after `body`.
        kind: media type of the content.
    """

    status: int = 200
    body: bytes = b""
    length: int = 0
    kind: str = "application/octet-stream"

    @property
    def total(self) -> int:
        """Number of bytes of the whole content."""
        return len(self.body) + self.length


@dataclass(frozen=True)
class Request:
    """A client's request.

    Attributes:
        method: method of HTTP, such as GET.
        path: path without the query.
        query: parameters of the query that have a value. Of a repeated parameter, the last value.
        host: value of the Host header, or of :authority.
        peer: the client's address, "" if it isn't known.
        secure: True over TLS.
    """

    method: str
    path: str
    query: Mapping[str, str]
    host: str
    peer: str
    secure: bool

    @property
    def unsent(self) -> str:
        """Limit of bytes that the server may leave unsent in its kernel for this connection, as the
        query's `unsent` requests it: "kernel" (no limit), "draft" (5 ms at the connection's rate),
        or a number of bytes of up to 9 digits as text. "kernel" if the query has no valid value."""
        requested = self.query.get("unsent", KERNEL)
        number = requested.isascii() and requested.isdigit() and len(requested) < 10
        return requested if number or requested == DRAFT else KERNEL


def request_of(method: str, target: str, host: str, peer: str, secure: bool) -> Request:
    """Return the Request for a method and a target, whose query is parsed. Parameters without a
    value are left out. Raises ValueError if the target isn't a URL.

    Args:
        method: method of HTTP, such as GET.
        target: a path with or without a query.
        host: value of the Host header, or of :authority.
        peer: the client's address.
        secure: True over TLS.
    """
    parts = urlsplit(target)
    return Request(method, parts.path, dict(parse_qsl(parts.query)), host, peer, secure)


def answer(request: Request) -> Response:
    """Return the response to a request whose content, if any, has been received. An unknown path,
    or a method that the path doesn't have, gives status 404. For HEAD, return the response to GET.
    The caller sends it without its content."""
    method = "GET" if request.method == "HEAD" else request.method
    endpoint = ENDPOINTS.get((method, request.path))
    if endpoint is None:
        return Response(404, b"no such test here\n", kind="text/plain")
    return endpoint(request)


def _responsiveness_urls(request: Request) -> Response:
    """Return the response with the URLs of the responsiveness test, as JSON. They begin with the
    request's scheme (http or https) and host."""
    scheme = "https" if request.secure else "http"
    return Response(body=json_text({"version": 1, "urls": {
        name: f"{scheme}://{request.host}{path}" for name, path in (
            ("large_download_url", "/large"), ("small_download_url", "/small"),
            ("upload_url", "/upload"),
            # For older clients.
            ("large_https_download_url", "/large"), ("small_https_download_url", "/small"),
            ("https_upload_url", "/upload"))}}).encode(), kind="application/json")


def _large_object(request: Request) -> Response:
    """Return the response with the large object of the responsiveness test, 8·10^9 bytes of filler.
    """
    return Response(length=LARGE_BYTES)


def _small_object(request: Request) -> Response:
    """Return the response with the small object of the responsiveness test, one byte."""
    return Response(body=b"1")


def _empty(request: Request) -> Response:
    """Return a response with status 200 and no content, whatever the request."""
    return Response()


def _garbage(request: Request) -> Response:
    """Return the response with as many chunks of 1 MiB of filler as the query's `ckSize` of
    LibreSpeed requests, at least 1 and at most 1024. 4 if it is missing or isn't a whole number of
    up to 15 digits."""
    chunks = _query_number(request, "ckSize", GARBAGE_CHUNKS)
    return Response(length=min(max(chunks, 1), MOST_GARBAGE_CHUNKS) * MEBIBYTE)


def _address(request: Request) -> Response:
    """Return the response with the client's address in LibreSpeed's form: a JSON object with the
    address as "processedString", and "" as "rawIspInfo"."""
    return Response(body=json_text({"processedString": request.peer, "rawIspInfo": ""}).encode(),
                  kind="application/json")


def _requested_bytes(request: Request) -> Response:
    """Return the response with as many bytes of filler as the query's `bytes` requests, at most
    10^10. It is empty if `bytes` is missing or isn't a whole number of up to 15 digits."""
    return Response(length=min(_query_number(request, "bytes", 0), MOST_BYTES))


def _query_number(request: Request, name: str, default: int) -> int:
    """Return a whole number of the query, `default` if it is missing or isn't a whole number of up
    to 15 digits."""
    text = request.query.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else default


# (method, path) -> function that returns the response.
ENDPOINTS: Mapping[tuple[str, str], Callable[[Request], Response]] = {
    # responsiveness
    ("GET", "/.well-known/nq"): _responsiveness_urls,
    ("GET", "/config"): _responsiveness_urls,
    ("GET", "/large"): _large_object,
    ("GET", "/small"): _small_object,
    ("POST", "/upload"): _empty,
    # LibreSpeed; its own server has both forms
    **{("GET", f"{folder}/garbage{ending}"): _garbage
       for folder in ("", "/backend") for ending in ("", ".php")},
    **{(method, f"{folder}/empty{ending}"): _empty for method in ("GET", "POST")
       for folder in ("", "/backend") for ending in ("", ".php")},
    **{("GET", f"{folder}/getIP{ending}"): _address
       for folder in ("", "/backend") for ending in ("", ".php")},
    # Cloudflare
    ("GET", "/__down"): _requested_bytes,
    ("POST", "/__up"): _empty,
    # Ookla-style
    ("GET", "/download"): _requested_bytes,
    ("POST", "/chunk"): _empty,
    ("GET", "/latency"): _empty,
}
