"""The command `new-paper`: a package with a room for a paper that works as written, to be changed into one's own.

`FILES` has its files as they are written, for a paper called `sixth`; the name is exchanged, nothing else.
"""

from __future__ import annotations

import argparse
import builtins
import importlib.machinery
import importlib.util
import keyword
import re
import sys
from collections.abc import Collection
from pathlib import Path

from workbench.base.errors import InputError, Words
from workbench.base.files import write_text
from workbench.cli.arguments import Commands, Parser, add_command
from workbench.cli.output import Answer

FILES = {
    "pyproject.toml": """\
[build-system]
requires = ["hatchling>=1.27"]
build-backend = "hatchling.build"

[project]
name = "dlsched-sixth"
version = "0.1.0"
requires-python = ">=3.11"
description = "The room of a paper for the workbench of GPU-cluster scheduling."
dependencies = ["dlsched-workbench"]

# The name of the room, and its module. Once installed, it stands in every list of the workbench.
[project.entry-points."workbench.papers"]
sixth = "sixth"

[tool.hatch.build.targets.wheel]
packages = ["sixth"]

# Its own, so that the settings of a project in whose folder it lies do not count.
[tool.pytest.ini_options]
testpaths = ["tests"]
""",
    "README.md": """\
# Sixth

The room of a paper for the workbench of GPU-cluster scheduling (`dlsched-workbench`).

    pip install --no-deps --no-build-isolation -e .
    pytest

The first line needs hatchling and editables, which the workbench's own environment (`make lab`) has, and no network.
Elsewhere `pip install hatchling editables` comes before it.
""",
    "sixth/__init__.py": '''\
"""Sixth: what the paper is about (authors, venue, year)."""

from workbench.scheduling.declared_room import Room

from . import explain
from .formulations.max_min_share import MaxMinShare
from .scheduler import SCHEDULER

ROOM = Room(
    name="sixth",
    title="Sixth",
    citation="Title of the paper (authors, venue, year)",
    formulations=(MaxMinShare(),),
    schedulers=(SCHEDULER,),
    explanations={"sixth": explain.explain},
    symbols={
        "a job": "max_min_share j",
        "a type of GPU": "max_min_share k",
        "GPUs that there are": "max_min_share c_k",
        "GPUs that a job takes": "max_min_share g_j",
        "share of time (decided)": "max_min_share X_jk",
        "the worst-off job (follows)": "max_min_share t",
    },
    example="start_here",
)
''',
    "sixth/instance.py": '''\
"""The numbers of the problem, and how they are read from a snapshot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.base.arrays import FloatArray, fixed, shaped
from workbench.scheduling.snapshot import Snapshot


@dataclass(frozen=True, eq=False)
class SixthInstance:
    """gang: (jobs,) GPUs that a job takes; capacity: (types,) GPUs that are up; pace: (jobs x types) speed over that on
    the job's fastest type, 0 where it cannot run. Raises InputError for other shapes.
    """

    jobs: tuple[str, ...]
    types: tuple[str, ...]
    gang: FloatArray
    capacity: FloatArray
    pace: FloatArray

    def __post_init__(self) -> None:
        shapes = {"gang": (len(self.jobs),), "capacity": (len(self.types),), "pace": (len(self.jobs), len(self.types))}
        for name, shape in shapes.items():
            object.__setattr__(self, name, fixed(shaped(getattr(self, name), shape, f"sixth, {name}")))

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot) -> SixthInstance:
        """The jobs that have arrived and fit on a type that is up; the others take no part."""
        jobs = snapshot.jobs  # with speeds in steps/s of the gang
        speeds = np.where(jobs.gpus[:, None] <= snapshot.capacity, snapshot.belief.speeds(jobs), 0.0)
        fastest = speeds.max(axis=1, initial=0.0)
        rows = np.flatnonzero(fastest > 0)
        names = tuple(jobs.names[row] for row in rows)
        pace = speeds[rows] / fastest[rows, None]
        return cls(names, snapshot.types, jobs.gpus[rows], snapshot.capacity, pace)
''',
    "sixth/knobs.py": '''\
"""The knobs of the paper."""

from workbench.scheduling.knob import Knob

MOST_SHARE = Knob("most_share", 1.0, "Largest share of its time that a job may have on one type", "1", minimum=0.01,
                  maximum=1.0, main=True)  # fmt: skip
''',
    "sixth/formulations/__init__.py": '"""The problems that the paper states, one file each."""\n',
    "sixth/formulations/max_min_share.py": '''\
"""Max-min share: time is divided so that the job that is worst off is as well off as can be.

max   t                                                          (ours)  worst_job
s.t.  sum_k X_jk <= 1                            for all j       (ours)  job_time
      sum_j g_j X_jk <= c_k                      for all k       (ours)  capacity
      t <= sum_k v_jk X_jk                       for all j       (ours)  epigraph
      0 <= X_jk <= b, X_jk = 0 if v_jk = 0       for all j, k    (ours)  share
      t free                                                     (ours)  level

(ours): change the statement into the paper's, with its symbols and the numbers of its equations as tags.
"""

from __future__ import annotations

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.scheduling.contract import Formulation, Knobs, Result
from workbench.scheduling.modelling import pyo
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import SolverFailedError

from ..instance import SixthInstance
from ..knobs import MOST_SHARE

TOLERANCE = 1e-6


class MaxMinShare(Formulation[SixthInstance]):
    """Shares of time for the worst-off job."""

    name = "sixth.max_min_share"
    title = "Sixth: max-min share"
    knobs = (MOST_SHARE,)

    def data(self, snapshot: Snapshot, knobs: Knobs) -> SixthInstance:
        """The numbers of the problem."""
        return SixthInstance.from_snapshot(snapshot)

    def build(self, data: SixthInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model."""
        m = pyo.ConcreteModel("sixth_max_min_share")
        most = knobs["most_share"]
        gang = dict(zip(data.jobs, data.gang.tolist(), strict=True))
        gpus = dict(zip(data.types, data.capacity.tolist(), strict=True))
        pace = {(job, kind): float(data.pace[j, k]) for j, job in enumerate(data.jobs)
                for k, kind in enumerate(data.types)}  # fmt: skip

        m.JOBS = pyo.Set(initialize=data.jobs, doc="j | jobs")
        m.TYPES = pyo.Set(initialize=data.types, doc="k | accelerator types")

        m.gang = pyo.Param(m.JOBS, initialize=gang, doc="g_j | GPUs of the gang | GPUs")
        m.gpus = pyo.Param(m.TYPES, initialize=gpus, doc="c_k | GPUs that are up | GPUs")
        m.pace = pyo.Param(m.JOBS, m.TYPES, initialize=pace, doc="v_jk | speed over that on the fastest type | 1")
        m.most = pyo.Param(initialize=most, doc="b | largest share on one type | 1")

        def bounds(m, job, kind):
            return (0, most if pace[job, kind] > 0 else 0)

        m.share = pyo.Var(m.JOBS, m.TYPES, bounds=bounds, doc="(ours) X_jk | share of time on a type | 1")
        m.level = pyo.Var(doc="(ours) t | progress of the worst-off job | 1")

        @m.Objective(sense=pyo.maximize, doc="(ours) the job that is worst off")
        def worst_job(m):
            return m.level

        @m.Constraint(m.JOBS, doc="(ours) a job runs at most all of the time")
        def job_time(m, job):
            return pyo.quicksum(m.share[job, kind] for kind in m.TYPES) <= 1

        @m.Constraint(m.TYPES, doc="(ours) no more GPUs than there are")
        def capacity(m, kind):
            return pyo.quicksum(m.gang[job] * m.share[job, kind] for job in m.JOBS) <= m.gpus[kind]

        @m.Constraint(m.JOBS, doc="(ours) t is no more than any job's progress")
        def epigraph(m, job):
            return m.level <= pyo.quicksum(m.pace[job, kind] * m.share[job, kind] for kind in m.TYPES)

        return m

    def read(self, model: pyo.ConcreteModel, data: SixthInstance, knobs: Knobs) -> Result:
        """The shares, the objective recomputed from them; raises SolverFailedError if they break a limit."""
        values = [variable.value for variable in model.share.values()]
        shares = np.array(values, dtype=float).reshape(data.pace.shape)
        over = max((data.gang @ shares - data.capacity).max(initial=0.0), (shares.sum(axis=1) - 1).max(initial=0.0))
        if over > TOLERANCE * max(1.0, data.capacity.max(initial=0.0)):
            raise SolverFailedError(self.name, f"shares {over:g} over a limit", "shares within the limits")
        return _result(data, shares)

    def trivial(self, data: SixthInstance, knobs: Knobs) -> Result | None:
        """No jobs, no shares."""
        return None if data.jobs else _result(data, np.zeros(data.pace.shape))


def _result(data: SixthInstance, shares: FloatArray) -> Result:
    worst = float((data.pace * shares).sum(axis=1).min()) if data.jobs else None
    rows = zip(data.jobs, shares.tolist(), strict=True)
    allocation = {job: dict(zip(data.types, row, strict=True)) for job, row in rows}
    return Result("feasible", worst, "max", "1", {"allocation": allocation})
''',
    "sixth/scheduler.py": '''\
"""The paper's scheduler: shares of time by its formulation, rounds by the mechanism that hands shares out."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.baselines.mechanisms.priority import PolicyAnswer
from workbench.baselines.mechanisms.share_scheduler import ShareScheduler
from workbench.scheduling.contract import Knobs, Route, StatedProblem
from workbench.scheduling.decision import Shares
from workbench.scheduling.snapshot import Snapshot

from .formulations.max_min_share import MaxMinShare
from .instance import SixthInstance
from .knobs import MOST_SHARE

FORMULATION = MaxMinShare()


class SixthPolicy:
    """Shares of time as the formulation has them; what is stated, `workbench.rows` and a lab show row by row."""

    def __call__(self, snapshot: Snapshot, knobs: Knobs, memory: Any = None) -> PolicyAnswer:
        instance = SixthInstance.from_snapshot(snapshot)
        found = FORMULATION.run(instance, knobs)
        rows = [[found.values["allocation"][job][kind] for kind in instance.types] for job in instance.jobs]
        values = np.clip(np.array(rows, dtype=float).reshape(instance.pace.shape), 0.0, 1.0)
        return PolicyAnswer(Shares(instance.jobs, instance.types, values), found)

    def stated(self, snapshot: Snapshot, knobs: Knobs, memory: Any = None) -> StatedProblem:
        """The problem that is solved for the jobs that are there."""
        return StatedProblem(FORMULATION, SixthInstance.from_snapshot(snapshot), knobs)


ROUTE = Route("same programme", FORMULATION.name)
SCHEDULER = ShareScheduler("sixth", "Sixth: max-min share", SixthPolicy(), (MOST_SHARE,), route=lambda knobs: ROUTE)
''',
    "sixth/explain.py": '''\
"""What the paper says of a job at a time of a run; it reads only the run."""

from __future__ import annotations

from dataclasses import replace

from workbench.baselines.mechanisms.priority.explain import explain as by_priority
from workbench.simulation.job_at_time import Explained, JobAtTime

RULE = "Time is divided so that the job that is worst off is as well off as can be."


def explain(job_at: JobAtTime) -> Explained:
    """The rule, then the job's shares and its place in the round."""
    found = by_priority(job_at)
    return replace(found, sentences=(RULE, *found.sentences))
''',
    "sixth/lessons/__init__.py": '"""Small examples and the numbers that are expected of them."""\n',
    "sixth/lessons/two_jobs.py": '''\
"""Two jobs alike, one fast GPU and one slow: each has half of either, 1/2 + 1/2 * 1/2 = 3/4 of its fastest speed."""

SCENARIO = {
    "cluster": {
        "accelerators": [{"name": "fast"}, {"name": "slow"}],
        "nodes": [
            {"name": "f", "accelerator": "fast", "gpus": 1},
            {"name": "s", "accelerator": "slow", "gpus": 1},
        ],
    },
    "jobs": [{"name": "one", "model": "m", "steps": 3600}, {"name": "two", "model": "m", "steps": 3600}],
    "throughputs": [
        {"model": "m", "accelerator": "fast", "steps_per_s": 1.0},
        {"model": "m", "accelerator": "slow", "steps_per_s": 0.5},
    ],
}
WORST_JOB = 0.75
''',
    "tests/test_sixth.py": '''\
"""The room keeps its contract, and its example has the numbers worked by hand."""

import pytest

import workbench
from sixth import ROOM
from sixth.lessons import two_jobs
from workbench.testing import check


def test_contract():
    check(ROOM)


@pytest.mark.parametrize("solver", ["highs", "glpk"])
def test_two_jobs_by_hand(solver):
    scenario = workbench.Scenario.from_dict(two_jobs.SCENARIO)
    result = workbench.solve(scenario, "sixth.max_min_share", solver=solver)
    assert result.objective == pytest.approx(two_jobs.WORST_JOB)


def test_it_is_in_the_lists_and_everybody_finishes():
    assert "sixth" in {found.name for found in workbench.schedulers()}
    run = workbench.simulate(workbench.Scenario.from_dict(two_jobs.SCENARIO), "sixth")
    assert run.jobs["finish_s"].notna().all()
''',
}


def add_commands(commands: Commands[Parser]) -> None:
    """Declare the command of this file."""
    help = "write a package with a room for a paper, tests included"
    parser = add_command(commands, "new-paper", help)
    parser.add_argument("name", metavar="NAME", help="of the room and its package: small letters, digits and _")
    parser.add_argument(
        "--to",
        metavar="FOLDER",
        default=".",
        help="where the folder NAME is made; made too (default: here)",
    )
    parser.set_defaults(command=new_paper, commands=commands.choices)


def new_paper(args: argparse.Namespace) -> Answer:
    """Write the package into a folder of its own, which must not be there yet; those above it are made."""
    name, folder = _checked(args.name, args.commands, Path(args.to)), Path(args.to) / args.name
    if Path(args.to).exists() and not Path(args.to).is_dir():
        raise InputError("--to", args.to, "a folder, or where one is to be made")
    if folder.exists() or folder.is_symlink():
        raise InputError(str(folder), Words("something that is there"), "a new folder (nothing is overwritten)")
    written = []
    for path, text in FILES.items():
        target = folder / _named(path, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_text(target, _named(text, name))
        written.append(str(target))
    found = {"folder": str(folder), "files": written}
    missing = [each for each in ("hatchling", "editables", "pytest") if importlib.util.find_spec(each) is None]
    fetched = [f"pip install {' '.join(missing)}"] if missing else []
    steps = [*fetched, f"pip install --no-deps --no-build-isolation -e {folder}", f"pytest {folder / 'tests'}"]
    return Answer(found, lambda: "\n".join([*written, "Next:", *(f"    {step}" for step in steps)]))


def _named(text: str, name: str) -> str:
    title = name.replace("_", " ").title().replace(" ", "")
    return text.replace("sixth", name).replace("Sixth", title)


def _checked(name: str, commands: Collection[str], parent: Path) -> str:
    """The name, unless a room, a scheduler, a command or a module of this Python has it, or one beside the folder to be
    made.
    """
    from workbench.session.registry import rooms, skipped_rooms

    of_python = keyword.iskeyword(name) or keyword.issoftkeyword(name) or hasattr(builtins, name)
    if not re.fullmatch("[a-z][a-z0-9_]*", name) or of_python or len(name) > 40:
        raise InputError("NAME", name, "at most 40 small letters, digits and _, a letter first, no word of Python's")
    taken = {*(room.name for room in rooms()), *skipped_rooms(), *(s.name for r in rooms() for s in r.schedulers)}
    if name in taken or name == "what_if":  # whose lab is ours
        raise InputError("NAME", name, "a name that no room or scheduler has")
    if name in {each.replace("-", "_") for each in commands}:
        raise InputError("NAME", name, "a name that no command has")
    if name in {*sys.stdlib_module_names, "tests"} or _module_at(name, parent):
        raise InputError("NAME", name, "a name that no module of this Python has")
    return name


def _module_at(name: str, parent: Path) -> bool:
    """Whether Python finds a module of that name, or a file beside the folder; where one happens to be does not count:
    `python -m` puts the working directory first.
    """
    here = sys.path[:1] if sys.path[:1] in ([""], [str(Path.cwd())]) else []
    found = importlib.machinery.PathFinder.find_spec(name, sys.path[len(here) :])
    return (found is not None and found.origin is not None) or (parent / f"{name}.py").exists()
