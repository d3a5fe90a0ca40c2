"""Why a job ran, waited or moved at a time of a run, what it lost to, and when it would have run with more GPUs."""

from workbench.analysis.explanation.admission import admission
from workbench.analysis.explanation.compose import NotFaster, explain, longest_wait_s, not_faster
from workbench.analysis.explanation.counterfactual import CounterfactualAnswer, alone, one_more
from workbench.analysis.explanation.record import Competitor, Explanation

__all__ = [
    "Competitor",
    "CounterfactualAnswer",
    "Explanation",
    "NotFaster",
    "admission",
    "alone",
    "explain",
    "longest_wait_s",
    "not_faster",
    "one_more",
]
