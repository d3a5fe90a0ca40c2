"""The estimators by name (`oracle`, `noisy:sd=0.1`, `low_rank:profiled=0.5`, ...), and who is told by which."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from workbench.base.errors import InputError
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Scheduler
from workbench.scheduling.estimators import layered, low_rank_pairs
from workbench.scheduling.estimators.layered import Layered
from workbench.scheduling.estimators.low_rank_pairs import LowRank
from workbench.scheduling.estimators.noise import NOISE, Noisy
from workbench.scheduling.estimators.oracle import NodeOracle, Oracle
from workbench.scheduling.estimators.pmi import Pmi
from workbench.scheduling.estimators.scaled_across_types import ScaledAcrossTypes
from workbench.scheduling.estimators.speed_error import ErrorLog, Errors, pair_errors, speed_errors
from workbench.scheduling.knob import Knob, Value, settle
from workbench.scheduling.snapshot import Belief

DEFAULT = "oracle"
"""What a scheduler is told unless its paper says more, or another estimator is named: the true speeds of types."""
PAPER = "paper"
"""In place of an estimator: each scheduler is told what its paper says it knows (`Scheduler.belief`)."""
Learnt = Literal["speeds", "speeds of pairs"]
ERRORS: Mapping[Learnt, Errors] = {"speeds": speed_errors, "speeds of pairs": pair_errors}
"""How far what an estimator learns is from the true speeds."""


class Estimator(NamedTuple):
    """A kind of belief. make: from a scenario and the knobs, as keywords; learns: what it learns in a run, if it does.

    title, help: for people, in a few words and in a sentence. reads: what it reads of a scenario besides speeds, named
    as in the `uses` of a scheduler.
    """

    name: str
    title: str
    help: str
    make: Callable[..., Belief]
    knobs: tuple[Knob, ...] = ()
    learns: Learnt | None = None
    reads: frozenset[str] = frozenset()

    def settle(self, given: Mapping[str, Any]) -> dict[str, Value]:
        """Every knob's value, as given or its default; raises InputError for a knob or value that there is not."""
        return settle(self.knobs, given, f"belief {self.name}")


ESTIMATORS = (
    Estimator(
        "oracle",
        "True speeds of GPU types",
        "The scheduler is told the speeds of the tab Throughputs: nodes of one type count as alike.",
        Oracle,
    ),
    Estimator(
        "nodes",
        "True speeds of single nodes",
        "The scheduler is told the speeds of the tab Throughputs and how fast each single node is.",
        NodeOracle,
    ),
    Estimator(
        "noisy",
        "Speeds of GPU types with errors",
        "The speed of a model on a type is off by a random factor that is never corrected.",
        Noisy,
        NOISE,
    ),
    Estimator(
        "low_rank",
        "Low rank (Gavel)",
        "Speeds of two jobs that share a GPU are estimated from a few measured pairs; other speeds are the true ones.",
        LowRank,
        low_rank_pairs.KNOBS,
        "speeds of pairs",
    ),
    Estimator(
        "scaled",
        "Scaled across types (Sia)",
        "Speeds of one GPU are known; gangs are taken to scale perfectly until one of the job has been measured.",
        ScaledAcrossTypes,
        learns="speeds",
    ),
    Estimator(
        "pmi",
        "PMI (HadarE)",
        "Speeds are first estimated from facts of GPUs and models; what is measured replaces the estimates.",
        Pmi,
        learns="speeds",
        reads=frozenset(
            {"models.batch_size", "models.dataset_class"}
            | {"accelerators.tflops", "accelerators.memory_gb", "accelerators.pcie_scaling"}
        ),
    ),
    Estimator(
        "layered",
        "Three layers (Hops)",
        "Speeds come from a formula until they have been measured on a GPU type, or better, on the very server.",
        Layered,
        layered.KNOBS,
        "speeds",
        frozenset({"models.parameters_gb", "models.load_s", "accelerators.link_gbps", "cluster.network_gbps"}),
    ),
)


@dataclass(frozen=True)
class Maker:
    """Makes an estimator's belief, with these knobs, for a scenario."""

    estimator: Estimator
    knobs: Mapping[str, Value]

    def __call__(self, scenario: Scenario, seed: int | None = None) -> Belief:
        """A new belief; raises InputError or ScenarioError for a scenario that lacks what the estimator needs.

        seed: of the run, default the scenario's; it counts where `draws`.
        """
        drawn = {"seed": scenario.seed if seed is None else seed} if self.draws else {}
        return self.estimator.make(scenario, **{**self.knobs, **drawn})

    @property
    def draws(self) -> bool:
        """Whether a run's seed decides what it says."""
        return self.knobs.get("seed", 0) is None

    @property
    def text(self) -> str:
        """`NAME:knob=value,knob=value` with the knobs that are not at their defaults, which `maker` reads back."""
        changed = [knob.name for knob in self.estimator.knobs if self.knobs[knob.name] != knob.default]
        given = ",".join(f"{name}={str(self.knobs[name]).lower()}" for name in changed)
        return f"{self.estimator.name}:{given}" if given else self.estimator.name

    def log(self) -> ErrorLog | None:
        """A log of the errors of beliefs made through it; None if the estimator does not learn."""
        learns = self.estimator.learns
        return None if learns is None else ErrorLog(self, every=None, errors=ERRORS[learns])


def maker(text: str) -> Maker:
    """What makes the belief `NAME` or `NAME:knob=value,knob=value` for a scenario.

    Raises InputError for a name, a knob or a value that there is not.
    """
    known = {estimator.name: estimator for estimator in ESTIMATORS}
    name, _, rest = text.partition(":") if isinstance(text, str) else ("", "", "")
    if name.strip() not in known:
        expected = "one of " + ", ".join(known) + ", with knobs such as low_rank:profiled=0.5, or paper"
        raise InputError("belief", text, expected)
    found = known[name.strip()]
    given: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in rest.split(","))):
        knob, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or knob in given:
            raise InputError("belief", part, f"knob=value, each knob of {found.name} at most once")
        given[knob] = value
    return Maker(found, found.settle(given))


def belief_of(scheduler: Scheduler, text: str | None = None) -> str:
    """The estimator that a scheduler is told speeds by, as `maker` reads it back. Raises what `maker` does.

    text: as asked; None and `paper`: what the scheduler declares.
    """
    return maker(scheduler.belief if text is None or text == PAPER else text).text


def belief_of_all(schedulers: Iterable[Scheduler], text: str | None = None) -> str:
    """What schedulers that are compared are told: as asked, else the same for all. Raises what `maker` does.

    The same is what all of them declare where they agree, otherwise the default.
    """
    if text is not None:
        return text if text == PAPER else maker(text).text
    declared = {scheduler.belief for scheduler in schedulers}
    return declared.pop() if len(declared) == 1 else DEFAULT
