# SPDX-License-Identifier: GPL-3.0-or-later
"""The local page: follows files that appear, and gives away nothing else."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from flent_aqm.base.errors import ConfigError
from flent_aqm.results import status
from flent_aqm.show.report import follow, model, odd

from .conftest import Browser, browser, write_run

__all__ = ["browser"]


@contextmanager
def browsing(*arguments: object) -> Iterator[int]:
    """`flent-aqm report --follow` on a free port, which is what this gives."""
    process = subprocess.Popen(
        [sys.executable, "-m", "flent_aqm.cli", "report", "--follow", "--port", "0", "--jobs", "1",
         *map(str, arguments)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        match = re.search(r":(\d+)/", line)
        assert match, line
        yield int(match[1])
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        assert process.stdout is not None
        process.stdout.close()


def ask(port: int, path: str, host: str | None = None, method: str = "GET"
        ) -> tuple[int, str, dict[str, str]]:
    """Status, body and headers of an answer; the path goes out as it is."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.putrequest(method, path, skip_host=True)
        connection.putheader("Host", host if host is not None else f"127.0.0.1:{port}")
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), dict(answer.headers)
    finally:
        connection.close()


def data(port: int, runs: int) -> Any:
    """The page's data, once it has that many runs."""
    until = time.monotonic() + 120
    while True:
        page = json.loads(ask(port, "/data")[1])
        if len(page["data"]["runs"]) == runs:
            return page
        assert time.monotonic() < until, f"{len(page['data']['runs'])} runs, not {runs}"
        time.sleep(0.2)


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder beside the results: a data file and a text that nobody may read."""
    folder = tmp_path_factory.mktemp("secret")
    write_run(folder / "secret.flent.gz", "ndt7", aqm="secret_queue")
    (folder / "secret.txt").write_text("secret words")
    return folder


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, secret: Path) -> Iterator[tuple[int, Path]]:
    """Port and folder of a server over one run, and links that lead out of the folder."""
    folder = tmp_path_factory.mktemp("served")
    write_run(folder / "one.flent.gz")
    (folder / "link.flent.gz").symlink_to(secret / "secret.flent.gz")
    (folder / "linked").symlink_to(secret)
    (folder / status.NAME).symlink_to(secret / "secret.txt")
    with browsing(folder) as port:
        data(port, 1)
        yield port, folder


@pytest.mark.parametrize("path", [
    "/../secret/secret.txt", "/..%2f..%2fetc/passwd", "//etc/passwd", "/one.flent.gz",
    "/linked/secret.txt", "/link.flent.gz", "/%2e%2e/secret.txt", "/sweep.json",
    "/data/../../etc/passwd", "/?file=/etc/passwd", "/data?", "http://127.0.0.1/etc/passwd",
    "*"])
def test_no_path_leads_to_a_file(served: tuple[int, Path], path: str) -> None:
    """There are three addresses, and none of them takes a name."""
    code, body, _ = ask(served[0], path)
    assert code == 404
    assert "root:" not in body
    assert "secret words" not in body


def test_links_that_lead_out_of_the_folder_are_not_followed(served: tuple[int, Path]) -> None:
    """Neither to a file nor to a folder."""
    page = data(served[0], 1)
    assert [run["file"] for run in page["data"]["runs"]] == ["one.flent.gz"]
    assert "secret" not in json.dumps(page["data"])
    assert "secret words" not in ask(served[0], "/")[1]


@pytest.mark.parametrize(("host", "code"), [
    ("127.0.0.1", 200), ("localhost:8642", 200), ("LOCALHOST", 200), ("[::1]:80", 200),
    ("evil.example", 421), ("127.0.0.1.evil.example", 421), ("localhost.evil.example:80", 421),
    ("", 421), ("[", 421), ("[::1].evil.example", 421), ("[::1", 421), ("[localhost]evil", 421),
    ("localhost:80:evil", 421), ("127.0.0.1:80evil", 421), ("localhost/x", 421),
    ("localhost evil", 421), ("[::1]:8642", 200)])
def test_names_that_are_not_this_machine_get_no_answer(
    served: tuple[int, Path], host: str, code: int
) -> None:
    """So a page of somebody's can't read it by a name that resolves to here."""
    status_code, body, _ = ask(served[0], "/state", host)
    assert status_code == code
    assert ("version" in body) == (code == 200)


@pytest.mark.parametrize("hosts", [
    ("localhost", "evil.example"), ("evil.example", "localhost"), ()])
def test_request_with_other_than_one_host_gets_no_answer(
        served: tuple[int, Path], hosts: tuple[str, ...]) -> None:
    """Which of several a browser or a proxy meant can't be told (RFC 9112, section 3.2)."""
    connection = http.client.HTTPConnection("127.0.0.1", served[0], timeout=60)
    connection.putrequest("GET", "/state", skip_host=True)
    for host in hosts:
        connection.putheader("Host", host)
    connection.endheaders()
    answer = connection.getresponse()
    assert answer.status == 421
    assert b"version" not in answer.read()
    connection.close()


def test_answers_are_for_this_page_alone(served: tuple[int, Path]) -> None:
    """No other site may read or frame them; nothing can be posted."""
    code, body, headers = ask(served[0], "/")
    assert code == 200
    assert body.startswith("<!doctype html>")
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["X-Frame-Options"] == "DENY"
    assert "Access-Control-Allow-Origin" not in headers
    assert ask(served[0], "/", method="POST")[0] == 501
    assert ask(served[0], "/", method="HEAD")[1] == ""


def test_server_listens_on_this_machine_alone(served: tuple[int, Path]) -> None:
    """Another of the machine's addresses is refused."""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", served[0]), 5).close()


def test_runs_appear_as_they_finish(tmp_path: Path) -> None:
    """With progress and time left; damaged files are named, temporary ones passed over."""
    begun = status.Status(["flent"], 4, 0, time.time() - 100)
    status.write(tmp_path, begun)
    with browsing(tmp_path) as port:
        state = json.loads(ask(port, "/state")[1])
        assert "0 of 4 runs done" in state["progress"]
        assert "left" not in state["progress"]
        write_run(tmp_path / "a.flent.gz", aqm="no_aqm")
        (tmp_path / ".b.flent.gz.1.part").write_bytes(b"half")
        assert data(port, 1)["version"] > state["version"]
        state = json.loads(ask(port, "/state")[1])
        assert re.search(r"1 of 4 runs done, \d+ (s|min) left", state["progress"])
        (tmp_path / "bad.flent.gz").write_bytes(b"no gzip")
        write_run(tmp_path / "sub" / "b.flent.gz", aqm="fq_codel")
        status.write(tmp_path, begun.with_failed("c.flent.gz", "router said no"))
        page = data(port, 2)
        assert {run["queue"] for run in page["data"]["runs"]} == {"no_aqm", "fq_codel"}
        (tmp_path / "sub" / "b.flent.gz").unlink()
        page = data(port, 1)
        assert "router said no" in page["top"]
        assert "bad.flent.gz" in page["top"]


def test_page_takes_over_new_runs_by_itself(tmp_path: Path, browser: Browser) -> None:
    """Without a reload and a complaint, keeping what the reader has chosen; text of files
    stays text."""
    write_run(tmp_path / "a.flent.gz", aqm="no_aqm")
    rows = "document.querySelectorAll('#table-runs tbody tr').length"
    with browsing(tmp_path) as port:
        data(port, 1)
        browser.open(f"http://127.0.0.1:{port}/")
        browser("window.still = 1; document.getElementById('tails-as').value = 'cdf'")
        write_run(tmp_path / "b.flent.gz", aqm="<img src=x onerror=window.hacked=1>",
                  router_model="</script><script>window.hacked=1</script>")
        browser.until(f"{rows} === 2")
        assert browser("return [window.still, window.hacked]") == [1, None]
        assert browser("return document.getElementById('tails-as').value") == "cdf"
        assert browser.complaints() == []
    browser.until("!document.getElementById('lost').hidden")
    browser.driver.get("about:blank")


def test_faults_are_said_in_one_line(tmp_path: Path) -> None:
    """A folder that isn't there, a port that is taken, an address of somebody else."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for words in ([str(tmp_path / "no")], [str(tmp_path), "--port",
                      str(taken.getsockname()[1])], [str(tmp_path), "--host", "192.0.2.1"],
                      [str(tmp_path), "--port", "70000"]):
            ended = subprocess.run(
                [sys.executable, "-m", "flent_aqm.cli", "report", "--follow", *words],
                capture_output=True, text=True, check=False, timeout=60)
            assert ended.returncode == 1
            assert len(ended.stderr.splitlines()) == 1


def memory_mb(port: int, which: str = "VmRSS") -> float:
    """Of the process that serves at a port of this machine, in MiB."""
    inodes = {line.split()[9] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
              if line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A"}
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            target = link.readlink().name
        except OSError:
            continue
        if target in {f"socket:[{inode}]" for inode in inodes}:
            status_text = (link.parents[1] / "status").read_text()
            return next(int(line.split()[1]) for line in status_text.splitlines()
                        if line.startswith(f"{which}:")) / 1024
    raise AssertionError(f"nobody listens at {port}")


@pytest.mark.parametrize(("site", "code"), [
    ("same-origin", 200), ("none", 200), ("cross-site", 403), ("same-site", 403), ("?", 403)])
@pytest.mark.parametrize("path", ["/", "/state", "/data"])
def test_other_sites_get_no_answer(
    served: tuple[int, Path], path: str, site: str, code: int
) -> None:
    """By what their browser says of them, also where they ask for our own address."""
    connection = http.client.HTTPConnection("127.0.0.1", served[0], timeout=60)
    connection.request("GET", path, headers={"Sec-Fetch-Site": site})
    answer = connection.getresponse()
    assert answer.status == code
    assert (b"Another site" in answer.read()) == (code == 403)
    connection.close()


def test_page_of_another_site_can_not_make_it_work(
    served: tuple[int, Path], browser: Browser, tmp_path: Path
) -> None:
    """Chromium names the other site, so that even a window of its own gets a refusal."""
    port, _ = served
    (tmp_path / "evil.html").write_text(f"<a id=a href='http://127.0.0.1:{port}/'>x</a>")
    with subprocess.Popen(
            [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.2",
             "--directory", str(tmp_path)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        match = re.search(r"port (\d+)", other.stdout.readline())
        assert match
        browser.driver.get(f"http://127.0.0.2:{match[1]}/evil.html")
        browser("document.getElementById('a').click()")
        browser.until("document.body.innerText.includes('type its address')")
        other.terminate()
    browser.driver.get("about:blank")


def test_page_is_rendered_once_for_a_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often and from how many threads it is asked for; anew when a file comes."""
    rendered: list[int] = []

    def render(report: Any, follow: int) -> str:
        rendered.append(follow)
        return "x"

    monkeypatch.setattr(follow, "render", render)
    write_run(tmp_path / "a.flent.gz")
    follower = follow.Follower([tmp_path], "title", 1)
    follower.look()
    with ThreadPoolExecutor(8) as pool:
        assert {pool.submit(follower.page).result() for _ in range(50)} == {b"x"}
    assert rendered == [1]
    monkeypatch.setattr(follow, "_REST_FACTOR", 0)
    follower.look()
    follower.page()
    assert rendered == [1]
    write_run(tmp_path / "b.flent.gz")
    follower.look()
    follower._rest_until_s = 0.0
    follower.page()
    assert rendered == [1, 2]


def test_page_is_not_sent_again_while_it_rests(tmp_path: Path) -> None:
    """The state names the version that the page's data have, or pages would ask for them each
    two seconds."""
    write_run(tmp_path / "a.flent.gz")
    follower = follow.Follower([tmp_path], "title", 1)
    follower.look()
    shown = json.loads(follower.data())["version"]
    write_run(tmp_path / "b.flent.gz")
    follower.look()
    follower._rest_until_s = time.monotonic() + 1000
    assert json.loads(follower.state())["version"] == shown == 1
    follower._rest_until_s = 0.0
    assert json.loads(follower.state())["version"] == 2


def test_run_that_no_page_can_be_made_of_is_named_and_the_others_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a defect of ours, until the file goes."""
    really = model.build

    def build(rows: Any, *words: Any) -> Any:
        if any(row.path.name == "odd.flent.gz" for row in rows):
            raise KeyError("aqm")
        return really(rows, *words)

    monkeypatch.setattr(follow, "build", build)
    monkeypatch.setattr(odd, "build", build)
    write_run(tmp_path / "a.flent.gz")
    write_run(tmp_path / "odd.flent.gz")
    follower = follow.Follower([tmp_path], "title", 1)
    follower.look()
    shown = json.loads(follower.data())
    assert [run["file"] for run in shown["data"]["runs"]] == ["a.flent.gz"]
    assert "odd.flent.gz" in shown["top"]
    assert "a bug in flent-aqm: KeyError" in shown["top"]
    (tmp_path / "odd.flent.gz").unlink()
    follower.look()
    follower._rest_until_s = 0.0
    assert "odd.flent.gz" not in json.loads(follower.data())["top"]


def test_page_that_fails_for_no_run_alone_changes_no_version(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request raised it, so that each open page asked again, for ever."""
    write_run(tmp_path / "a.flent.gz")
    follower = follow.Follower([tmp_path], "title", 1)
    follower.look()

    def fail(*words: object, **more: object) -> Any:
        raise ZeroDivisionError("of the page")

    before = json.loads(follower.state())["version"]
    monkeypatch.setattr(follow, "render", fail)
    with pytest.raises(ZeroDivisionError):  # there is no older page, nor one without runs
        follower.page()
    assert json.loads(follower.state())["version"] == before


def test_follower_survives_whatever_happens_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it looks, and while it makes a page; well again, it says nothing."""
    write_run(tmp_path / "a.flent.gz")
    follower = follow.Follower([tmp_path], "title", 1)
    follower.look()
    first = follower.page()

    def fail(*words: object, **more: object) -> Any:
        raise ZeroDivisionError("<b>never</b>")

    write_run(tmp_path / "b.flent.gz")
    with monkeypatch.context() as broken:
        broken.setattr(follow, "each_file", fail)
        follower.look()
        output = json.loads(follower.state())["progress"]
        assert "no new runs are shown: a bug in flent-aqm: ZeroDivisionError" in output
        assert "&lt;b&gt;never" in output
    follower.look()
    assert "ZeroDivisionError" not in json.loads(follower.state())["progress"]

    def unreadable(*words: object, **more: object) -> Any:
        raise PermissionError(13, "Permission denied", "/data/run")

    with monkeypatch.context() as broken:
        write_run(tmp_path / "c.flent.gz")
        broken.setattr(follow, "each_file", unreadable)
        follower.look()
        output = json.loads(follower.state())["progress"]
        assert "no new runs are shown: /data/run: Permission denied" in output
        assert "bug" not in output
    follower.look()
    with monkeypatch.context() as broken:
        broken.setattr(follow, "render", fail)
        follower._rest_until_s = 0.0
        assert follower.page() == first
        assert "the page is an older one" in json.loads(follower.state())["progress"]
    follower._rest_until_s = 0.0
    assert follower.page() != first
    assert json.loads(follower.state())["progress"].strip() == ""


@pytest.mark.parametrize(("name", "seen"), [
    ("there_is_none", "No such file or directory"), ("file", "Not a directory")])
def test_what_is_no_folder_is_not_followed(name: str, seen: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=rf"{name}: {seen}; expected a folder"):
        follow.Follower([tmp_path / name], "title", 1)


def test_folder_that_can_not_be_read_any_more_loses_no_run(tmp_path: Path) -> None:
    """The error was hidden, and its runs counted as removed."""
    folder = tmp_path / "watched"
    folder.mkdir()
    write_run(folder / "a.flent.gz")
    follower = follow.Follower([folder], "title", 1)
    follower.look()
    first = follower.page()
    folder.rename(tmp_path / "away")
    folder.write_text("no folder")
    follower.look()
    assert "no new runs are shown: " in json.loads(follower.state())["progress"]
    assert "Not a directory" in json.loads(follower.state())["progress"]
    assert follower.page() == first
    folder.unlink()
    follower.look()
    follower._rest_until_s = 0.0
    assert follower.page() != first, "a folder that was removed has no runs"


def test_clients_that_never_read_take_no_memory_and_keep_nobody_out(tmp_path: Path) -> None:
    """A hundred took 1.7 GB: each had a page of its own. Now they share it, and are bounded."""
    write_run(tmp_path / "a.flent.gz")
    with browsing(tmp_path) as port, ExitStack() as stack:
        data(port, 1)
        ask(port, "/")
        before_mb = memory_mb(port, "VmHWM")
        deaf = []
        for _ in range(100):
            sock = stack.enter_context(socket.create_connection(("127.0.0.1", port), 60))
            sock.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            deaf.append(sock)
        assert ask(port, "/")[0] == 200
        assert memory_mb(port, "VmHWM") - before_mb < 40
        # Those that were here longest had to go, and the last ones are still served.
        assert len(whole(deaf[-1])) > 1_000_000
        with contextlib.suppress(ConnectionResetError):
            assert len(whole(deaf[0])) < 4_000_000


def whole(sock: socket.socket) -> bytes:
    """All that comes until the end."""
    received = b""
    while piece := sock.recv(1 << 20):
        received += piece
    return received


def test_request_without_end_is_refused(served: tuple[int, Path]) -> None:
    """A head of more than 64 kB is answered by a refusal, and not kept."""
    with socket.create_connection(("127.0.0.1", served[0]), 60) as sock:
        sock.sendall(b"GET / HTTP/1.1\r\n" + b"X: " + b"x" * 60_000 + b"\r\n")
        with contextlib.suppress(OSError):
            sock.sendall(b"Y: " + b"y" * 60_000 + b"\r\nHost: localhost\r\n\r\n")
        assert sock.recv(100).startswith(b"HTTP/1.0 431 ")


def test_browser_that_leaves_is_no_news(tmp_path: Path) -> None:
    """A reset connection prints nothing on the terminal."""
    process = subprocess.Popen(
        [sys.executable, "-m", "flent_aqm.cli", "report", "--follow", "--port", "0", str(tmp_path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    match = re.search(r":(\d+)/", process.stdout.readline())
    assert match
    for words in (b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"):
        sock = socket.create_connection(("127.0.0.1", int(match[1])), 60)
        sock.sendall(words)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()
    assert ask(int(match[1]), "/")[0] == 200
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30)[1] == ""
