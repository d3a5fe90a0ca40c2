"""Ctrl-C, closed pipes, and terminals that cannot show everything."""

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from tests.cli.support import program, strict
from workbench.base.errors import InputError
from workbench.cli import main
from workbench.cli.output import Answer


def test_ctrl_c_while_writing_leaves_nothing_half_written(tmp_path, cli, monkeypatch):
    def interrupt(*args, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", interrupt)
        code, out, err = cli("presets", "start_here", "-o", tmp_path / "s.json", "--json")
    assert (code, strict(out)["status"], err) == (130, "interrupted", "interrupted\n")
    with monkeypatch.context() as patch:
        patch.setattr("pandas.DataFrame.to_csv", interrupt)
        assert cli("simulate", "preset:start_here", "--scheduler", "fifo", "--out", tmp_path / "r")[0] == 130
        assert cli("compare", "preset:start_here", "--schedulers", "fifo", "--out", tmp_path / "c")[0] == 130
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("told", [None, ImportError("initialization failed"), InputError("solver", "highs", "it")])
def test_ctrl_c_that_a_library_swallows_still_counts(cli, monkeypatch, told):
    def swallow(args):
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        if told:
            raise told
        return Answer([], str)

    monkeypatch.setattr("workbench.cli.describe.presets", swallow)
    assert cli("presets")[::2] == (130, "interrupted\n" if told else "")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_that_comes_where_nothing_can_be_raised_comes_again(monkeypatch):
    went_on = []

    def wait():
        for _ in range(100):  # of a sleep that goes on a signal raised in this process ends only the wait for its end
            time.sleep(0.05)

    class Swallowing:
        def __del__(self):
            os.kill(os.getpid(), signal.SIGINT)
            wait()

    def swallow(args):
        Swallowing()
        wait()
        went_on.append(args)
        return Answer([], str)

    monkeypatch.setattr("workbench.cli.describe.presets", swallow)
    hook = sys.unraisablehook
    assert (main(["presets"]), went_on) == (130, [])
    assert sys.unraisablehook is hook and signal.getsignal(signal.SIGINT) is signal.default_int_handler


TELLING = """
import os, sys

class Tell:
    @staticmethod
    def find_spec(name, path, target=None):
        if name in ("pandas", "highspy"):
            open(f"{os.environ['TOLD']}/{os.getpid()}.{name}", "w").close()

sys.meta_path.insert(0, Tell)
"""
"""Each process tells when it begins to load a library: of HiGHS, it simulates, and has made a model with Pyomo, whose
import makes a semaphore."""


@pytest.mark.parametrize(("workers", "loading"), [*itertools.product((1, 2), ("pandas", "highspy"))])
def test_ctrl_c(tmp_path, workers, loading):
    """As in a terminal: every process of the group gets the signal, all of them end, nothing is left.

    loading: what all of them have begun to load then.
    """
    here, told = tmp_path / "here", tmp_path / "told"
    here.mkdir()
    told.mkdir()
    (tmp_path / "sitecustomize.py").write_text(TELLING)
    argv = ["compare", "preset:gavel_simulated", "--schedulers", "gavel.max_min_fairness", "--set", "model=pyomo"]
    argv += ["--seeds", "0:12", "--bootstrap"]  # other jobs for each seed: no run is another
    argv += ["--out", "runs", "--workers", str(workers)]
    code = f"import sys\nfrom workbench.cli import main\nprint('up', flush=True)\nsys.exit(main({argv!r}))"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=here,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "TOLD": str(told)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "up\n"
    while len([*told.glob(f"*.{loading}")]) < workers:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    children = family(process)
    os.killpg(process.pid, signal.SIGINT)
    try:
        out, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    assert (process.returncode, out, err) == (130, "", "interrupted\n")
    assert workers == 1 or len(children) >= workers
    assert psutil.wait_procs(children, timeout=30)[1] == []
    assert list(here.iterdir()) == []


def family(process):
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(process.pid).children(recursive=True)
    return []


@pytest.mark.parametrize("argv", [("presets", "hops_512"), ("list", "--json")])
def test_a_reader_that_leaves_is_no_error(argv):
    process = program(*argv)
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")


def test_a_terminal_without_our_letters(tmp_path):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    process = program("simulate", "preset:start_here", "--scheduler", "fifo", env=environment)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "") and "fairness" in out


def test_a_closed_standard_error(tmp_path):
    script = f"{sys.executable} -m workbench validate missing.json 2>&-; echo $?"
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout == "2\n"
