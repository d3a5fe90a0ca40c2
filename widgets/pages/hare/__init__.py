"""Hare's pages: the figures of the paper that a run does not show."""

from widgets.pages.hare.bounds import BoundsPage
from widgets.pages.hare.schedules import FigureOnePage, SynchronisationPage
from widgets.pages.hare.weighted_jct import WeightedJctPage

PAGES = (FigureOnePage, SynchronisationPage, WeightedJctPage, BoundsPage)
