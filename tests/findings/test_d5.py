"""D5: HadarE is the paper's mechanism unless told otherwise; ours has rows of its own; what is calibrated says so."""

import math

import workbench
from reproduction.hadar import physical
from reproduction.hadar.settings import SIZES
from workbench.session.registry import find_scheduler


def test_the_default_payoff_is_hadars_utility_less_the_price():
    assert find_scheduler("hadare").settle({})["payoff"] == "utility"
    mix = workbench.preset("hadar_aws_M-3")
    assert workbench.simulate(mix, "hadare") == workbench.simulate(mix, "hadare", payoff="utility")


def test_no_row_mixes_the_mechanisms_and_ours_stand_beside_no_number_of_the_paper():
    used = {
        name: knobs.get("payoff") for name, (scheduler, knobs) in physical.SCHEDULERS.items() if scheduler == "hadare"
    }
    assert used == {"HadarE": "utility", "HadarE, balanced (ours)": "balanced"}
    for figure in (physical.figure_8, physical.figure_9, physical.figure_10):
        rows = figure(SIZES["tiny"]).table.set_index("measure")
        ours = rows[rows.index.str.contains("(ours)", regex=False)]
        assert len(ours) == 2 and ours["paper"].isna().all()


def test_what_was_calibrated_is_not_reproduced():
    rows = physical.figure_9(SIZES["tiny"]).table.set_index("measure")
    row = rows.loc["TTD, Gavel, M-5, AWS (calibrated)"]
    assert math.isnan(row["paper"]) and math.isnan(row["ratio"]) and "Calibrated" in row["why"]
