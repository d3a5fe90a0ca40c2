"""`@workbench.scheduler`: what cannot be is refused where it is declared, what cannot be saved when first returned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import workbench
from workbench.base.errors import InputError
from workbench.scheduling.decision import InvalidDecision
from workbench.session import registry


def idle(snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
    """Gives nobody anything."""
    return workbench.Decision(), memory


def one_gpu(snapshot: Any, **more: Any) -> workbench.Decision:
    """The first GPU to the first job."""
    name, node = snapshot.jobs.names[0], snapshot.nodes.names[0]
    gpus = {node: int(snapshot.jobs.gpus[0])}
    return workbench.Decision((workbench.Assignment(name, gpus, snapshot.now_s + 360),), **more)


def run(decide: Callable[..., Any]) -> workbench.Run:
    workbench.scheduler("mine")(decide)
    return workbench.simulate("preset:start_here", "mine", until_s=720)


@pytest.mark.parametrize(
    "name", ["", " ", " a", "a ", 3, None, ["a"], "a\nb", "a,b", "a:b", "a=b", "\ud800", "x" * 201]
)
def test_names_that_cannot_be(name: Any) -> None:
    with pytest.raises(InputError, match=r"scheduler name: .* a text of 1 to 200 letters, digits"):
        workbench.scheduler(name)


@pytest.mark.parametrize("name", ["m", "mine", "my own", "a.b", "naïve-2", "x" * 200])
def test_names_that_can(name: str) -> None:
    assert workbench.scheduler(name)(idle) is idle
    assert workbench.find_scheduler(name).title == "Gives nobody anything"


def test_without_parentheses() -> None:
    with pytest.raises(InputError, match=r'@workbench.scheduler\("a name"\) above the function'):
        workbench.scheduler(idle)  # type: ignore[arg-type]


def test_a_shipped_name_is_refused() -> None:
    with pytest.raises(InputError, match="a name that no shipped scheduler has"):
        workbench.scheduler("fifo")


@pytest.mark.parametrize(
    "function",
    [lambda: None, lambda snapshot, memory, knobs: None, lambda a, b, c, d, e: None, lambda *, snapshot: None],
)
def test_other_arguments(function: Callable[..., Any]) -> None:
    with pytest.raises(
        InputError, match=r"scheduler mine: got .*lambda.*; expected decide\(snapshot, memory, knobs, rng"
    ):
        workbench.scheduler("mine")(function)
    assert not registry.is_own("mine")


def test_what_takes_four_values_in_another_way() -> None:
    workbench.scheduler("mine")(lambda *values: (workbench.Decision(), values[1]))
    workbench.scheduler("mine")(lambda s, m, k, r, extra=1: (workbench.Decision(), m))
    with pytest.raises(InputError, match="scheduler mine: got 3"):
        workbench.scheduler("mine")(3)  # type: ignore[type-var]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"round_s": "5"}, "seconds > 0"),
        ({"round_s": True}, "seconds > 0"),
        ({"round_s": float("inf")}, "seconds > 0"),
        ({"round_s": 0}, "seconds > 0"),
        ({"causes": "arrival"}, "a list of round, arrival"),
        ({"causes": 3}, "a list of"),
        ({"causes": [["arrival"]]}, "a list of"),
        ({"causes": None}, "a list of"),
        ({"causes": (), "round_s": None}, "at least one where there are no rounds"),
        ({"knobs": 3}, 'workbench.Knob."name"'),
        ({"knobs": ["round_s"]}, 'workbench.Knob."name"'),
        ({"knobs": [workbench.Knob("a", 1.0, "A"), workbench.Knob("a", 2.0, "A")]}, "each name once"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(InputError, match=f"scheduler mine, {next(iter(options))}: .*{expected}"):
        workbench.scheduler("mine", **options)


# --- Memory and reasons -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Notes:
    counts: dict[str, int]
    seen: Any = None


class Pair(NamedTuple):
    a: int
    b: Any


ITSELF: list[Any] = []
ITSELF.append(ITSELF)


@pytest.mark.parametrize(
    "memory",
    [
        *(None, True, 3, 2.5, float("inf"), "text", (1, [2, None]), {"a": {"b": 1}, ("a", 1): 4}, frozenset({"a"})),
        *(np.arange(3), np.float64(1), np.array(["a", "b"]), Notes({"a": 1}), Pair(1, (2,))),
    ],
    ids=repr,
)
def test_memory_that_json_can_hold(memory: Any) -> None:
    run(lambda snapshot, before, knobs, rng: (one_gpu(snapshot), memory))


@pytest.mark.parametrize(
    ("memory", "where"),
    [
        ({1, 2}, r"memory \{1, 2\}"),
        ((1, {2}), r"memory\[1\] \{2\}"),
        ({"a": object()}, r"memory\['a'\] <object"),
        ({1: 3}, "memory, a key 1"),
        (ITSELF, "memory more than 50 in one another"),
        (Notes({}, lambda: 1), "memory.seen <function"),
        (Pair(1, 1j), "memory.b 1j"),
        (np.array([object()]), "memory array"),
        (b"bytes", "memory b'bytes'"),
        (Notes, "memory <class"),
    ],
)
def test_memory_that_json_cannot_hold(memory: Any, where: str) -> None:
    with pytest.raises(InvalidDecision, match=f"decision of mine at 0 s: got {where}.*expected what JSON can hold"):
        run(lambda snapshot, before, knobs, rng: (one_gpu(snapshot), memory))


def test_reasons_that_can(tmp_path: Any) -> None:
    reason = workbench.Reason("code", "naïve 😀", {"why": "so", "x": 1.0})
    made = run(lambda snapshot, memory, knobs, rng: (one_gpu(snapshot, why={"vision": reason}), memory))
    made.save(tmp_path / "run")
    assert workbench.Run.load(tmp_path / "run") == made


@pytest.mark.parametrize("answer", [None, 3, (1, 2, 3), workbench.Decision(), ("x", None)])
def test_an_answer_that_is_none(answer: Any) -> None:
    with pytest.raises(InvalidDecision, match=r"a pair \(Decision, memory\)"):
        run(lambda snapshot, memory, knobs, rng: answer)
