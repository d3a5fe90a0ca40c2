"""A gang that was profiled on fewer GPUs than it asks for, and then gets a lease."""

from __future__ import annotations

import workbench

SHORT = {"slo_lease_s": 40, "be_lease_s": 10, "profile_s": 10, "reserve_overhead": 5}


def test_a_gang_profiled_on_one_gpu_has_its_lease_on_all_that_it_asks_for() -> None:
    """It comes while the only node is down, waits to be profiled on one GPU, and is from 150 to 160 s.

    Its lease begins at 160 s, when the profile ends, on the same node: with both GPUs, not with the one of the profile.
    """
    spent = [(6.0, 1, 7.0), (6.0, 1, 7.0), (10.0, 1, 12.0), (20.0, 2, 12.0), (5.0, 1, 6.0)]
    jobs = [
        {"name": f"j{i}", "model": "m", "steps": steps, "gpus": gpus, "rewards": [[deadline_s, 100.0]]}
        for i, (steps, gpus, deadline_s) in enumerate(spent)
    ]
    late = {"name": "late", "model": "m", "steps": 80.0, "gpus": 2, "arrival_s": 40.0, "rewards": [[160.0, 100.0]]}
    speeds = [{"model": "m", "accelerator": "a", "gpus": n, "steps_per_s": float(n)} for n in (1, 2)]
    scenario = workbench.Scenario.from_dict(
        {
            "format": "workbench-scenario/1",
            "cluster": {
                "accelerators": [{"name": "a"}],
                "nodes": [{"name": "n", "accelerator": "a", "gpus": 2, "count": 1}],
            },
            "jobs": [*jobs, late],
            "throughputs": speeds,
            "scaling": {"law": "none"},
            "core": {
                "restart": {"restart_s": 0.0},
                "faults": {"list": [{"node": "n-0", "from_s": 15.0, "to_s": 130.0}]},
            },
        }
    )
    run = workbench.simulate(scenario, "chronus", SHORT)
    own = run.timeline[run.timeline["job"] == "late"]
    assert own.groupby("kind")["slot"].nunique().to_dict() == {"profile": 1, "run": 2}
    assert set(own.loc[own["kind"] == "run", "start_s"]) == {160.0}
    assert run.jobs["finish_s"].notna().all()
