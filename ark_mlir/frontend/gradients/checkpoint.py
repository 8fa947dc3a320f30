"""``ark.checkpoint``: computes a part of the forward pass again in the backward pass."""

# The stubs of numpy and of MLIR's bindings leave the elements of arrays and lists unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import ir
from ..builder import check_tensors
from ..derivatives import GroupStep, attach
from ..operands import as_tensor
from ..ops import identity
from ..program import Program, current
from ..shapes import invalid
from ..tensor import Tensor

__all__ = ["checkpoint"]

_OP = "ark.checkpoint"


def checkpoint(
    function: Callable[..., Tensor | Sequence[Tensor]], *inputs: Tensor
) -> Tensor | list[Tensor]:
    """Returns ``function(*inputs)``, which ``ark.gradients`` computes again for the backward pass.

    The tensors that `function` computes need not be kept from the forward to the backward pass,
    only `inputs` and the results. In exchange, the ops of `function` run twice (Chen, Xu, Zhang and
    Guestrin, 2016).

    Args:
        function: computes a tensor, or a list of tensors, from `inputs`. `function` is called once
            now and once by ``ark.gradients``, and must create the same ops both times. `function`
            may read parameters and states that are not among `inputs`.
        inputs: tensors; activations that `function` reads must be among them.

    Inputs may have any shape and dtype, and the results keep the shapes and dtypes of the tensors
    that `function` returns. Raises InvalidUsageError if `function` does not return tensors, or
    updates a state.

    Example:
        >>> w = ark.state("w", (64, 256))
        >>> h = ark.checkpoint(lambda x: ark.gelu(x @ w) @ ark.transpose(w), x)
        >>> (slope,) = ark.gradients(ark.reduce_sum(h * h, keepdims=False), [w])
    """
    program = current(_OP)
    given = [as_tensor(value, "checkpoint", f"inputs[{i}]") for i, value in enumerate(inputs)]
    check_tensors(program, _OP, tuple(given))
    created = _watch(program)
    results, single = _call(function, given)
    captured = _captured(program, created(), given)
    kept = [identity(result) for result in results]

    def again(step: GroupStep) -> list[Tensor | None]:
        # The second computation waits for the cotangents. Otherwise the compiler would merge its
        # ops with the equal ops of the first computation.
        deps = [cotangent for cotangent in step.cotangents if cotangent is not None]
        created = _watch(program)
        copies = [identity(value, deps=deps) for value in step.inputs[: len(given)]]
        repeated, _ = _call(function, copies)
        operations = created()
        step.reverse_pass.activate(operations)
        for result, cotangent in zip(repeated, step.cotangents, strict=True):
            if cotangent is not None:
                step.reverse_pass.receive(result.value, cotangent)
        step.reverse_pass.back(operations)
        return [None] * len(step.inputs)  # the ops of the second computation have passed them on

    attach("checkpoint", [*given, *captured], kept, again)
    return kept[0] if single else kept


def _watch(program: Program) -> Callable[[], Sequence[Any]]:
    """Returns a function that returns the ops that the program has got since this call.

    Not all of them are at its end: ``ark.gradients`` may insert an op between earlier ones.
    """
    before = {op.operation for op in program.operations()}
    return lambda: [op for op in program.operations() if op.operation not in before]


def _call(
    function: Callable[..., Tensor | Sequence[Tensor]], inputs: Sequence[Tensor]
) -> tuple[list[Tensor], bool]:
    """Returns the results, and True if the function returns one tensor and no list."""
    returned: Any = function(*inputs)
    single = isinstance(returned, Tensor)
    values = [returned] if single else returned
    if not isinstance(values, (list, tuple)) or not values:
        raise invalid(f"function must return a tensor or a list of tensors, not {returned!r}", _OP)
    return [as_tensor(value, "checkpoint", "a result") for value in values], single


def _captured(program: Program, operations: Sequence[Any], given: Sequence[Tensor]) -> list[Tensor]:
    """Returns the tensors that the ops read, except `given` and results of these ops."""
    inner: dict[ir.Value, None] = {tensor.value: None for tensor in given}
    captured: dict[ir.Value, None] = {}
    for op in operations:
        if str(op.operation.name) == "ark.update":
            raise invalid(
                "function updates a state, which would happen twice; update it outside", _OP
            )
        for value in op.operation.operands:
            if value not in inner:
                captured.setdefault(value)
        for value in op.operation.results:
            inner.setdefault(value)
    return [Tensor(program, value, "captured") for value in captured]
