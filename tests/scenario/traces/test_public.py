"""Public traces: from a folder of one's own, and downloaded from a server on this machine."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import http.server
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from workbench.base.errors import InputError, WorkbenchError
from workbench.scenario.traces import formats, public

CONTENT = b"some trace\n"
RIGHT = hashlib.sha256(CONTENT).hexdigest()


class Server(http.server.ThreadingHTTPServer):
    """Serves the files in `files` and counts requests."""

    files: dict[str, bytes]
    asked: int
    missing: int  # bytes of an answer that are promised and do not come

    def address(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{path}"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked += 1
        body = self.server.files.get(self.path)
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Length", str(len(body or b"") + self.server.missing))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: it would stand between the tests' dots."""


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(("127.0.0.1", 0), Handler)
    made.files, made.asked, made.missing = {"/t.trace": CONTENT}, 0, 0
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own, and neither a folder of data nor a proxy."""
    monkeypatch.delenv(public.VARIABLE, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("pooch.os_cache", lambda project: tmp_path / "cache" / project)
    return tmp_path / "cache"


def offer(monkeypatch: pytest.MonkeyPatch, url: str, sha256: str = RIGHT) -> None:
    """Make `gavel_makespan` stand at an address."""
    entry = dataclasses.replace(public.FILES["gavel_makespan"], url=url, sha256=sha256)
    monkeypatch.setitem(public.FILES, "gavel_makespan", entry)


def kept(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []


def test_a_file_is_downloaded_once_and_kept(server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, server.address("/t.trace"))
    path = public.fetch("gavel_makespan")
    assert path.read_bytes() == CONTENT
    assert kept(cache) == [path]
    assert (public.fetch("gavel_makespan"), server.asked) == (path, 1)
    path.write_bytes(b"changed")
    assert public.fetch("gavel_makespan").read_bytes() == CONTENT
    assert server.asked == 2, "a file that was changed is fetched again"


def test_a_file_with_another_hash_is_refused_and_not_kept(
    server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(monkeypatch, server.address("/t.trace"), sha256="0" * 64)
    with pytest.raises(WorkbenchError, match=f"another SHA-256; it was not kept; expected SHA-256 {'0' * 64}"):
        public.fetch("gavel_makespan")
    assert kept(cache) == []


def test_no_answer_is_one_error_with_address_and_way_out(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/t.trace"
    offer(monkeypatch, url)
    with pytest.raises(WorkbenchError) as caught:
        public.fetch("gavel_makespan")
    assert str(caught.value) == (
        f"{url}: got no answer (ConnectionError); expected a connection, or the file in a folder that "
        "WORKBENCH_DATA names"
    )
    assert kept(cache) == []


def test_a_download_that_breaks_off_leaves_nothing_and_the_next_one_is_whole(
    server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(monkeypatch, server.address("/t.trace"))
    server.missing = 100
    with pytest.raises(WorkbenchError, match=r"got a download that broke off \(.*\); expected a connection") as caught:
        public.fetch("gavel_makespan")
    assert caught.value.where == server.address("/t.trace")
    assert kept(cache) == []
    server.missing = 0
    assert public.fetch("gavel_makespan").read_bytes() == CONTENT


def test_what_a_download_that_was_killed_left_is_no_file_of_the_cache(
    server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a file under a name of its own, or under the right one."""
    offer(monkeypatch, server.address("/t.trace"))
    for half in (cache / "workbench" / "gavel" / "tmp1234", cache / "workbench" / public.FILES["gavel_makespan"].file):
        half.parent.mkdir(parents=True, exist_ok=True)
        half.write_bytes(CONTENT[:4])
        assert public.fetch("gavel_makespan").read_bytes() == CONTENT


def test_a_file_that_is_gone_says_so(server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, server.address("/moved"))
    with pytest.raises(WorkbenchError, match=r"404 Client Error.*WORKBENCH_DATA"):
        public.fetch("gavel_makespan")
    assert kept(cache) == []


def test_a_cache_that_cannot_be_written(server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, server.address("/t.trace"))
    cache.write_text("a file where the folder should be")
    with pytest.raises(WorkbenchError, match="a cache folder that can be written to"):
        public.fetch("gavel_makespan")


@pytest.mark.parametrize(
    ("number", "text"), [(errno.EACCES, "Permission denied"), (errno.ENOSPC, "No space left on device")]
)
def test_a_cache_that_may_not_be_written_or_is_full_is_no_fault_of_the_network(
    server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch, number: int, text: str
) -> None:
    """As the system says it: a disk that is full without the name of a file."""

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(number, text)

    offer(monkeypatch, server.address("/t.trace"))
    (cache / "workbench").mkdir(parents=True)
    monkeypatch.setattr("tempfile.NamedTemporaryFile", refuse)
    with pytest.raises(WorkbenchError) as caught:
        public.fetch("gavel_makespan")
    assert str(caught.value) == f"{cache / 'workbench'}: got {text}; expected a cache folder that can be written to"


@pytest.mark.parametrize("place", ["gavel/minimize_makespan.trace", "minimize_makespan.trace"])
def test_a_folder_of_ones_own_takes_the_place_of_the_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    offer(monkeypatch, "http://nowhere.invalid/t.trace")
    monkeypatch.setenv(public.VARIABLE, str(tmp_path / "own"))
    with pytest.raises(WorkbenchError, match=r"no such file there; expected .*minimize_makespan.trace.*nowhere"):
        public.fetch("gavel_makespan")
    path = tmp_path / "own" / place
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    assert public.fetch("gavel_makespan") == path
    path.write_bytes(b"another")
    with pytest.raises(
        WorkbenchError, match=re.escape(f"{path}: got SHA-256 {hashlib.sha256(b'another').hexdigest()}")
    ):
        public.fetch("gavel_makespan")
    assert path.read_bytes() == b"another", "what is the user's is not touched"


def test_names_that_are_not_offered() -> None:
    with pytest.raises(InputError, match=r"'nope'; expected one of gavel_makespan"):
        public.fetch("nope")
    with pytest.raises(InputError, match=r"fetch it from https://github.com/msr-fiddle/philly-traces"):
        public.fetch("philly")


def test_what_is_listed_can_be_converted() -> None:
    known = {*formats(), "speeds"}
    for entry in public.FILES.values():
        assert re.fullmatch(r"[0-9a-f]{64}", entry.sha256) and entry.url.startswith("https://") and entry.size > 0
        assert entry.format in known and entry.licence
    assert {entry.format for entry in public.ELSEWHERE.values()} <= known
    assert not public.FILES.keys() & public.ELSEWHERE.keys()


@pytest.mark.parametrize("name", public.FILES)
def test_the_hashes_and_sizes_of_the_files_at_hand(shared: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(public.VARIABLE, str(shared / "data"))
    if not (shared / "data" / public.FILES[name].file).is_file():
        pytest.skip("no public traces beside the project")
    assert public.fetch(name).stat().st_size == public.FILES[name].size
