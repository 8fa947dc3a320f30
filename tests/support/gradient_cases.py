"""Differentiable functions of the ops of ark, most with the same function in PyTorch.

Shapes are small and odd. Values are drawn from a normal distribution, or are positive, so that no
two elements are equal and no slope is taken at a kink.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest import mock

import attention_cases as attention
import norm_cases
import numpy as np

import ark_mlir as ark
from ark_mlir.frontend.gradients import attention as rules

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
Make = Callable[..., "ark.Tensor | list[ark.Tensor]"]
Twin = Callable[..., Any]

X, ROW, COLUMN = (5, 7), (7,), (5, 1)
# Products with the matrices of experts: the expert of each row, or the rows of each expert.
EXPERTS = np.array([2, 0, 2, 1], np.int32)
COUNTS = np.array([1, 0, 3], np.int32)
Q, K = (2, 4, 5, 6), (2, 2, 7, 6)


@dataclass(frozen=True)
class Case:
    """A function and its operands.

    Attributes:
        make: takes a tensor for every shape and returns the results.
        shapes: the shapes of the operands, which are fp32.
        torch: takes the module ``torch`` and a tensor for every shape; None if PyTorch lacks it.
        positive: True draws positive operands.
        in_blocks: True computes the gradients of short attentions in blocks, too.
    """

    make: Make
    shapes: tuple[Shape, ...]
    torch: Twin | None = None
    positive: bool = False
    in_blocks: bool = False


def unary(op: Make, twin: Twin, positive: bool = False) -> Case:
    return Case(op, (X,), lambda torch, x: twin(torch)(x), positive)


def binary(op: Callable[..., ark.Tensor], twin: Twin, positive: bool = False) -> Case:
    """Returns a case of equal shapes, broadcasts of either side, and numbers."""

    def every(f: Callable[..., Any], a: Any, b: Any, row: Any, column: Any) -> list[Any]:
        return [f(a, b), f(a, row), f(row, b), f(column, row), f(a, 2.5), f(1.5, b)]

    def of_torch(torch: Any, *operands: Any) -> list[Any]:
        def both(a: Any, b: Any) -> Any:
            a, b = (
                v if torch.is_tensor(v) else torch.tensor(v, dtype=torch.float64) for v in (a, b)
            )
            return twin(torch)(a, b)

        return every(both, *operands)

    return Case(lambda *operands: every(op, *operands), (X, X, ROW, COLUMN), of_torch, positive)


def reduction(op: Callable[..., ark.Tensor], twin: str) -> Case:
    """Reduces one, several and all dimensions."""
    return Case(
        lambda x: [op(x, -1), op(x, 0, keepdims=False), op(x, (0, 2)), op(x, keepdims=False)],
        ((3, 5, 7),),
        lambda torch, x: [
            getattr(x, twin)(-1, keepdim=True), getattr(x, twin)(0),
            getattr(x, twin)((0, 2), keepdim=True), getattr(x, twin)((0, 1, 2)),
        ],
    )  # fmt: skip


def norms(op: Callable[..., ark.Tensor]) -> Make:
    return lambda x, w: [op(x), op(x, w), op(x, w, eps=0.5)]


def products(a: ark.Tensor, b: ark.Tensor, c: ark.Tensor) -> list[ark.Tensor]:
    """``a`` is [2, 3, 5], ``b`` is [5, 4] and ``c`` is [2, 1, 5, 4]; all combinations of transposes
    and broadcasts."""
    at, bt = ark.transpose(a, (0, 2, 1)), ark.transpose(b, (1, 0))
    return [
        ark.matmul(a, b), ark.matmul(a, bt, transpose_other=True),
        ark.matmul(at, b, transpose_input=True),
        ark.matmul(at, bt, transpose_input=True, transpose_other=True),
        ark.matmul(a, c), ark.matmul(b, c, transpose_input=True),
        ark.matmul(a[0, 0], b), ark.matmul(b, a[1, 2], transpose_input=True),
    ]  # fmt: skip


def torch_products(torch: Any, a: Any, b: Any, c: Any) -> list[Any]:
    return [a @ b] * 4 + [a @ c, b.T @ c, a[0, 0] @ b, b.T @ a[1, 2]]


def slopes_of_attentions(*operands: ark.Tensor) -> list[ark.Tensor]:
    """The derivatives of attentions, whose derivatives are those of the log-sum-exp, too."""
    q, k, v, mask, wide = operands
    results = attention.of_masks(q, k, v, mask, wide)
    return ark.gradients(weighted(results), list(operands))


def slopes_of_blocks(*operands: ark.Tensor) -> list[ark.Tensor]:
    q, k, v = operands
    return ark.gradients(weighted(attention.simple(q, k, v)), list(operands))


def rotations(x: ark.Tensor, cos: ark.Tensor, sin: ark.Tensor) -> list[ark.Tensor]:
    return [ark.rope(x, cos, sin, interleaved=which) for which in (False, True)]


def torch_rotations(torch: Any, x: Any, cos: Any, sin: Any) -> list[Any]:
    first, second = x[..., :3], x[..., 3:]
    even, odd = x[..., 0::2], x[..., 1::2]
    pairs = torch.stack((even * cos - odd * sin, odd * cos + even * sin), -1)
    return [
        torch.cat((first * cos - second * sin, second * cos + first * sin), -1),
        pairs.flatten(-2),
    ]


def views(x: ark.Tensor) -> list[ark.Tensor]:
    parts = ark.split(x, [1, 4], 1)
    return [
        ark.reshape(x, (7, -1)), ark.transpose(x, (2, 0, 1)), x[:, 1:4, ::2], x[1, ::-1],
        ark.broadcast_to(x[:, :1], (4, 2, 3, 7)), ark.unsqueeze(x, 1), ark.squeeze(x[:1], 0),
        ark.identity(x, deps=[ark.copy(x)]), parts[0] * ark.sharding(x, 1, 1)[3],
        ark.slice(x, (0, 1, 1), (2, 5, 6), (1, 3, 4)), ark.cast(ark.cast(x, ark.fp32), ark.fp32),
    ]  # fmt: skip


def torch_views(torch: Any, x: Any) -> list[Any]:
    return [
        x.reshape(7, -1), x.permute(2, 0, 1), x[:, 1:4, ::2], x[1].flip(0),
        x[:, :1].expand(4, 2, 3, 7), x[:, None], x[0], x, x[:, :1] * x[:, 3:4],
        x[:, 1:5:3, 1:6:4], x,
    ]  # fmt: skip


ROWS = np.array([[1, 4, 1], [0, 1, 4]], np.int32)
LABELS = np.array([3, -100, 0, 6, -100], np.int64)


def selections(x: ark.Tensor, w: ark.Tensor) -> list[ark.Tensor]:
    rows = ark.constant(ROWS)
    return [
        ark.embedding(rows, x), ark.gather(x, rows, 1), ark.gather(x, rows[0, 0], 0),
        ark.scatter_add(x, rows, w, 1), ark.where(ark.greater(x, 0.1), x, 2 * x),
        ark.scatter(x, rows, w, 1), ark.bincount(rows, 5, w[0]),
    ]  # fmt: skip


def torch_selections(torch: Any, x: Any, w: Any) -> list[Any]:
    rows = torch.tensor(ROWS, dtype=torch.int64)
    added = x.index_add(1, rows.flatten(), w.flatten(1))
    # Column 1 is written three times, and column 4 twice.
    written = torch.stack([w[:, 1, 0], w[:, 1, 1], x[:, 2], x[:, 3], w[:, 1, 2], *x[:, 5:].T], 1)
    return [
        x[rows], x[:, rows], x[1], added, torch.where(x > 0.1, x, 2 * x), written,
        w.new_zeros(5).index_add(0, rows.flatten(), w[0].flatten()),
    ]  # fmt: skip


def losses(x: ark.Tensor) -> list[ark.Tensor]:
    labels = ark.constant(LABELS)
    return [
        ark.cross_entropy(x, labels), ark.cross_entropy(x * 3, ark.constant([0, 1, 2, 3, 6])),
        ark.cross_entropy(x, ark.constant([0, 1, 2, 3, 6]), ignore_index=2),
    ]  # fmt: skip


def torch_losses(torch: Any, x: Any) -> list[Any]:
    loss, all_labels = torch.nn.functional.cross_entropy, torch.tensor([0, 1, 2, 3, 6])
    return [
        loss(x, torch.tensor(LABELS)), loss(x * 3, all_labels), loss(x, all_labels, ignore_index=2)
    ]  # fmt: skip


def convolutions(x: ark.Tensor, f: ark.Tensor, b: ark.Tensor, g: ark.Tensor) -> list[ark.Tensor]:
    return [
        ark.conv2d(x, f, b, (2, 1), [1, 0], (1, 2)),
        ark.conv2d(x, g, stride=2, padding=1, groups=4),
        ark.conv1d(x[:, :, 0], f[..., 0], b, stride=2, padding=1),
    ]


def torch_convolutions(torch: Any, x: Any, f: Any, b: Any, g: Any) -> list[Any]:
    conv = torch.nn.functional.conv2d
    rows = torch.nn.functional.conv1d(x[:, :, 0], f[..., 0], b, 2, 1)
    return [conv(x, f, b, (2, 1), (1, 0), (1, 2)), conv(x, g, None, 2, 1, 1, 4), rows]


def transposed_convolutions(
    x: ark.Tensor, f: ark.Tensor, b: ark.Tensor, g: ark.Tensor
) -> list[ark.Tensor]:
    return [
        ark.conv_transpose2d(x, f, b, (2, 1), [1, 0], (1, 0), 1, (1, 2)),
        ark.conv_transpose2d(x, g, stride=2, groups=2),
        ark.conv_transpose1d(x[:, :, 0], f[..., 0], b, stride=2, padding=1),
    ]


def torch_transposed_convolutions(torch: Any, x: Any, f: Any, b: Any, g: Any) -> list[Any]:
    conv = torch.nn.functional.conv_transpose2d
    rows = torch.nn.functional.conv_transpose1d(x[:, :, 0], f[..., 0], b, 2, 1)
    return [
        conv(x, f, b, (2, 1), (1, 0), (1, 0), 1, (1, 2)), conv(x, g, None, 2, 0, 0, 2), rows
    ]  # fmt: skip


def channel_norms(x: ark.Tensor, m: ark.Tensor, w: ark.Tensor, b: ark.Tensor) -> list[ark.Tensor]:
    return [ark.group_norm(x, 2, w, b), ark.batch_norm(x, m, w * w + 1, w, b)]


def torch_channel_norms(torch: Any, x: Any, m: Any, w: Any, b: Any) -> list[Any]:
    mean, factor, shift = (each.reshape(-1, 1, 1) for each in (m, w, b))
    normed = (x - mean) / torch.sqrt(factor * factor + 1 + 1e-5) * factor + shift
    return [torch.nn.functional.group_norm(x, 2, w, b), normed]


def resized(x: ark.Tensor) -> list[ark.Tensor]:
    return [
        ark.upsample(x, (6, 10)), ark.upsample(x, (5, 2)), ark.upsample(x, (6, 7), "linear"),
        ark.upsample(x, (6, 7), "linear", align_corners=True),
    ]  # fmt: skip


def torch_resized(torch: Any, x: Any) -> list[Any]:
    resize = torch.nn.functional.interpolate
    return [
        resize(x, (6, 10)), resize(x, (5, 2)), resize(x, (6, 7), mode="bilinear"),
        resize(x, (6, 7), mode="bilinear", align_corners=True),
    ]  # fmt: skip


def windows(x: ark.Tensor) -> list[ark.Tensor]:
    return [
        ark.im2col(x, 3, 2, 2, 1, 1, 1, 2, 1),
        ark.max_pool(ark.transpose(x, (0, 2, 3, 1)), 3, 2),
    ]


def torch_windows(torch: Any, x: Any) -> list[Any]:
    pool = torch.nn.functional.max_pool2d
    unfolded = torch.nn.functional.unfold(x, (3, 2), (2, 1), (1, 1), (2, 1))
    padded = torch.nn.functional.pad(x, (0, 2, 0, 2), value=-math.inf)
    return [unfolded, pool(padded, 3, 2).permute(0, 2, 3, 1)]


def recomputed(x: ark.Tensor, w: ark.Tensor) -> list[ark.Tensor]:
    """Layers that are computed again, one of which reads a tensor that is not its argument."""
    v = ark.exp(w)

    def layer(h: ark.Tensor) -> list[ark.Tensor]:
        inner = ark.dropout(ark.gelu(h @ w), 0.3, seed=3)
        return [h + inner @ ark.transpose(v), inner]

    first, kept = ark.checkpoint(layer, x)
    again: Any = ark.checkpoint(lambda h: layer(h)[0], first)
    return [again, kept]


CASES: dict[str, Case] = {
    "abs": unary(ark.abs, lambda torch: torch.abs),
    "copy": unary(ark.copy, lambda torch: torch.clone),
    "clamp": unary(
        lambda x: ark.clamp(x, -0.5, 0.7), lambda torch: lambda x: torch.clamp(x, -0.5, 0.7)
    ),
    "cos": unary(ark.cos, lambda torch: torch.cos),
    "erf": unary(ark.erf, lambda torch: torch.erf),
    "exp": unary(ark.exp, lambda torch: torch.exp),
    "floor": unary(ark.floor, lambda torch: torch.floor),
    "gelu": unary(
        ark.gelu, lambda torch: lambda x: torch.nn.functional.gelu(x, approximate="tanh")
    ),
    "exact gelu": unary(
        lambda x: ark.gelu(x, approximate="none"), lambda torch: torch.nn.functional.gelu
    ),
    "log": unary(ark.log, lambda torch: torch.log, positive=True),
    "neg": unary(ark.neg, lambda torch: torch.neg),
    "reciprocal": unary(ark.reciprocal, lambda torch: torch.reciprocal, positive=True),
    "relu": unary(ark.relu, lambda torch: torch.relu),
    "rsqrt": unary(ark.rsqrt, lambda torch: torch.rsqrt, positive=True),
    "sigmoid": unary(ark.sigmoid, lambda torch: torch.sigmoid),
    "sign": unary(ark.sign, lambda torch: torch.sign),
    "silu": unary(ark.silu, lambda torch: torch.nn.functional.silu),
    "sin": unary(ark.sin, lambda torch: torch.sin),
    "sqrt": unary(ark.sqrt, lambda torch: torch.sqrt, positive=True),
    "tanh": unary(ark.tanh, lambda torch: torch.tanh),
    "add": binary(ark.add, lambda torch: torch.add),
    "sub": binary(ark.sub, lambda torch: torch.sub),
    "mul": binary(ark.mul, lambda torch: torch.mul),
    "div": binary(ark.div, lambda torch: torch.div, positive=True),
    "maximum": binary(ark.maximum, lambda torch: torch.maximum),
    "minimum": binary(ark.minimum, lambda torch: torch.minimum),
    "pow": binary(ark.pow, lambda torch: torch.pow, positive=True),
    "reduce_sum": reduction(ark.reduce_sum, "sum"),
    "reduce_mean": reduction(ark.reduce_mean, "mean"),
    "mean": reduction(ark.mean, "mean"),
    "reduce_max": reduction(ark.reduce_max, "amax"),
    "reduce_min": reduction(ark.reduce_min, "amin"),
    "softmax": Case(
        lambda x: [ark.softmax(x), ark.softmax(x, 0)], (X,),
        lambda torch, x: [x.softmax(-1), x.softmax(0)],
    ),
    "layernorm": Case(
        lambda x, w, b: [*norms(ark.layernorm)(x, w), ark.layernorm(x, w, b)],
        ((2, 3, 7), ROW, ROW),
        lambda torch, x, w, b: [
            torch.nn.functional.layer_norm(x, (7,), weight, bias, eps)
            for weight, bias, eps in (
                (None, None, 1e-5), (w, None, 1e-5), (w, None, 0.5), (w, b, 1e-5)
            )
        ],
    ),
    "rmsnorm": Case(
        norms(ark.rmsnorm), ((2, 3, 7), ROW),
        lambda torch, x, w: [
            torch.nn.functional.rms_norm(x, (7,), weight, eps)
            for weight, eps in ((None, 1e-5), (w, 1e-5), (w, 0.5))
        ],
    ),
    "norms twice": Case(
        norm_cases.slopes, ((2, 3, 7), ROW, ROW), norm_cases.torch_slopes
    ),
    "matmul": Case(products, ((2, 3, 5), (5, 4), (2, 1, 5, 4)), torch_products),
    "attention": Case(attention.simple, (Q, K, K), attention.torch_simple),
    "attention with masks": Case(
        attention.of_masks, (Q, K, K, (4, 5, 7), (1, 1, 1, 7)), attention.torch_of_masks
    ),
    "attention in blocks": Case(
        attention.long, ((2, 4, 71, 64), (2, 2, 71, 64), (2, 2, 71, 64)), attention.torch_long,
        in_blocks=True,
    ),
    "attention of few keys in blocks": Case(
        attention.plain, ((1, 2, 97, 80), (1, 1, 33, 80), (1, 1, 33, 24)), attention.torch_plain,
        in_blocks=True,
    ),
    "attention of many keys in blocks": Case(
        attention.plain, ((3, 70, 128), (1, 150, 128), (1, 150, 96)), attention.torch_plain,
        in_blocks=True,
    ),
    "attention of one query in blocks": Case(
        attention.plain, ((1, 2, 1, 96), (1, 2, 129, 96), (1, 2, 129, 96)), attention.torch_plain,
        in_blocks=True,
    ),
    "attention with numbers as masks in blocks": Case(
        attention.of_numbers, (Q, K, K), attention.torch_of_numbers, in_blocks=True
    ),
    "attention in blocks twice": Case(slopes_of_blocks, (Q, K, K), in_blocks=True),
    "attention twice": Case(
        slopes_of_attentions, (Q, K, K, (4, 5, 7), (1, 1, 1, 7))
    ),
    "rope": Case(rotations, ((2, 5, 6), (5, 3), (5, 3)), torch_rotations),
    "views": Case(views, ((2, 5, 7),), torch_views),
    "concat": Case(
        lambda a, b: [ark.concat([a, b, a], 0), ark.concat([a[:2], b], 1)], ((3, 7), (2, 7)),
        lambda torch, a, b: [torch.cat((a, b, a)), torch.cat((a[:2], b), 1)],
    ),
    "stack": Case(
        lambda a, b: [ark.stack([a, b, a], 1)], ((3, 7), (3, 7)),
        lambda torch, a, b: [torch.stack((a, b, a), 1)],
    ),
    "pad": Case(
        lambda x: [ark.pad(x, [(1, 2), (0, 3)]), ark.pad(x, [(0, 0), (4, 0)], 2.5)], (X,),
        lambda torch, x: [
            torch.nn.functional.pad(x, (0, 3, 1, 2)),
            torch.nn.functional.pad(x, (4, 0), value=2.5),
        ],
    ),
    "one_hot": Case(
        lambda x: [ark.one_hot(ark.constant([0, 3, 1, 3, 2]), 4).T @ x], (X,),
        lambda torch, x: [
            torch.nn.functional.one_hot(torch.tensor([0, 3, 1, 3, 2]), 4).to(x.dtype).T @ x
        ],
    ),
    "einsum": Case(
        lambda a, b: [ark.einsum("bik,bkj->bij", a, b)], ((2, 3, 5), (2, 5, 4)),
        lambda torch, a, b: [torch.einsum("bik,bkj->bij", a, b)],
    ),
    "top_k": Case(
        lambda x: [ark.top_k(x, 3)[0]], (X,), lambda torch, x: [torch.topk(x, 3).values]
    ),
    "sort": Case(
        lambda x: [ark.sort(x)[0], ark.sort(x, 0, descending=True)[0]], (X,),
        lambda torch, x: [x.sort().values, x.sort(0, descending=True).values],
    ),
    "argsort": Case(
        lambda x: [x + ark.cast(ark.argsort(x), ark.fp32)], (X,),
        lambda torch, x: [x + x.argsort()],
    ),
    "cumsum": Case(
        lambda x, y: [ark.cumsum(x), ark.cumsum(x, 0), ark.cumsum(y)], (X, (2, 67)),
        lambda torch, x, y: [x.cumsum(1), x.cumsum(0), y.cumsum(1)],
    ),
    "group_norm and batch_norm": Case(
        channel_norms, ((2, 4, 3, 5), (4,), (4,), (4,)), torch_channel_norms
    ),
    "upsample": Case(resized, ((2, 3, 3, 5),), torch_resized),
    "transposed convolutions": Case(
        transposed_convolutions, ((2, 4, 3, 5), (4, 3, 3, 2), (3,), (4, 2, 2, 2)),
        torch_transposed_convolutions,
    ),
    "indexed_matmul": Case(
        lambda x, w: [ark.indexed_matmul(x, w, ark.constant(EXPERTS))], ((4, 1, 5), (3, 6, 5)),
        lambda torch, x, w: [x @ w[torch.tensor(EXPERTS)].transpose(-1, -2)],
    ),
    "grouped_matmul": Case(
        lambda x, w: [ark.grouped_matmul(x, w, ark.constant(COUNTS))], ((4, 5), (3, 6, 5)),
        lambda torch, x, w: [
            (x[:, None] @ w[torch.repeat_interleave(torch.tensor(COUNTS))].transpose(-1, -2))[:, 0]
        ],
    ),
    "selections": Case(selections, (X, (5, 2, 3)), torch_selections),
    "cross_entropy": Case(losses, (X,), torch_losses),
    "convolutions": Case(
        convolutions, ((2, 4, 7, 5), (6, 4, 3, 2), (6,), (8, 1, 3, 3)), torch_convolutions
    ),
    "windows": Case(windows, ((2, 3, 7, 5),), torch_windows),
    "dropout": Case(
        lambda x: [ark.dropout(x, p, seed=2, counter=5) for p in (0.0, 0.4, 1.0)], (X,)
    ),
    "checkpoint": Case(recomputed, (X, (7, 6))),
}  # fmt: skip


def arrays(case: Case) -> dict[str, Array]:
    """Returns float64 operands that are fp32 numbers."""
    rng = np.random.default_rng(zlib.crc32(repr(case.shapes).encode()))
    drawn = [rng.standard_normal(shape) for shape in case.shapes]
    drawn = [np.abs(array) + 0.3 if case.positive else array for array in drawn]
    return {f"x{i}": a.astype(np.float32).astype(np.float64) for i, a in enumerate(drawn)}


def weighted(results: list[ark.Tensor]) -> ark.Tensor:
    """Returns the sum of all elements, each times a weight, so that each has its own slope."""
    rng = np.random.default_rng(1)
    parts = [
        ark.reduce_sum(r * ark.constant(rng.standard_normal(r.shape), r.dtype), keepdims=False)
        for r in results
    ]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def as_list(made: Any) -> list[Any]:
    return made if isinstance(made, list) else [made]


def build(case: Case, name: str = "slopes", prefix: str = "") -> ark.Program:
    """Returns a program with the outputs ``loss``, and ``g0``, ``g1``, ... for each operand."""
    with ark.Program(name) as program:
        add_case(case, prefix)
    return program


def add_case(case: Case, prefix: str = "") -> None:
    operands = [ark.input(f"{prefix}x{i}", s, ark.fp32) for i, s in enumerate(case.shapes)]
    with mock.patch.object(rules, "SCORES_PER_ELEMENT", 0 if case.in_blocks else math.inf):
        loss = weighted(as_list(case.make(*operands)))
        slopes = ark.gradients(loss, operands)
    ark.output(f"{prefix}loss", loss)
    for number, slope in enumerate(slopes):
        ark.output(f"{prefix}g{number}", slope)
