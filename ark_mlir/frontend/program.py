"""A program under construction, and its inputs, outputs and states afterwards."""

# The stubs of numpy and of MLIR's bindings leave the elements of arrays and lists unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Generator
from contextvars import ContextVar, Token
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Literal

from typing_extensions import Self

from .. import ir
from ..dialects import ark as dialect
from ..dtypes import DType, from_mlir
from ..errors import InvalidUsageError
from ..mlir.diagnostics import to_error
from .locations import to_location, user_frames
from .shapes import as_int, as_name, invalid

if TYPE_CHECKING:
    from .module import Module
    from .tensor import Tensor

__all__ = ["Argument", "Output", "Program", "current"]

_CURRENT: ContextVar[Program | None] = ContextVar("ark_program", default=None)


@dataclass(eq=False)
class Argument:
    """One argument of a program; ``ark.input`` and its siblings make it.

    Attributes:
        kind: ``input``, ``parameter``, ``state`` or ``scalar``.
        shape, dtype: of the array to bind.
        location: ``file:line`` that made it.
        init: initial value of every element (state).
        max: largest value at run time (scalar), or None.
        stops: True if it ends a launch (state), as ``ark.stop_when`` says.

    Example:
        >>> with ark.Program("double") as program:
        ...     x = ark.input("x", (4,), ark.bf16)
        ...     y = ark.output("y", x + x)
        >>> argument = program.inputs["x"]
        >>> argument.kind, argument.shape, argument.dtype
        ('input', (4,), ark.bf16)
    """

    kind: Literal["input", "parameter", "state", "scalar"]
    given: str
    shape: tuple[int, ...]
    dtype: DType
    location: str
    init: float = 0
    max: int | None = None
    stops: bool = False
    owner: Module | None = None

    @property
    def name(self) -> str:
        """The name to bind by: as given, after the path of the module that holds it."""
        # A name with a dot was written out by the user and stands as it is.
        if self.owner is None or "." in self.given:
            return self.given
        return ".".join([*self.owner.path(), self.given])


@dataclass(frozen=True)
class Output:
    """One result of a program; ``ark.output`` makes it.

    Attributes:
        name: the key of the array that a run returns.
        shape, dtype: of that array.
        location: ``file:line`` that made it.

    Example:
        >>> with ark.Program("double") as program:
        ...     x = ark.input("x", (4,), ark.bf16)
        ...     y = ark.output("y", x + x)
        >>> program.outputs["y"].shape
        (4,)
    """

    name: str
    shape: tuple[int, ...]
    dtype: DType
    location: str


class Program:
    """A tensor program, built by the ops that run inside of its ``with`` block.

    Args:
        name: the program's name.
        rank: this rank's number, where several ranks run one program.
        world_size: how many ranks there are.

    Leaving the block verifies the program and closes it. ``module`` is then its
    ``ir.Module`` and ``mlir`` its text; ``inputs``, ``parameters``, ``states``,
    ``scalars`` (name to :class:`Argument`) and ``outputs`` (name to :class:`Output`)
    say what to bind and what comes back.

    Raises InvalidUsageError when the block leaves no output and updates no state.

    Example:
        >>> with ark.Program("double") as program:
        ...     x = ark.input("x", (4,), ark.fp32)
        ...     y = ark.output("y", x + x)
        >>> list(program.inputs), list(program.outputs)
        (['x'], ['y'])
    """

    def __init__(self, name: str, rank: int | None = None, world_size: int | None = None) -> None:
        self.name = as_name(name, "a program's name")
        self.rank, self.world_size = _as_world(rank, world_size)
        self._status = "new"
        self._token: Token[Program | None] | None = None
        self._arguments: list[Argument] = []
        self._results: dict[str, tuple[Output, Tensor]] = {}
        self._states: dict[Argument, ir.Value] = {}
        self._scopes: list[str] = []
        self._types: dict[tuple[tuple[int, ...], DType], ir.Type] = {}
        self._signed = 0  # how many arguments the op's signature shows
        self._create()

    def _create(self) -> None:
        self.context = ir.Context()
        location = to_location(self.name, user_frames(0), self.context)
        with location:
            self._module = ir.Module.create()
            empty = ir.TypeAttr.get(ir.FunctionType.get([], []))
            integer = ir.IntegerType.get_signless(64)
            world = [
                None if value is None else ir.IntegerAttr.get(integer, value)
                for value in (self.rank, self.world_size)
            ]
            self._op = dialect.ProgramOp(
                ir.StringAttr.get(self.name),
                empty,
                rank=world[0],
                world_size=world[1],
                ip=ir.InsertionPoint(self._module.body),
            )
            self._block = self._op.operation.regions[0].blocks.append()

    # ---------------------------------------------------------------- with block

    def __enter__(self) -> Self:
        if self._status != "new":
            raise invalid(f"program {self.name!r} was built before; make a new ark.Program")
        self._status = "open"
        self._token = _CURRENT.set(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._token is not None
        _CURRENT.reset(self._token)
        self._status = "failed"
        if kind is None:
            self._close()
            self._status = "closed"

    def _close(self) -> None:
        self._check_names()
        if not self._results and not self._states:
            raise InvalidUsageError(
                f"program {self.name!r} has no output; call ark.output(name, tensor)",
                location=str(user_frames(0)[0]),
            )
        self._check_stop()
        values = [tensor.value for _, tensor in self._results.values()]
        with to_location("return", user_frames(0), self.context):
            dialect.ReturnOp(values, ip=ir.InsertionPoint(self._block))
            self._sign(values)
        try:
            self._module.operation.verify()
        except ir.MLIRError as error:
            raise to_error(InvalidUsageError, error) from None

    def _check_names(self) -> None:
        seen: dict[str, Argument] = {}
        for argument in self._arguments:
            other = seen.setdefault(argument.name, argument)
            if other is not argument:
                raise _duplicate(argument, other)

    def _check_stop(self) -> None:
        for argument in self._arguments:
            if argument.stops and argument not in self._states:
                raise InvalidUsageError(
                    f"state {argument.name!r} ends the launch, but nothing updates it",
                    location=argument.location,
                )

    # ---------------------------------------------------------------- what it holds

    @property
    def module(self) -> ir.Module:
        """The verified ``ir.Module`` of a closed program."""
        if self._status != "closed":
            state = {"failed": "was not completed", "new": "is empty"}.get(self._status, "is open")
            raise invalid(f"program {self.name!r} {state}; its module exists after its with block")
        return self._module

    @property
    def mlir(self) -> str:
        """The module's text, without locations."""
        return str(self.module)

    @property
    def inputs(self) -> dict[str, Argument]:
        """Arguments bound at every run."""
        return self._of_kind("input")

    @property
    def parameters(self) -> dict[str, Argument]:
        """Arguments bound once."""
        return self._of_kind("parameter")

    @property
    def states(self) -> dict[str, Argument]:
        """Arguments that live on the device between runs."""
        return self._of_kind("state")

    @property
    def scalars(self) -> dict[str, Argument]:
        """Run-time integers."""
        return self._of_kind("scalar")

    @property
    def outputs(self) -> dict[str, Output]:
        """Results of a run."""
        return {name: output for name, (output, _) in self._results.items()}

    def _of_kind(self, kind: str) -> dict[str, Argument]:
        return {a.name: a for a in self._arguments if a.kind == kind}

    def __repr__(self) -> str:
        return f"<ark.Program {self.name!r}, {self._status}>"

    # ---------------------------------------------------------------- building
    # For the other modules of the frontend; users call ark.input and the ops.

    @property
    def is_open(self) -> bool:
        """Returns True if ops can still be added."""
        return self._status == "open"

    @property
    def insertion_point(self) -> ir.InsertionPoint:
        """The insertion point of the next op."""
        return ir.InsertionPoint(self._block)

    @contextlib.contextmanager
    def scope(self, path: str) -> Generator[None, None, None]:
        """Ops made inside get `path` in front of their names."""
        self._scopes.append(path)
        try:
            yield
        finally:
            self._scopes.pop()

    def op_name(self, name: str) -> str:
        """`name` under the path of the innermost module being called."""
        return f"{self._scopes[-1]}.{name}" if self._scopes and self._scopes[-1] else name

    def tensor_type(self, shape: tuple[int, ...], dtype: DType) -> ir.Type:
        """The builtin tensor type, cached: models make few different ones."""
        key = (shape, dtype)
        if key not in self._types:
            element = ir.Type.parse(dtype.mlir, self.context)
            with ir.Location.unknown(self.context):
                self._types[key] = ir.RankedTensorType.get(shape, element)
        return self._types[key]

    def add_argument(self, argument: Argument, *, may_repeat: bool = False) -> ir.Value:
        """Appends an argument; a name in use raises unless `may_repeat` (checked at the end)."""
        if not may_repeat:
            for other in self._arguments:
                if other.name == argument.name:
                    raise _duplicate(argument, other)
        self._arguments.append(argument)
        location = to_location(argument.given, user_frames(), self.context)
        return self._block.add_argument(self.tensor_type(argument.shape, argument.dtype), location)

    def free_name(self, stem: str) -> str:
        """`stem`, with a number where an argument has that name."""
        taken = {argument.name for argument in self._arguments}
        names = itertools.chain([stem], (f"{stem}_{number}" for number in itertools.count(1)))
        return next(name for name in names if name not in taken)

    def add_output(self, output: Output, tensor: Tensor) -> None:
        """Records a result; a name in use raises."""
        if output.name in self._results:
            other = self._results[output.name][0]
            raise InvalidUsageError(
                f"output {output.name!r} exists already",
                location=output.location,
                notes=[f"{other.location}: the other one"],
            )
        self._results[output.name] = (output, tensor)

    def state_value(self, argument: Argument, initial: ir.Value) -> ir.Value:
        """The newest value of a state: that of its last update."""
        return self._states.get(argument, initial)

    def set_state(self, argument: Argument, value: ir.Value) -> None:
        """Makes `value`, the result of an update, the state's newest value."""
        self._states[argument] = value

    def set_stop(self, argument: Argument) -> None:
        """Makes a state the one that ends a launch; a second one raises."""
        for other in self._arguments:
            if other.stops and other is not argument:
                raise InvalidUsageError(
                    f"state {other.name!r} ends the launch already",
                    location=str(user_frames(0)[0]),
                    op="ark.stop_when",
                )
        argument.stops = True

    def sign(self) -> None:
        """Brings the op's signature up to date, for verifiers that look at it."""
        if self._signed != len(self._arguments):
            with ir.Location.unknown(self.context):
                self._sign([])

    def _sign(self, results: list[ir.Value]) -> None:
        self._signed = len(self._arguments)
        types = [value.type for value in self._block.arguments]
        attributes = self._op.operation.attributes
        function = ir.FunctionType.get(types, [value.type for value in results])
        attributes["function_type"] = ir.TypeAttr.get(function)
        attributes["arg_attrs"] = ir.ArrayAttr.get([_argument_attr(a) for a in self._arguments])
        names = [ir.DictAttr.get({"ark.name": ir.StringAttr.get(n)}) for n in self._results]
        if results:
            attributes["res_attrs"] = ir.ArrayAttr.get(names)


def current(op: str) -> Program:
    """The program being built; raises InvalidUsageError where there is none."""
    program = _CURRENT.get()
    if program is None:
        raise invalid("outside of a program; put it inside `with ark.Program(name):`", op)
    return program


def dtype_of(value: ir.Value) -> DType:
    """The element type of a tensor value."""
    return from_mlir(str(ir.ShapedType(value.type).element_type))


def shape_of(value: ir.Value) -> tuple[int, ...]:
    """The static shape of a tensor value."""
    return tuple(ir.ShapedType(value.type).shape)


def _argument_attr(argument: Argument) -> ir.Attribute:
    attributes: dict[str, ir.Attribute] = {
        "ark.kind": ir.Attribute.parse(f"#ark.kind<{argument.kind}>"),
        "ark.name": ir.StringAttr.get(argument.name),
    }
    if argument.kind == "state":
        attributes["ark.init"] = ir.FloatAttr.get(ir.F64Type.get(), float(argument.init))
    if argument.stops:
        attributes["ark.stop"] = ir.UnitAttr.get()
    if argument.max is not None:
        integer = ir.IntegerType.get_signless(64)
        attributes["ark.max"] = ir.IntegerAttr.get(integer, argument.max)
    return ir.DictAttr.get(attributes)


def _duplicate(argument: Argument, other: Argument) -> InvalidUsageError:
    return InvalidUsageError(
        f"{argument.kind} {argument.name!r}: the name is taken by another {other.kind}",
        location=argument.location,
        notes=[f"{other.location}: the other one"],
    )


def _as_world(rank: int | None, world_size: int | None) -> tuple[int | None, int | None]:
    if rank is None and world_size is None:
        return None, None
    if rank is None or world_size is None:
        raise invalid("rank and world_size go together")
    rank, world_size = as_int(rank, "rank"), as_int(world_size, "world_size")
    if not 0 <= rank < world_size:
        raise invalid(f"rank {rank} is not one of {world_size} ranks")
    return rank, world_size
