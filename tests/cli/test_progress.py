"""The line of progress: on a terminal only, gone at the end, and never with `--json`."""

import os
import subprocess
import sys

import pytest

pty = pytest.importorskip("pty", reason="pseudo-terminals are for Unix")


@pytest.fixture
def on_a_terminal(tmp_path):
    """Run a simulation of 60 jobs with every decision reported and stderr a terminal; returns (stdout, stderr)."""

    def run(*argv):
        code = (
            "import sys\nfrom workbench.cli import compute, main\ncompute.PROGRESS_S = 0.0\n"
            "sys.exit(main(['simulate', 'preset:gavel_physical', '--scheduler', 'las', *sys.argv[1:]]))"
        )
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-c", code, *argv], stdout=subprocess.PIPE, stderr=theirs, text=True
        )
        os.close(theirs)
        said = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # how Linux tells that nobody has the other end any more
                break
            if not part:
                break
            said += part
        os.close(ours)
        out, _ = process.communicate(timeout=60)
        return process.returncode, out, said.decode()

    return run


def test_a_simulation_tells_a_terminal_how_far_it_is(on_a_terminal):
    code, out, said = on_a_terminal()
    assert code == 0 and "Mean JCT" in out and "jobs finished" not in out
    lines = said.split("\r\033[K")
    assert lines[0] == "" and len(lines) > 10
    assert lines[1] == "0 of 50 jobs finished, 1 decisions, simulated up to 0 s"
    numbers = [int(line.split()[0]) for line in lines[1:-1]]
    assert numbers == sorted(numbers) and numbers[-1] > 40
    assert "jobs finished" not in lines[-1], "the line is cleared at the end"


def test_json_comes_without_progress(on_a_terminal):
    code, out, said = on_a_terminal("--json")
    assert code == 0 and out.startswith("{") and "jobs finished" not in said


def test_an_error_is_not_written_behind_the_progress(on_a_terminal):
    code, out, said = on_a_terminal("--belief", "nothing_like_it")
    assert (code, out) == (2, "")
    assert said.split("\r\033[K")[-1].startswith("error: ")
