import subprocess
import sys


def test_beside_pyomo_scipy_is_loaded_without_its_statistics_until_pyomo_uses_them() -> None:
    code = (
        "import sys, pyomo.environ; from workbench.base.scipy_alone import load_scipy; load_scipy()\n"
        "from scipy.special import ndtr; from pyomo.common.dependencies import scipy_available\n"
        "print(ndtr(0.0), 'scipy.stats' in sys.modules, bool(scipy_available), 'scipy.stats' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["0.5", "False", "True", "True"]
