"""The lab that sets schedulers side by side on one scenario."""

from widgets.compare_lab.lab import CompareLab

__all__ = ["CompareLab"]
