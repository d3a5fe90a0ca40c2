"""Fig. 1: the totals that the text states, from the reconstructed times, by three schedules."""

import pytest

import workbench
from workbench.base.errors import InputError
from workbench.papers.hare.formulations.exact import Exact
from workbench.papers.hare.instance import HareInstance
from workbench.papers.hare.lessons.studies import dedicated, interleaved, oblivious, three_jobs
from workbench.session.api import snapshot_at


def test_the_totals_of_the_text():
    data = three_jobs()
    a, b, c = oblivious(data, (0, 2)), dedicated(data), interleaved(data)
    assert [each.check().objective for each in (a, b, c)] == [10.5, 9.0, 8.5]
    assert (a.makespan_s, c.makespan_s) == (4.5, 3.0)


def test_oblivious_by_hand():
    """J3's two rounds take 1.5 s each on GPU2 and GPU3, J2 3 s on GPU1; J1 then takes 1.5 s, or 2.5 s with GPU2."""
    data = three_jobs()
    found = oblivious(data, (0, 2))
    assert found.completion_s.tolist() == [4.5, 3.0, 3.0] and found.start_s[:2].tolist() == [3.0, 3.0]
    assert oblivious(data, (0, 1)).completion_s[0] == 5.5


def test_a_dedicated_gpu_runs_all_tasks_of_its_job():
    found = dedicated(three_jobs())
    assert [len(set(tasks)) for tasks in found.sequences] == [4, 2, 2]
    assert found.completion_s.tolist() == [3.0, 4.0, 2.0]
    assert dedicated(HareInstance.made([[None, 2], [1, 1]])).gpu.tolist() == [1, 0]


def test_dedicated_gpus_for_more_jobs_than_there_are():
    with pytest.raises(InputError, match="2 jobs on 1 GPU"):
        dedicated(HareInstance.made([[1], [1]]))


def test_the_preset_is_the_same_instance():
    scenario = workbench.preset("hare_example")
    exact = Exact()
    data = exact.data(snapshot_at(scenario, 0, offline=True), exact.settle({}))
    assert data.train_s == pytest.approx(three_jobs().train_s)
    assert (data.rounds.tolist(), data.tasks.tolist()) == ([1, 1, 2], [2, 2, 2])
    assert "reconstructed" in scenario.description
