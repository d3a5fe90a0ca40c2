"""The line of progress: on a terminal only, gone at the end, and never with `--json`."""

import os
import subprocess
import sys

import pytest

pty = pytest.importorskip("pty", reason="pseudo-terminals are for Unix")


@pytest.fixture
def on_a_terminal(tmp_path):
    """Run a command with every decision and job reported and stderr a terminal; returns code, stdout and stderr."""

    def run(*argv):
        code = (
            "import sys\nfrom workbench.cli import main, simulate\nfrom workbench.scenario.traces import synthetic\n"
            "simulate.PROGRESS_S, synthetic.EVERY = 0.0, 1\nsys.exit(main(sys.argv[1:]))"
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


SIMULATE = ("simulate", "preset:gavel_physical", "--scheduler", "las")


def test_a_simulation_tells_a_terminal_how_far_it_is(on_a_terminal):
    code, out, said = on_a_terminal(*SIMULATE)
    assert code == 0 and "Mean JCT" in out and "jobs finished" not in out
    lines = said.split("\r\033[K")
    assert lines[0] == "" and len(lines) > 10
    assert lines[1] == "0 of 50 jobs finished, 1 decisions, simulated up to 0 s"
    numbers = [int(line.split()[0]) for line in lines[1:-1]]
    assert numbers == sorted(numbers) and numbers[-1] > 40
    assert "jobs finished" not in lines[-1], "the line is cleared at the end"


def test_json_comes_without_progress(on_a_terminal):
    code, out, said = on_a_terminal(*SIMULATE, "--json")
    assert code == 0 and out.startswith("{") and "jobs finished" not in said


def test_an_error_is_not_written_behind_the_progress(on_a_terminal):
    code, out, said = on_a_terminal(*SIMULATE, "--belief", "nothing_like_it")
    assert (code, out) == (2, "")
    assert said.split("\r\033[K")[-1].startswith("error: ")


def test_a_scenario_that_is_made_up_tells_how_far_it_is(on_a_terminal, tmp_path):
    code, out, said = on_a_terminal("generate", "--cluster", "v100=1x4", "--jobs", "5", "-o", str(tmp_path / "s.json"))
    assert code == 0 and out.startswith(str(tmp_path))
    lines = said.split("\r\033[K")
    assert lines[0] == lines[-1] == "" and lines[1:6] == [f"{i} of 5 jobs made up" for i in range(5)]
    assert lines[6:-1] == ["checking 5 jobs", "writing 5 jobs"]
