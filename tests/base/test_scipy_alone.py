import subprocess
import sys

import pytest

FIRST = ("import pyomo.environ; load_scipy()", "load_scipy(); import pyomo.environ")


@pytest.mark.parametrize("both", FIRST)
def test_beside_pyomo_scipy_is_loaded_without_its_statistics_until_pyomo_uses_them(both: str) -> None:
    code = (
        f"import sys; from workbench.base.scipy_alone import load_scipy; {both}; from scipy.special import ndtr\n"
        "from pyomo.common.dependencies import scipy_available\n"
        "print(ndtr(0.0), 'scipy.stats' in sys.modules, bool(scipy_available), 'scipy.stats' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["0.5", "False", "True", "True"]
