"""What restarts cost in a scheduler's memory, and what a memory may not hold."""

import json

import pytest

from tests.baselines.mechanisms.support import make
from workbench.base.errors import InputError
from workbench.baselines.mechanisms.restarts import Restarts
from workbench.papers.hadar.scheduler import HadarE
from workbench.scheduling.memory import plain


def test_restarts_by_size_of_gang_survive_json():
    core = {"restart": {"restart_s": 10.0, "law": "log2"}}
    scenario = make({"a": ("t", 4)}, [{"gpus": 4}, {}, {"gpus": 4}], core=core)
    restarts = Restarts.of(scenario)
    assert restarts.by_gang == {1: 10.0, 4: 30.0}
    read = json.loads(json.dumps(plain(restarts)))["seconds"]
    assert Restarts(tuple((gang, seconds) for gang, seconds in read)) == restarts
    assert HadarE().start(scenario, HadarE().settle({})).restart_s == pytest.approx((0, 10, 20, 10 + 10 * 1.58496, 30))


@pytest.mark.parametrize("value", [{1: 2.0}, ({"a": {None: 1}},), {1.5: 0}])
def test_a_mapping_with_keys_that_json_would_change_is_no_plain_value(value):
    with pytest.raises(InputError, match="key"):
        plain(value)
