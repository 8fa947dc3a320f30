"""``ark.custom_op``: an op whose grid, regions and body the user writes."""

# The stubs of numpy and of MLIR's bindings leave the elements of arrays and lists unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import ir
from ..dtypes import DType, from_mlir
from ..errors import ArkError, InvalidUsageError
from ..mlir.parsing import parse_text
from ..units import counted
from .builder import append
from .operands import as_tensor
from .planner import unplanned
from .program import Program, current
from .shapes import as_dtype, as_int, as_name, as_shape, invalid
from .tensor import Tensor

if TYPE_CHECKING:
    from ..typing import DTypeLike, Offsets, Shape, TileBody

__all__ = ["GridIndex", "Region", "custom_op"]

_OP = "ark.custom_op"


class GridIndex:
    """An index of a vCTA in a grid, or an expression of indices, for the offsets of a region.

    Supports ``+`` and ``-``, products with an int, and ``//`` and ``%`` by a positive int. Other
    operands raise InvalidUsageError.

    Example:
        >>> region = ark.Region((16, 64), lambda i, j: (16 * i, (j // 2) * 64))
    """

    def __init__(self, expression: ir.AffineExpr, least: int, greatest: int) -> None:
        self._expression = expression
        # Bounds of the expression over the grid, computed as in the verifier of the dialect.
        self._least, self._greatest = least, greatest

    @property
    def expression(self) -> ir.AffineExpr:
        """Returns the expression in MLIR."""
        return self._expression

    @property
    def least(self) -> int:
        """Returns a lower bound of the values over the grid, exact for linear expressions."""
        return self._least

    @property
    def greatest(self) -> int:
        """Returns an upper bound of the values over the grid, exact for linear expressions."""
        return self._greatest

    def __repr__(self) -> str:
        return f"<ark.GridIndex {self._expression}>"

    def __add__(self, other: GridIndex | int) -> GridIndex:
        index = _index(other)
        total = ir.AffineExpr.get_add(self._expression, index._expression)
        return GridIndex(total, self._least + index._least, self._greatest + index._greatest)

    def __radd__(self, other: int) -> GridIndex:
        return self + other

    def __neg__(self) -> GridIndex:
        return self * -1

    def __sub__(self, other: GridIndex | int) -> GridIndex:
        return self + -_index(other)

    def __rsub__(self, other: int) -> GridIndex:
        return -self + other

    def __mul__(self, other: int) -> GridIndex:
        factor = as_int(other, "a factor of an index", _OP)
        ends = sorted((self._least * factor, self._greatest * factor))
        return GridIndex(ir.AffineExpr.get_mul(self._expression, _constant(factor)), *ends)

    def __rmul__(self, other: int) -> GridIndex:
        return self * other

    def __floordiv__(self, other: int) -> GridIndex:
        divisor = _divisor(other)
        quotient = ir.AffineExpr.get_floor_div(self._expression, _constant(divisor))
        return GridIndex(quotient, self._least // divisor, self._greatest // divisor)

    def __mod__(self, other: int) -> GridIndex:
        divisor = _divisor(other)
        rest = ir.AffineExpr.get_mod(self._expression, _constant(divisor))
        first, length = self._least % divisor, self._greatest - self._least
        if length < divisor - first:  # no multiple of the divisor after the first value
            return GridIndex(rest, first, first + length)
        return GridIndex(rest, 0, divisor - 1)


def _constant(value: int) -> ir.AffineExpr:
    return ir.AffineExpr.get_constant(value)


def _index(value: GridIndex | int) -> GridIndex:
    if isinstance(value, GridIndex):
        return value
    number = as_int(value, "an offset", _OP)
    return GridIndex(_constant(number), number, number)


def _divisor(value: int) -> int:
    number = as_int(value, "a divisor of an index", _OP)
    if number < 1:
        raise invalid(f"a divisor of an index must be positive, not {number}", _OP)
    return number


@dataclass(frozen=True)
class Region:
    """The box of a tensor that one vCTA reads or writes.

    Attributes:
        sizes: extents of the box in elements, one for each dimension of the tensor.
        offsets: a function of the grid's indices that returns the first element of the box in each
            dimension: ints, or expressions of the indices (:class:`GridIndex`). None means that
            the box of every vCTA begins at element zero in all dimensions.

    A box that extends beyond the end of the tensor is clipped there.

    Example:
        >>> rows = ark.Region((16, 64), lambda i: (16 * i, 0))  # rows [16 i, 16 i + 16)
    """

    sizes: Sequence[int]
    offsets: Offsets | None = None


def custom_op(
    name: str,
    body: TileBody,
    inputs: Sequence[Tensor],
    *,
    grid: Shape,
    regions: Sequence[Region | None],
    shape: Shape,
    out_region: Region,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Adds an op that ark does not have, and returns its result.

    The op is a grid of vCTAs, which compute disjoint tiles of the result. It becomes one task on
    every target, which the compiler schedules, synchronises and proves as any other task.

    Args:
        name: the name of the op in schedules, reports and errors.
        body: the computation of one vCTA, as a function or as MLIR text. A function takes the tile
            of each input, which is the box that the vCTA reads, and returns the tile of the result.
            The function may call elementwise ops, reductions, ``softmax``, norms and ``matmul``,
            and uses no other tensors. MLIR text is the body of ``ark.custom`` in the reference of
            the dialect. Its values are ``%i0, %i1, …``, the indices of the vCTA; ``%x0, %x1, …``,
            the tiles of the inputs; and ``%out``, the tile of the result, whose elements are
            undefined. The text ends in ``ark.yield``.
        inputs: tensors of this program.
        grid: the number of vCTAs in each dimension of the grid, at most 2^22 in all.
        regions: for each input, the region that a vCTA reads; None means the whole input.
        shape: the shape of the result.
        out_region: the region of the result that a vCTA writes. The tiles of all vCTAs cover the
            result, and do not overlap.
        dtype: the dtype of the result; None means that of the first input.

    A function needs tiles of static shape: no tile may be clipped at the end of its tensor. In MLIR
    text, an extent that is clipped for some vCTA is dynamic (``?``).

    Raises InvalidUsageError if a region does not fit its tensor or the grid, the body does not
    return a tile of the result, or the body uses a tensor or an op that a body must not use. The
    compiler raises VerificationError if tiles of the result overlap, and CompileError if an access
    of the body leaves its tile, or the body is not proven to write all elements of the result tile.
    A body in MLIR that writes this tile in a loop has to fill it first, with ``linalg.fill``.

    Example:
        >>> def body(rows, other):  # (2, 64) each
        ...     return ark.softmax(rows * other, axis=-1)
        >>> rows = ark.Region((2, 64), lambda i: (2 * i, 0))
        >>> y = ark.custom_op(
        ...     "gated_softmax", body, [a, b],
        ...     grid=2, regions=[rows, rows], shape=(4, 64), out_region=rows,
        ... )
    """
    program = current(_OP)
    label = as_name(name, "the name of a custom op")
    if isinstance(inputs, Tensor) or not isinstance(inputs, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid(f"inputs must be a list of tensors, not {inputs!r}", _OP)
    tensors = [as_tensor(x, "custom_op", f"inputs[{i}]") for i, x in enumerate(inputs)]
    extents = as_shape(shape, _OP)
    element = _result_dtype(dtype, tensors)
    with program.context, ir.Location.unknown(program.context):
        op = _Custom(program, as_shape(grid, _OP), tensors, tuple(extents), element)
        op.add_regions(regions, out_region)

    def build(loc: ir.Location, ip: ir.InsertionPoint) -> Any:
        return op.create(body, loc, ip)

    value = append(build, "custom", tuple(tensors), label)
    return Tensor(program, value, label)


def _result_dtype(dtype: DTypeLike | None, inputs: Sequence[Tensor]) -> DType:
    if dtype is not None:
        return as_dtype(dtype, _OP)
    if not inputs:
        raise invalid("without inputs, pass dtype=, the element type of the result", _OP)
    return inputs[0].dtype


class _Custom:
    """An ``ark.custom`` under construction."""

    def __init__(
        self,
        program: Program,
        grid: list[int],
        inputs: Sequence[Tensor],
        shape: tuple[int, ...],
        dtype: DType,
    ) -> None:
        if not grid or min(grid) < 1:
            raise invalid(f"grid must have positive extents, at least one, not {grid}", _OP)
        self.program = program
        self.grid = grid
        self.inputs = inputs
        self.shapes = [*(x.shape for x in inputs), shape]
        self.dtypes = [*(x.dtype for x in inputs), dtype]
        self.regions: list[ir.Attribute] = []
        self.tiles: list[ir.Type] = []

    # -- regions -----------------------------------------------------------------------------

    def add_regions(self, regions: Sequence[Region | None], out_region: Region) -> None:
        """Checks all regions, and determines the types of the tiles."""
        if len(regions) != len(self.inputs):
            raise invalid(
                f"regions must have {counted(len(self.inputs), 'entry', 'entries')}, one for each "
                f"input, not {len(regions)}",
                _OP,
            )
        for number, (region, shape) in enumerate(
            zip([*regions, out_region], self.shapes, strict=True)
        ):
            label = f"regions[{number}]" if number < len(self.inputs) else "out_region"
            if region is None and number < len(self.inputs):
                region = Region(shape)
            if not isinstance(region, Region):
                raise invalid(f"{label} must be an ark.Region, not {region!r}", _OP)
            self._add_region(label, region, shape, self.dtypes[number])

    def _add_region(self, label: str, region: Region, shape: tuple[int, ...], dtype: DType) -> None:
        sizes = as_shape(region.sizes, _OP)
        offsets = self._offsets(label, region, len(shape))
        if len(sizes) != len(shape) or len(offsets) != len(shape):
            raise invalid(
                f"{label} has {len(sizes)} sizes and {len(offsets)} offsets, and its tensor has "
                f"the shape {list(shape)}",
                _OP,
            )
        if shape and min(sizes) < 1:
            raise invalid(f"{label} has sizes {sizes}; they must be positive", _OP)
        for dim, (offset, extent) in enumerate(zip(offsets, shape, strict=True)):
            outside = offset.least if offset.least < 0 else offset.greatest
            if not 0 <= outside < extent:
                raise invalid(
                    f"{label} starts at {outside} in dimension {dim} of a tensor of shape "
                    f"{list(shape)}, for some vCTA of the grid {self.grid}",
                    _OP,
                )
        space = ir.AffineMap.get(len(self.grid), 0, [each.expression for each in offsets])
        # The text of the map is (d0) -> (d0 * 16, 0).
        self.regions.append(ir.Attribute.parse(f"#ark.region<{space}, {sizes}>"))
        tile = [
            size if offset.greatest <= extent - size else ir.ShapedType.get_dynamic_size()
            for size, offset, extent in zip(sizes, offsets, shape, strict=True)
        ]
        self.tiles.append(ir.RankedTensorType.get(tile, ir.Type.parse(dtype.mlir)))

    def _offsets(self, label: str, region: Region, rank: int) -> list[GridIndex]:
        if region.offsets is None:
            return [_index(0)] * rank
        indices = [
            GridIndex(ir.AffineExpr.get_dim(k), 0, extent - 1) for k, extent in enumerate(self.grid)
        ]
        try:
            given = region.offsets(*indices)
        except TypeError as error:
            raise invalid(
                f"the offsets of {label} must be a function of "
                f"{counted(len(indices), 'index', 'indices')}, one for each dimension of the grid: "
                f"{error}",
                _OP,
            ) from None
        values = [given] if isinstance(given, (GridIndex, int)) else list(given)
        return [_index(value) for value in values]

    # -- the op ------------------------------------------------------------------------------

    def create(self, body: TileBody, loc: ir.Location, ip: ir.InsertionPoint) -> ir.Operation:
        """Creates the op with its body; erases it if the body fails."""
        if not isinstance(body, str) and not callable(body):
            raise invalid(f"body must be a function or MLIR text, not {body!r}", _OP)
        if isinstance(body, str):
            return self._parse(body, loc, ip)
        op = ir.Operation.create(
            "ark.custom",
            results=[self.program.tensor_type(self.shapes[-1], self.dtypes[-1])],
            operands=[x.value for x in self.inputs],
            attributes={
                "grid": ir.DenseI64ArrayAttr.get(self.grid),
                "input_regions": ir.ArrayAttr.get(self.regions[:-1]),
                "out_region": self.regions[-1],
            },
            regions=1,
            loc=loc,
            ip=ip,
        )
        try:
            self._call(body, op)
        except BaseException:
            op.erase()
            raise
        return op

    def _call(self, body: Callable[..., Tensor], op: ir.Operation) -> None:
        index = ir.IndexType.get()
        types = [*([index] * len(self.grid)), *self.tiles]
        block = op.regions[0].blocks.append(*types, arg_locs=[op.location] * len(types))
        for number, tile in enumerate(self.tiles):
            if not ir.ShapedType(tile).has_static_shape:
                label = f"inputs[{number}]" if number < len(self.inputs) else "the result"
                raise invalid(
                    f"the tile of {label} is {tile}: its region is clipped at the end of the tensor"
                    "; use sizes that divide the extents, or a body in MLIR text",
                    _OP,
                )
        with self.program.inside(block), unplanned():
            values = list(block.arguments)[len(self.grid) : -1]
            tiles = [Tensor(self.program, value, f"tile {k}") for k, value in enumerate(values)]
            result = body(*tiles)
            self._check_result(result)
            ir.Operation.create(
                "ark.yield",
                operands=[result.value],
                loc=op.location,
                ip=ir.InsertionPoint(block),
            )

    def _check_result(self, result: object) -> None:
        tile = ir.ShapedType(self.tiles[-1])
        expected = tuple(tile.shape), from_mlir(str(tile.element_type))
        if not isinstance(result, Tensor):
            raise invalid(f"the body must return a tensor, not {result!r}", _OP)
        if result.body is not self.program.body:
            raise invalid(
                f"the body returns {result!r}, which it did not compute from its tiles", _OP
            )
        if (result.shape, result.dtype) != expected:
            raise invalid(
                f"the body returns {result.dtype}{list(result.shape)}, but the tile of the result "
                f"is {expected[1]}{list(expected[0])}; ark.Region sets the sizes, dtype= the dtype",
                _OP,
            )

    def _parse(self, body: str, loc: ir.Location, ip: ir.InsertionPoint) -> ir.Operation:
        """Creates the op with a body that is MLIR text."""
        text = self._text(body)
        try:
            parse_text(text, InvalidUsageError)
        except ArkError as error:
            raise self._of_body(error) from None
        module = ir.Module.parse(text, self.program.context)
        function = module.body.operations[0].operation
        parsed = next(iter(function.regions[0].blocks[0])).operation
        op = parsed.clone(ip).operation
        for number, tensor in enumerate(self.inputs):
            op.operands[number] = tensor.value

        def set_location(inner: ir.Operation) -> ir.WalkResult:
            inner.location = loc  # instead of a line of the text
            return ir.WalkResult.ADVANCE

        op.walk(set_location, ir.WalkOrder.PRE_ORDER)
        return op

    def _text(self, body: str) -> str:
        """Returns a module with a function that has the op, for the parser."""
        types = [str(x.value.type) for x in self.inputs]
        result = self.program.tensor_type(self.shapes[-1], self.dtypes[-1])
        arguments = ", ".join(f"%arg{k}: {t}" for k, t in enumerate(types))
        reads = ", ".join(
            f"%arg{k}[{region}] : {t}"
            for k, (region, t) in enumerate(zip(self.regions[:-1], types, strict=True))
        )
        out = str(self.regions[-1]).removeprefix("#ark.region")
        names = [f"%i{k}: index" for k in range(len(self.grid))]
        names += [f"%x{k}: {tile}" for k, tile in enumerate(self.tiles[:-1])]
        names += [f"%out: {self.tiles[-1]}"]
        # The body begins on a new line, so that errors can count its lines.
        head = (
            f"func.func private @f({arguments}) -> {result} {{ %r = ark.custom grid {self.grid} "
            f"ins({reads}) out {out} {{ ^bb0({', '.join(names)}):\n"
        )
        return f"{head}{inspect.cleandoc(body)}\n}} : {result}\nreturn %r : {result} }}\n"

    @staticmethod
    def _of_body(error: ArkError) -> InvalidUsageError:
        """Returns an error of the body's text, with its line counted within the body."""
        found = _LINE.fullmatch(str(error.location or ""))
        line = int(found[1]) - 1 if found else 0
        notes = [_LINE_OF_NOTE.sub(lambda m: _line_of_body(int(m[1]) - 1), n) for n in error.notes]
        return InvalidUsageError(
            _line_of_body(line) + error.message,
            location=str(invalid("").location),
            op=_OP,
            notes=notes,
        )


_LINE = re.compile(r"-:(\d+)")
_LINE_OF_NOTE = re.compile(r"^-:(\d+): ")


def _line_of_body(line: int) -> str:
    """Returns the start of a message, which names a line of the body.

    Line 0 stands for the text that the frontend writes before the body.
    """
    return f"line {line} of the body: " if line > 0 else ""
