"""The knobs that Gavel's policies share."""

from __future__ import annotations

from workbench.scheduling.knob import Knob

AWARE = Knob(
    "heterogeneity_aware",
    True,
    "Let the policy know how fast each job is on each type (otherwise it takes one speed for all types)",
    source="paper",
    main=True,
)
REFERENCE = Knob(
    "reference",
    "",
    "Type whose speed an agnostic policy takes for all types (empty, or v100, p100 or k80 where the cluster has none: "
    "the mean, by the types' GPUs)",
    source="ours",
)
SPACE_SHARING = Knob(
    "space_sharing",
    False,
    "Let two jobs share their GPUs where the table has speeds for the pair and the pair gains",
    source="paper",
    main=True,
)
PLACEMENT_SENSITIVE = Knob(
    "placement_sensitive",
    False,
    "Count GPUs on the fewest nodes and GPUs spread over nodes as two placed types with speeds of their own",
    source="paper",
)
OPTIMUM = Knob(
    "optimum",
    "vertex",
    "Which of the many optimal allocations: a vertex of the optimal face, or its middle, as the authors' solver",
    source="code",
    choices=("vertex", "interior"),
)
PARTITIONS = Knob(
    "partitions",
    1,
    "Deal the jobs out at random to so many equal parts of the cluster, each divided by itself (1: the whole)",
    source="ours",
    kind="int",
    minimum=1,
    maximum=64,
)
NORMALISED = Knob(
    "normalised",
    False,
    "Count throughput in multiples of the job's own under an equal share (steps/s of different models do not compare; "
    "the authors' code adds them up as they are)",
    source="ours",
)
EXTENSIONS = (SPACE_SHARING, PLACEMENT_SENSITIVE)
"""What every policy can take into account besides speeds."""
