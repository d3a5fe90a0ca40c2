"""Which signals the tab Signals shows together at first: those that can be read on one axis."""

from __future__ import annotations

import pytest

from widgets.lab.drawings import signal_names, signals_alike
from workbench import simulate


@pytest.mark.parametrize(
    ("preset", "scheduler", "names", "alike"),
    [
        ("hadar_example", "hadar", ["payoff", "utility"], True),
        ("hadar_lab", "hadare", ["copies", "last_round_steps"], False),  # up to 5, and tens of thousands
        ("start_here", "fifo", [], True),
    ],
)
def test_signals_of_one_magnitude_are_alike(preset: str, scheduler: str, names: list[str], alike: bool) -> None:
    run = simulate(f"preset:{preset}", scheduler)
    assert sorted(signal_names(run)) == names and signals_alike(run) is alike
