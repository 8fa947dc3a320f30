"""The interpreter's loop over the ops of a program, and the table of their handlers."""

# The stubs of numpy and of MLIR's bindings leave the elements of arrays and lists unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from .. import ir
from ..dialects import ark as dialect  # the import registers the classes of ark's ops
from ..dtypes import DType, from_mlir
from ..errors import InvalidUsageError, UnsupportedError
from ..mlir.locations import describe
from .bounded import Array, Bounded
from .communicator import Endpoint
from .regions import Region
from .values import Value, result_type

__all__ = ["Declaration", "Machine", "find_program", "handles", "signature"]

# A handler takes the op and the machine, which has the operands, and returns the result: a Value,
# or a Bounded that the machine rounds to the result's float type.
Handler = Callable[[Any, "Machine"], "Value | Bounded"]
HANDLERS: dict[str, Handler] = {}

H = TypeVar("H", bound=Handler)


def handles(*names: str) -> Callable[[H], H]:
    """Returns a decorator that registers a handler for ``ark.<name>`` of each name."""

    def register(handler: H) -> H:
        HANDLERS.update({f"ark.{name}": handler for name in names})
        return handler

    return register


@dataclass(frozen=True)
class Declaration:
    """The declaration of one argument of a program."""

    kind: str
    name: str
    shape: tuple[int, ...]
    dtype: DType
    init: float
    max: int | None
    stops: bool


@dataclass
class Machine:
    """The state of one rank's interpretation.

    Attributes:
        bound: True tracks bounds of errors.
        round_to_dtype: True rounds each float result to its dtype.
        noise: a generator, or None. Each float result gets a random part of the error of its op,
            and then counts as exact.
        rank: the connection to other ranks, or None.
        outputs, states: results, which `run` fills.
    """

    bound: bool = False
    round_to_dtype: bool = False
    rank: Endpoint | None = None
    noise: np.random.Generator | None = None
    outputs: dict[str, Value] = field(default_factory=dict[str, Value])
    states: dict[str, Value] = field(default_factory=dict[str, Value])
    _values: dict[ir.Value, Value] = field(default_factory=dict[ir.Value, Value])

    def read(self, value: ir.Value) -> Value:
        """Returns the tensor of an operand.

        Raises InvalidUsageError if it has no values: ``%out`` in the body of a custom op, whose
        elements are undefined.
        """
        if value not in self._values:
            raise InvalidUsageError(
                "a custom op reads elements of its result that its body has not written",
                op="ark.custom",
            )
        return self._values[value]

    def read_optional(self, value: ir.Value | None) -> Value | None:
        """Returns the tensor of an optional operand, or None."""
        return None if value is None else self._values[value]

    def run(
        self, program: Any, arrays: Mapping[str, Array], given: Mapping[str, Any] | None = None
    ) -> None:
        """Interprets an ``ark.program`` on arrays by argument name; `given` has the same arrays
        before their conversion to float64, which loses the bits of a NaN."""
        block = program.operation.regions[0].blocks[0]
        for value, argument in zip(block.arguments, signature(program), strict=True):
            bits = _bits(argument, given or {})
            self._values[value] = replace(self._argument(argument, arrays), bits=bits)
        results = self._block(block)
        for name, value in zip(_result_names(program), results, strict=True):
            self.outputs[name] = value

    def _argument(self, argument: Declaration, arrays: Mapping[str, Array]) -> Value:
        state = argument.name if argument.kind == "state" else None
        data = arrays[argument.name]
        error = np.zeros(data.shape) if self.bound else None
        value = Value(data, argument.dtype, error, state)
        if state is not None:
            self.states[state] = value
        return value

    def _block(self, block: ir.Block) -> list[Value]:
        for op in block.operations:
            if op.operation.name in ("ark.return", "ark.yield"):
                return [self.read(value) for value in op.operation.operands]
            self._execute(op)
        raise InvalidUsageError("a block without ark.return or ark.yield cannot be interpreted")

    def _execute(self, op: Any) -> None:
        name = str(op.operation.name)
        if name == "ark.group":
            self._group(op)
            return
        if name == "ark.custom":
            self._custom(op)
            return
        handler = HANDLERS.get(name)
        if handler is None:
            raise UnsupportedError(
                "is not an op of the graph level, so the reference cannot interpret it",
                location=describe(op.operation.location),
                op=name,
            )
        if not op.operation.results:
            return
        with np.errstate(all="ignore"):
            value = self.finish(op, handler(op, self))
        self._values[op.operation.results[0]] = value
        if value.state is not None:
            self.states[value.state] = value

    def finish(self, op: Any, result: Value | Bounded) -> Value:
        """Returns the result of an op, rounded to its dtype or with the error of rounding."""
        dtype = result_type(op)[1]
        if isinstance(result, Value):
            return result
        if self.bound:
            result = result.rounded(dtype)
        if self.noise is not None:
            result = _moved(result, self.noise)
        data = result.value
        if self.round_to_dtype:
            data = data.astype(dtype.numpy).astype(np.float64)
        return Value(data, dtype, result.error)

    def _group(self, op: Any) -> None:
        block = op.operation.regions[0].blocks[0]
        for inner, outer in zip(block.arguments, op.operation.operands, strict=True):
            self._values[inner] = self.read(outer)
        for value, result in zip(op.operation.results, self._block(block), strict=True):
            self._values[value] = result

    def _custom(self, op: Any) -> None:
        """Runs the body of a custom op for every vCTA."""
        operation = op.operation
        block = operation.regions[0].blocks[0]
        grid: list[int] = list(operation.attributes["grid"])
        inputs = [self.read(value) for value in operation.operands]
        regions = [Region.parse(str(region)) for region in operation.attributes["input_regions"]]
        out = Region.parse(str(operation.attributes["out_region"]))
        shape, dtype = result_type(op)
        data = np.zeros(shape, np.float64 if dtype.is_float else dtype.numpy)
        error = np.zeros(shape) if self.bound else None
        for vcta in np.ndindex(*grid):
            tiles = [
                value.view(region.tile(vcta)) for value, region in zip(inputs, regions, strict=True)
            ]
            arguments = list(block.arguments)[len(grid) : -1]
            self._values.update(zip(arguments, tiles, strict=True))
            (result,) = self._block(block)
            part = out.slices(vcta)
            data[part] = result.data
            if error is not None:
                error[part] = result.error
        self._values[operation.results[0]] = Value(data, dtype, error)


def _moved(result: Bounded, noise: np.random.Generator) -> Bounded:
    error = result.slack
    known = np.isfinite(error)
    step = np.where(known, error, 0) * noise.uniform(-1, 1, error.shape)
    # An infinite error stays infinite.
    return Bounded(result.value + step, np.where(known, 0.0, np.inf))


def _bits(argument: Declaration, given: Mapping[str, Any]) -> Array | None:
    array: Any = given.get(argument.name) if argument.kind != "state" else None
    # The value of a state changes with each iteration.
    return array if getattr(array, "dtype", None) == argument.dtype.numpy else None


def find_program(module: ir.Module) -> Any:
    """Returns the ``ark.program`` of a module; raises InvalidUsageError unless it has one."""
    programs = [op for op in module.body.operations if isinstance(op, dialect.ProgramOp)]
    if len(programs) != 1:
        raise InvalidUsageError(f"expected a module with one ark.program, found {len(programs)}")
    return programs[0]


def signature(program: Any) -> list[Declaration]:
    """Returns the arguments of an ``ark.program``, in order."""
    operation = program.operation
    block = operation.regions[0].blocks[0]
    attributes = operation.attributes["arg_attrs"] if len(block.arguments) else []
    return [
        _argument(value, entry) for value, entry in zip(block.arguments, attributes, strict=True)
    ]


def _argument(value: ir.Value, attributes: Any) -> Declaration:
    tensor = ir.ShapedType(value.type)
    kind = str(attributes["ark.kind"]).removeprefix("#ark.kind<").removesuffix(">")
    init = float(attributes["ark.init"].value) if "ark.init" in attributes else 0.0
    bound = int(attributes["ark.max"].value) if "ark.max" in attributes else None
    dtype = from_mlir(str(tensor.element_type))
    name = str(attributes["ark.name"].value)
    return Declaration(
        kind, name, tuple(tensor.shape), dtype, init, bound, "ark.stop" in attributes
    )


def _result_names(program: Any) -> list[str]:
    attributes = program.operation.attributes
    entries: Any = attributes.get("res_attrs", [])
    return [str(entry["ark.name"].value) for entry in entries]
