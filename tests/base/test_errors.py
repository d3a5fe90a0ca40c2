"""What a stated error says, to people, to programs and from one process to another."""

import copy
import inspect
import json
import linecache
import math
import pickle

import pytest

import workbench.scheduling.solvers.errors
import workbench.simulation.stop
from workbench.base.errors import InputError, Problem, ScenarioError, WorkbenchError, shorten
from workbench.scheduling.decision import InvalidDecision

PROBLEMS = [Problem("jobs[0].gpus", "two", "a whole number"), Problem("jobs[1]", None, "an object")]
ERRORS = [
    WorkbenchError("here", 3, "4"),
    InputError("scheduler", "fiffo", "one of fifo, las"),
    ScenarioError(PROBLEMS),
    InvalidDecision("fifo", 60.0, "job-1", {"a-0": 5}, "at most 4 GPUs on a node"),
    workbench.simulation.stop.Stalled("fifo", "3 jobs wait", "a decision"),
    workbench.scheduling.solvers.SolveError("model", "no answer", "one"),
    workbench.scheduling.solvers.SolverFailedError("model", "nonlinear", "linear"),
    workbench.scheduling.solvers.errors.UnkeptError("model", "1.32 times the GPUs", "at most all"),
    workbench.scheduling.solvers.InfeasibleError("model"),
    workbench.scheduling.solvers.UnboundedError("model"),
    workbench.scheduling.solvers.TimeLimitError("model", "3 s"),
    workbench.scheduling.solvers.SolveCancelledError("model"),
    workbench.scheduling.solvers.MissingSolverError("glpk", "glpsol"),
]


def test_every_kind_of_solver_error_is_here():
    kinds = {kind for _, kind in inspect.getmembers(workbench.scheduling.solvers.errors, inspect.isclass)}
    assert kinds <= {type(error) for error in ERRORS}


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("copied", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy])
def test_errors_can_be_copied(error, copied):
    error.add_note("in the third round")
    found = copied(error)
    assert type(found) is type(error)
    assert (str(found), found.args, vars(found)) == (str(error), error.args, vars(error))
    assert found.as_json() == error.as_json()
    assert (found.status, found.exit_code) == (error.status, error.exit_code)


def test_what_one_error_sets_for_itself_is_copied():
    error = WorkbenchError("here", 3, "4")
    error.status = "interrupted"
    assert pickle.loads(pickle.dumps(error)).as_json()["status"] == "interrupted"


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_what_json_tells_of_an_error_makes_it_again(error):
    told = json.loads(json.dumps(error.as_json(), allow_nan=False))
    found = WorkbenchError.from_json(told)
    assert found.as_json() == told and found.status == error.status
    assert isinstance(found, InputError) == isinstance(error, InputError)
    assert getattr(found, "problems", ()) == getattr(error, "problems", ())


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ("fiffo", "fiffo"),
        ("it's \n", "it's \n"),
        ("x" * 120, "x" * 120),
        ("x" * 121, "x" * 117 + "..."),
        (3, 3),
        (2.5, 2.5),
        (True, True),
        (None, None),
        (math.inf, "inf"),
        (math.nan, "nan"),
        ([1, "a"], "[1, 'a']"),
        ({"a": 1}, "{'a': 1}"),
        (list(range(100)), str(list(range(100)))[:117] + "..."),
    ],
)
def test_json_has_scalars_as_they_are(value, plain):
    error = InputError("here", value, "something else")
    found = error.as_json()["error"]["value"]
    assert found == plain and type(found) is type(plain)
    assert json.loads(json.dumps(error.as_json(), allow_nan=False)) == error.as_json()
    assert str(error) == f"here: got {shorten(value)}; expected something else"


def test_a_notebook_shows_the_lines_of_its_cells_and_the_sentence():
    """No frame of ours stands between them; a cell's line is `__main__`'s."""
    source = "def row():\n    return int('two')\ntry:\n    row()\nexcept ValueError as error:\n"
    source += "    raise InputError('job a', 'two', 'a number') from error\n"
    linecache.cache["<cell>"] = (len(source), None, source.splitlines(keepends=True), "<cell>")
    with pytest.raises(InputError) as told:
        exec(compile(source, "<cell>", "exec"), {"__name__": "__main__", "InputError": InputError})
    lines = [
        "line 6: raise InputError('job a', 'two', 'a number') from error",
        "line 4: row()",
        "line 2: return int('two')",
    ]
    assert told.value._render_traceback_() == [*lines, "InputError: job a: got 'two'; expected a number"]
