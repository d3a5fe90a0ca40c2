"""`workbench data`: the list, a path that a shell can use, and clear refusals."""

from __future__ import annotations

import dataclasses
import hashlib

import pytest

from workbench.scenario import public_traces


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of one's own with one file in it."""
    content = b"some trace\n"
    entry = dataclasses.replace(public_traces.FILES["gavel_makespan"], sha256=hashlib.sha256(content).hexdigest())
    monkeypatch.setitem(public_traces.FILES, "gavel_makespan", entry)
    monkeypatch.setenv(public_traces.VARIABLE, str(tmp_path))
    (tmp_path / "minimize_makespan.trace").write_bytes(content)
    return tmp_path


def test_the_list(cli, ask):
    code, out, err = cli("data")
    assert (code, err) == (0, "")
    for name in (*public_traces.FILES, *public_traces.ELSEWHERE):
        assert f"\n{name} " in f"\n{out}"
    listed = ask("data")
    assert [entry["name"] for entry in listed["files"]] == list(public_traces.FILES)
    assert [entry["url"] for entry in listed["elsewhere"]] == [entry.url for entry in public_traces.ELSEWHERE.values()]


def test_stdout_has_the_path_alone_so_that_a_shell_can_use_it(cli, ask, folder):
    path = str(folder / "minimize_makespan.trace")
    code, out, err = cli("data", "gavel_makespan")
    assert (code, out) == (0, path + "\n")
    assert "licence MIT" in err
    assert ask("data", "gavel_makespan")["path"] == path


def test_what_is_not_there_or_not_offered(cli, folder):
    code, out, err = cli("data", "chronus_philly_mix2")
    assert (code, out) == (1, "")
    assert "WORKBENCH_DATA: got no such file there" in err and public_traces.FILES["chronus_philly_mix2"].url in err
    for name in ("helios", "nope"):
        code, out, err = cli("data", name)
        assert (code, out) == (2, "")
        assert "one of gavel_makespan, gavel_max_min_fairness" in err
