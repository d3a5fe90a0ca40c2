"""Classes of server speed."""

import numpy as np
import pytest

from workbench.papers.hops.configurations import Server
from workbench.papers.hops.speeds import speed_classes, split
from workbench.scenario.presets import preset
from workbench.session.api import snapshot_at


class Believed:
    """A belief in which servers have speeds of their own."""

    def __init__(self, speed):
        self.speed = speed

    def on_nodes(self, job, gpus):
        return min(self.speed[name] for name in gpus) * sum(gpus.values())

    def steps_per_s(self, job, accelerator, gpus, placement="consolidated", nodes=None):
        return float(gpus)


def test_values_are_split_at_the_widest_gaps():
    assert split(np.array([1.0, 0.8, 0.9, 0.81]), 3).tolist() == [2, 0, 1, 0]
    assert split(np.array([1.0, 0.8, 0.9, 0.81]), 2).tolist() == [1, 0, 1, 0]
    assert split(np.array([1.0, 0.8]), 1).tolist() == [0, 0]
    assert split(np.array([1.0, 1.005, 1.01]), 3).tolist() == [0, 0, 0]
    assert split(np.array([2.0]), 3).tolist() == [0]


def test_classes_are_of_one_type_and_as_fast_as_their_servers_on_average():
    servers = [Server("p", "a", 4, 4), Server("q", "b", 4, 4), Server("r", "b", 4, 4), Server("s", "b", 4, 4)]
    job = preset("hops_64").jobs[0]
    found = speed_classes(servers, [job], Believed({"p": 1.0, "q": 1.0, "r": 0.5, "s": 0.98}), 2)
    assert found.pools == [0, 2, 1, 2]
    assert found.factor == pytest.approx(np.array([[1.0, 0.5, 0.99]]))


def test_where_nothing_is_known_of_servers_a_type_is_one_class():
    """The oracle knows types, not servers."""
    snapshot = snapshot_at(preset("hops_64"))
    servers = [Server(node.name, node.accelerator, node.gpus, node.gpus) for node in snapshot.cluster.machines]
    found = speed_classes(servers, snapshot.jobs.jobs, snapshot.belief, 3)
    assert len(set(found.pools)) == len(snapshot.types)
    assert (found.factor == 1.0).all()


def test_servers_without_idle_gpus_have_no_say():
    """r is the slowest, but nobody can get it; b has no idle GPU at all."""
    servers = [Server("p", "a", 4, 4), Server("q", "a", 1, 4), Server("r", "a", 0, 4), Server("s", "b", 0, 4)]
    job = preset("hops_64").jobs[0]
    found = speed_classes(servers, [job, job], Believed({"p": 1.0, "q": 0.8, "r": 0.1, "s": 0.1}), 2)
    assert found.pools == [1, 0, 0, 2]
    assert found.factor == pytest.approx(np.array([[0.8, 1.0, 1.0]] * 2))
    nobody = speed_classes(servers, [], Believed({}), 3)
    assert nobody.factor.shape == (0, 2) and nobody.pools == [0, 0, 0, 1]
