"""Sets measured costs in a program, for the compiler's cost model."""

from __future__ import annotations

from .. import ir
from ..errors import InvalidUsageError
from ..mlir.locations import describe
from ..tuning.costs import Costs
from .tasks import tasks_of, vctas_of

# Attribute of a task: the measured time of one of its vCTAs, in ns.
_MEASURED = "ark.measured_ns"


def apply_costs(module: ir.Operation, costs: Costs) -> None:
    """Sets the costs of a module's tasks to their measured times.

    A task without a measured time keeps the prediction of the cost model.

    Raises:
        InvalidUsageError: no task has a measured time, or a task had another number of vCTAs when
            it was measured.
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
                    f"profile: task {name!r} was measured with {cost.vctas} vCTAs but now has "
                    f"{count}; measure it with the same tiles and target",
                    location=describe(task.location),
                )
            task.attributes[_MEASURED] = ir.FloatAttr.get(ir.F64Type.get(), cost.ns)
            applied += 1
    if not applied and next(tasks_of(module), None) is not None:
        raise InvalidUsageError(
            f"profile: the costs were measured for program {costs.program!r}, which has no task "
            "of this program",
            location=describe(module.location),
        )
