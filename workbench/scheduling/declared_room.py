"""The declaration of a room: what a paper or a baseline offers. What is wrong in it is said where it is written.

A paper's package or a baseline's module sets `ROOM = Room(...)`; `workbench.session.registry` finds it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Self

from workbench.base.errors import NOTHING, InputError, Words, one_of, require_fields, within
from workbench.scenario.frozen import ATTRIBUTE_NAME
from workbench.scenario.job import Job
from workbench.scheduling.contract import Formulation, Mechanism, Scheduler
from workbench.scheduling.estimators.by_name import maker
from workbench.scheduling.knob import Knob, checked_knobs
from workbench.scheduling.snapshot import Snapshot

Study = Callable[[Snapshot, Mapping[str, Any]], dict[str, Any]]
"""From all jobs, known ahead, and what was chosen on a page, to what it shows, as JSON has it."""

READ_BY_SOME: Mapping[str, tuple[str, ...]] = {
    "": ("user", "gpu_choices", "weight", "entity", "rewards", "tasks_per_round"),
    "entities": ("weight", "policy", "quota_gpus"),
    "models": ("parameters_gb", "model_gb", "memory_gb", "batch_size", "dataset_class", "load_s"),
    "accelerators": ("memory_gb", "tflops", "pcie_scaling", "link_gbps"),
    "cluster": ("network_gbps",),
}
"""What only some schedulers read, of the jobs and of other parts of a scenario (in `uses` as `models.load_s`). Each has
a default that means `as if there were none`. Not here: what the core or a measure reads whoever schedules."""
_ATTRIBUTES_OF = ("attributes", "models.attributes", "nodes.attributes", "entities.attributes")

MECHANISMS = ("shares", "plan", "leases")
"""Those of no paper (`workbench.session.own_mechanisms`): no room declares another of the name."""
PICTURES = ("gantt", "tasks", "leases")
"""The schedule; tasks with the barriers of their rounds; leases of each job and its deadlines."""
TITLE = "a few words, without a full stop"
_WORD = r"[a-z][a-z0-9_]*"
NAME = re.compile(rf"(?:({_WORD})\.)?{_WORD}")
"""Of what a room offers; its group, where there is one, is the room."""


@dataclass(frozen=True, kw_only=True)
class Room:
    """A paper or a baseline and what it offers. Raises InputError for what cannot be, in words of the declaration.

    name: the name of its package or module; what it offers is called `<room>.<x>`, or by one word without a dot.
    title: as people call it; citation: who wrote it, where, when; notebook: the first that is about it, by whose name
    papers are put in order.
    mechanisms: by name, classes that carry out own models, besides `shares`, `plan` and `leases`.
    explanations: by scheduler, what says why a job had what it had at a time of a run (from a `JobAtTime` an
    `Explained`: `Any` here, as both are of the core, a later room); studies: by name, what pages of its lab show
    besides a run; estimators: those of speeds that the paper brings.
    symbols: by idea (`workbench.analysis.symbols.IDEAS`, or one of its own), the letters of its formulations that stand
    for it, each as `formulation symbol`, the room left out of the name; several separated by semicolons.
    example: the built-in scenario on which its models are built to be read.
    picture: the main picture of its lab, one of `PICTURES`; a run with nothing to show in it has the Gantt chart.
    """

    name: str = ""
    title: str = ""
    citation: str = ""
    notebook: str = ""
    formulations: tuple[Formulation[Any], ...] = ()
    schedulers: tuple[Scheduler, ...] = ()
    explanations: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    studies: Mapping[str, Study] = field(default_factory=dict)
    mechanisms: Mapping[str, type[Mechanism]] = field(default_factory=dict)
    estimators: tuple[str, ...] = ()
    symbols: Mapping[str, str] = field(default_factory=dict)
    example: str = "start_here"
    picture: str = "gantt"

    def __new__(cls, *given: Any, **by_name: Any) -> Self:
        for value in given[:1]:
            raise InputError("room", value, 'all fields by name: Room(name="mine", ...)')
        require_fields("room", cls, given, by_name)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not re.fullmatch(_WORD, self.name):
            expected = "the name of its package: small letters, digits and _"
            raise InputError("room, name", NOTHING if self.name == "" else self.name, expected)
        where = f"room {self.name}"
        for part in ("title", "citation", "notebook", "example"):
            if not isinstance(getattr(self, part), str):
                raise InputError(f"{where}, {part}", getattr(self, part), "text")
        if self.picture not in PICTURES:
            raise InputError(f"{where}, picture", self.picture, one_of(self.picture, PICTURES))
        if self.notebook and not re.fullmatch(r"\d\d_\w+", self.notebook):
            raise InputError(f"{where}, notebook", self.notebook, f"its place and a name: 07_{self.name}")
        if self.title.endswith("."):
            raise InputError(f"{where}, title", self.title, TITLE)
        object.__setattr__(self, "title", self.title or self.name)
        self._check_offered(f"{where}, formulations", self.formulations, Formulation)
        self._check_offered(f"{where}, schedulers", self.schedulers, Scheduler)
        names = [each.name for each in self.schedulers]
        for name, function in _entries(f"{where}, explanations", self.explanations, "{scheduler: function}"):
            if name not in names:
                raise InputError(f"{where}, explanations", name, f"a scheduler of the room: {one_of(name, names)}")
            require_function(
                f"{where}, explanations, {name}", function, 1, "explain(job_at), which returns an Explained"
            )
        for name, function in _entries(f"{where}, studies", self.studies, "{name: function}"):
            self._check_name(f"{where}, studies", name, any_word=True)
            require_function(f"{where}, studies, {name}", function, 2, "study(snapshot, given), which returns a dict")
        for name, kind in _entries(f"{where}, mechanisms", self.mechanisms, "{name: class}"):
            self._check_name(f"{where}, mechanisms", name, any_word=True)
            if name in MECHANISMS:
                raise InputError(f"{where}, mechanisms", name, f"a name beside {', '.join(MECHANISMS)}")
            if not isinstance(kind, type) or not issubclass(kind, Mechanism):
                raise InputError(f"{where}, mechanisms, {name}", kind, "a subclass of contract.Mechanism")
        if not isinstance(self.estimators, tuple) or not all(isinstance(each, str) for each in self.estimators):
            raise InputError(f"{where}, estimators", self.estimators, 'a tuple of names: ("low_rank",)')
        for each in self.estimators:
            with within(f"{where}, estimators"):
                maker(each)
        self._check_symbols(f"{where}, symbols")

    def letters(self) -> dict[str, tuple[str, ...]]:
        """By idea, its symbols, each as `room.formulation symbol`."""
        return {
            idea: tuple(f"{self.name}.{each.strip()}" for each in text.split(";"))
            for idea, text in self.symbols.items()
        }

    def _check_offered(self, where: str, offered: Any, kind: type[Any]) -> None:
        noun = kind.__name__
        if not isinstance(offered, tuple):
            one = next(iter(offered), None) if isinstance(offered, (list, Set)) else offered
            named = one if isinstance(one, type) else type(one) if isinstance(one, kind) else None
            raise InputError(where, offered, f"a tuple of {noun}s: ({named.__name__ if named else 'Mine'}(),)")
        for each in offered:
            if isinstance(each, type):
                raise InputError(where, each, f"an instance of the class: {each.__name__}()")
            if not isinstance(each, kind):
                raise InputError(where, each, f"an instance of workbench.{noun}")
            name = getattr(each, "name", None)
            if name is None:
                raise InputError(where, Words(f"{type(each).__name__} without a name"), f'name = "{self.name}.mine"')
            self._check_name(where, name)
            if [getattr(other, "name", None) for other in offered].count(name) > 1:
                raise InputError(where, name, "each name once")
            check_declared(each)

    def _check_name(self, where: str, name: Any, any_word: bool = False) -> None:
        """A name that begins with the room's: so it is found without importing every room, and is no other's."""
        found = NAME.fullmatch(name) if isinstance(name, str) else None
        if found is None or found[1] not in (None, self.name) or not (any_word or name.startswith(self.name)):
            rule = "small letters, digits and _" if found is None else "it begins with the room's name"
            raise InputError(where, name, f"a name such as {self.name}.mine ({rule})")

    def _check_symbols(self, where: str) -> None:
        known = {each.name for each in self.formulations}
        for idea, text in _entries(where, self.symbols, '{idea: "formulation symbol"}'):
            parts = [each.strip().partition(" ") for each in text.split(";")] if isinstance(text, str) else []
            if not parts or not all(symbol for _, _, symbol in parts):
                raise InputError(
                    f"{where}, {idea}", text, 'a formulation and its symbol ("lp j"; several: "lp j; ip i")'
                )
            for formulation, _, _ in parts:
                if f"{self.name}.{formulation}" not in known:
                    self._refuse_formulation(f"{where}, {idea}", formulation, sorted(known))

    def _refuse_formulation(self, where: str, name: str, known: Sequence[str]) -> None:
        """Raise InputError for a formulation that is named in full, is called without the room, or is none."""
        prefix = f"{self.name}."
        if name in known and name.startswith(prefix):
            raise InputError(where, name, f"{name.removeprefix(prefix)}: the room is left out here")
        if name in known:
            raise InputError(where, name, f'a formulation with the room in its name: name = "{prefix}{name}"')
        expected = one_of(name, (each.removeprefix(prefix) for each in known))
        raise InputError(where, name, f"a formulation of the room: {expected}")


def check_declared(offered: Formulation[Any] | Scheduler) -> None:
    """Raise InputError for a title, knobs, or what a scheduler reads and is told, that cannot be."""
    noun, title = "formulation" if isinstance(offered, Formulation) else "scheduler", getattr(offered, "title", None)
    if not isinstance(title, str) or not title or title.endswith("."):
        raise InputError(f"{noun} {offered.name}, title", title, TITLE)
    where = f"{noun} {offered.name}"
    _check_knobs(where, offered)
    for flag in ("offline", "packs") if isinstance(offered, Scheduler) else ("offline", "own"):
        if not isinstance(getattr(offered, flag), bool):
            raise InputError(f"{where}, {flag}", getattr(offered, flag), "True or False")
    if not isinstance(offered.ways, Set) or not all(isinstance(each, str) for each in offered.ways):
        raise InputError(f"{where}, ways", offered.ways, 'a set of knobs by name: {"method"}')
    for part, method in vars(Scheduler if isinstance(offered, Scheduler) else Formulation).items():
        if inspect.isfunction(method) and not callable(getattr(offered, part)):
            raise InputError(f"{where}, {part}", getattr(offered, part), "a method")
    if isinstance(offered, Scheduler):
        if not isinstance(offered.formulation, str):
            raise InputError(f"{where}, formulation", offered.formulation, "a formulation's name, empty for none")
        checked_uses(where, offered.uses, Set)
        with within(where):
            maker(offered.belief)


def checked_uses(where: str, given: Any, kind: Any = Iterable) -> frozenset[str]:
    """What a scheduler declares to read; raises InputError for what is not of that kind, or names what is nowhere."""
    names: list[Any] = list(given) if isinstance(given, kind) and not isinstance(given, str) else [None]
    if not all(isinstance(each, str) for each in names):
        raise InputError(f"{where}, uses", given, 'a set of texts: {"weight", "attributes.lora_rank"}')
    known = [
        *(f"{part}.NAME" for part in _ATTRIBUTES_OF),
        *(field for field in Job.model_fields if field != "attributes"),
        *(f"{part}.{field}" for part, fields in READ_BY_SOME.items() if part for field in fields),
    ]
    for each in sorted({*names} - {*known}):
        part, _, name = each.rpartition(".")
        if part not in _ATTRIBUTES_OF or not re.fullmatch(ATTRIBUTE_NAME, name):
            raise InputError(f"{where}, uses", each, one_of(each, known))
    return frozenset(names)


def _entries(where: str, given: Any, expected: str) -> Iterator[tuple[Any, Any]]:
    if not isinstance(given, Mapping):
        raise InputError(where, given, expected)
    yield from given.items()


def require_function(where: str, function: Any, arguments: int, expected: str) -> None:
    """Raise InputError for what is no function, or cannot be called with so many arguments."""
    if not callable(function) or isinstance(function, type):
        raise InputError(where, function, expected)
    try:
        inspect.signature(function).bind(*[None] * arguments)
    except TypeError:
        raise InputError(where, Words(f"a function{inspect.signature(function)}"), expected) from None


def _check_knobs(where: str, owner: Formulation[Any] | Scheduler) -> None:
    """Knobs and named sets of their values."""
    if not isinstance(owner.knobs, tuple):
        raise InputError(f"{where}, knobs", owner.knobs, "a tuple of workbench.Knob: (Knob(...),)")
    knobs: dict[str, Knob] = {knob.name: knob for knob in checked_knobs(where, owner.knobs)}
    for name, values in _entries(f"{where}, presets", owner.presets, "{name: {knob: value}}"):
        here = f"{where}, preset {name}"
        for knob, value in _entries(here, values, "{knob: value}"):
            if knob not in knobs:
                raise InputError(here, knob, one_of(knob, knobs))
            with within(here):
                knobs[knob].check(value)
        if "preset" not in knobs:
            raise InputError(here, Words("no knob preset"), "a knob `preset` that chooses between them")
        knobs["preset"].check(name)
