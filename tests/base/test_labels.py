"""Labels made from names, and the unit beside them: every metric and every knob that there is."""

import pandas as pd
import pytest

from workbench.analysis import charts
from workbench.analysis.metrics import METRICS, Summary, table
from workbench.base.labels import label_of, unit_beside, with_unit
from workbench.scheduling.estimators.registry import ESTIMATORS
from workbench.session.registry import formulations, schedulers

KNOBS = {knob.name: knob for found in (*schedulers(), *formulations(), *ESTIMATORS) for knob in found.knobs}


@pytest.mark.parametrize(
    ("name", "unit", "label"),
    [
        ("slo_lease_s", "s", "SLO lease"),
        ("be_order", "", "Best-effort order"),
        ("profile_gpus", "GPUs", "Profile GPUs"),
        ("threshold_gpu_s", "GPU s", "Threshold (GPU s)"),
        ("most_jobs", "jobs", "Most jobs"),
        ("miss_reward", "1", "Miss reward"),
        ("runtime_cv", "1", "Runtime CV"),
        ("learning_rate", "GPU-hours", "Learning rate (GPU-hours)"),
        ("gpus", "GPUs", "GPUs"),
        ("f", "1", "f"),
        ("size_class", "", "Class"),
    ],
)
def test_a_name_becomes_a_label(name, unit, label):
    assert label_of(name, unit) == label


def test_no_label_of_a_knob_has_small_letters_where_the_field_has_capitals():
    words = {word for knob in KNOBS.values() for word in knob.label.replace("(", "").replace(")", "").split()}
    spoilt = {"Gpu", "gpu", "gpus", "Gpus", "Slo", "slo", "Jct", "jct", "Lp", "lp", "Mip", "mip", "cv", "Be", "1"}
    assert words and not words & spoilt
    assert all("_" not in word for word in words)


@pytest.mark.parametrize(
    ("label", "unit", "beside"),
    [
        ("SLO violations", "jobs", "jobs"),
        ("Preemptions", "preemptions", ""),
        ("Jobs finished", "jobs", ""),
        ("Mean GPU time per job", "GPU time", ""),
        ("GPUs held", "%", "%"),
        ("Makespan", "s", "s"),
        ("Throughput", "steps/s", "steps/s"),
        ("Mean latency ratio", "1", ""),
    ],
)
def test_a_unit_that_the_label_says_is_not_said_again(label, unit, beside):
    assert unit_beside(label, unit) == beside


def test_one_thing_is_in_the_singular():
    said = [with_unit(text, unit) for text, unit in (("1", "jobs"), ("2", "jobs"), ("−1", "GPUs"), ("1", "steps/s"))]
    assert said == ["1 job", "2 jobs", "−1 GPU", "1 steps/s"]
    assert with_unit("0.5", "1") == "0.5" and with_unit("2 h", "") == "2 h" and with_unit("1.00", "USD") == "1.00 USD"


def test_the_table_of_measures_says_each_unit_once():
    values = dict.fromkeys((found.name for found in METRICS), 2.0)
    rows = table(Summary(values, {}), [found.name for found in METRICS])
    for label, unit in zip(rows["label"], rows["unit"], strict=True):
        assert unit == unit_beside(label, unit), label
    unit = rows.set_index("label")["unit"]
    assert unit["SLO violations"] == "jobs" and unit["Preemptions"] == "" and unit["Utilisation"] == "%"


def test_a_chart_of_measures_has_their_labels_and_units():
    rows = [("a", "mean_jct_s", 3600.0), ("a", "utilisation", 0.5), ("b", "mean_jct_s", 7200.0), ("b", "own", 3.0)]
    drawing = charts.comparison(pd.DataFrame(rows, columns=["scheduler", "metric", "value"]))
    assert list(dict.fromkeys(drawing.table["metric"])) == ["Mean JCT", "Utilisation", "own"]
    assert [text for text in drawing.data["bars"]["text"] if text.startswith("b: 2.00")] == ["b: 2.00× (2 h)"]
    assert "a: 1.00× (50.0 %)" in list(drawing.data["bars"]["text"])
