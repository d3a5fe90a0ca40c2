"""What the notebook 04_hops says in its exercises 1 to 4; 5 and 6 are checked behind the page (test_notebooks)."""

import numpy as np

from reproduction.hops.tables import frontier, queue_table
from workbench.papers.hops.formulations.round import HopsRound
from workbench.papers.hops.instance import weights
from workbench.papers.hops.lessons.two_jobs import two_jobs
from workbench.papers.hops.scheduler import Hops
from workbench.scenario.presets import preset
from workbench.session.api import snapshot_at

KNOBS = Hops().settle({})


def test_with_priority_2_job_a_gets_two_gpus_from_a_lambda_of_1_16_on():
    exact = HopsRound().settle({"gap": 0.0})
    assert frontier(two_jobs(2.0), [1.0, 1.15, 1.17, 2.0], exact)["gain"].tolist() == [2.8, 2.8, 2.5, 2.5]


def test_with_four_gpus_both_jobs_get_two_whatever_lambda_is():
    exact = HopsRound().settle({"gap": 0.0})
    found = frontier(two_jobs(gpus=4), [0.0, 1.0, 4.0, float("inf")], exact)
    assert np.allclose(found["gain"], 1.5 + 1.8) and (found["gpus"] == 4).all()


def test_who_is_sensitive_by_sigma():
    now = snapshot_at(preset("hops_64"))
    sensitive = {
        sigma: set(found.loc[found["sensitive"], "job"])
        for sigma in (1.4, 1.2)
        for found in [queue_table(now, {**KNOBS, "sigma": sigma})]
    }
    assert sensitive[1.4] == {"job-0", "job-3", "job-6"}
    assert sensitive[1.2] - sensitive[1.4] == {"job-2", "job-4", "job-22"}


def test_weights_of_priorities_that_are_not_positive():
    found = weights(np.array([0.0, -10.0, -20.0, -40.0]), 1.0, np.ones(4, dtype=bool))
    np.testing.assert_allclose(found.plain, [40.01, 30.01, 20.01, 0.01])
