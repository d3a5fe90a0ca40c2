"""Models for jobs of traces that name none: each draws a built-in one of its size class.

A job's class follows from its GPU time, GPUs x run time, with Hadar's bounds (section IV-A): up to 1 GPU-hour S, up to
10 M, up to 50 L, above XL (ours: Hadar leaves gaps at 50 to 60 and over 100). Of the models of that class each is as
likely as the other; a class without a model draws from all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from workbench.scenario.traces.hadar import GPU_HOURS, HOUR
from workbench.scenario.traces.synthetic import FloatArray

CLASSES = tuple(GPU_HOURS)
BOUNDS = tuple(high for _, high in GPU_HOURS.values())[:-1]
"""GPU-hours up to which a job belongs to each class but the last."""
_STREAM = 3


def classes(gpu_time_s: FloatArray) -> list[str]:
    """The size class of each job, from its GPU time in GPU-seconds."""
    found = np.searchsorted(np.asarray(BOUNDS), np.asarray(gpu_time_s) / HOUR, side="left")
    return [CLASSES[which] for which in found.tolist()]


def draw_models(gpu_time_s: FloatArray, class_of: Mapping[str, str], seed: int) -> list[str]:
    """A model for each job, from its GPU time in GPU-seconds.

    class_of: the size class of each model there is, in order. A job's draw depends on the seed and its position alone.
    """
    of_class: dict[str, Sequence[str]] = {
        size: [model for model, its in class_of.items() if its == size] or list(class_of) for size in CLASSES
    }
    draws = np.random.default_rng([_STREAM, seed]).random(len(gpu_time_s)).tolist()
    pairs = zip(classes(gpu_time_s), draws, strict=True)
    return [of_class[size][int(draw * len(of_class[size]))] for size, draw in pairs]
