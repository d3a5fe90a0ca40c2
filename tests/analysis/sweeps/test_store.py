"""The store: whole rows, kept once, and one clear error for every file that is none."""

import math
import os
import sqlite3
import subprocess
import sys
import threading
import time

import pytest

from workbench.analysis.sweeps import store as module
from workbench.analysis.sweeps.store import APPLICATION, Measured, Store
from workbench.base.errors import InputError, WorkbenchError

FACTS = {
    "scenario": "s", "scheduler": "fifo", "knobs": "{}", "seed": 2**63 - 1,
    "belief": None, "until_s": None, "jobs_window": None, "version": "1",
}  # fmt: skip
DONE = Measured("done", "", {"a": 0.1 + 0.2, "b": math.nan, "c": math.inf, "d": -1e-300}, 1.5)
FAILED = Measured("failed", "where: got 1; expected 2", {}, 0.5)


@pytest.fixture
def path(tmp_path):
    """A store with a run that is done and one that failed."""
    with Store(tmp_path / "s.db") as store:
        store.keep("done", FACTS, DONE)
        store.keep("failed", FACTS, FAILED)
    return tmp_path / "s.db"


def test_what_was_kept_is_found_exactly(path):
    with Store(path) as store:
        found = store.find("done")
        assert (found.status, found.error, found.wall_s) == ("done", "", 1.5)
        assert list(found.measures) == list(DONE.measures) and math.isnan(found.measures["b"])
        assert [found.measures[name] for name in "acd"] == [0.1 + 0.2, math.inf, -1e-300]
        assert store.find("failed") == FAILED and store.find("none") is None
        assert [store.status(key) for key in ("done", "failed", "none")] == ["done", "failed", None]
    assert [each.name for each in path.parent.iterdir()] == ["s.db"], "one file, nothing beside it"


def test_a_run_that_is_done_is_never_replaced_and_one_that_failed_is(path):
    again = Measured("done", "", {"a": 9.0}, 9.0)
    with Store(path) as store:
        store.keep("done", FACTS, again)
        store.keep("done", FACTS, FAILED)
        store.keep("failed", {**FACTS, "version": "2"}, again)
        assert store.find("done").wall_s == DONE.wall_s and store.find("failed") == again
    rows = sqlite3.connect(path).execute("SELECT key, version, measures ->> 'a' FROM runs ORDER BY key").fetchall()
    assert rows == [("done", "1", 0.1 + 0.2), ("failed", "2", 9.0)]


def refused(path, *words):
    with pytest.raises(WorkbenchError) as caught, Store(path) as store:
        store.find("done")
    assert str(path) in caught.value.where
    assert all(word in str(caught.value) for word in words), str(caught.value)
    return caught.value


def test_a_file_of_another_kind(tmp_path):
    (tmp_path / "s.db").write_text("just some text, long enough to be looked at as a database " * 20)
    assert isinstance(refused(tmp_path / "s.db", "another kind", "a store that a sweep made"), InputError)


def test_a_database_of_another_program(tmp_path):
    with sqlite3.connect(tmp_path / "s.db") as other:
        other.execute("CREATE TABLE runs (key TEXT)")
    assert isinstance(refused(tmp_path / "s.db", "another program"), InputError)


def test_a_store_of_another_format(path):
    with sqlite3.connect(path) as file:
        file.execute("PRAGMA user_version = 7")
    assert isinstance(refused(path, "format 7", "format 1"), InputError)


def test_a_store_without_its_table(path):
    with sqlite3.connect(path) as file:
        file.execute("DROP TABLE runs")
    refused(path, "no such table")


def test_a_row_that_was_changed_by_hand(path):
    with sqlite3.connect(path) as file:
        file.execute("UPDATE runs SET measures = '[1]' WHERE key = 'done'")
    refused(path, "run done: measures", "numbers by name")


def test_a_damaged_store(path):
    content = bytearray(path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)
    refused(path, "malformed")


def test_a_folder_a_missing_folder_and_no_name(tmp_path):
    assert isinstance(refused(tmp_path, "unable to open"), InputError)
    assert isinstance(refused(tmp_path / "none" / "s.db", "a folder that exists"), InputError)
    for path in ("", " ", 3):
        with pytest.raises(InputError, match="store"):
            Store(path)


def test_a_file_that_is_empty_becomes_a_store(tmp_path):
    """What is left of a sweep that was killed before its first write."""
    (tmp_path / "s.db").touch()
    with Store(tmp_path / "s.db") as store:
        store.keep("done", FACTS, DONE)
    assert sqlite3.connect(tmp_path / "s.db").execute("PRAGMA application_id").fetchone() == (APPLICATION,)


def test_a_lock_is_waited_for_and_then_told(path, monkeypatch):
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr(module, "PATIENCE_S", 0.2)
    refused(path, "a locked store", "0.2 s")
    monkeypatch.setattr(module, "PATIENCE_S", 30.0)
    release = threading.Timer(0.5, lambda: holder.execute("COMMIT"))
    began = time.monotonic()
    release.start()
    with Store(path) as store:
        assert store.status("done") == "done"
    assert time.monotonic() - began > 0.3
    release.join()


def test_one_at_a_time_is_alone_with_a_store_under_any_of_its_names(path):
    (path.parent / "link.db").symlink_to(path)
    with Store(path) as one, Store(path.parent / "link.db") as other:
        with one.alone():
            with (
                pytest.raises(WorkbenchError, match=r"link\.db: got a store that another sweep is writing"),
                other.alone(),
            ):
                raise AssertionError("both are alone")
            assert other.status("done") == "done", "to read it is no matter"
        with other.alone():
            other.keep("more", FACTS, DONE)
        assert one.status("more") == "done"


def test_who_was_killed_is_alone_with_a_store_no_longer(path):
    code = (
        "import sys, time; from workbench.analysis.sweeps.store import Store\n"
        "with Store(sys.argv[1]) as store, store.alone(): print('alone', flush=True); time.sleep(600)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "alone\n"
        with Store(path) as store, pytest.raises(WorkbenchError, match="another sweep is writing"), store.alone():
            raise AssertionError("both are alone")
    finally:
        process.kill()
        process.communicate()
    with Store(path) as store, store.alone():
        store.keep("more", FACTS, DONE)


def test_a_lock_file_that_is_none_is_named(path):
    (path.parent / "s.db.lock").write_text("notes of somebody, not empty and no database " * 30)
    with (
        Store(path) as store,
        pytest.raises(InputError, match=r"s\.db\.lock: got a file of another kind"),
        store.alone(),
    ):
        raise AssertionError("locked what is no lock")


def test_a_store_in_memory_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Store(None) as store:
        store.keep("done", FACTS, DONE)
        assert store.status("done") == "done"
    with Store(None) as store:
        assert store.status("done") is None
    assert not list(tmp_path.iterdir())
