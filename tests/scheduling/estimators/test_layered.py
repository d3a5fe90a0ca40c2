"""Hops's estimator: the formula as its third layer, look-up from the top, what it learns, and its error in a run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pytest import approx

import workbench
from workbench.base.errors import InputError, ScenarioError
from workbench.scenario.job import Job
from workbench.scenario.scenario import Scenario
from workbench.scheduling.estimators.by_name import maker
from workbench.scheduling.estimators.iteration import Formula, Modules, communication_s, iteration_s
from workbench.scheduling.estimators.layered import Layered, LookUp
from workbench.scheduling.estimators.loading import Loading
from workbench.scheduling.estimators.speed_error import COLUMNS, ErrorLog, configurations, speed_errors
from workbench.scheduling.snapshot import LearningBelief, Observation

UNSTABLE = [(0.8, 0.01, 0.002), (0.2, 0.1, 0.02)]
STEADY = [(1.0, 0.01, 0.0)]
LINK, NETWORK = 100.0, 25.0
TYPES = {"fast": 1.0, "slow": 2.0}
SIZES = (1, 2, 4, 8, 16)


def steps_per_s(kind: str, gpus: int, nodes: int, load: list[tuple[float, float, float]], gb: float) -> float:
    """The true speed of a gang: the formula with the true loading times."""
    scale = TYPES[kind]
    modules = Modules(0.03 * scale, 0.06 * scale, 0.01 * scale, Loading.of(load), 1)
    return gpus / iteration_s(modules, gpus, communication_s(gb, gpus, nodes, LINK, NETWORK))


def world(
    load: list[tuple[float, float, float]] = STEADY,
    speeds: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0),
    jobs: int = 1,
    models: int = 1,
    seed: int = 0,
    **more: Any,
) -> Scenario:
    """Nodes of 8 GPUs of two types with these speeds; models whose speeds the formula gives, on one node and on two."""
    names = {f"m{i}": 0.1 * (i + 1) for i in range(models)}
    rows = [
        {"model": name, "accelerator": kind, "gpus": gpus, "nodes": nodes}
        | {"steps_per_s": steps_per_s(kind, gpus, nodes, load, gb)}
        for name, gb in names.items()
        for kind in TYPES
        for gpus in SIZES
        for nodes in (1, 2)
        if nodes <= gpus <= 8 * nodes
    ]
    rng = np.random.default_rng(seed)
    data = {
        "cluster": {
            "accelerators": [{"name": kind, "link_gbps": LINK} for kind in TYPES],
            "nodes": [
                {"name": f"{kind}{i}", "accelerator": kind, "gpus": 8, "speed": speed}
                for kind in TYPES
                for i, speed in enumerate(speeds)
            ],
            "network_gbps": NETWORK,
        },
        "jobs": [
            {"name": f"j{i}", "model": f"m{i % models}", "arrival_s": 400.0 * i, "steps": 20_000}
            | ({"gpus": int(rng.choice(SIZES))} if jobs > 1 else {"gpus": 2, "gpu_choices": SIZES})
            for i in range(jobs)
        ],
        "throughputs": rows,
        "models": [{"name": name, "parameters_gb": gb, "load_s": load} for name, gb in names.items()],
    }
    return Scenario.from_dict({**data, **more})


def saw(job: str, gpus: dict[str, int], per_gpu: float, seconds: float = 100.0) -> Observation:
    return Observation(job, job, gpus, per_gpu * sum(gpus.values()), seconds)


# --- the third layer --------------------------------------------------------------------------------------------------


def test_one_gpu_profiled_tells_every_configuration_where_loading_is_steady() -> None:
    """The formula makes of the speed on one GPU all others, on one node and on two, of either type."""
    scenario = world()
    belief = Layered(scenario, iterations=10)
    assert speed_errors(scenario, belief).max() < 1e-9
    assert {found.layer for found in belief.look_up(scenario.jobs[0], {"fast0-0": 8, "fast1-0": 8}).values()} == {
        "theory"
    }


def test_modules_are_what_profiling_one_gpu_shows() -> None:
    scenario = world()
    modules = Layered(scenario).modules(scenario.jobs[0], "slow")
    assert (modules.forward_s, modules.backward_s, modules.update_s) == approx((0.06, 0.12, 0.02))


def test_with_unstable_loading_the_theory_is_off_by_what_few_iterations_miss() -> None:
    """The mean over draws: an error that falls as the root of the iterations (100 times as many: a tenth)."""
    scenario = world(UNSTABLE)
    few, many = (
        float(np.mean([speed_errors(scenario, Layered(scenario, n, seed=s)).mean() for s in range(12)]))
        for n in (30, 3000)
    )
    assert 0.01 < few < 0.2
    assert few / many == approx(10.0, rel=0.5)


def test_a_job_that_does_not_run_on_one_gpu_is_profiled_as_the_smallest_gang_that_does() -> None:
    data = world().to_dict()
    data["throughputs"] = [row for row in data["throughputs"] if row.get("gpus", 1) >= 4]
    data["jobs"] = [{"name": "j0", "model": "m0", "steps": 100, "gpus": 4, "gpu_choices": [4, 8, 16]}]
    scenario = Scenario.from_dict(data)
    assert speed_errors(scenario, Layered(scenario)).max() < 1e-9


def test_speeds_of_types_are_the_formulas_and_nothing_where_the_job_does_not_run() -> None:
    data = world().to_dict()
    data["throughputs"] = [row for row in data["throughputs"] if row["accelerator"] == "fast"]
    scenario = Scenario.from_dict(data)
    view, belief = workbench.snapshot_at(scenario).jobs, Layered(scenario)
    assert belief.speeds(view)[0].tolist() == approx([steps_per_s("fast", 2, 1, STEADY, 0.1), 0.0])
    spread = belief.speeds(view, "unconsolidated")[0]
    assert spread.tolist() == approx([steps_per_s("fast", 2, 2, STEADY, 0.1), 0.0])
    assert belief.on_nodes(scenario.jobs[0], {"slow0-0": 2}) == 0.0


def test_a_gang_of_two_types_goes_at_the_slower_one() -> None:
    scenario = world()
    mixed = Layered(scenario).on_nodes(scenario.jobs[0], {"fast0-0": 1, "slow0-0": 1})
    assert mixed == approx(steps_per_s("slow", 2, 2, STEADY, 0.1))


def test_pattern_two_is_slower_to_scale_where_the_job_follows_it() -> None:
    """The same speed on one GPU, but communication and loading no longer hide behind one another."""
    scenario = world(UNSTABLE)
    exact = {"iterations": 1_000_000}
    one, two = (Layered(scenario, pattern=p, waiting=False, **exact) for p in (1, 2))
    job = scenario.jobs[0]
    assert one.on_nodes(job, {"fast0-0": 1}) == approx(two.on_nodes(job, {"fast0-0": 1}), rel=2e-3)
    apart = {"fast0-0": 8, "fast1-0": 8}
    modules = two.modules(job, "fast")
    assert modules.pattern == 2
    expected = 16 / iteration_s(modules, 16, communication_s(0.1, 16, 2, LINK, NETWORK), Formula(waiting=False))
    assert two.on_nodes(job, apart) == approx(expected)


# --- look-up ----------------------------------------------------------------------------------------------------------


def test_top_down_server_then_type_then_theory() -> None:
    scenario = world()
    belief, job = Layered(scenario), scenario.jobs[0]
    theory = steps_per_s("fast", 2, 1, STEADY, 0.1) / 2
    assert belief.look_up(job, {"fast0-0": 2})["fast0-0"] == LookUp("theory", approx(theory))
    belief.learn([saw("j0", {"fast0-0": 2}, 3.0, 30.0), saw("j0", {"fast1-0": 2}, 6.0, 60.0)])
    assert belief.look_up(job, {"fast0-0": 2})["fast0-0"] == LookUp("entity", 3.0)
    assert belief.look_up(job, {"fast2-0": 2})["fast2-0"] == LookUp("type", approx((3 * 30 + 6 * 60) / 90))
    assert belief.look_up(job, {"fast0-0": 4})["fast0-0"].layer == "theory", "another number of GPUs"
    assert belief.look_up(job, {"slow0-0": 2})["slow0-0"].layer == "theory", "another type"
    assert belief.steps_per_s(job, "fast", 2) == approx(2 * 5.0), "a type is asked for, not a server"
    assert belief.on_nodes(job, {"fast0-0": 2}) == approx(6.0)


def test_speeds_of_types_follow_what_is_measured() -> None:
    scenario = world()
    view, belief = workbench.snapshot_at(scenario).jobs, Layered(scenario)
    before = belief.speeds(view)
    belief.learn([saw("j0", {"fast0-0": 2}, 3.0)])
    assert belief.speeds(view)[0].tolist() == approx([6.0, before[0, 1]])
    assert before[0, 0] != approx(6.0)


def test_measurements_of_one_server_are_averaged_over_their_seconds() -> None:
    scenario = world()
    belief = Layered(scenario)
    belief.learn([saw("j0", {"fast0-0": 2}, 2.0, 10.0)])
    belief.learn([saw("j0", {"fast0-0": 2}, 5.0, 20.0)])
    assert belief.on_nodes(scenario.jobs[0], {"fast0-0": 2}) == approx(2 * (2 * 10 + 5 * 20) / 30)


def test_a_slow_partner_does_not_make_a_fast_server_slow() -> None:
    """a was seen at 2 with slow b and at 6 with c: with c it is 6 again, with d it may be 6; b is 2 with anybody."""
    scenario = world()
    belief, job = Layered(scenario), scenario.jobs[0]
    a, b, c, d = (f"fast{i}-0" for i in range(4))
    belief.learn([saw("j0", {a: 1, b: 1}, 2.0), saw("j0", {a: 1, c: 1}, 6.0), saw("j0", {d: 1, c: 1}, 6.0)])
    assert belief.on_nodes(job, {a: 1, c: 1}) == approx(12.0)
    assert belief.on_nodes(job, {a: 1, b: 1}) == approx(4.0)
    assert belief.on_nodes(job, {a: 1, d: 1}) == approx(12.0)
    assert belief.on_nodes(job, {b: 1, d: 1}) == approx(4.0)


def test_distributed_throughput_is_kept_by_nodes_or_also_by_gpus() -> None:
    scenario = world()
    job, seen = scenario.jobs[0], saw("j0", {"fast0-0": 1, "fast1-0": 1}, 3.0)
    other = {"fast0-0": 2, "fast1-0": 2}
    by_nodes, by_both = Layered(scenario), Layered(scenario, distributed="nodes_and_gpus")
    for belief in (by_nodes, by_both):
        belief.learn([seen])
    assert by_nodes.look_up(job, other)["fast0-0"] == LookUp("entity", 3.0)
    assert by_both.look_up(job, other)["fast0-0"].layer == "theory"


def test_what_one_job_shows_of_a_server_tells_of_others_if_it_is_let() -> None:
    """m0 is half as fast on a server as the theory says, as fast on another: so is m1, if nothing says otherwise."""
    scenario = world(models=2, jobs=2)
    ours = {name: Layered(scenario, transfer=name == "transfer") for name in ("transfer", "paper")}
    theory = {gb: steps_per_s("fast", 1, 1, STEADY, gb) for gb in (0.1, 0.2)}
    for belief in ours.values():
        belief.learn([saw("j0", {"fast0-0": 1}, theory[0.1] / 2), saw("j0", {"fast1-0": 1}, theory[0.1])])
    other = Job(name="j1", model="m1", steps=1, gpus=1)
    alone = {name: [belief.on_nodes(other, {f"fast{i}-0": 1}) for i in range(3)] for name, belief in ours.items()}
    assert alone == {
        "transfer": approx([theory[0.2] / 2, theory[0.2], theory[0.2]]),
        "paper": approx([theory[0.2]] * 3),
    }
    for belief in ours.values():  # m1 has run on the fast server: the type layer knows it, and speaks of the slow one
        belief.learn([saw("j1", {"fast1-0": 1}, 7.0)])
    assert ours["paper"].look_up(other, {"fast0-0": 1})["fast0-0"] == LookUp("type", approx(7.0))
    expected = 7.0 / ((1 + 7.0 / theory[0.2]) / 2) / 2  # the fast server: mean of what two jobs show of it
    assert ours["transfer"].look_up(other, {"fast0-0": 1})["fast0-0"] == LookUp("type", approx(expected))
    assert ours["transfer"].steps_per_s(other, "fast", 1) == approx(7.0), "of the type as it was measured"


def test_history_of_the_model_or_of_the_job_alone() -> None:
    scenario = world(jobs=2)
    first, second = scenario.jobs
    gpus = {"fast0-0": first.gpus}
    for history, layer in (("model", "entity"), ("job", "theory")):
        belief = maker(f"layered:history={history}")(scenario)
        assert isinstance(belief, Layered)
        belief.learn([saw(first.name, gpus, 3.0)])
        assert belief.look_up(first, gpus)["fast0-0"].layer == "entity"
        assert belief.look_up(second, gpus)["fast0-0"].layer == layer


def test_pairs_copies_and_mixed_gangs_teach_nothing() -> None:
    scenario = world(jobs=2)
    belief, gpus = Layered(scenario), {"fast0-0": 2}
    mixed = {"fast0-0": 1, "slow0-0": 1}
    belief.learn(
        [
            Observation("j0", ("j0", "j1"), gpus, 1.0, 9.0),
            Observation("j0", ("j0", 1), gpus, 1.0, 9.0),
            Observation("j0", "j0", mixed, 1.0, 9.0),
        ]
    )
    job = scenario.jobs[0]
    assert {found.layer for where in (gpus, mixed) for found in belief.look_up(job, where).values()} == {"theory"}


def test_loading_times_that_come_by_put_the_theory_right_elsewhere() -> None:
    """A long run on one server of one type: configurations of that type that never ran are predicted better."""
    scenario = world(UNSTABLE)
    job, untried = scenario.jobs[0], {"fast2-0": 8, "fast3-0": 8}
    true = steps_per_s("fast", 16, 2, UNSTABLE, 0.1)
    gaps = []
    for seed in range(10):
        belief = Layered(scenario, iterations=10, seed=seed)
        before = belief.on_nodes(job, untried)
        belief.learn([saw("j0", {"fast0-0": 4}, 6.0, 5000.0)])
        assert belief.look_up(job, untried)["fast2-0"].layer == "theory"
        gaps.append((abs(before / true - 1), abs(belief.on_nodes(job, untried) / true - 1)))
    before, after = np.mean(gaps, axis=0)
    assert after < 0.1 * before


# --- in a run ---------------------------------------------------------------------------------------------------------


def test_the_error_shrinks_in_a_run_on_servers_whose_speeds_are_hidden() -> None:
    """Fig. 7b as a table: it is not just the core's noise, for the core has none."""
    scenario = world(UNSTABLE, (1.0, 0.7, 1.0, 0.85), jobs=40, models=3)
    log = ErrorLog(maker("layered"))
    run = workbench.simulate(scenario, "srtf", belief=log)
    assert run.jobs["finish_s"].notna().all()
    table = log.table()
    assert list(table.columns) == COLUMNS and table["calls"].is_monotonic_increasing
    first, last = table["error"].iloc[0], table["error"].iloc[-1]
    assert last < 0.7 * first
    thirds = [float(part.mean()) for part in np.array_split(table["error"].to_numpy(), 3)]
    assert thirds == sorted(thirds, reverse=True)


def test_servers_speeds_are_known_after_a_few_measurements_if_they_are_transferred() -> None:
    """150 jobs at once: every server is busy from the first round on, but few sizes and models were seen on each."""
    data = world(UNSTABLE, (1.0, 0.7, 1.0, 0.85), jobs=150, models=3).to_dict()
    scenario = Scenario.from_dict({**data, "jobs": [{**job, "arrival_s": 0.0} for job in data["jobs"]]})
    errors = {}
    for knob in ("false", "true"):
        log = ErrorLog(maker(f"layered:transfer={knob}"))
        workbench.simulate(scenario, "las", belief=log, until_s=2000.0)
        errors[knob] = log.table()["error"]
    assert errors["false"].iloc[0] == errors["true"].iloc[0] > 0.2
    assert errors["true"].iloc[-1] < 0.05 < errors["false"].iloc[-1]


def test_what_ran_is_predicted_exactly_afterwards_whatever_the_node() -> None:
    """With speeds that depend on types, nodes and sizes only, a configuration that ran has no error left."""
    scenario = world(UNSTABLE, (1.0, 0.7, 1.0, 0.85), jobs=40, models=3)
    made: list[Layered] = []

    def watched(given: Scenario) -> Layered:
        made.append(Layered(given, distributed="nodes_and_gpus"))
        return made[-1]

    run = workbench.simulate(scenario, "srtf", belief=watched)
    held = run.timeline[run.timeline["kind"] == "run"]
    jobs, seen = {job.name: job for job in scenario.jobs}, 0
    for (unit, _), rows in held.groupby(["unit", "start_s"]):
        gpus = rows["node"].value_counts().to_dict()
        job = jobs[str(unit)]
        if sum(gpus.values()) != job.gpus:
            continue
        seen += 1
        assert made[-1].on_nodes(job, gpus) == approx(scenario.table.on_nodes(job.model, gpus), rel=1e-9)
    assert seen >= 40


def test_each_seed_of_a_run_has_loading_times_of_its_own_unless_they_are_named() -> None:
    scenario = world(UNSTABLE, models=3, jobs=3)
    for text, alike in (("layered:iterations=10", False), ("layered:iterations=10,seed=3", True)):
        errors = [float(speed_errors(scenario, maker(text)(scenario, seed)).mean()) for seed in (1, 2, 2)]
        assert errors[1] == errors[2] and (errors[0] == errors[1]) == alike


def test_the_order_of_questions_changes_nothing() -> None:
    scenario = world(UNSTABLE, models=3, jobs=3)

    def ask(order: int) -> dict[tuple[str, str], float]:
        belief = Layered(scenario, seed=4)
        cases = [(job, kind) for job in scenario.jobs for kind in TYPES][::order]
        return {(job.name, kind): belief.steps_per_s(job, kind, 2) for job, kind in cases}

    assert ask(1) == ask(-1)


# --- the table of errors ----------------------------------------------------------------------------------------------


def test_configurations_by_hand() -> None:
    scenario = world()
    found = [gpus for gpus in configurations(scenario, 2) if "fast0-0" in gpus or "fast3-0" in gpus]
    assert found == [{"fast0-0": 2}, {"fast0-0": 1, "fast1-0": 1}, {"fast2-0": 1, "fast3-0": 1}, {"fast3-0": 2}]
    assert [len(gpus) for gpus in configurations(scenario, 16)] == [2] * 6
    assert list(configurations(scenario, 33)) == []


def test_errors_are_relative_to_the_true_speeds_with_those_of_nodes() -> None:
    """Oracle knows no node speeds: on a node of half the speed it is off by one, on the others right."""
    scenario = world(speeds=(1.0, 0.5))
    data = {**scenario.to_dict(), "jobs": [{"name": "j0", "model": "m0", "steps": 10}]}
    one_gpu = Scenario.from_dict(data)
    assert speed_errors(one_gpu, maker("oracle")(one_gpu)).tolist() == approx([0.0, 1.0, 0.0, 1.0])


def test_only_a_belief_that_learns_has_a_course() -> None:
    with pytest.raises(InputError, match="one that learns"):
        workbench.simulate(world(), "srtf", belief=ErrorLog(maker("oracle")))
    with pytest.raises(InputError, match="every"):
        ErrorLog(maker("layered"), every=0)


def test_the_log_may_be_thinned() -> None:
    scenario = world(jobs=6)
    log = ErrorLog(maker("layered"), every=3)
    workbench.simulate(scenario, "srtf", belief=log)
    calls = log.table()["calls"].tolist()
    assert len(calls) > 2 and calls == list(range(0, 3 * len(calls), 3))


# --- names and bad input ----------------------------------------------------------------------------------------------


def test_it_learns_and_has_a_name() -> None:
    assert isinstance(maker("layered: pattern=2, iterations=50")(world()), LearningBelief)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"models": [{"name": "m0", "load_s": STEADY}]}, "models: m0.parameters_gb"),
        ({"models": []}, "models: m0.parameters_gb"),
        ({"network": None}, "cluster.network_gbps"),
        ({"link": "slow"}, "cluster.accelerators: slow.link_gbps"),
    ],
)
def test_what_communication_depends_on_must_be_known(change: dict[str, Any], where: str) -> None:
    data = world().to_dict()
    if "network" in change:
        del data["cluster"]["network_gbps"]
    elif "link" in change:
        del data["cluster"]["accelerators"][1]["link_gbps"]
    else:
        data |= change
    with pytest.raises(ScenarioError) as error:
        Layered(Scenario.from_dict(data))
    assert error.value.where == where


def test_jobs_of_one_gpu_need_none_of_that() -> None:
    data = world().to_dict()
    data |= {"models": [], "jobs": [{"name": "j0", "model": "m0", "steps": 10}]}
    del data["cluster"]["network_gbps"]
    scenario = Scenario.from_dict(data)
    assert Layered(scenario).on_nodes(scenario.jobs[0], {"fast0-0": 1}) == approx(
        scenario.table.row("m0", "fast", 1, nodes=1)
    )


def test_loading_that_takes_longer_than_a_step_is_refused_by_name() -> None:
    data = world().to_dict()
    data["models"][0]["load_s"] = [(1.0, 0.5, 0.0)]
    scenario = Scenario.from_dict(data)
    with pytest.raises(
        InputError, match=r"m0 on fast, seconds of an iteration on 1 GPU: got 0\.1.*at least the 0\.5 s"
    ):
        Layered(scenario).on_nodes(scenario.jobs[0], {"fast0-0": 1})


@pytest.mark.parametrize("knob", ["iterations=0", "pattern=3", "history=user", "distributed=gpus", "waiting=maybe"])
def test_knobs_that_there_are_not(knob: str) -> None:
    with pytest.raises(InputError) as error:
        maker(f"layered:{knob}")(world())
    assert error.value.where == f"knob {knob.partition('=')[0]}"


def test_a_job_of_nobody_is_refused_where_each_has_its_own_history() -> None:
    belief = Layered(world(), history="job")
    with pytest.raises(InputError, match="a job of the scenario"):
        belief.steps_per_s(Job(name="who", model="m0", steps=1), "fast", 1)


def test_types_and_nodes_that_the_cluster_does_not_have_are_refused_by_name() -> None:
    belief = Layered(world())
    [job, *_] = world().jobs
    with pytest.raises(InputError, match="accelerator: got 'zzz'; expected one of "):
        belief.steps_per_s(job, "zzz", 1)
    with pytest.raises(InputError, match="accelerator: got 'zzz'"):
        belief.modules(job, "zzz")
    for ask in (belief.on_nodes, belief.look_up):
        with pytest.raises(InputError, match="node: got 'nowhere'"):
            ask(job, {"nowhere": 1})
