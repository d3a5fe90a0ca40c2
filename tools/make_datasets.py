"""Make the tables in `datasets/`: `python tools/make_datasets.py [--out FOLDER]`.

Every number comes from a statement in one of the five papers, from a public data sheet or model card, or from the
model written down here and in `datasets/README.md`; the `source` column of each row says which. Nothing is measured
and nothing is drawn at random: two runs write identical files.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations_with_replacement
from pathlib import Path
from typing import NamedTuple

# --- the model's constants (ours) -------------------------------------------------------------------------------------
K80_GFLOPS_USED = 0.25 * 4370  # a K80 GPU trains at a quarter of its single-precision peak
BYTES_PER_PARAMETER = 16  # weights, gradients and two moments of the optimiser, single precision
LOWEST_GAIN, HIGHEST_GAIN = 2.0, 10.0  # paper: Gavel 1: V100 over K80, 2x for A3C and nearly 10x for ResNet-50
MOST_WORK_GFLOP = 1000.0  # work per step from which a model counts as fully compute-bound
IDLEST, BUSIEST = 0.30, 0.95  # paper: Hare 2.2.1 and 2.2.4: GraphSAGE below 30 % of a V100, ResNet50 almost all of it
SHARING_OVERHEAD = 0.95  # what is left of the speed when two jobs share a GPU without contending
GPUS_PER_NODE = 8  # gangs of more GPUs span whole nodes of eight
BY_NODES, MOST_BY_NODES = "chronus", 16
"""Whose gangs, of up to how many GPUs, have a row for each number of nodes that they may be spread over (ours)."""


class Accelerator(NamedTuple):
    """Data-sheet figures of one GPU; price: USD per hour on demand, None where no cloud of the papers rents it."""

    name: str
    title: str
    memory_gb: float
    fp32_tflops: float
    tensor_tflops: float
    bandwidth_gb_s: float
    pcie: int
    price_per_hour: float | None
    source: str


VRAM = "paper: HadarE V-A (memory)"
SHEET = "data sheet: NVIDIA (TFLOPS, bandwidth)"
GCP = "list price: on demand in 2020, of the cloud that Gavel Fig. 1b names"
ACCELERATORS = [
    Accelerator("v100", "Tesla V100", 16, 15.7, 125.0, 900, 3, 2.48, f"{VRAM}; {SHEET}; {GCP}"),
    Accelerator("p100", "Tesla P100 (PCIe)", 16, 9.3, 18.7, 732, 3, 1.46, f"{SHEET}, memory too; {GCP}"),
    Accelerator("k80", "Tesla K80 (one of its two GPUs)", 12, 4.37, 4.37, 240, 3, 0.45, f"{VRAM}; {SHEET}; {GCP}"),
    Accelerator("t4", "Tesla T4", 16, 8.1, 65.0, 320, 3, 0.35, f"{VRAM}; {SHEET}; {GCP}"),
    Accelerator("m60", "Tesla M60 (one of its two GPUs)", 8, 4.82, 4.82, 160, 3, None, f"{SHEET}, memory too"),
    Accelerator("gtx1080ti", "GeForce GTX 1080 Ti", 11, 11.3, 11.3, 484, 3, None, f"{SHEET}, memory too"),
    Accelerator("titanxp", "Titan Xp", 12, 12.1, 12.1, 548, 3, None, f"{SHEET}, memory too"),
    Accelerator("rtx3090", "GeForce RTX 3090", 24, 35.6, 71.0, 936, 4, None, f"{VRAM}; {SHEET}"),
    Accelerator("titanrtx", "Titan RTX", 24, 16.3, 130.0, 672, 3, None, f"{VRAM}; {SHEET}"),
    Accelerator("t400", "T400", 4, 1.09, 1.09, 80, 3, None, f"{VRAM}; {SHEET}"),
    Accelerator("a2000", "RTX A2000", 6, 8.0, 63.9, 288, 4, None, f"{VRAM}; {SHEET}"),
]
BY_NAME = {accelerator.name: accelerator for accelerator in ACCELERATORS}
LINK_GBPS = 126.0  # paper: Hare 7.1: PCIe-3 x16 at 15.75 GB/s


class Group(NamedTuple):
    """Models of one paper: where they run, and how fast their network is (Gbit/s between nodes)."""

    name: str
    accelerators: tuple[str, ...]
    gpus: tuple[int, ...]
    network_gbps: float
    pairs: bool


GROUPS = {
    group.name: group
    for group in [
        Group("gavel", ("v100", "p100", "k80"), (1, 2, 4, 8), 25.0, True),
        Group("hadar", ("v100", "k80", "t4", "titanrtx", "t400", "rtx3090", "a2000"), (1,), 25.0, False),
        Group("hops", ("gtx1080ti", "titanxp", "rtx3090"), (1, 2, 4, 8, 16), 100.0, False),
        Group("hare", ("v100", "t4", "k80", "m60"), (1, 2, 4, 8), 25.0, False),
        Group("chronus", ("v100",), (1, 2, 4, 8, 16, 32, 64), 25.0, False),
    ]
}


class Model(NamedTuple):
    """What the model needs to know of a deep-learning model.

    forward_gflop: of one sample; parameters_m: millions; sample_gb: activations kept for one sample; host_s: time of a
    step that no GPU shortens; gain: V100 over K80 where a paper states it; v100_s: step time where a paper gives it.
    """

    group: str
    name: str
    batch: int
    forward_gflop: float
    parameters_m: float
    sample_gb: float
    size_class: str
    dataset_class: str
    where: str
    host_s: float = 0.02
    gain: float | None = None
    gain_source: str = ""
    v100_s: float | None = None

    @property
    def work_gflop(self) -> float:
        """Work of one step: the backward pass costs twice the forward pass."""
        return 3.0 * self.forward_gflop * self.batch

    @property
    def intensity(self) -> float:
        """0: bound by the host, 1: bound by the GPU; from the gain where a paper states it, else from the work."""
        if self.gain is not None:
            return math.log(self.gain / LOWEST_GAIN) / math.log(HIGHEST_GAIN / LOWEST_GAIN)
        return min(1.0, max(0.0, math.log(self.work_gflop) / math.log(MOST_WORK_GFLOP)))

    @property
    def memory_gb(self) -> float:
        """Peak memory of a step."""
        return self.parameters_m * BYTES_PER_PARAMETER / 1000 + self.sample_gb * self.batch

    @property
    def busy(self) -> float:
        """Share of a GPU's time that the model keeps it busy, linear in the intensity."""
        return IDLEST + (BUSIEST - IDLEST) * self.intensity


GAVEL_RESNET = "paper: Gavel 1: ResNet-50 nearly 10x on a V100 over a K80"
GAVEL_A3C = "paper: Gavel 1: A3C 2x on a V100 over a K80"
HARE_RESNET = "paper: Hare 2.2.1: ResNet50 7x on a V100 over a K80"
HARE_SAGE = "paper: Hare 2.2.1: GraphSAGE about 2x on a V100 over a K80"


def gavel_models() -> Iterator[Model]:
    """Gavel Table 2 with its batch sizes: the 26 configurations of its traces (A3C and CycleGAN have one)."""
    where = "Gavel Table 2"
    for batch in (16, 32, 64, 128):
        yield Model(
            "gavel",
            f"ResNet-50 (batch size {batch})",
            batch,
            4.1,
            25.6,
            0.095,
            "L",
            "XL",
            where,
            0.02,
            10.0,
            GAVEL_RESNET,
        )
    for batch in (16, 32, 64, 128, 256):
        yield Model("gavel", f"ResNet-18 (batch size {batch})", batch, 0.56, 11.2, 0.009, "S", "S", where)
    yield Model("gavel", "A3C", 4, 0.02, 0.8, 0.02, "S", "S", where, 0.25, 2.0, GAVEL_A3C)
    for batch in (5, 10, 20, 40, 80):
        yield Model("gavel", f"LSTM (batch size {batch})", batch, 2.0, 28.9, 0.05, "M", "L", where)
    for batch in (16, 32, 64, 128, 256):
        yield Model("gavel", f"Transformer (batch size {batch})", batch, 2.6, 44.0, 0.03, "L", "L", where)
    yield Model("gavel", "CycleGAN", 1, 130.0, 28.3, 5.0, "XL", "M", where)
    for batch in (512, 1024, 2048, 4096, 8192):
        yield Model("gavel", f"Recoder (batch size {batch})", batch, 0.016, 8.2, 0.0006, "M", "XL", where, 0.05)


def hadar_models() -> Iterator[Model]:
    """HadarE Table III. The batch sizes are ours: the middle ones of Gavel Table 2."""
    where = "HadarE Table III"
    yield Model("hadar", "IC: ResNet-18", 64, 0.56, 11.2, 0.009, "S", "S", where)
    yield Model("hadar", "LM: LSTM", 20, 2.0, 28.9, 0.05, "M", "L", where)
    yield Model("hadar", "LT: Transformer", 32, 2.6, 44.0, 0.03, "L", "L", where)
    yield Model("hadar", "RS: Recoder", 2048, 0.016, 8.2, 0.0006, "M", "XL", where, 0.05)
    yield Model("hadar", "MM: Encoder-Decoder Transformer", 32, 3.5, 52.0, 0.04, "XL", "M", where)


# Hops Table 2: name, forward GFLOP at 224 x 224, millions of parameters, GB a sample at 224 x 224, batch and class on
# ImageNet, batch and class on Cifar10.
# Every task is profiled on every type (3.2, 4.7) and Fig. 1a has ResNet and DistilBert on all, so that the samples of
# ResNet50, DistilBert and Wav2vec are as large as fits into the 11 GB of a GTX 1080 Ti.
HOPS_VISION = [
    ("ResNet18", 1.8, 11.7, 0.04, 128, "XL", 256, "S"),
    ("ResNet50", 4.1, 25.6, 0.08, 128, "XL", 256, "S"),
    ("VGG11", 7.6, 132.9, 0.08, 32, "L", 128, "S"),
    ("VGG13", 11.3, 133.0, 0.11, 32, "L", 128, "S"),
    ("ConvNeXt_base", 15.4, 88.6, 0.25, 32, "L", 64, "S"),
    ("DenseNet161", 7.7, 28.7, 0.30, 32, "L", 64, "S"),
    ("MobileNet_v2", 0.3, 3.5, 0.08, 64, "M", 64, "S"),
    ("RegNet", 8.0, 39.2, 0.15, 32, "L", 32, "M"),
]
HOPS_REST = [
    ("DistilBert (IMDb)", 128, 11.0, 66.4, 0.07, "L"),
    ("ViT (Food-101)", 48, 17.6, 86.6, 0.18, "M"),
    ("MacBert (C3)", 8, 87.0, 102.3, 0.90, "M"),
    ("Wav2vec (Common language)", 16, 60.0, 94.4, 0.55, "M"),
    ("GPT-2 Medium (Wiktext)", 8, 180.0, 354.8, 0.55, "L"),
]


def hops_models() -> Iterator[Model]:
    """Hops Table 2. A 32 x 32 picture of Cifar10 is taken as an eighth of a 224 x 224 one (upsampled to 80 x 80)."""
    where = "Hops Table 2"
    for name, gflop, parameters, gb, imagenet, imagenet_class, cifar, cifar_class in HOPS_VISION:
        yield Model("hops", f"{name} (ImageNet)", imagenet, gflop, parameters, gb, imagenet_class, "XL", where)
        yield Model("hops", f"{name} (Cifar10)", cifar, gflop / 8, parameters, gb / 8, cifar_class, "S", where)
    for name, batch, gflop, parameters, gb, size_class in HOPS_REST:
        yield Model("hops", name, batch, gflop, parameters, gb, size_class, "M", where)


# Hare Tables 2 and 3: name, batch, forward GFLOP, millions of parameters, GB a sample, switching time in ms and its
# share of the task time (row Hare), stated gain of a V100 over a K80 and where.
HARE = [
    ("VGG19 (Cifar10)", 128, 0.40, 143.7, 0.010, 2.77, 0.0182, None, ""),
    ("ResNet50 (Cifar100)", 64, 1.30, 25.6, 0.020, 2.04, 0.0371, 7.0, HARE_RESNET),
    ("Inception V3 (Cifar100)", 32, 5.70, 27.2, 0.080, 2.46, 0.0143, None, ""),
    ("Bert_base (SQuAD)", 32, 87.0, 110.0, 0.150, 5.03, 0.0113, None, ""),
    ("Transformer (WMT16)", 128, 2.60, 65.0, 0.030, 5.79, 0.0136, None, ""),
    ("DeepSpeech (ComVoice)", 8, 35.0, 86.0, 0.300, 4.27, 0.0125, None, ""),
    ("FastGCN (Cora)", 128, 0.002, 0.4, 0.004, 1.83, 0.0453, None, ""),
    ("GraphSAGE (Cora)", 16, 0.002, 0.4, 0.010, 0.96, 0.0336, 2.0, HARE_SAGE),
]


def hare_models() -> Iterator[Model]:
    """Hare Table 2; the step times follow from its Table 3: switching time x (1 - share) / share."""
    for name, batch, gflop, parameters, gb, switch_ms, share, gain, source in HARE:
        step_s = switch_ms / 1000 * (1 - share) / share
        where = "Hare Table 2"
        yield Model("hare", name, batch, gflop, parameters, gb, "M", "S", where, 0.01, gain, source, step_s)


def chronus_models() -> Iterator[Model]:
    """The models that Chronus 5.5 names; it states no batch sizes (64, and 8 or 32 for the large ones: ours)."""
    where = "Chronus 5.5"
    yield Model("chronus", "VGG16", 64, 15.5, 138.4, 0.11, "L", "XL", where)
    yield Model("chronus", "AlexNet", 64, 0.7, 61.1, 0.01, "S", "XL", where)
    yield Model("chronus", "MobileNet", 64, 0.3, 3.5, 0.08, "S", "XL", where)
    yield Model("chronus", "InceptionNet", 64, 5.7, 27.2, 0.11, "M", "XL", where)
    yield Model("chronus", "ResNet", 64, 4.1, 25.6, 0.095, "M", "XL", where)
    yield Model("chronus", "GAN", 8, 13.0, 28.3, 0.80, "M", "M", where)
    yield Model("chronus", "Bert", 32, 22.0, 110.0, 0.10, "XL", "L", where)
    yield Model("chronus", "RL", 4, 0.02, 0.8, 0.02, "S", "S", where, 0.25)


def models() -> list[Model]:
    """Every model, in the order of the papers."""
    return [*gavel_models(), *hadar_models(), *hops_models(), *hare_models(), *chronus_models()]


def position(accelerator: Accelerator) -> float:
    """0 for a K80, 1 for a V100: the logarithm of sqrt(peak x bandwidth) between the two."""
    index = math.sqrt(accelerator.fp32_tflops * accelerator.bandwidth_gb_s)
    low, high = (math.sqrt(BY_NAME[n].fp32_tflops * BY_NAME[n].bandwidth_gb_s) for n in ("k80", "v100"))
    return math.log(index / low) / math.log(high / low)


def gain(model: Model, accelerator: Accelerator) -> float:
    """Speed over a K80: the V100's gain to the power of the accelerator's position."""
    top = LOWEST_GAIN * (HIGHEST_GAIN / LOWEST_GAIN) ** model.intensity
    return float(top ** position(accelerator))


def step_s(model: Model, accelerator: Accelerator) -> float:
    """Seconds of one step on one GPU."""
    if model.v100_s is not None:
        return model.v100_s * gain(model, BY_NAME["v100"]) / gain(model, accelerator)
    return (model.host_s + model.work_gflop / K80_GFLOPS_USED) / gain(model, accelerator)


def sync_s(model: Model, group: Group, gpus: int, placement: str, nodes: float | None = None) -> float:
    """Seconds to synchronise a gang once: Hops (2), and Chronus 3.2.2 over whole nodes; 0 for one GPU.

    nodes: of the gang. None: as few as hold it; of an unconsolidated gang not told, except for Chronus's models, whose
    time grows with the number of nodes: as many as it has GPUs, the slowest.
    """
    gbit = model.parameters_m * 4 * 8 / 1000
    inside = min(gpus, GPUS_PER_NODE)
    if placement == "unconsolidated" and nodes is None:
        if model.group != BY_NODES:
            return gbit / group.network_gbps
        nodes = gpus
    nodes = nodes or gpus / inside
    return gbit / LINK_GBPS * (inside - 1) / inside + gbit / group.network_gbps * math.log2(nodes)


def gangs(group: Group) -> list[int]:
    """The gangs that have rows; of Chronus also those that are not consolidation-friendly."""
    more = range(1, MOST_BY_NODES + 1) if group.name == BY_NODES else ()
    return sorted({*group.gpus, *more})


def placements(group: str, gpus: int) -> Iterator[tuple[str, int | None]]:
    """The placements of a gang that have a row: the word, and exactly how many nodes or None.

    Chronus's gangs of up to MOST_BY_NODES GPUs have one for each number of nodes beyond the fewest.
    """
    yield "consolidated", None
    if gpus > 1:
        yield "unconsolidated", None
    if group == BY_NODES and gpus <= MOST_BY_NODES:
        for nodes in range(max(2, -(-gpus // GPUS_PER_NODE) + 1), gpus + 1):
            yield "unconsolidated", nodes


def step_source(model: Model, accelerator: Accelerator) -> str:
    """Where the step time on one GPU of that type comes from."""
    if model.name.startswith("ResNet50 (Cifar100)") and accelerator.name == "t4":
        return "paper: Hare 2.2.1: ResNet50 2x on a T4 over a K80"
    if accelerator.name == "v100":
        parts = ["paper: Hare Table 3 (step time, taken to be a V100's)"] if model.v100_s is not None else []
        parts += [model.gain_source] if model.gain is not None else []
        return "; ".join(parts) or "model: K80 base x gain by work per step"
    if accelerator.name == "k80":
        return "model: V100 step time / gain" if model.v100_s is not None else "model: work per step on a K80"
    return "model: gain between K80 and V100 by peak TFLOPS and bandwidth"


def gang_source(group: str, gpus: int, placement: str) -> str:
    """What the synchronisation adds to the source of the step time."""
    if gpus == 1:
        return ""
    over_nodes = gpus > GPUS_PER_NODE if placement == "consolidated" else group == BY_NODES
    rule = "Chronus 3.2.2" if over_nodes else "Hops (2)"
    return f"; model: synchronisation by {rule}"


def single_step_s(model: Model, accelerator: Accelerator) -> float:
    """`step_s`, with the one speed on a third type that a paper states."""
    if step_source(model, accelerator).startswith("paper: Hare 2.2.1: ResNet50 2x"):
        return step_s(model, BY_NAME["k80"]) / 2.0
    return step_s(model, accelerator)


def throughput_rows() -> Iterator[list[object]]:
    """One row per model, type, gang and placement; a model that does not fit has one row with speed 0."""
    for model in models():
        group = GROUPS[model.group]
        for name in group.accelerators:
            accelerator = BY_NAME[name]
            if model.memory_gb > accelerator.memory_gb:
                source = f"model: needs {model.memory_gb:.1f} GB of {accelerator.memory_gb:g}"
                yield [model.group, model.name, name, 1, "consolidated", "", 0, "", source]
                continue
            base = single_step_s(model, accelerator)
            for gpus in gangs(group):
                for placement, nodes in placements(model.group, gpus):
                    sync = sync_s(model, group, gpus, placement, nodes)
                    source = step_source(model, accelerator) + gang_source(model.group, gpus, placement)
                    speed = rounded(gpus / (base + sync))
                    yield [
                        model.group,
                        model.name,
                        name,
                        gpus,
                        placement,
                        "" if nodes is None else nodes,
                        speed,
                        "" if gpus == 1 or nodes is not None else rounded(sync),
                        source,
                    ]


def colocated_rows() -> Iterator[list[object]]:
    """Pairs of single-GPU jobs that fit together: each keeps 95 %, divided by the sum of both loads if above 1."""
    source = "model: 0.95 / max(1, busy_a + busy_b) of the speed alone"
    for group in GROUPS.values():
        members = [model for model in models() if model.group == group.name] if group.pairs else []
        for name in group.accelerators:
            accelerator = BY_NAME[name]
            for one, other in combinations_with_replacement(members, 2):
                if one.memory_gb + other.memory_gb > accelerator.memory_gb:
                    continue
                kept = SHARING_OVERHEAD / max(1.0, one.busy + other.busy)
                speeds = [rounded(kept / single_step_s(model, accelerator)) for model in (one, other)]
                yield [group.name, one.name, other.name, name, *speeds, source]


def model_rows() -> Iterator[list[object]]:
    """Facts of the models themselves."""
    source = "paper: {} (model, batch size, data set); model card: parameters; model: memory, classes where not stated"
    for m in models():
        gb = rounded(m.parameters_m * 4 / 1000)
        yield [
            m.group,
            m.name,
            m.batch,
            gb,
            gb,
            rounded(m.memory_gb),
            m.size_class,
            m.dataset_class,
            source.format(m.where),
        ]


def accelerator_rows() -> Iterator[list[object]]:
    """Facts of the accelerator types; `pcie_scaling` doubles from PCIe 3 to PCIe 4 (ours)."""
    for a in ACCELERATORS:
        price = "" if a.price_per_hour is None else a.price_per_hour
        scaling = 2.0 if a.pcie == 4 else 1.0
        yield [
            a.name,
            a.title,
            a.memory_gb,
            a.tensor_tflops,
            a.fp32_tflops,
            a.bandwidth_gb_s,
            scaling,
            LINK_GBPS,
            price,
            a.source,
        ]


def rounded(value: float) -> float:
    """Four significant digits: the model is no better than that, and the text is the same on every machine."""
    return float(f"{value:.4g}")


TABLES: dict[str, tuple[str, Callable[[], Iterable[list[object]]]]] = {
    "accelerators.csv": (
        "name,title,memory_gb,tflops,fp32_tflops,bandwidth_gb_s,pcie_scaling,link_gbps,price_per_hour,source",
        accelerator_rows,
    ),
    "models.csv": (
        "group,name,batch_size,parameters_gb,model_gb,memory_gb,size_class,dataset_class,source",
        model_rows,
    ),
    "throughputs.csv": (
        "group,model,accelerator,gpus,placement,nodes,steps_per_s,sync_s,source",
        throughput_rows,
    ),
    "colocated.csv": (
        "group,model,with_model,accelerator,steps_per_s,with_steps_per_s,source",
        colocated_rows,
    ),
}


def write(folder: Path) -> None:
    """Write every table into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (header, rows) in TABLES.items():
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header.split(","))
            writer.writerows(rows())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "datasets", help="folder to write into")
    write(parser.parse_args().out)


if __name__ == "__main__":
    main()
