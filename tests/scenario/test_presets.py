"""Presets and the built-in tables they stand on."""

import csv
import importlib.util
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest

from tests.calls import calls_at_most
from workbench.analysis.metrics import summary
from workbench.base.errors import InputError
from workbench.scenario.job import median_size
from workbench.scenario.presets import (
    HADARE_MIXES,
    catalogue,
    hadar,
    hadare_mix,
    hare,
    is_preset,
    preset,
    presets,
    variants,
)
from workbench.scenario.scenario import Scenario, json_schema
from workbench.scenario.traces import builtin
from workbench.scheduling.estimators.by_name import maker as estimator
from workbench.session.registry import find_scheduler
from workbench.simulation.loop import run_loop

ROOT = Path(__file__).parents[2]
TABLES = ("accelerators.csv", "models.csv", "throughputs.csv", "colocated.csv")
NAMES = [name for name, _ in presets()]
# Nodes, and GPUs of each type, as the papers state them.
CLUSTERS = {
    "gavel_example": (2, {"v100": 1, "k80": 1}),
    "gavel_physical": (12, {"v100": 8, "p100": 16, "k80": 24}),
    "gavel_simulated": (27, {"v100": 36, "p100": 36, "k80": 36}),
    "gavel_sharing": (3, {"v100": 4, "p100": 4, "k80": 4}),
    "hadar_example": (3, {"v100": 2, "p100": 3, "k80": 1}),
    "hadar_simulated": (15, {"v100": 20, "p100": 20, "k80": 20}),
    "hadar_480": (15, {"v100": 20, "p100": 20, "k80": 20}),
    "hadar_aws": (5, {"v100": 1, "k80": 2, "t4": 2}),
    "hadar_lab": (5, {"titanrtx": 1, "t4": 1, "t400": 1, "rtx3090": 1, "a2000": 1}),
    "hops_example": (2, {"rtx3090": 4}),
    "hops_64": (10, {"gtx1080ti": 16, "titanxp": 32, "rtx3090": 16}),
    "hops_512": (64, {"gtx1080ti": 128, "titanxp": 128, "rtx3090": 256}),
    "hare_example": (3, {"GPU1": 1, "GPU2": 1, "GPU3": 1}),
    "hare_synchronisation": (3, {"GPU1": 1, "GPU2": 1, "GPU3": 1}),
    "hare_testbed": (4, {"v100": 8, "t4": 4, "k80": 1, "m60": 2}),
    "hare_160": (20, {"v100": 40, "t4": 40, "k80": 40, "m60": 40}),
    "chronus_small": (2, {"v100": 8}),
    "chronus_example": (4, {"v100": 32}),
    "chronus_96x8": (96, {"v100": 768}),
    "chronus_120x8": (120, {"v100": 960}),
    "compare_mixed": (15, {"v100": 20, "p100": 20, "k80": 20}),
}


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    """The script that makes the tables."""
    spec = importlib.util.spec_from_file_location("make_datasets", ROOT / "tools" / "make_datasets.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_is_valid_and_runnable(name: str) -> None:
    scenario = preset(name)
    scenario.require_runnable()
    assert scenario.name == name
    assert scenario.schedulers
    assert 20 < len(scenario.description) < 120
    assert Scenario.from_json(scenario.to_json()) == scenario
    jsonschema.validate(scenario.to_dict(), json_schema())


@pytest.mark.parametrize(("name", "facts"), CLUSTERS.items())
def test_the_clusters_are_the_papers(name: str, facts: tuple[int, dict[str, int]]) -> None:
    cluster = preset(name).cluster
    assert (len(cluster.each_node), cluster.capacity) == facts


def test_every_cluster_is_checked() -> None:
    assert set(NAMES) == set(CLUSTERS) | {"start_here"}


def test_the_mixed_preset_has_every_kind_of_job() -> None:
    jobs = preset("compare_mixed").jobs
    assert len(jobs) == 20 and max(job.gpus for job in jobs) == 8
    assert sum(job.gpu_choices is not None for job in jobs) == sum(job.weight != 1 for job in jobs) == 4
    assert sorted(len(job.rewards) for job in jobs if job.rewards) == [1] * 4 + [4] * 4
    assert all(job.gpus in job.gpu_choices for job in jobs if job.gpu_choices)


def test_what_it_takes_to_build_all_presets() -> None:
    catalogue._built.cache_clear()
    builtin._table.cache_clear()
    with calls_at_most(800_000):
        for name in NAMES:
            preset(name)


def test_a_name_that_is_none() -> None:
    with pytest.raises(InputError, match="start_here"):
        preset("start")


def test_gavels_example_has_its_numbers() -> None:
    scenario = preset("gavel_example")
    assert scenario.table.matrix([job.model for job in scenario.jobs], [1, 1, 1]).tolist() == [[4, 1], [3, 1], [2, 1]]


def test_hadars_example_has_its_numbers() -> None:
    scenario = preset("hadar_example")
    assert [(job.gpus, job.steps) for job in scenario.jobs] == [(3, 80), (2, 30), (2, 50)]
    speeds = scenario.table.matrix([job.model for job in scenario.jobs], [3, 2, 2]) * 360
    assert speeds.tolist() == [[40, 20, 30], [5, 15, 5], [10, 2, 20]]
    # A gang on two types runs at its slower one.
    assert scenario.table.on_nodes("model of J3", {"v100-0": 1, "k80-0": 1}) * 360 == pytest.approx(10)


def test_the_first_scenario_asks_for_more_than_there_is() -> None:
    scenario = preset("start_here")
    assert sum(job.gpus for job in scenario.jobs) > scenario.cluster.gpus
    assert max(job.arrival_s for job in scenario.jobs) > 0


@pytest.mark.parametrize("cluster", ["aws", "lab"])
@pytest.mark.parametrize("mix", HADARE_MIXES)
def test_hadares_mixes(cluster: str, mix: str) -> None:
    scenario = hadare_mix(cluster, mix)
    scenario.require_runnable()
    assert len(scenario.jobs) == int(mix.removeprefix("M-"))


def test_hadares_mixes_are_the_papers() -> None:
    """HadarE, section V-B: M-1 is one MM, M-3 is <LT, 2 x MM>, from M-4 on IC, LM, LT, with M-5 RS, and MM."""
    assert {mix: (len(jobs), jobs.count("MM")) for mix, jobs in HADARE_MIXES.items()} == {
        "M-1": (1, 1),
        "M-3": (3, 2),
        "M-4": (4, 1),
        "M-5": (5, 1),
        "M-8": (8, 4),
        "M-10": (10, 6),
        "M-12": (12, 8),
    }
    others = {mix: tuple(job for job in jobs if job != "MM") for mix, jobs in HADARE_MIXES.items()}
    assert others["M-1"] == () and others["M-3"] == ("LT",) and others["M-4"] == ("IC", "LM", "LT")
    assert {others[mix] for mix in ("M-5", "M-8", "M-10", "M-12")} == {("IC", "LM", "LT", "RS")}


@pytest.mark.parametrize("cluster", ["aws", "lab"])
def test_every_mix_has_a_name_and_the_list_stays_short(cluster: str) -> None:
    names = variants(f"hadar_{cluster}")
    assert names == [f"hadar_{cluster}_{mix}" for mix in HADARE_MIXES] == variants(names[0])
    assert not set(names) & set(NAMES)
    for name, mix in zip(names, HADARE_MIXES, strict=True):
        assert is_preset(name) and preset(name) == hadare_mix(cluster, mix) and preset(name).name == name
    middle, base = preset(f"hadar_{cluster}_M-5"), preset(f"hadar_{cluster}")
    assert middle.jobs == base.jobs and middle.cluster == base.cluster
    assert variants("start_here") == variants("none") == [] and not is_preset("hadar_aws_M-2") and not is_preset(3)
    with pytest.raises(InputError, match="hadar_aws_M-8"):
        preset("hadar_aws_M-2")


@pytest.mark.parametrize("name", ["hadar_example", "hadar_simulated", "hadar_480", "hadar_aws", "hadar_lab_M-12"])
def test_hadars_plans_compare_what_the_paper_compares(name: str) -> None:
    plan = [entry.scheduler for entry in preset(name).schedulers]
    assert plan == ["hadar", "hadare", "gavel.max_min_fairness", "tiresias", "yarn_cs"]
    assert [find_scheduler(each).name for each in plan] == plan


def test_hadares_jobs_are_the_same_on_both_clusters() -> None:
    assert hadare_mix("aws", "M-12").jobs == hadare_mix("lab", "M-12").jobs
    for wrong in (("gcp", "M-5"), ("aws", "M-2")):
        with pytest.raises(InputError):
            hadare_mix(*wrong)


HOPS = ["hops_64", "hops_512", *variants("hops_512")]


@pytest.mark.parametrize("name", HOPS)
def test_hopss_jobs_are_elastic(name: str) -> None:
    """Hops, section 4.2: 1 to 16 GPUs, up to 8 choices, Gavel takes the median; sizes in GPU-hours."""
    scenario = preset(name)
    hours = {"S": (0, 1), "M": (1, 10), "L": (10, 50), "XL": (50, 80)}
    for job in scenario.jobs:
        assert job.gpu_choices is not None
        assert 1 <= len(job.gpu_choices) <= 8
        assert 1 <= job.gpu_choices[0] <= job.gpu_choices[-1] <= 16
        assert sum(choice < job.gpus for choice in job.gpu_choices) == (len(job.gpu_choices) - 1) // 2
        low, high = hours[job.size_class or ""]
        speed = scenario.table.row(job.model, "titanxp", job.gpus)
        speed = speed or scenario.table.matrix([job.model], [job.gpus]).max()  # its memory may be too small
        spent = job.steps / speed / 3600 * job.gpus
        assert low - 1e-3 <= spent <= high + 1e-3
        assert job.gpus == median_size(job.sizes)
    assert max(len(job.sizes) for job in scenario.jobs) == 8


def test_hopss_servers_are_the_papers() -> None:
    """Hops, sections 4.2 and 4.3: (type, servers, GPUs each), 100 Gbit/s; the RTX 3090 hosts differ in speed."""
    small, large = preset("hops_64").cluster, preset("hops_512").cluster
    groups = [(g.accelerator, g.count, g.gpus) for g in small.nodes]
    assert groups == [("gtx1080ti", 2, 8), ("titanxp", 4, 8), ("rtx3090", 2, 4), ("rtx3090", 2, 4)]
    groups = [(g.accelerator, g.count, g.gpus) for g in large.nodes]
    assert groups == [("gtx1080ti", 16, 8), ("titanxp", 16, 8), *(("rtx3090", n, 8) for n in (16, 8, 8))]
    assert small.gpus == 64 and large.gpus == 512
    for cluster, classes in ((small, 2), (large, 3)):
        assert cluster.network_gbps == 100 and all(a.link_gbps for a in cluster.accelerators)
        speeds = [g.speed for g in cluster.nodes if g.accelerator == "rtx3090"]
        assert len(set(speeds)) == classes and speeds == sorted(speeds)
        assert {g.speed for g in cluster.nodes if g.accelerator != "rtx3090"} == {1.0}


def test_hopss_models_are_those_of_table_2() -> None:
    classes = {row["name"]: (row["size_class"], row["batch_size"]) for row in builtin.models("hops")}
    table = {
        "ResNet18": ("XL", 128, "S", 256),
        "ResNet50": ("XL", 128, "S", 256),
        "VGG11": ("L", 32, "S", 128),
        "VGG13": ("L", 32, "S", 128),
        "ConvNeXt_base": ("L", 32, "S", 64),
        "DenseNet161": ("L", 32, "S", 64),
        "MobileNet_v2": ("M", 64, "S", 64),
        "RegNet": ("L", 32, "M", 32),
    }
    for model, (large, batch, small, other) in table.items():
        assert classes.pop(f"{model} (ImageNet)") == (large, batch) and classes.pop(f"{model} (Cifar10)") == (
            small,
            other,
        )
    assert classes == {
        "DistilBert (IMDb)": ("L", 128),
        "ViT (Food-101)": ("M", 48),
        "MacBert (C3)": ("M", 8),
        "Wav2vec (Common language)": ("M", 16),
        "GPT-2 Medium (Wiktext)": ("L", 8),
    }


def test_hopss_jobs_arrive_within_the_papers_windows() -> None:
    """25 in 2.5 h; 500 at 100 an hour in 5 h; 30 to 1200 an hour in section 4.6."""
    small = preset("hops_64")
    assert len(small.jobs) == 25 and max(job.arrival_s for job in small.jobs) <= 2.5 * 3600
    rates = [int(name.rpartition("_")[2]) for name in HOPS[2:]]
    assert rates == [30, 60, 100, 120, 300, 600, 1200]
    for name, rate in zip(HOPS[2:], rates, strict=True):
        jobs = preset(name).jobs
        last_s = max(job.arrival_s for job in jobs)
        assert len(jobs) == 500 and 0.9 <= last_s / (500 / rate * 3600) <= 1
        assert [job.model for job in jobs] == [job.model for job in preset("hops_512_100").jobs]


def test_hopss_data_sets_on_disk_are_loaded_at_two_speeds_and_the_estimator_can_use_them() -> None:
    scenario = preset("hops_64")
    loaded = {model.name: model.load_s for model in scenario.models}
    assert (
        {name for name, load_s in loaded.items() if load_s} == {name for name in loaded if "ImageNet" in name} != set()
    )
    assert all(model.parameters_gb and model.batch_size for model in scenario.models)
    belief, errors = estimator("layered")(scenario), []
    for job in scenario.jobs:
        true = {kind: scenario.table.row(job.model, kind, job.gpus) for kind in scenario.cluster.types}
        errors += [abs(belief.steps_per_s(job, kind, job.gpus) / v - 1) for kind, v in true.items() if v > 0]
    assert 0 < sum(errors) / len(errors) < 0.15


@pytest.mark.parametrize("name", HOPS)
def test_hopss_plan_compares_what_the_paper_compares(name: str) -> None:
    plan = [entry.scheduler for entry in preset(name).schedulers]
    assert plan == ["hops", "sia", "gavel.max_min_fairness"]
    assert [find_scheduler(each).name for each in plan] == plan
    assert preset(name).core == preset("hops_64").core


CHRONUS = ["chronus_example", "chronus_96x8", "chronus_120x8"]


@pytest.mark.parametrize("name", [each for base in CHRONUS for each in (base, *variants(base))])
def test_chronuss_deadlines(name: str) -> None:
    """Section 4.1: strict in U[1.2, 2] runtimes; soft the same, then 1.1, 1.2 and 1.5 times the first."""
    scenario = preset(name)
    for job in scenario.jobs:
        if job.size_class == "best effort":
            assert job.rewards is None
            continue
        assert job.rewards is not None
        runtime_s = job.steps / scenario.table.row(job.model, "v100", job.gpus)
        first_s = job.rewards[0][0]
        assert 1.19 < first_s / runtime_s < 2.01
        if job.size_class == "soft":
            assert [reward for _, reward in job.rewards] == [100, 80, 50, 20]
            assert [deadline / first_s for deadline, _ in job.rewards] == pytest.approx([1.0, 1.1, 1.2, 1.5], abs=1e-4)
        else:
            assert [reward for _, reward in job.rewards] == [100]


def test_chronuss_plan_compares_what_the_paper_compares_and_some_are_refused() -> None:
    scenario = preset("chronus_example")
    plan = [entry.scheduler for entry in scenario.schedulers]
    assert plan == ["chronus", "edf", "three_sigma", "genie", "tiresias", "themis", "yarn_cs"]
    assert [find_scheduler(each).name for each in plan] == plan
    found = summary(run_loop(scenario, find_scheduler("chronus")))
    assert found["guaranteed"] > found["unguaranteed"] >= 2


def test_an_elastic_variant_has_the_same_jobs() -> None:
    plain, elastic = preset("chronus_example").jobs, preset("chronus_example_elastic").jobs
    assert all(job.gpu_choices is not None and len(job.gpu_choices) >= 2 for job in elastic)
    assert [job.model_copy(update={"gpu_choices": None}) for job in elastic] == list(plain)


@pytest.mark.parametrize("base", CHRONUS)
def test_chronuss_workloads_are_table_1_over_the_same_jobs(base: str) -> None:
    """Shares of strict, soft and best-effort jobs within three standard deviations; all other facts are equal."""
    shares = {"slo": (1, 0, 0), "mix1": (0.7, 0, 0.3), "mix2": (0.3, 0.6, 0.1)}
    assert variants(base)[:3] == [f"{base}_{workload}" for workload in shares]
    assert preset(f"{base}_mix2").jobs == preset(base).jobs
    for workload, expected in shares.items():
        jobs = preset(f"{base}_{workload}").jobs
        kinds = [job.size_class for job in jobs]
        for kind, share in zip(("strict", "soft", "best effort"), expected, strict=True):
            assert abs(kinds.count(kind) - share * len(jobs)) <= 3 * (share * (1 - share) * len(jobs)) ** 0.5
        plain = [job.model_copy(update={"rewards": None, "size_class": None}) for job in jobs]
        assert plain == [job.model_copy(update={"rewards": None, "size_class": None}) for job in preset(base).jobs]


def test_hares_classes_are_a_quarter_each() -> None:
    scenario = preset("hare_testbed")
    for kind in hare.CLASSES:
        assert sum(job.model in kind for job in scenario.jobs) == len(scenario.jobs) // 4
    assert all(job.steps % job.gpus == 0 and job.tasks_per_round == job.gpus for job in scenario.jobs)


def test_hares_160_gpus_have_100_200_or_300_jobs() -> None:
    """Section 7.3: the same cluster, a quarter of each class, and more jobs in the same time."""
    assert variants("hare_160") == ["hare_160_100", "hare_160_200", "hare_160_300"]
    last_s = []
    for count in (100, 200, 300):
        made = preset(f"hare_160_{count}")
        assert len(made.jobs) == count and made.cluster == preset("hare_160").cluster
        assert [sum(job.model in kind for job in made.jobs) for kind in hare.CLASSES] == [count // 4] * 4
        last_s.append(max(job.arrival_s for job in made.jobs))
    assert max(last_s) < 1.3 * min(last_s)
    assert preset("hare_160").jobs == preset("hare_160_200").jobs == hare.hare_workload().jobs


def test_hares_workload_in_other_sizes_and_mixes() -> None:
    low = hare.hare_workload(17, 9, "low")
    assert low.cluster.capacity == {"v100": 17} and len(low.jobs) == 9
    assert hare.hare_workload(6, 4, "high").cluster.capacity == {"v100": 2, "t4": 2, "k80": 1, "m60": 1}
    assert hare.hare_workload(1, 4, "high").cluster.capacity == {"v100": 1}
    mixed = hare.hare_workload(16, 40, shares=(0.1, 0.7, 0.1, 0.1))
    assert [sum(job.model in kind for job in mixed.jobs) for kind in hare.CLASSES] == [4, 28, 4, 4]
    assert [job.arrival_s for job in mixed.jobs] == [job.arrival_s for job in hare.hare_workload(16, 40).jobs]


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"gpus": 0}, "gpus: got 0; expected a whole number from 1 to 1000"),
        ({"jobs": 2.5}, "jobs: got 2.5; expected a whole number"),
        ({"level": "medium"}, "level: got 'medium'; expected one of low, middle, high"),
        ({"shares": (1, 1)}, "expected 4 numbers >= 0"),
        ({"shares": (0, 0, 0, 0)}, "not all 0: of CV, NLP, Speech, Rec."),
    ],
)
def test_a_workload_of_hares_that_cannot_be(wrong: dict[str, Any], expected: str) -> None:
    with pytest.raises(InputError) as raised:
        hare.hare_workload(**wrong)
    assert expected in str(raised.value)


def test_hares_figure_4_has_a_gpu_for_each_of_those_that_run() -> None:
    made = preset("hare_synchronisation")
    alone = made.table.matrix([job.model for job in made.jobs], [1] * 4)
    assert ((alone > 0).sum(axis=1) == [1, 1, 1, 3]).all() and made.jobs[-1].tasks_per_round == 3


@pytest.mark.parametrize(("name", "count", "reference"), [("hadar_simulated", 40, "v100"), ("hadar_480", 480, "k80")])
def test_hadars_sizes_are_in_gpu_hours(name: str, count: int, reference: str) -> None:
    """Section IV-A: 0-1, 1-10, 10-50 and 60-100 GPU-hours, drawn evenly; models of Table II; all at the start."""
    scenario = preset(name)
    assert len(scenario.jobs) == count and all(job.arrival_s == 0 for job in scenario.jobs)
    assert scenario.core.restart.seconds(4) == 10
    for job in scenario.jobs:
        assert job.size_class is not None
        low, high = hadar.GPU_HOURS[job.size_class]
        hours = job.steps / scenario.table.row(job.model, reference, job.gpus) * job.gpus / 3600
        assert low * 0.999 <= hours <= high * 1.001
        assert job.model in hadar.MODELS[job.size_class]
    share = {size: sum(job.size_class == size for job in scenario.jobs) / count for size in ["S", "M", "L", "XL"]}
    assert sum(share.values()) == 1 and all(abs(part - 0.25) < 4 * (0.1875 / count) ** 0.5 for part in share.values())


def test_hadars_numbers_are_the_papers() -> None:
    assert hadar.GPU_HOURS == {"S": (0, 1), "M": (1, 10), "L": (10, 50), "XL": (60, 100)}


def test_the_tables_are_what_the_script_makes(maker: ModuleType, tmp_path: Path) -> None:
    for folder in (tmp_path / "once", tmp_path / "twice"):
        maker.write(folder)
        for table in TABLES:
            assert (folder / table).read_bytes() == (ROOT / "datasets" / table).read_bytes(), (
                "run tools/make_datasets.py"
            )


@pytest.mark.parametrize("table", TABLES)
def test_every_row_says_where_it_comes_from(table: str) -> None:
    with (ROOT / "datasets" / table).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 10
    for row in rows:
        for part in row["source"].split("; "):
            assert part.startswith(("paper: ", "model: ", "model card: ", "data sheet: ", "list price: ")), row


def test_the_papers_statements_hold_in_the_table() -> None:
    def ratio(group: str, model: str, fast: str, slow: str) -> float:
        speed = {
            r["accelerator"]: r["steps_per_s"] for r in builtin.throughputs(group, (fast, slow)) if is_one(r, model)
        }
        return float(speed[fast] / speed[slow])

    def is_one(row: dict[str, Any], model: str) -> bool:
        return bool(row["model"] == model and row["gpus"] == 1)

    assert ratio("gavel", "ResNet-50 (batch size 64)", "v100", "k80") == pytest.approx(10, rel=0.01)
    assert ratio("gavel", "A3C", "v100", "k80") == pytest.approx(2, rel=0.01)
    assert ratio("hare", "ResNet50 (Cifar100)", "v100", "k80") == pytest.approx(7, rel=0.01)
    assert ratio("hare", "ResNet50 (Cifar100)", "t4", "k80") == pytest.approx(2, rel=0.01)
    assert ratio("hare", "GraphSAGE (Cora)", "v100", "k80") == pytest.approx(2, rel=0.01)


def test_gavels_best_buys_hold_in_the_table() -> None:
    """Gavel 7.3: per dollar, ResNet-50 is best on a V100 and A3C on a K80."""
    types = ("v100", "p100", "k80")
    price = {name: builtin.accelerator(name)["price_per_hour"] for name in types}
    for model, best in (("ResNet-50 (batch size 64)", "v100"), ("A3C", "k80")):
        rows = [row for row in builtin.throughputs("gavel", types, [model]) if row["gpus"] == 1]
        per_dollar = {row["accelerator"]: row["steps_per_s"] / price[row["accelerator"]] for row in rows}
        assert max(per_dollar, key=lambda name: per_dollar[name]) == best


def test_gavels_configurations_are_26() -> None:
    assert len(builtin.models("gavel")) == 26


def test_the_model_agrees_with_the_statement_it_does_not_use(maker: ModuleType) -> None:
    (resnet,) = [m for m in maker.models() if m.name == "ResNet50 (Cifar100)"]
    assert maker.gain(resnet, maker.BY_NAME["t4"]) == pytest.approx(2, rel=0.03)


def test_what_does_not_fit_cannot_run() -> None:
    assert builtin.throughputs("gavel", ["k80"], ["ResNet-50 (batch size 128)"]) == [
        {
            "model": "ResNet-50 (batch size 128)",
            "accelerator": "k80",
            "gpus": 1,
            "placement": "consolidated",
            "steps_per_s": 0.0,
        }
    ]


def test_tables_are_found_inside_the_package_and_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site" / "workbench"
    package.mkdir(parents=True)
    monkeypatch.setattr(builtin, "PACKAGE", package)
    with pytest.raises(InputError, match="tables"):
        builtin.folder()
    shutil.copytree(ROOT / "datasets", package.parent / "datasets")
    assert builtin.folder() == package.parent / "datasets"
    shutil.copytree(ROOT / "datasets", package / "datasets")
    assert builtin.folder() == package / "datasets"
    builtin._table.cache_clear()
    assert builtin.accelerator("v100")["price_per_hour"] == 2.48
    builtin._table.cache_clear()


def test_a_type_that_the_tables_do_not_know() -> None:
    assert builtin.accelerator("tpu") == {"name": "tpu"}
