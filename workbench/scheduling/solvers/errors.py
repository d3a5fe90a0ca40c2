"""Why a solve gave no solution: one error for each reason."""

from __future__ import annotations

from workbench.base.errors import WorkbenchError

NO_POINT = "no point satisfies all constraints"


class SolveError(WorkbenchError):
    """A solve that gave no solution."""


class InfeasibleError(SolveError):
    """No point satisfies all constraints."""

    status = "infeasible"

    def __init__(self, name: str, detail: str = NO_POINT) -> None:
        super().__init__(name, detail, "constraints that can hold together")

    @property
    def is_plain(self) -> bool:
        """Whether it says nothing of which constraints these are."""
        return bool(self.value == NO_POINT)


class UnboundedError(SolveError):
    """The objective can be improved for ever."""

    status = "unbounded"

    def __init__(self, name: str, detail: str = "") -> None:
        got = f"the objective has no finite optimum{detail}"
        super().__init__(name, got, "an objective that the constraints bound")


class TimeLimitError(SolveError):
    """The time (or node) limit passed before any feasible point was found."""

    status = "time_limit"

    def __init__(self, name: str, limit: str) -> None:
        super().__init__(name, f"no feasible point within {limit}", "a longer limit or a smaller problem")


class SolveCancelledError(SolveError):
    """The solve was cancelled before any feasible point was found."""

    status = "cancelled"

    def __init__(self, name: str) -> None:
        super().__init__(name, "cancelled before a feasible point was found", "a solve that runs to its end")


class MissingSolverError(SolveError):
    """The solver asked for is not installed. instead: another that is, for whoever wants to ask for it."""

    status = "missing_solver"

    def __init__(self, name: str, what: str, instead: str = "") -> None:
        super().__init__("solver", name, f"{what}; or ask for {instead}, which is there" if instead else what)


class SolverFailedError(SolveError):
    """The solver gave up, or the model is not one it can take."""


class UnkeptError(SolverFailedError):
    """An answer that nobody can keep: it takes more than there is, or than a job may have."""
