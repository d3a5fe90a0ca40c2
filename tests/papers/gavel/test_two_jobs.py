"""Two jobs: every policy's model against its LP file, by meaning, and numbers that no instance has, named."""

import dataclasses

import numpy as np
import pytest

from tests.papers.gavel.support import TWO, finish_data, plain, priced, stepped
from workbench.base.errors import InputError
from workbench.papers.gavel.formulations import finish_time_fairness, makespan
from workbench.session.registry import find_formulation

STEPS = stepped(TWO)
MODELS = {
    "fifo_two_jobs": ("fifo", plain(TWO), {}),
    "max_throughput_two_jobs": ("max_throughput", plain(TWO), {"normalised": True}),
    "shortest_job_first_two_jobs": ("shortest_job_first", STEPS, {}),
    "min_cost_two_jobs": ("min_cost", priced(TWO), {}),
    "min_cost_two_jobs_ratio": ("min_cost", priced(TWO), {"objective": "ratio"}),
    "min_cost_slo_two_jobs": ("min_cost_slo", TWO, {}),
    "max_min_fairness_two_jobs": ("max_min_fairness", plain(TWO), {}),
    "max_min_fairness_two_jobs_agnostic": ("max_min_fairness", plain(TWO), {"heterogeneity_aware": False}),
}


@pytest.mark.parametrize("file", MODELS)
def test_the_model_is_the_golden_one(file, same_as_golden):
    name, data, knobs = MODELS[file]
    same_as_golden(find_formulation(f"gavel.{name}").build(data, knobs), f"{file}.lp")


def test_the_models_of_one_step_are_the_golden_ones(same_as_golden):
    """a: 20 s old, 10 s by itself done, 100 steps; by itself 2 steps/s, so it needs 100 / (1.5 x 60 - 20) steps/s."""
    fair = finish_data(TWO, [20.0, 0.0], [10.0, 0.0])
    same_as_golden(finish_time_fairness.build(fair.at(largest=1.5)), "finish_time_fairness_two_jobs.lp")
    same_as_golden(makespan.build(STEPS), "makespan_two_jobs.lp")
    same_as_golden(makespan.build_bisection(STEPS.at(makespan_s=40.0)), "makespan_two_jobs_bisection.lp")


@pytest.mark.parametrize(
    ("data", "change", "named"),
    [
        (plain(TWO), {"speed": [[4, np.nan], [3, 1]]}, "job a, speed on k80: got nan"),
        (plain(TWO), {"speed": [[4, 1], [-3, 1]]}, "job b, speed on v100: got -3"),
        (plain(TWO), {"speed": [[4, 1], [np.inf, 1]]}, "job b, speed on v100"),
        (plain(TWO), {"speed": [[4, 1], [0, 0]]}, r"speed: got \{'v100': 0.0, 'k80': 0.0\}; expected a type with GPUs"),
        (plain(TWO), {"capacity": [0, 4]}, "job b, speed"),
        (plain(TWO), {"speed": [[4, 1]]}, "speed"),
        (plain(TWO), {"weight": [1, 0]}, "job b, weight: got 0"),
        (plain(TWO), {"weight": [np.nan, 1]}, "job a, weight"),
        (plain(TWO), {"gang": [0, 1]}, "job a, gang"),
        (plain(TWO), {"capacity": [1, -1]}, "type k80, capacity"),
        (plain(TWO), {"jobs": ("a", "a")}, "names that differ"),
        (STEPS, {"steps": [10, 0]}, "job b, steps: got 0.*expected a number of steps > 0"),
        (STEPS, {"steps": [1, -1]}, "job b, steps: got -1"),
        (STEPS, {"steps": [np.nan, 1]}, "job a, steps: got nan"),
        (STEPS, {"steps": [np.inf, 1]}, "job a, steps: got inf"),
        (STEPS, {"steps": [1]}, "steps"),
        (finish_data(TWO), {"elapsed_s": [-1, 0]}, "job a, elapsed_s: got -1.*expected seconds >= 0"),
        (finish_data(TWO), {"elapsed_s": [0, np.inf]}, "job b, elapsed_s: got inf"),
        (finish_data(TWO), {"isolated_s": [0, np.nan]}, "job b, isolated_s: got nan"),
        (finish_data(TWO), {"isolated_s": [0]}, "isolated_s"),
        *(
            (priced(TWO), {"price": [1, price]}, "accelerator k80, price_per_hour: got .*; expected a price > 0")
            for price in (0, -1, np.nan, np.inf)
        ),
    ],
)
def test_bad_numbers_are_named(data, change, named):
    with pytest.raises(InputError, match=named):
        dataclasses.replace(data, **change)
