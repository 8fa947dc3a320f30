"""``ark.gradients``: reverse-mode differentiation of the ops of a program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ... import ir
from ...errors import InvalidUsageError, UnsupportedError
from ...mlir.locations import describe
from ..builder import check_tensors
from ..derivatives import Group, GroupStep, check_fresh, find_group
from ..locations import user_frames
from ..operands import as_tensor
from ..ops import add, ones
from ..planner import backward_of, microbatch_of, no_microbatch
from ..program import Program, current, dtype_of
from ..shapes import invalid
from ..tensor import Tensor
from .table import INERT, REFUSED, RULES, Step

__all__ = ["ReversePass", "find_gradients", "gradients"]

_OP = "ark.gradients"


def gradients(loss: Tensor, wrt: Sequence[Tensor], seed: Tensor | None = None) -> list[Tensor]:
    """Returns the derivative of `loss` with respect to each tensor of `wrt`.

    The derivatives are tensors of the same program, of the shapes and dtypes of `wrt`; the ops that
    compute them are appended to the program. The derivatives may be differentiated again.

    Args:
        loss: a tensor of floats with one element; with `seed`, of any shape.
        wrt: the tensors to differentiate with respect to: inputs, parameters, states, or results
            of ops, of floats.
        seed: the derivative of another quantity with respect to `loss`, of its shape and dtype. The
            result is then the derivative of that quantity, a vector-Jacobian product.

    The derivative with respect to a state refers to the value that the loss read: call this
    function before an ``ark.update`` of the state. Comparisons, integers and casts to integers pass
    no derivative. Elements that are equal share the derivative of a maximum evenly. With several
    ranks, each rank calls this function. The derivatives are then those of the sum of the losses of
    all ranks: a loss that all ranks compute alike counts ``world_size`` times.

    Raises InvalidUsageError if `loss` has several elements and there is no `seed`, if a tensor is
    not of floats or belongs to another program, if `loss` does not depend on a tensor of `wrt`, or
    if a state was updated since the loss read it. Raises UnsupportedError if the loss depends on
    a tensor of `wrt` through an op without a derivative; the message names the line of that op.

    Example:
        >>> w = ark.state("w", (64,))
        >>> loss = ark.reduce_sum((x * w) ** 2.0, keepdims=False)
        >>> (slope,) = ark.gradients(loss, [w])
        >>> w = ark.update(w, w - 0.1 * slope, (0,))
    """
    program = current(_OP)
    target = as_tensor(loss, "gradients", "loss")
    sources = _sources(wrt)
    given = None if seed is None else as_tensor(seed, "gradients", "seed")
    check_tensors(program, _OP, (target, *sources, given))
    for label, tensor in (("loss", target), *((f"wrt[{i}]", t) for i, t in enumerate(sources))):
        if not tensor.dtype.is_float:
            raise invalid(
                f"{label} {tensor.name!r} must have a float dtype, not {tensor.dtype}", _OP
            )
    reverse = _run(target, sources, _seed(target, given))
    return [reverse.result(source, i, target) for i, source in enumerate(sources)]


def find_gradients(loss: Tensor, wrt: Sequence[Tensor], seed: Tensor) -> list[Tensor | None]:
    """Returns what :func:`gradients` returns, with None for tensors that do not affect `loss`."""
    reverse = _run(loss, wrt, seed)
    return [reverse.cotangents.get(source.value) for source in wrt]


def _run(loss: Tensor, wrt: Sequence[Tensor], seed: Tensor) -> ReversePass:
    """Differentiates `loss`; the cotangents of the result include those of `wrt`."""
    reverse = ReversePass(loss.program)
    for source in wrt:
        reverse.active.setdefault(source.value)
    reverse.activate(reverse.operations)
    reverse.receive(loss.value, seed)
    reverse.back(reverse.operations)
    return reverse


def _sources(wrt: Sequence[Tensor]) -> list[Tensor]:
    if isinstance(wrt, Tensor) or not isinstance(wrt, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid(f"wrt must be a list of tensors, not {wrt!r}", _OP)
    return [as_tensor(value, "gradients", f"wrt[{i}]") for i, value in enumerate(wrt)]


def _seed(loss: Tensor, seed: Tensor | None) -> Tensor:
    if seed is None:
        if loss.size != 1:
            raise invalid(
                f"the loss {loss.name!r} must have one element, not shape {list(loss.shape)}; "
                "reduce it, or pass seed=",
                _OP,
            )
        return ones(loss.shape, loss.dtype)
    if seed.dtype != loss.dtype or seed.shape != loss.shape:
        raise invalid(
            f"seed is {seed.dtype}{list(seed.shape)}; it must have the type of the loss "
            f"{loss.name!r}, {loss.dtype}{list(loss.shape)}",
            _OP,
        )
    return seed


@dataclass
class ReversePass:
    """A pass over the ops of a program, from the last to the first, which adds up cotangents.

    Attributes:
        program: the program under construction.
        operations: the ops of the program at the start of the pass.
        active: the tensors to differentiate with respect to, and the values that depend on them.
        cotangents: the sum of the cotangents that a value has received.
    """

    program: Program
    operations: list[Any] = field(default_factory=list[Any])
    active: dict[ir.Value, None] = field(default_factory=dict[ir.Value, None])
    cotangents: dict[ir.Value, Tensor] = field(default_factory=dict[ir.Value, Tensor])

    def __post_init__(self) -> None:
        self.operations = self.program.operations()

    def activate(self, operations: Iterable[Any]) -> None:
        """Adds the results of ops that depend on an active value, and vary smoothly with it."""
        for op in operations:
            results = list(op.operation.results)
            if not results or str(op.operation.name) in INERT:
                continue
            if not any(value in self.active for value in op.operation.operands):
                continue
            for value in results:
                if dtype_of(value).is_float:
                    self.active.setdefault(value)

    def receive(self, value: ir.Value, cotangent: Tensor) -> None:
        """Adds a tensor to the cotangent of a value."""
        known = self.cotangents.get(value)
        if known is None:
            self.cotangents[value] = cotangent
        elif _microbatch(known) == _microbatch(cotangent):
            self.cotangents[value] = add(known, cotangent)
        else:
            # No microbatch waits for the sum of several ones.
            with no_microbatch():
                self.cotangents[value] = add(known, cotangent)

    def back(self, operations: Sequence[Any]) -> None:
        """Passes cotangents through the ops, from the last to the first."""
        groups: dict[int, Group] = {}
        for op in reversed(operations):
            results = list(op.operation.results)
            if not results or results[0] not in self.active:
                continue
            group = find_group(self.program, results[0])
            if group is not None:
                if id(group) not in groups:
                    groups[id(group)] = group
                    self._back_group(group)
            elif (cotangent := self.cotangents.get(results[0])) is not None:
                self._back_op(op, results[0], cotangent)

    def _back_op(self, op: Any, result: ir.Value, cotangent: Tensor) -> None:
        name, label = str(op.operation.name), _label(op)
        if not any(value in self.active for value in op.operation.operands):
            return  # a tensor to differentiate with respect to
        rule = RULES.get(name)
        if rule is None:
            reason = REFUSED.get(name, "it has no derivative in ark")
            raise UnsupportedError(
                f"cannot differentiate {name} at {describe(op.operation.location)}: {reason}",
                location=str(user_frames(0)[0]),
                op=_OP,
            )
        step = Step(self.program, label, cotangent, result, self.active, self.receive)
        scope = self.program.scope(self.program.op_name(f"{label}.gradient"))
        with scope, backward_of(op):
            rule(op, step)

    def _back_group(self, group: Group) -> None:
        cotangents = tuple(self.cotangents.get(result.value) for result in group.results)
        needed = tuple(value.value in self.active for value in group.inputs)
        if not any(needed) or not any(cotangent is not None for cotangent in cotangents):
            return
        for value in group.inputs:
            check_fresh(self.program, value.value, f"the derivative of {group.name}")
        scope = self.program.scope(self.program.op_name(f"{group.name}.gradient"))
        with scope, backward_of(group.results[-1].value.owner):
            step = GroupStep(self, group.inputs, group.results, cotangents, needed)
            for source, given in zip(group.inputs, group.rule(step), strict=True):
                if given is not None and source.value in self.active:
                    self.receive(source.value, given)

    def result(self, source: Tensor, index: int, loss: Tensor) -> Tensor:
        """Returns the cotangent of `source`; raises InvalidUsageError if there is none."""
        found = self.cotangents.get(source.value)
        if found is not None:
            return found
        raise InvalidUsageError(
            f"the loss {loss.name!r} does not depend on wrt[{index}] {source.name!r}"
            + self._why(source),
            location=str(user_frames(0)[0]),
            op=_OP,
        )

    def _why(self, source: Tensor) -> str:
        if source.state is not None and self.program.was_updated(source.state):
            return ", whose update precedes ark.gradients"
        for op in self.operations:
            stops = str(op.operation.name) in INERT or not all(
                dtype_of(value).is_float for value in op.operation.results
            )
            if stops and source.value in list(op.operation.operands):
                return f" smoothly; {op.operation.name} passes no derivative"
        return ""


def _microbatch(tensor: Tensor) -> int | None:
    """Returns the microbatch of the op that computes a tensor, None for an argument."""
    owner = tensor.value.owner
    return None if isinstance(owner, ir.Block) else microbatch_of(owner)


def _label(op: Any) -> str:
    """Returns the name of an op that its creator gave it, or its mnemonic."""
    attributes = op.operation.attributes
    if "ark.name" in attributes:
        return str(ir.StringAttr(attributes["ark.name"]).value)
    return str(op.operation.name).removeprefix("ark.")
