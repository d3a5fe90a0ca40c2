"""What a frame of playback is sent, with as many bars as a large Gantt chart has."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser_support import Problems, Server, browser_test, run_notebook
from tests.widgets.test_lab_browser import COUNT, SENT_KB

BARS = 5000
FRAMES, FRAME_KB = 6, 10
CELL = f"""
import ipywidgets as w, numpy as np, pandas as pd
from widgets import VegaView
from widgets.parts.playback import Playback
from workbench.analysis import charts
slots, count = 50, {BARS} // 50
start = np.tile(np.arange(count) * 60.0, slots)
jobs = np.array([f"j{{i}}" for i in range(40)])
unit = jobs[(np.arange(slots * count) * 7 + np.arange(slots * count) // count) % 40]
timeline = pd.DataFrame({{
    "node": np.repeat([f"n{{i:02}}" for i in range(slots)], count), "slot": 0, "accelerator": "v100", "unit": unit,
    "job": unit, "with_job": "", "kind": "run", "start_s": start, "end_s": start + 60.0, "steps": 1.0,
    "with_steps": 0.0, "gpus": 1}})
held = pd.DataFrame({{"job": jobs, "model": "m", "gpus": 1, "arrival_s": 0.0, "finish_s": count * 60.0}})
drawing = charts.gantt(timeline, held)
view = VegaView()
view.show(drawing.named(), drawing.data)
playback = Playback([view])
playback.show(np.arange(1, count + 1) * 60.0)
playback.speed = 8.0
box = w.VBox([playback, view])
box.add_class("wb-played")
box
"""


@pytest.mark.long
@browser_test
def test_a_frame_of_5000_bars_is_sent_no_bars(page: Page, lab_server: Server, problems: Problems) -> None:
    run_notebook(page, lab_server, "frames.ipynb", CELL)
    chart = page.locator(".wb-chart")
    expect(chart).to_have_attribute("data-what", "embed")
    assert int(chart.get_attribute("data-rows") or 0) >= BARS
    page.evaluate(COUNT)
    page.locator(".wb-play-toggle").click()
    frames, draws = 0, ""
    while frames < FRAMES:
        assert page.locator(".wb-playback").get_attribute("data-playing") == "true" or not frames
        now = chart.get_attribute("data-draws") or ""
        frames += now != draws and chart.get_attribute("data-what") == "params"
        draws = now
        page.wait_for_timeout(20)
    assert page.evaluate(SENT_KB) < FRAMES * FRAME_KB
