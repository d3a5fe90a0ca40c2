"""What the tests of sweeps share."""

import pandas as pd

SMALL = "preset:start_here"


def but_times(frame: pd.DataFrame) -> pd.DataFrame:
    """The results without what differs from one time to the next."""
    return frame.drop(columns="wall_s")


def same(one: pd.DataFrame, two: pd.DataFrame) -> None:
    """Both hold the same results, wall times aside."""
    pd.testing.assert_frame_equal(but_times(one), but_times(two), check_exact=True)
