"""``ark.planner``, which pins the SMs, warps, shared memory, tiles and microbatches of ops."""

# The stubs of numpy and of MLIR's bindings leave the elements of arrays and lists unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import contextlib
from collections.abc import Generator
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from .. import ir
from .shapes import as_int, as_ints, invalid

if TYPE_CHECKING:
    from ..typing import Shape

__all__ = [
    "Plan", "backward_of", "microbatch_of", "no_microbatch", "plan_attribute", "planner",
    "unplanned",
]  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """The choices that an ``ark.planner`` pins; the compiler makes the choices that are None.

    Attributes:
        sms: range ``(begin, end)`` of SMs.
        warps: range of warps of these SMs.
        shared_memory: range of bytes of the shared memory of these SMs.
        tile: extents of a tile, for the last dimensions of an op's result.
        sync: False if consecutive ops run without synchronisation where dependences allow it.
        stage: number of the stage of a pipeline.
        microbatch: number of the microbatch of a batch.
        backward: True for ops of the backward pass of the microbatch.

    Example:
        >>> with ark.planner(sms=64, tile=(4, 32)) as plan:
        ...     y = ark.exp(x)
        >>> plan.sms, plan.tile, plan.warps
        ((0, 64), (4, 32), None)
    """

    sms: tuple[int, ...] | None = None
    warps: tuple[int, ...] | None = None
    shared_memory: tuple[int, ...] | None = None
    tile: tuple[int, ...] | None = None
    sync: bool | None = None
    stage: int | None = None
    microbatch: int | None = None
    backward: bool | None = None


_PLAN: ContextVar[Plan | None] = ContextVar("ark_plan", default=None)


def planner(
    sms: Shape | None = None,
    warps: Shape | None = None,
    shared_memory: Shape | None = None,
    tile: Shape | None = None,
    sync: bool | None = None,
    stage: int | None = None,
    microbatch: int | None = None,
    backward: bool | None = None,
) -> contextlib.AbstractContextManager[Plan]:
    """Returns a context manager that pins choices for the ops created in its ``with`` block.

    Args:
        sms: range ``(begin, end)`` of the SMs that may run the ops; ``n`` means ``(0, n)``.
        warps: range of warps of these SMs.
        shared_memory: range of bytes of the shared memory of these SMs.
        tile: extents of a tile, for the last dimensions of an op's result.
        sync: False lets consecutive ops of the block run without synchronisation between SMs if
            the dependences allow it.
        stage: number of the stage of a pipeline to which the ops belong, from zero on; by default
            the rank.
        microbatch: number of the microbatch on which the ops work, from zero on. Ops of different
            microbatches or stages are never one task, and each rank executes them in the order of
            1F1B.
        backward: True for ops of the backward pass; ``ark.gradients`` passes it, with the stage and
            microbatch of each op that it differentiates.

    The ``as`` target of the block is a :class:`Plan`. Blocks nest: arguments of the inner block
    override the arguments of the outer block, and its ranges must lie within the outer ranges.
    Raises InvalidUsageError if a range is empty or leaves the outer range, an extent is not
    positive, a number is negative, or a value has another type.

    Example:
        >>> with ark.planner(sms=(0, 64), tile=(4, 32)):
        ...     y = ark.exp(x)
        >>> with ark.planner(stage=0, microbatch=1):
        ...     z = ark.exp(y)
    """
    outer = _PLAN.get() or Plan()
    for label, flag in (("sync", sync), ("backward", backward)):
        if flag is not None and not isinstance(flag, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid(f"planner: {label} must be True or False, not {flag!r}")
    plan = Plan(
        sms=_as_range("sms", sms, outer.sms),
        warps=_as_range("warps", warps, outer.warps),
        shared_memory=_as_range("shared_memory", shared_memory, outer.shared_memory),
        tile=_as_tile(tile),
        sync=sync,
        stage=_as_number("stage", stage),
        microbatch=_as_number("microbatch", microbatch),
        backward=backward,
    )
    # The arguments are checked here, not in __enter__, so that an error names the caller's line.
    return _applied(plan, outer)


@contextlib.contextmanager
def _applied(plan: Plan, outer: Plan) -> Generator[Plan, None, None]:
    given = {f.name: getattr(plan, f.name) for f in fields(plan)}
    token = _PLAN.set(replace(outer, **{k: v for k, v in given.items() if v is not None}))
    try:
        yield plan
    finally:
        _PLAN.reset(token)


@contextlib.contextmanager
def unplanned() -> Generator[None, None, None]:
    """Creates the ops of the block without a plan.

    The plan of a custom op applies to the ops in its body, which have no plan.
    """
    token = _PLAN.set(None)
    try:
        yield
    finally:
        _PLAN.reset(token)


def _as_range(
    label: str, value: Shape | None, outer: tuple[int, ...] | None
) -> tuple[int, ...] | None:
    if value is None:
        return None
    bounds = as_ints(value, f"planner: {label}")
    begin, end = [0, *bounds] if len(bounds) == 1 else bounds if len(bounds) == 2 else (1, 0)
    if not 0 <= begin < end:
        raise invalid(
            f"planner: {label} must be a range (begin, end) that is not empty, or a positive "
            f"count, not {value!r}"
        )
    if outer is not None and not (outer[0] <= begin and end <= outer[1]):
        raise invalid(
            f"planner: {label} [{begin}, {end}) leaves the range [{outer[0]}, {outer[1]}) of the "
            "outer planner"
        )
    return begin, end


def _as_number(label: str, value: int | None) -> int | None:
    if value is None:
        return None
    number = as_int(value, f"planner: {label}")
    if number < 0:
        raise invalid(f"planner: {label} must be an integer from 0 on, not {value!r}")
    return number


def _as_tile(value: Shape | None) -> tuple[int, ...] | None:
    if value is None:
        return None
    tile = as_ints(value, "planner: tile")
    if not tile or min(tile) < 1:
        raise invalid(f"planner: extents of a tile must be positive, not {value!r}")
    return tuple(tile)


def plan_attribute() -> ir.Attribute | None:
    """Returns the plan of the innermost block as a dictionary attribute, None outside of blocks.

    An MLIR context must be current.
    """
    plan = _PLAN.get()
    if plan is None:
        return None
    entries: dict[str, ir.Attribute] = {}
    for field in fields(plan):
        value = getattr(plan, field.name)
        if field.name == "backward":
            # Ops of the forward pass have equal plans, with and without the argument.
            if value and plan.microbatch is not None:
                entries[field.name] = ir.BoolAttr.get(True)
        elif isinstance(value, bool):
            entries[field.name] = ir.BoolAttr.get(value)
        elif isinstance(value, int):
            entries[field.name] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
        elif value is not None:
            entries[field.name] = ir.DenseI64ArrayAttr.get(list(value))
    return ir.DictAttr.get(entries) if entries else None


def microbatch_of(operation: ir.Operation | ir.OpView) -> int | None:
    """Returns the microbatch in the plan of an op, None if there is none."""
    return _numbers(operation).get("microbatch")


@contextlib.contextmanager
def backward_of(operation: ir.Operation | ir.OpView) -> Generator[None, None, None]:
    """Creates the ops of the block in the backward pass of the microbatch and stage of an op.

    An op without a microbatch leaves those of the block around it.
    """
    numbers = _numbers(operation)
    plan = replace(_PLAN.get() or Plan(), backward=True)
    if "microbatch" in numbers:
        plan = replace(plan, stage=numbers.get("stage"), microbatch=numbers["microbatch"])
    token = _PLAN.set(plan)
    try:
        yield
    finally:
        _PLAN.reset(token)


@contextlib.contextmanager
def no_microbatch() -> Generator[None, None, None]:
    """Creates the ops of the block without a microbatch: they work on several ones."""
    token = _PLAN.set(replace(_PLAN.get() or Plan(), stage=None, microbatch=None))
    try:
        yield
    finally:
        _PLAN.reset(token)


def _numbers(operation: ir.Operation | ir.OpView) -> dict[str, int]:
    """Returns the stage and the microbatch in the plan of an op, if the plan has them."""
    attributes = operation.attributes
    if "ark.plan" not in attributes:
        return {}
    plan = ir.DictAttr(attributes["ark.plan"])
    return {key: ir.IntegerAttr(plan[key]).value for key in ("stage", "microbatch") if key in plan}
