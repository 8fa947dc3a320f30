"""Measured costs, written into a program for the compiler's cost model."""

from __future__ import annotations

from .. import ir
from ..errors import InvalidUsageError
from ..mlir.locations import describe
from ..tuning.costs import Costs
from .tasks import tasks_of, vctas_of

# What one vCTA of a task took, in ns; the cost model of all stages goes by it.
_MEASURED = "ark.measured_ns"


def apply_costs(module: ir.Operation, costs: Costs) -> None:
    """Sets the costs of a module's tasks to their measured times.

    Tasks that were not measured stay as the cost model predicts them, relative to the others.

    Raises:
        InvalidUsageError: no task was measured, or one was cut otherwise when it was.
    """
    applied = 0
    with module.context, module.location:
        for task in tasks_of(module):
            name = ir.StringAttr(task.attributes["name"]).value
            cost = costs.tasks.get(name)
            if cost is None:
                continue
            if cost.vctas != (count := vctas_of(task)):
                raise InvalidUsageError(
                    f"profile: task {name!r} was measured with {cost.vctas} vCTAs, and now has "
                    f"{count}; measure it with the tiles and target that it is compiled for",
                    location=describe(task.location),
                )
            task.attributes[_MEASURED] = ir.FloatAttr.get(ir.F64Type.get(), cost.ns)
            applied += 1
    if not applied and next(tasks_of(module), None) is not None:
        raise InvalidUsageError(
            f"profile: the costs are of program {costs.program!r} and name no task of this one",
            location=describe(module.location),
        )
