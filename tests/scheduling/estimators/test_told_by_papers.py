"""Hops is told the speeds of single servers, its rivals what their papers say; who is told what is said."""

from collections.abc import Mapping
from typing import Any

import pytest

import workbench
from reproduction.hops.lines import three
from reproduction.hops.settings import SIZES

JOBS = [{"name": f"j{n}", "model": "m", "gpus": 1, "steps": 1200.0} for n in range(2)]
SCENARIO = workbench.Scenario.from_dict(
    {
        "format": "workbench-scenario/1",
        "cluster": {
            "accelerators": [{"name": "v100"}],
            "nodes": [
                {"name": "slow", "accelerator": "v100", "gpus": 2, "speed": 0.25},
                {"name": "fast", "accelerator": "v100", "gpus": 2},
            ],
        },
        "jobs": JOBS,
        "throughputs": [{"model": "m", "accelerator": "v100", "gpus": 1, "steps_per_s": 1.0}],
    }
)
"""Two jobs, and of two nodes of a type the first at a quarter of the speed."""
KNOBS = {"profile_iterations": 0, "decision_s": 0.0}


def nodes_of(run: workbench.Run) -> set[str]:
    return set(run.timeline[run.timeline["kind"] == "run"]["node"])


def test_hops_knows_single_servers_by_default() -> None:
    """Whoever knows servers takes the fast node alone, where both jobs fit; who knows types cannot tell them apart."""
    run = workbench.simulate(SCENARIO, "hops", KNOBS)
    assert run.belief == "servers" and {name.rsplit("-", 1)[0] for name in nodes_of(run)} == {"fast"}
    of_types = workbench.simulate(SCENARIO, "hops", KNOBS, belief="oracle")
    assert of_types.belief == "oracle" and of_types.end_s > 2 * run.end_s
    assert workbench.Run.belief == "oracle" == workbench.simulate(SCENARIO, "sia").belief


def test_the_reproduction_gives_each_what_its_paper_says() -> None:
    told = {line.name: line.run(SCENARIO).belief for line in three(SIZES["tiny"])}
    assert told == {"Hops": "servers", "Sia": "oracle", "Gavel": "oracle"}


@pytest.mark.parametrize(
    ("schedulers", "belief", "told"),
    [
        (["hops", "sia"], None, {"hops": "oracle", "sia": "oracle"}),
        (["hops", "sia"], "servers", {"hops": "servers", "sia": "servers"}),
        (["hops", "sia"], "paper", {"hops": "servers", "sia": "oracle"}),
        (["hops"], None, {"hops": "servers"}),
    ],
)
def test_a_comparison_tells_all_the_same_unless_asked(
    schedulers: list[str], belief: str | None, told: Mapping[str, Any]
) -> None:
    entries = [(name, KNOBS if name == "hops" else {}) for name in schedulers]
    found = workbench.compare(SCENARIO, entries, belief=belief)
    assert found.beliefs == told and found.table["belief"].tolist() == list(told.values())
    assert "Speeds known" in found._repr_html_()
    swept = workbench.sweep(SCENARIO, entries, belief=belief)
    assert swept["makespan_s"].tolist() == found.measures["makespan_s"].tolist()


def test_the_command_line_says_who_was_told_what(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    from workbench.cli import main

    SCENARIO.save(tmp_path / "s.json")
    argv = ["compare", str(tmp_path / "s.json"), "--schedulers", "hops,sia"]
    assert main([*argv, "--belief", "paper"]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("Speeds known"))
    assert row.split()[2:] == ["servers", "oracle"]
    assert main(argv) == 0 and "Speeds known: oracle (" in capsys.readouterr().out
