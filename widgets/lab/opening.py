"""What a lab opens: a scenario as it is, or by the name of a preset or a file."""

from __future__ import annotations

from pathlib import Path

from workbench.scenario.presets import preset, presets, variants
from workbench.scenario.scenario import Scenario
from workbench.session.api import PRESET, load


def opened(source: Scenario | str | Path) -> Scenario:
    """A scenario, also by the name of a preset or of a file; raises InputError and ScenarioError for none of these."""
    if isinstance(source, str) and not source.startswith(PRESET) and not Path(source).suffix:
        return preset(source)
    return load(source)


def preset_names(shown: str = "") -> list[tuple[str, str]]:
    """Every preset as people read it, with its name; below the one that is shown its variants: the list stays short."""
    names = [("Presets", "")]
    for name, _ in presets():
        names.append((name.replace("_", " "), name))
        if shown in (name, *variants(name)):
            names += [("\N{EN SPACE}" + each.replace("_", " "), each) for each in variants(name)]
    return names
