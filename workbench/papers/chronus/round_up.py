"""Rounding up to consolidation-friendly gangs (section 3.4.1), for nodes of any size.

A node of n GPUs splits into pieces of powers of two (8 = 8, 6 = 4 + 2). A gang is friendly if it is a power of two of
at most the largest piece, or whole nodes. On nodes of 8 GPUs these are the paper's {1, 2, 4, 8n}.

(erratum) The paper has it that splitting nodes into pieces is enough for other sizes of nodes. It is not: two nodes of
6 GPUs have 12, but do not hold three gangs of 4 whole. What is enough is one limit for each power of two h: the GPUs of
gangs in pieces of h or larger are at most those that the nodes have in such pieces. A gang of whole nodes takes the
pieces of its nodes. Where nodes are a power of two, the limit of h = 1 implies the others and is (6).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.base.errors import InputError
from workbench.scheduling.decision import IntArray


def pieces(node_gpus: int) -> tuple[int, ...]:
    """The powers of two that add up to a node's GPUs, the largest first."""
    if isinstance(node_gpus, bool) or not isinstance(node_gpus, (int, np.integer)) or node_gpus < 1:
        raise InputError("GPUs of a node", node_gpus, "a whole number >= 1")
    return tuple(1 << bit for bit in reversed(range(int(node_gpus).bit_length())) if node_gpus >> bit & 1)


def powers(node_gpus: int) -> tuple[int, ...]:
    """The sizes h of pieces that need a limit of their own, the smallest first: those at which a node loses GPUs.

    (1,) where the node is a power of two.
    """
    own = sorted(pieces(node_gpus))
    return (1, *(2 * smaller for smaller in own[:-1]))


def in_pieces(gpus: npt.ArrayLike, node_gpus: int, sizes: tuple[int, ...]) -> IntArray:
    """(gangs x sizes) GPUs that friendly gangs take in pieces of at least each size."""
    gangs = np.asarray(gpus, dtype=np.int64).reshape(-1)
    taken = np.empty((len(gangs), len(sizes)), dtype=np.int64)
    for column, size in enumerate(sizes):
        of_a_node = sum(piece for piece in pieces(node_gpus) if piece >= size)
        part = np.where(gangs >= size, gangs, 0)
        taken[:, column] = np.where(gangs % node_gpus == 0, gangs // node_gpus * of_a_node, part)
    return taken


def is_friendly(gpus: int, node_gpus: int) -> bool:
    """Whether a gang is consolidation-friendly on nodes of that size."""
    return round_up(gpus, node_gpus) == gpus


def round_up(gpus: int, node_gpus: int) -> int:
    """The smallest friendly gang of at least so many GPUs."""
    if isinstance(gpus, bool) or not isinstance(gpus, (int, np.integer)) or gpus < 1:
        raise InputError("GPUs of a gang", gpus, "a whole number >= 1")
    power = 1 << (int(gpus) - 1).bit_length()
    return power if power <= pieces(node_gpus)[0] else -(-int(gpus) // node_gpus) * node_gpus
