"""``ark.planner``, which pins the SMs, warps, shared memory and tiles of ops."""

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
from .shapes import as_ints, invalid

if TYPE_CHECKING:
    from ..typing import Shape

__all__ = ["Plan", "plan_attribute", "planner"]


@dataclass(frozen=True)
class Plan:
    """The choices that an ``ark.planner`` pins; the compiler makes the choices that are None.

    Attributes:
        sms: range ``(begin, end)`` of SMs.
        warps: range of warps of these SMs.
        shared_memory: range of bytes of the shared memory of these SMs.
        tile: extents of a tile, for the last dimensions of an op's result.
        sync: False if consecutive ops run without synchronisation where dependences allow it.

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


_PLAN: ContextVar[Plan | None] = ContextVar("ark_plan", default=None)


def planner(
    sms: Shape | None = None,
    warps: Shape | None = None,
    shared_memory: Shape | None = None,
    tile: Shape | None = None,
    sync: bool | None = None,
) -> contextlib.AbstractContextManager[Plan]:
    """Returns a context manager that pins choices for the ops created in its ``with`` block.

    Args:
        sms: range ``(begin, end)`` of the SMs that may run the ops; ``n`` means ``(0, n)``.
        warps: range of warps of these SMs.
        shared_memory: range of bytes of the shared memory of these SMs.
        tile: extents of a tile, for the last dimensions of an op's result.
        sync: False lets consecutive ops of the block run without synchronisation between SMs if
            the dependences allow it.

    The ``as`` target of the block is a :class:`Plan`. Blocks nest: arguments of the inner block
    override the arguments of the outer block, and its ranges must lie within the outer ranges.
    Raises InvalidUsageError if a range is empty or leaves the outer range, an extent is not
    positive, or a value has another type.

    Example:
        >>> with ark.planner(sms=(0, 64), tile=(4, 32)):
        ...     y = ark.exp(x)
    """
    outer = _PLAN.get() or Plan()
    if sync is not None and not isinstance(sync, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid(f"planner: sync must be True or False, not {sync!r}")
    plan = Plan(
        sms=_as_range("sms", sms, outer.sms),
        warps=_as_range("warps", warps, outer.warps),
        shared_memory=_as_range("shared_memory", shared_memory, outer.shared_memory),
        tile=_as_tile(tile),
        sync=sync,
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
        if isinstance(value, bool):
            entries[field.name] = ir.BoolAttr.get(value)
        elif value is not None:
            entries[field.name] = ir.DenseI64ArrayAttr.get(list(value))
    return ir.DictAttr.get(entries) if entries else None
