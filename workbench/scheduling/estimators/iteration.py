r"""The time of one training iteration under synchronous data parallelism (Hops, section 3.5), and the speed it gives.

T_iter = max(T_d, max(T_b + 0.2 T_c, T_c) + T_u) + T_f + T_w    pattern 1   (1)
T_iter = T_d + max(T_b + 0.2 T_c, T_c) + T_u + T_f + T_w        pattern 2   (1) (erratum)
T_c = params / B_link * (N - 1) / N                             one node    (2)
T_c = params / B_net                                            several     (2)
T_d a mixture of normals (`workbench.scheduling.estimators.loading`)                   (3)
E(T_iter) = sum_k p_k E(T_iter | case k of T_d)                             (4)
throughput = batch size / E(T_iter)   per GPU                               (5)

Pattern 1 overlaps communication with the backward pass, and data loading with both; pattern 2 only communication with
the backward pass. (erratum): pattern 2 is printed without T_u, which every GPU spends in either pattern;
`Formula.update` leaves it out again. One GPU neither communicates nor waits: T_c = T_w = 0 for N = 1.
(ours): the expectation in (4) is exact, E max(N, c) in closed form; `Formula.mean_only` puts max(E N, c) in its place.
T_w, which the paper measures, is the mean wait for the slowest of the GPUs if `Formula.waiting` is set, else 0.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from workbench.base.errors import InputError, counted
from workbench.base.scipy_alone import load_scipy
from workbench.scheduling.estimators.loading import Loading, expected_max, waiting_s

Pattern = Literal[1, 2]

NOT_OVERLAPPED = 0.2
"""The part of T_c that does not overlap with the backward pass (the paper's)."""

FORWARD, BACKWARD, UPDATE = 0.3, 0.6, 0.1
"""Parts of the computing time (ours): a backward pass is about twice a forward pass."""

CLOSE = 1e-9
"""Iterations may be shorter than what they are made of by so much of their length: rounding of floating point."""


class Modules(NamedTuple):
    """The basic times of an iteration, in seconds, as the profiler measures them on one accelerator type."""

    forward_s: float
    backward_s: float
    update_s: float
    loading: Loading
    pattern: Pattern = 1


class Formula(NamedTuple):
    """Which reading of (1) to (4): see the top of this file."""

    update: bool = True
    mean_only: bool = False
    waiting: bool = True


def communication_s(
    parameters_gb: float, gpus: int, nodes: int, link_gbps: float | None, network_gbps: float | None
) -> float:
    """T_c of (2): seconds in which the gradients of `parameters_gb` GB are exchanged, over links of so many Gbit/s.

    Raises InputError where the bandwidth that counts is not known, fewer GPUs than nodes are asked for, or the
    parameters are no size.
    """
    if not 1 <= nodes <= gpus:
        raise InputError("nodes of a configuration", nodes, f"1 to {gpus}, one GPU on each at least")
    if not 0 <= parameters_gb < math.inf:
        raise InputError("parameters_gb", parameters_gb, "GB of parameters, a finite number >= 0")
    if gpus == 1:
        return 0.0
    if nodes > 1:
        return 8.0 * parameters_gb / _known(network_gbps, "network_gbps", "the bandwidth between nodes")
    link = _known(link_gbps, "link_gbps", "the bandwidth inside a node")
    return 8.0 * parameters_gb / link * (gpus - 1) / gpus


def iteration_s(modules: Modules, gpus: int, communication_s: float, formula: Formula | None = None) -> float:
    """E(T_iter) of (4), by the pattern of the modules, with `gpus` GPUs."""
    how = formula or Formula()
    loading = modules.loading.steady() if how.mean_only else modules.loading
    back_s = max(modules.backward_s + NOT_OVERLAPPED * communication_s, communication_s)
    if modules.pattern == 1:
        hidden_s = back_s + modules.update_s
        own = expected_max(loading.mean_s, loading.deviation_s, hidden_s)
    else:
        hidden_s = -math.inf
        own = loading.mean_s + back_s + (modules.update_s if how.update else 0.0)
    if how.waiting:
        own = own + waiting_s(loading, gpus, hidden_s)
    return float(loading.probability @ own) + modules.forward_s


def steps_per_s(iteration_s: float, gpus: int = 1) -> float:
    """(5) of a gang, by default per GPU, in one GPU's mini-batches; times the batch size, in samples."""
    return gpus / iteration_s


def modules_of(
    iteration_s_measured: float,
    loading: Loading,
    gpus: int = 1,
    communication_s: float = 0.0,
    pattern: Pattern = 1,
    formula: Formula | None = None,
) -> Modules:
    """The modules that make up an iteration of known length, by bisection: what profiling it would have shown.

    (ours): a scenario tells steps/s and T_d, not T_f, T_b and T_u. What (1) leaves for them is divided by fixed parts.
    Raises InputError if loading, communication and waiting alone take longer.
    """

    def split(seconds: float) -> Modules:
        return Modules(FORWARD * seconds, BACKWARD * seconds, UPDATE * seconds, loading, pattern)

    def missing_s(seconds: float) -> float:
        return iteration_s(split(seconds), gpus, communication_s, formula) - iteration_s_measured

    least_s = iteration_s(split(0.0), gpus, communication_s, formula)
    if least_s > iteration_s_measured * (1 + CLOSE):
        raise InputError(
            f"seconds of an iteration on {counted(gpus, 'GPU')}",
            iteration_s_measured,
            f"at least the {least_s:g} s that loading its data and exchanging its gradients take",
        )
    if least_s >= iteration_s_measured:
        return split(0.0)
    # The printed pattern 2 does not count T_u, so the modules may add up to more than the iteration.
    most_s = iteration_s_measured / (FORWARD + BACKWARD) * (1 + CLOSE)
    load_scipy()  # when needed: it takes a part of a second
    from scipy.optimize import brentq

    return split(float(brentq(missing_s, 0.0, most_s, xtol=1e-15, rtol=1e-13)))


def _known(gbps: float | None, name: str, what: str) -> float:
    if gbps is None or not gbps > 0:
        raise InputError(name, gbps, f"{what} in Gbit/s, a number > 0")
    return gbps
