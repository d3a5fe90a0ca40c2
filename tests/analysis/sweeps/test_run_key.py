"""The key of a run: what a result depends on changes it, and nothing else does."""

import copy
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import workbench
from tests.full_scenario import FULL
from workbench.scenario.scenario import Scenario
from workbench.simulation.run import run_key

WHOLE = Scenario.from_dict(FULL)
UNUSED = ("name", "description", "notes", "schedulers", "recorded", "calibrated", "begins", "format")


def leaves(value, path=()):
    """Paths of the numbers, texts and truths in a value, with the value."""
    if isinstance(value, dict | list):
        for name, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(part, (*path, name))
    else:
        yield path, value


def others(value):
    """Values of the same kind: of some field, not each may be allowed."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value + 1, value / 2, value + 0.125, value * 1.5, value - 1, 0]
    words = ("unconsolidated", "consolidated", "fixed", "linear", "none", "fairness", "v100", "k80", "a3c", "resnet50")
    return [*words, "j1", "b-0", "another"]


def changed(path, value):
    """The full scenario with one value exchanged, or None if no other is allowed there by itself."""
    for other in others(value):
        data = copy.deepcopy(FULL)
        at = data
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = other
        try:
            found = Scenario.model_validate(data)  # each field by itself: whether they fit together is no matter here
        except ValidationError:
            continue
        if found != WHOLE:
            return found
    return None


def test_every_value_of_a_scenario_is_in_the_key_but_words_plan_and_record():
    keys, alone = {WHOLE.key()}, []
    for path, value in leaves({name: part for name, part in FULL.items() if name not in UNUSED}):
        found = changed(path, value)
        if found is None:
            alone.append(path)
        else:
            assert found.key() not in keys, path
            keys.add(found.key())
    assert alone == [("jobs", 0, "gpu_choices", 0)], "the job's own size: it cannot be another one"
    assert len(keys) > 50


SEEN = st.text(st.characters(exclude_categories=("Cs", "Cc", "Cf", "Zl", "Zp")), max_size=20)


@given(SEEN, SEEN)
def test_a_name_and_a_description_are_not_in_the_key(name, description):
    data = {**FULL, "name": name, "description": description, "schedulers": []}
    assert Scenario.from_dict(data).key() == WHOLE.key()


VALUES = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.floats(allow_nan=False), st.text(max_size=3))
KNOBS = st.dictionaries(st.text(min_size=1, max_size=3), VALUES, max_size=4)
ENDS = st.fixed_dictionaries(
    {
        "belief": st.none() | st.text(max_size=3),
        "until_s": st.none() | st.floats(0, 1e9),
        "window": st.none() | st.tuples(st.integers(0, 3), st.integers(0, 3)),
    }
)
PARTS = st.tuples(st.text(max_size=2), st.text(max_size=2), KNOBS, st.integers(0, 3), ENDS)


def exact(parts):
    """Parts as text that tells 1 from 1.0 and from true."""
    scenario, scheduler, knobs, seed, ends = parts
    return repr((scenario, scheduler, sorted(knobs.items()), seed, sorted(ends.items())))


def key(parts):
    scenario, scheduler, knobs, seed, ends = parts
    return run_key(scenario, scheduler, knobs, seed, **ends)


@given(PARTS, PARTS)
def test_keys_are_equal_where_all_parts_are(one, two):
    assert (key(one) == key(two)) == (exact(one) == exact(two))
    assert len(key(one)) == 64


@given(PARTS)
def test_the_order_of_knobs_does_not_matter_and_each_part_alone_does(parts):
    scenario, scheduler, knobs, seed, ends = parts
    assert key((scenario, scheduler, dict(reversed(knobs.items())), seed, ends)) == key(parts)
    alone = [
        (scenario + "x", scheduler, knobs, seed, ends),
        (scenario, scheduler + "x", knobs, seed, ends),
        (scenario, scheduler, {**knobs, "more": 1}, seed, ends),
        (scenario, scheduler, knobs, seed + 1, ends),
        *((scenario, scheduler, knobs, seed, {**ends, name: other}) for name, other in
          (("belief", "long enough"), ("until_s", 2e9), ("window", (7, 8)))),
    ]  # fmt: skip
    assert len({key(other) for other in alone} | {key(parts)}) == len(alone) + 1


def test_the_version_is_in_the_key(monkeypatch):
    before = run_key("a", "fifo", {}, 0)
    monkeypatch.setattr("workbench.simulation.run.VERSION", "another")
    assert run_key("a", "fifo", {}, 0) != before


def test_infinite_knobs_are_told_from_texts():
    found = {run_key("a", "b", {"most": value}, 0) for value in (math.inf, -math.inf, "inf", None)}
    assert len(found) == 4


def test_the_key_of_a_run_is_this_one():
    run = workbench.simulate("preset:start_here", "fifo")
    assert run.key() == run_key(run.scenario.key(), "fifo", run.knobs, run.seed, belief="oracle")


@pytest.mark.parametrize("until_s", [60, 60.0])
def test_a_whole_number_of_seconds_is_the_same_as_a_float(until_s):
    assert run_key("a", "b", {}, 0, until_s=until_s) == run_key("a", "b", {}, 0, until_s=60.0)
