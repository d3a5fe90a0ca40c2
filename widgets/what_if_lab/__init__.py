"""The what-if lab: a trace, today's scheduler, one thing changed, and the paired difference."""

from widgets.what_if_lab.lab import WhatIfLab

__all__ = ["WhatIfLab"]
