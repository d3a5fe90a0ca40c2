"""Scenarios to open a lab with: the examples, clusters and job mixes of the five papers, one file a paper.

Numbers that a paper states are marked with where it does; everything else (tagged `ours`) is chosen so that a lab opens
quickly: job counts in particular are far below the papers'. Speeds are the built-in ones (`datasets/README.md`).
"""

# isort: off
# Importing a paper's presets registers them; this order is the one in which they are listed.
from workbench.scenario.presets import gavel as gavel
from workbench.scenario.presets import hadar as hadar
from workbench.scenario.presets import hops as hops
from workbench.scenario.presets import hare as hare
from workbench.scenario.presets import chronus as chronus
from workbench.scenario.presets import mixed as mixed
# isort: on

from workbench.scenario.presets.catalogue import is_preset, preset, presets, variants
from workbench.scenario.presets.hadar import HADARE_MIXES, hadare_mix

__all__ = ["HADARE_MIXES", "hadare_mix", "is_preset", "preset", "presets", "variants"]
