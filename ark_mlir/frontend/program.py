"""``ark.Program``, and its arguments and results."""

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

from .. import ir
from ..dialects import ark as dialect
from ..dtypes import DType, from_mlir
from ..errors import InvalidUsageError
from ..mlir.diagnostics import to_error
from .locations import to_location, user_frames
from .shapes import as_int, as_name, invalid

if TYPE_CHECKING:
    from typing_extensions import Self

    from ..bundle import Origin
    from .module import Module
    from .tensor import Tensor

__all__ = ["Argument", "Output", "Program", "current"]

_CURRENT: ContextVar[Program | None] = ContextVar("ark_program", default=None)


@dataclass(eq=False)
class Argument:
    """An argument of a program; ``ark.input``, ``ark.parameter``, ``ark.state`` and ``ark.scalar``
    create it.

    Attributes:
        kind: ``input``, ``parameter``, ``state`` or ``scalar``.
        given: the name in the call of ``ark.input`` and the like, without the path of a module.
        shape, dtype: shape and element type of the array to bind.
        location: ``file:line`` of the call that created the argument.
        init: initial value of every element of a state.
        max: largest value of a scalar, or None.
        stops: True if ``ark.stop_when`` made this state the flag that ends a launch.
        trained: True if ``ark.trainable`` made a parameter this state.
        owner: the module to which the argument was assigned first, or None.

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
    trained: bool = False
    owner: Module | None = None

    @property
    def name(self) -> str:
        """Returns the name to bind by: the path of the module `owner`, and the name `given`."""
        # A given name with a dot is a full path already.
        if self.owner is None or "." in self.given:
            return self.given
        return ".".join([*self.owner.path(), self.given])


@dataclass(frozen=True)
class Output:
    """A result of a program; ``ark.output`` creates it.

    Attributes:
        name: the key of the array in the dict that ``Executable.run`` returns.
        shape, dtype: shape and element type of the array.
        location: ``file:line`` of the call that created the output.

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
    """A tensor program, which consists of the ops that its ``with`` block creates.

    Args:
        name: the program's name, printable and not empty.
        rank: the index of this rank, from zero on, if several ranks run the program.
        world_size: the number of ranks; required if `rank` is given.

    The end of the block verifies the program and closes it. ``module`` is then its ``ir.Module``
    and ``mlir`` its text. ``inputs``, ``parameters``, ``states`` and ``scalars`` map names to
    :class:`Argument`, ``outputs`` to :class:`Output`.

    Raises InvalidUsageError if `rank` is not in ``[0, world_size)`` or `name` is not printable. The
    end of the block raises it if the program has no output and updates no state, two arguments
    have one name, or the verifier rejects the program.

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
        # The model folder that the program is built from; a bundle has a record of it.
        self.origin: Origin | None = None
        self._status = "new"
        self._token: Token[Program | None] | None = None
        self._arguments: list[Argument] = []
        self._results: dict[str, tuple[Output, Tensor]] = {}
        self._states: dict[Argument, ir.Value] = {}
        self._versions: dict[ir.Value, Argument] = {}  # every value that a state had
        self.groups: dict[ir.Value, object] = {}  # rules of ark_mlir.frontend.derivatives
        self._scopes: list[str] = []
        self._types: dict[tuple[tuple[int, ...], DType], ir.Type] = {}
        self._body: ir.Block | None = None
        self._signed = 0  # number of arguments in the signature of ark.program
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
            raise invalid(
                f"program {self.name!r} was built before, and cannot be opened again; make a new "
                "ark.Program"
            )
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
                    f"state {argument.name!r} ends the launch, but the program never updates it; "
                    "call ark.update",
                    location=argument.location,
                )

    # ---------------------------------------------------------------- contents

    @property
    def module(self) -> ir.Module:
        """Returns the verified ``ir.Module``; raises InvalidUsageError before the end of the
        ``with`` block, and if the block failed."""
        if self._status != "closed":
            state = {"failed": "was not completed", "new": "is empty"}.get(self._status, "is open")
            raise invalid(f"program {self.name!r} {state}; the end of its with block completes it")
        return self._module

    @property
    def mlir(self) -> str:
        """Returns the text of ``module``, without locations; raises the same errors."""
        return str(self.module)

    @property
    def inputs(self) -> dict[str, Argument]:
        """Returns the arguments that are bound at every run, by name."""
        return self._of_kind("input")

    @property
    def parameters(self) -> dict[str, Argument]:
        """Returns the arguments that are bound once, by name."""
        return self._of_kind("parameter")

    @property
    def states(self) -> dict[str, Argument]:
        """Returns the arguments that stay on the device between runs, by name."""
        return self._of_kind("state")

    @property
    def scalars(self) -> dict[str, Argument]:
        """Returns the integer arguments that are passed at every run, by name."""
        return self._of_kind("scalar")

    @property
    def outputs(self) -> dict[str, Output]:
        """Returns the results of a run, by name."""
        return {name: output for name, (output, _) in self._results.items()}

    def _of_kind(self, kind: str) -> dict[str, Argument]:
        return {a.name: a for a in self._arguments if a.kind == kind}

    def __repr__(self) -> str:
        return f"<ark.Program {self.name!r}, {self._status}>"

    # ---------------------------------------------------------------- building
    # Methods for other modules of the frontend. Users call ark.input and the ops.

    @property
    def is_open(self) -> bool:
        """Returns True if ops can still be added."""
        return self._status == "open"

    @property
    def insertion_point(self) -> ir.InsertionPoint:
        """Returns the insertion point of the next op."""
        return ir.InsertionPoint(self._block if self._body is None else self._body)

    @property
    def body(self) -> ir.Block | None:
        """Returns the body of the custom op that is under construction, or None."""
        return self._body

    @contextlib.contextmanager
    def inside(self, body: ir.Block) -> Generator[None, None, None]:
        """Appends the ops that the block creates to the body of a custom op.

        Raises InvalidUsageError if another body is under construction.
        """
        if self._body is not None:
            raise invalid("a custom op cannot be part of the body of another one", "ark.custom_op")
        self._body = body
        try:
            yield
        finally:
            self._body = None

    @contextlib.contextmanager
    def scope(self, path: str) -> Generator[None, None, None]:
        """Prefixes the names of ops that the block creates with `path`."""
        self._scopes.append(path)
        try:
            yield
        finally:
            self._scopes.pop()

    def op_name(self, name: str) -> str:
        """Returns `name`, prefixed with the path of the innermost module that is being called."""
        return f"{self._scopes[-1]}.{name}" if self._scopes and self._scopes[-1] else name

    def tensor_type(self, shape: tuple[int, ...], dtype: DType) -> ir.Type:
        """Returns the builtin tensor type, from a cache: a model has few types and many tensors."""
        key = (shape, dtype)
        if key not in self._types:
            element = ir.Type.parse(dtype.mlir, self.context)
            with ir.Location.unknown(self.context):
                self._types[key] = ir.RankedTensorType.get(shape, element)
        return self._types[key]

    def add_argument(self, argument: Argument, *, may_repeat: bool = False) -> ir.Value:
        """Appends an argument and returns its value.

        Raises InvalidUsageError if the name is taken. If `may_repeat`, the end of the ``with``
        block checks the name instead.
        """
        self._refuse_in_body(argument.kind, argument.name)
        if not may_repeat:
            for other in self._arguments:
                if other.name == argument.name:
                    raise _duplicate(argument, other)
        self._arguments.append(argument)
        location = to_location(argument.given, user_frames(), self.context)
        value = self._block.add_argument(self.tensor_type(argument.shape, argument.dtype), location)
        if argument.kind == "state":
            self.add_version(value, argument)
        return value

    def _refuse_in_body(self, kind: str, name: str) -> None:
        if self._body is not None:
            raise invalid(
                f"{kind} {name!r} cannot be declared in the body of a custom op; declare it before",
                f"ark.{kind}",
            )

    def free_name(self, stem: str) -> str:
        """Returns `stem`, or `stem` with the least number appended that makes the name unique."""
        taken = {argument.name for argument in self._arguments}
        names = itertools.chain([stem], (f"{stem}_{number}" for number in itertools.count(1)))
        return next(name for name in names if name not in taken)

    def add_output(self, output: Output, tensor: Tensor) -> None:
        """Records a result; raises InvalidUsageError if another result has the name."""
        self._refuse_in_body("output", output.name)
        if output.name in self._results:
            other = self._results[output.name][0]
            raise InvalidUsageError(
                f"output {output.name!r} exists already",
                location=output.location,
                notes=[f"{other.location}: the other one"],
            )
        self._results[output.name] = (output, tensor)

    def state_value(self, argument: Argument, initial: ir.Value) -> ir.Value:
        """Returns the value of a state after its last update, `initial` if there is none."""
        return self._states.get(argument, initial)

    def set_state(self, argument: Argument, value: ir.Value) -> None:
        """Records `value`, the result of an update, as the state's current value."""
        self._states[argument] = value
        self.add_version(value, argument)

    def add_version(self, value: ir.Value, argument: Argument) -> None:
        """Records that a state has, or had, a value."""
        self._versions[value] = argument

    def outdated_state(self, value: ir.Value) -> Argument | None:
        """Returns the state that had `value` before its last update, None if there is none."""
        argument = self._versions.get(value)
        if argument is None or argument not in self._states:
            return None
        return None if self._states[argument] == value else argument

    def was_updated(self, argument: Argument) -> bool:
        """Returns True if the program updates the state."""
        return argument in self._states

    def operations(self) -> list[ir.OpView]:
        """Returns the ops so far, in order."""
        return list(self._block.operations)

    def set_stop(self, argument: Argument) -> None:
        """Makes a state the flag that ends a launch; raises InvalidUsageError if another state is
        that flag."""
        for other in self._arguments:
            if other.stops and other is not argument:
                raise InvalidUsageError(
                    f"state {other.name!r} ends the launch already; a program has one flag",
                    location=str(user_frames(0)[0]),
                    op="ark.stop_when",
                )
        argument.stops = True

    def sign(self) -> None:
        """Adds new arguments to the signature of ``ark.program``, which verifiers of ops read."""
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
    """Returns the program whose ``with`` block is running; raises InvalidUsageError outside."""
    program = _CURRENT.get()
    if program is None:
        raise invalid("outside of a program; put it inside `with ark.Program(name):`", op)
    return program


def dtype_of(value: ir.Value) -> DType:
    """Returns the element type of a tensor value."""
    return from_mlir(str(ir.ShapedType(value.type).element_type))


def shape_of(value: ir.Value) -> tuple[int, ...]:
    """Returns the static shape of a tensor value."""
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
        raise invalid(f"rank is {rank} and world_size is {world_size}; pass both, or none of them")
    rank, world_size = as_int(rank, "rank"), as_int(world_size, "world_size")
    if not 0 <= rank < world_size:
        raise invalid(
            f"rank {rank} is not in [0, {world_size}), the range of world_size {world_size}"
        )
    return rank, world_size
