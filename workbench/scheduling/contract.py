"""The contract of whoever schedules: Formulation, what it found (Result), Scheduler, and when one is asked (Timing).

Papers and baselines implement it, mechanisms help them, `workbench.session.registry` finds what they offer.
"""

from __future__ import annotations

import contextlib
import copy
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, Self, TypeVar, get_args, runtime_checkable

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.base.card import card
from workbench.base.errors import NOTHING, InputError, Words, WorkbenchError, one_of
from workbench.base.labels import listed
from workbench.base.rounding import short_number
from workbench.base.units import format_duration
from workbench.scenario.scenario import Scenario
from workbench.scheduling.decision import Cause, Decision
from workbench.scheduling.knob import Knob, Settled, Value, settle
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers.solve_report import SolveReport

if TYPE_CHECKING:
    import pyomo.environ as pyo

    from workbench.scheduling.solvers import Point, Programme, Solver

Data = TypeVar("Data")
Knobs = Mapping[str, Any]
Memory = Any
"""A scheduler's own frozen value: None, or a frozen dataclass of numbers, texts, arrays, tuples and mappings."""
ROWS_SHOWN = 10
"""Jobs whose shares a card shows."""


@dataclass(frozen=True, eq=False)
class StatedProblem:
    """What was solved: a formulation, its numbers, its knobs; solver: how, None for the formulation's own way."""

    formulation: Formulation[Any]
    data: Any
    knobs: Knobs
    solver: Solver | None = None


@dataclass(frozen=True, eq=False)
class ExactProblem:
    """The problem that an algorithm is for, of all jobs of a scenario, and what a run is worth in its terms.

    worth: of (jobs,) completion times in s, in the order of the data's jobs, NaN for one that has none, the objective;
    plan: of a result, the schedule as rows of a table; counted: what the objective sums up, and leaves_out: what a run
    has and the problem has not, in words; relative: whether the objective has a zero of its own, so that a part of it
    says something.
    """

    formulation: Formulation[Any]
    data: Any
    knobs: Knobs
    worth: Callable[[FloatArray], float]
    plan: Callable[[Result], list[dict[str, Any]]]
    counted: str
    leaves_out: str
    relative: bool = True


SLIPS: ContextVar[dict[str, str] | None] = ContextVar(
    "what is to be said of each own formulation in a solve or a run", default=None
)


@contextlib.contextmanager
def slips() -> Iterator[dict[str, str]]:
    """Within, an own formulation that changes nothing of its base is told under its name; once it did change something
    its text is empty, and no later model of it is compared any more."""
    found: dict[str, str] = {}
    token = SLIPS.set(found)
    try:
        yield found
    finally:
        SLIPS.reset(token)


StatedAnswer = Callable[[StatedProblem], Mapping[str, FloatArray]]
"""From a problem to {variable: its values in the order of its index}."""


@dataclass(frozen=True, repr=False)
class Result(SolveReport):
    """What a formulation found: how the solve went, the objective, and the values by name, as plain data.

    objective: recomputed from the values, not the solver's word; values: `allocation {job: {type: share}}` and the
    like; iterations: what each pass of an iterating algorithm said; problem: what `workbench.solve` solved, for
    `workbench.rows` (kept in memory only); warnings: sentences on what is most likely not meant.
    """

    sense: str
    unit: str
    values: Mapping[str, Any]
    iterations: tuple[Mapping[str, Any], ...] = ()
    problem: StatedProblem | None = field(default=None, compare=False)
    warnings: tuple[str, ...] = ()

    def headline(self) -> str:
        """Status and objective in a line."""
        if self.objective is None:
            return self.status
        unit = "" if self.unit in ("", "1") else f" {self.unit}"
        return f"{self.status}, {self.sense} {short_number(self.objective, 6)}{unit}"

    def __repr__(self) -> str:
        return f"<Result: {self.headline()}; values: {listed(self.values, 6)}>"

    def _repr_html_(self) -> str:
        limits = {"Bound": self.bound, "Gap": self.gap}
        rows = [(name, short_number(value, 6)) for name, value in limits.items() if value is not None]
        times = f"{format_duration(self.build_s, parts=1)} to build, {format_duration(self.solve_s, parts=1)} to solve"
        rows += [("Solver", f"{self.solver}, {times}"), ("Values", ", ".join(self.values))]
        mind = [f"Warning: {text}" for text in self.warnings]
        return card(f"Result: {self.headline()}", rows, mind=mind) + self._shares()

    def _shares(self) -> str:
        """The first shares of time, as HTML; empty without any."""
        shares = self.values.get("allocation") or {}
        types = list(dict.fromkeys(name for row in shares.values() for name in row))
        rows = [[job, *(short_number(row.get(name, 0.0)) for name in types)] for job, row in shares.items()]
        left = len(rows) - ROWS_SHOWN
        more = f"and {left} more: allocation_table(result)" if left > 0 else ""
        return card("Shares of time:", rows[:ROWS_SHOWN], ["Job", *types], [more]) if rows else ""

    def reported(
        self, solved: SolveReport, build_s: float = 0.0, iterations: Iterable[Mapping[str, Any]] = ()
    ) -> Result:
        """The same with the report on its solve; build_s: seconds beside those that the report has for building."""
        said = {each.name: getattr(solved, each.name) for each in fields(SolveReport) if each.name != "objective"}
        said["build_s"] += build_s
        return replace(self, **said, iterations=tuple(iterations))


class Formulation(ABC, Generic[Data]):
    """An optimisation problem of a paper as a readable Pyomo model.

    The module's docstring states it equation by equation; `build` gives the parts the same names and tags. A faster
    `assemble` may put the same programme together without Pyomo: what solves it and what reads the answer are the same
    for both, so that both end at the same point. reading: a sentence on how its values relate to its objective, where
    the names alone could mislead. own: declared in a session (`workbench.formulation`): its numbers are taken as they
    are, jobs are not merged and times not scaled. last_decides: its values are those of the last of several programmes,
    which does not come to its objective. ways: knobs that choose between ways to its answer; an own one,
    whose model alone is solved, has none of them. values_gpus: one linear programme of all GPUs, whose duals say what
    one more is worth: among those that are offered for it.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    knobs: ClassVar[tuple[Knob, ...]] = ()
    presets: ClassVar[Mapping[str, Mapping[str, Value]]] = {}
    offline: ClassVar[bool] = False
    reading: ClassVar[str] = ""
    own: ClassVar[bool] = False
    last_decides: ClassVar[bool] = False
    ways: ClassVar[frozenset[str]] = frozenset()
    values_gpus: ClassVar[bool] = False

    def __new__(cls, *args: Any, **given: Any) -> Self:
        """Raises InputError for a class without a name, or that lacks a method."""
        _require_complete(cls)
        return super().__new__(cls)

    def __repr__(self) -> str:
        return f"<Formulation {self.name}: {self.title}>"

    def _repr_html_(self) -> str:
        return _card_of(self, [self.reading])

    @abstractmethod
    def data(self, snapshot: Snapshot, knobs: Knobs) -> Data:
        """The numbers of the problem, frozen; they can be built by hand just as well."""

    @abstractmethod
    def build(self, data: Data, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model."""

    def at_once(self, knobs: Knobs) -> bool:
        """Whether with these knobs its answer is that of its model, solved once; False: of several, solved in turn."""
        return True

    def assemble(self, data: Data, knobs: Knobs) -> Programme | None:
        """The programme that `build` compiles to, put together as arrays: rows, columns, their order and names, senses,
        limits, and coefficients to the bit (`workbench.testing.same_programme`). None: only the model states it."""
        return None

    def solve(self, programme: Programme, data: Data, knobs: Knobs, solver: Solver) -> Point:
        """The answer to its programme, whoever made it; a formulation whose programmes call for a method has its own.

        Raises the errors of `workbench.scheduling.solvers`.
        """
        from workbench.scheduling.solvers import solve_matrix

        return solve_matrix(programme, solver)

    def read(self, model: pyo.ConcreteModel, data: Data, knobs: Knobs) -> Result:
        """The solved model's values, objective recomputed from them and feasibility checked; by default by `found`."""
        from workbench.scheduling.solvers.compile import values_of

        return self.found(values_of(model), data, knobs)

    def found(self, values: Mapping[str, FloatArray], data: Data, knobs: Knobs) -> Result:
        """The same of {variable: its values in the order of its index}, of a model or of an assembly.

        A formulation has this, or a `read` of its own if nothing but its model states it.
        """
        raise NotImplementedError(f"{type(self).__name__}: read, or found")

    def trivial(self, data: Data, knobs: Knobs) -> Result | None:
        """The answer where no solver is needed (no jobs), else None."""
        return None

    def grown(self, data: Data, accelerator: str, gpus: float) -> Data:
        """The same problem with so many more GPUs of a type and all else as it is, what jobs are measured by included.

        For the value of a GPU (`workbench.marginal_values`). Raises InputError where the problem has no such number.
        """
        expected = "a formulation with a capacity for each accelerator type"
        raise InputError("formulation", self.name, expected)

    def statement(self, knobs: Knobs, data: Any = None) -> Any:
        """Whose module's docstring, or which function by its own, states the problem that `build` gives with these
        knobs (and these numbers, where they decide it too), for `workbench.scheduling.notation`."""
        return self

    def options(self, knobs: Knobs, solver: Solver) -> Solver:
        """The solver's options as the knobs want them."""
        return solver

    def run(self, data: Data, knobs: Knobs, solver: Solver | None = None) -> Result:
        """Build and compile, or `assemble` (knob `model` = `assembly`), then solve and read; a formulation that
        iterates has its own. Raises the errors of `workbench.scheduling.solvers`.

        knobs: settled ones, of those that it declares; others are not looked at. A scheduler hands on its own, which
        are more (its rounds, `model`), and cannot know what an own formulation in its place declares; what a user
        writes is refused before, by `settle`.
        """
        from workbench.scheduling.solvers import Solver

        nothing = self.trivial(data, knobs)
        if nothing is not None:
            return replace(nothing, status="optimal", solver="none needed")
        options, began = self.options(knobs, solver or Solver()), time.perf_counter()
        programme = self.assemble(data, knobs) if assembled(knobs) else None
        if programme is None:
            return self._as_stated(data, knobs, options)
        build_s = time.perf_counter() - began
        point = self.solve(programme, data, knobs, options)
        return self.found(programme.values(point), data, knobs).reported(point.solved, build_s)

    def _as_stated(self, data: Data, knobs: Knobs, solver: Solver) -> Result:
        """By the stated model."""
        from workbench.scheduling.solvers import answer
        from workbench.scheduling.solvers.compile import built, load_point

        began = time.perf_counter()
        model, compiled = built(lambda: self.build(data, knobs), solver.start)
        build_s = time.perf_counter() - began
        point = answer(model, compiled, solver, lambda programme: self.solve(programme, data, knobs, solver))
        load_point(model, compiled, point)
        found: Any = self.read(model, data, knobs)
        if not isinstance(found, Result):
            raise InputError(f"{self.name}, read", found, "a workbench.Result")
        return found.reported(point.solved, build_s)

    def attempt(self, data: Data, knobs: Knobs, solver: Solver | None = None) -> Result | None:
        """The same, None where no point satisfies all constraints."""
        from workbench.scheduling.solvers import InfeasibleError

        try:
            return self.run(data, knobs, solver)
        except InfeasibleError:
            return None

    def code(self) -> str:
        """A digest of what a session wrote of it, a part of a run's key; empty for what is shipped."""
        return ""

    @property
    def repeats(self) -> bool:
        """Whether its answer takes more than the one programme that `build` states."""
        return type(self).run is not Formulation.run

    def settle(self, given: Mapping[str, Any]) -> Settled:
        """Every knob's value, see `workbench.scheduling.knob.settle`."""
        return settle(self.knobs, given, self.name, self.presets)


NO_EXACT = "exact problem of {}"
"""Where a scheduler says that none is stated for a whole run; any other error of `exact` is a mistake."""
MODEL = Knob(
    "model",
    "assembly",
    "How the problem comes about: put together as arrays (fast), or compiled from the Pyomo model that states it",
    choices=("assembly", "pyomo"),
)


def assembled(knobs: Knobs) -> bool:
    """Whether a faster assembly is to stand in for the stated model."""
    return knobs.get("model") == "assembly"


@dataclass(frozen=True, slots=True)
class Timing:
    """When a scheduler is asked: at every multiple of `round_s` (None: no rounds), and on these causes.

    only_waiting: where all jobs hold GPUs and no assignment ends now, it has nothing to decide before something happens
    and is not asked (but for a belief that learns), nor at an arrival after it said BLOCKED. Raises InputError
    for a length of rounds that cannot be, and for causes that are none.
    """

    round_s: float | None = None
    causes: frozenset[Cause] = frozenset()
    only_waiting: bool = False

    def __post_init__(self) -> None:
        given, wrong = self.round_s, isinstance(self.round_s, bool) or not isinstance(self.round_s, (int, float))
        if given is not None and (wrong or not 0 < given < math.inf):
            raise InputError("round_s", given, "seconds > 0, or None for no rounds")
        listed = isinstance(self.causes, Iterable) and not isinstance(self.causes, str)
        causes = list(self.causes) if listed else []
        unknown = [cause for cause in causes if cause not in get_args(Cause)]
        if unknown or not listed:
            raise InputError("causes", unknown or self.causes, "a list of " + ", ".join(get_args(Cause)))
        object.__setattr__(self, "causes", frozenset(causes))


RouteKind = Literal["same programme", "other route", "algorithm"]


@dataclass(frozen=True, repr=False)
class Route:
    """How a scheduler comes to its decisions.

    kind: `same programme` solves what `formulation` states, row by row; `other route` comes to its optimum in another
    way, for a reason; `algorithm` decides by rules, with no formulation between, and `formulation` is the problem that
    the paper sets them, if there is one. reason: what it does in the place of a solver. Raises InputError for another
    kind, and where formulation or reason is missing.
    """

    kind: RouteKind = "algorithm"
    formulation: str = ""
    reason: str = ""

    def __post_init__(self) -> None:
        if self.kind not in get_args(RouteKind):
            raise InputError("route, kind", self.kind, one_of(self.kind, get_args(RouteKind)))
        if self.kind != "algorithm" and not (isinstance(self.formulation, str) and self.formulation):
            raise InputError("route, formulation", self.formulation or NOTHING, "the name of what is solved")
        if self.kind == "other route" and not self.reason:
            raise InputError("route, reason", NOTHING, "why it is not the problem itself")

    @property
    def sentence(self) -> str:
        """The same in a sentence."""
        if self.kind == "same programme":
            return f"The model decides: what is solved is what {self.formulation} states, row by row."
        if self.kind == "other route":
            return f"What decides has the optimum of {self.formulation}, but is not solved row by row: {self.reason}."
        problem = f"; the problem is {self.formulation}" if self.formulation else ""
        reason = self.reason or "its own rules, which are told with each decision"
        return f"An algorithm decides, not a formulation: {reason}{problem}."

    def __repr__(self) -> str:
        return f"<Route: {self.kind}. {self.sentence}>"

    def _repr_html_(self) -> str:
        return card(f"Route: {self.kind}", (), more=[self.sentence])


class Scheduler(ABC):
    """Turns snapshots into decisions. `decide` is pure: same snapshot, memory, knobs and generator, same answer.

    uses: the properties of a job that it reads, and with a dot what it reads of other parts of a scenario
    (`entities.policy`, `models.load_s`, `cluster.network_gbps`); `workbench.ignored` names what else a scenario sets.
    Of attributes it sees those alone that it names: `attributes.lora_rank` of jobs, `models.attributes.family`,
    `nodes.attributes.rack` (`Snapshot.cluster.each_node[row].attributes`).
    presets: named sets of knob values, chosen by a knob `preset`.
    packs: it lets jobs share their GPUs where a scenario allows it, without being told by a knob `space_sharing`.
    belief: the estimator by name that tells it speeds unless another is asked for: what its paper says it knows.
    formulation: the name of the one in whose place `with_formulation` takes another; empty if none decides by itself.
    instead: the own formulation that it solves in that place; ways: as of formulations; carried_by: the
    scheduler whose mechanism carries out what `instead` says, or of a new model the mechanism: its explanation holds.
    """

    name: str
    title: str
    knobs: tuple[Knob, ...] = ()
    presets: Mapping[str, Mapping[str, Value]] = {}
    uses: frozenset[str] = frozenset({"arrival_s", "steps", "gpus"})
    offline: bool = False
    packs: bool = False
    belief: str = "oracle"
    formulation: str = ""
    instead: Formulation[Any] | None = None
    carried_by: str = ""
    ways: frozenset[str] = frozenset()

    def __new__(cls, *args: Any, **given: Any) -> Self:
        """Raises InputError for a class that lacks a method, or a name that no `__init__` of its own may give it."""
        _require_complete(cls)
        return super().__new__(cls)

    def __repr__(self) -> str:
        named = [str(getattr(self, part)) for part in ("name", "title") if hasattr(self, part)]
        return f"<Scheduler {': '.join(named) or type(self).__name__}>"

    def _repr_html_(self) -> str:
        route = self.route(self.settle({})).sentence
        return _card_of(self, [route, f"Reads of a scenario: {', '.join(sorted(self.uses))}."])

    @abstractmethod
    def timing(self, knobs: Knobs) -> Timing:
        """When it wants to be asked."""

    def start(self, scenario: Scenario, knobs: Knobs) -> Memory:
        """The memory before the first decision."""
        return None

    @abstractmethod
    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        """The decision at `snapshot.now_s` and the memory for the next one."""

    def route(self, knobs: Knobs) -> Route:
        """How it comes to its decisions with these knobs; unless it says so, by the formulation that it solves instead,
        or else by an algorithm."""
        return Route() if self.instead is None else Route("same programme", self.instead.name)

    def stated(self, snapshot: Snapshot, memory: Memory, knobs: Knobs) -> StatedProblem | None:
        """The programme that `decide` solves for this snapshot and memory, as its formulation states it, for
        `workbench.rows`; None where an algorithm decides."""
        return None

    def exact(self, snapshot: Snapshot, knobs: Knobs, end_s: float) -> ExactProblem:
        """The problem that its algorithm is for, of all jobs, those to come included (`workbench.exact`).

        snapshot: at 0 s, offline; end_s: when the run ended. Raises InputError at NO_EXACT where none is stated for a
        whole run.
        """
        route, expected = self.route(knobs), "a scheduler whose paper states the problem of a whole run"
        if route.formulation:
            expected += f"; of the jobs at one time `workbench.solve(scenario, {route.formulation!r}, at=...)`"
        raise InputError(NO_EXACT.format(self.name), Words(route.sentence), expected)

    def answered_by(self, answer: StatedAnswer) -> Scheduler | None:
        """The same scheduler with another answer to its problems, which may break a limit: what would a row change?
        None where it cannot go by that."""
        return None

    def about(self, knobs: Knobs) -> frozenset[str]:
        """What of `uses` matters with these knobs; labs and the command line say where a scenario has none of it."""
        return self.uses

    def with_formulation(self, formulation: Formulation[Any]) -> Scheduler:
        """This scheduler under the formulation's name, which solves that where the paper's own would be solved.

        Raises InputError where the paper's algorithm decides, and no formulation does.
        """
        if not self.formulation:
            got = Words(f"a formulation of {self.name}, by which no run goes")
            why = self.route(self.settle({})).sentence
            raise InputError(f"scheduler {formulation.name}", got, f"workbench.solve alone: {why[0].lower()}{why[1:]}")
        found = copy.copy(self)
        found.name, found.title, found.instead = formulation.name, formulation.title, formulation
        found.carried_by = self.carried_by or self.name
        found.knobs = tuple(knob for knob in self.knobs if knob.name not in self.ways)
        return found

    def code(self) -> str:
        """A digest of what a session wrote of it, a part of a run's key; empty for what is shipped."""
        return "" if self.instead is None else self.instead.code()

    def settle(self, given: Mapping[str, Any]) -> dict[str, Value]:
        """Every knob's value, see `workbench.scheduling.knob.settle`."""
        return settle(self.knobs, given, self.name, self.presets)


@runtime_checkable
class Priced(Protocol):
    """A scheduler whose jobs pay prices (Hadar)."""

    def charging(self, job: str, part: float) -> Scheduler:
        """The same scheduler, but that a job pays a part of the prices alone: what would that change?"""


def _require_complete(kind: type[Any]) -> None:
    lacks, base = sorted(kind.__abstractmethods__), "Formulation" if issubclass(kind, Formulation) else "Scheduler"
    if lacks:
        expected = f"a method of each name, as in `help(workbench.{base})`"
        raise InputError(f"class {kind.__name__}", Words(f"no {', no '.join(lacks)}"), expected)
    if base == "Formulation" or kind.__init__ is object.__init__:
        require_named(kind, kind)


class Mechanism(ABC):
    """What carries out an own model (`@workbench.formulation("mine", mechanism=...)`); its docstring says how.

    variables: those of the model that it reads, with as many indices; form: what it makes of them in `Result.values`,
    where a class puts it itself; knobs: those that the data need.
    """

    variables: ClassVar[Mapping[str, int]]
    form: ClassVar[str]
    knobs: ClassVar[tuple[Knob, ...]] = ()

    @staticmethod
    def data(snapshot: Snapshot, knobs: Knobs) -> Any:
        """What the function gets."""
        return snapshot

    @staticmethod
    @abstractmethod
    def values(model: Any, data: Any, name: str) -> dict[str, Any]:
        """`Result.values` of a solved model; raises InputError, under the formulation's name, for a limit broken."""

    @classmethod
    @contextlib.contextmanager
    def reading(cls, name: str, values: Mapping[str, Any]) -> Iterator[None]:
        """Raise InputError for values, of a class, that turn out within not to be of the form."""
        try:
            yield
        except WorkbenchError:
            raise
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise InputError(f"formulation {name}, values", values, cls.form) from error

    @staticmethod
    @abstractmethod
    def scheduler(formulation: Formulation[Any]) -> Scheduler:
        """The scheduler that goes by the formulation, under its name."""

    @staticmethod
    def explainer() -> Callable[[Any], Any] | None:
        """What explains a job at a time; None where the run's tables say all. (`Any` for `JobAtTime`
        and `Explained`, of the core, a later room.)"""
        return None


def require_named(owner: Any, kind: type[Any]) -> None:
    """Raise InputError for a class, or what its `__init__` made, without a name or title."""
    for part, example in (("name", "room.mine"), ("title", "Mine")):
        if not hasattr(owner, part):
            where = f"{'formulation' if issubclass(kind, Formulation) else 'scheduler'} {kind.__name__}"
            raise InputError(where, Words(f"a class without a {part}"), f'{part} = "{example}"')


def _card_of(owner: Formulation[Any] | Scheduler, more: Iterable[str]) -> str:
    """Name, title and knobs as HTML."""
    rows = [(knob.name, knob.default_text, knob.expected(), knob.help) for knob in owner.knobs]
    return card(f"{owner.name}: {owner.title}", rows, ("Knob", "Default", "Values", "Meaning"), more)
