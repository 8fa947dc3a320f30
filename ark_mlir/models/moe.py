"""Mixtures of experts: an MLP that computes few of its experts for each token.

A router chooses the experts. Weights of all experts are one tensor for each projection,
``[experts, rows, columns]``, of which a run reads the chosen matrices only. No token is dropped,
for any choice of the router.

With few tokens, each pair of a token and one of its experts is a product of one row. With more,
pairs are sorted by expert first, so that several rows share a read of an expert.
"""

# The stubs of numpy leave the elements of arrays unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from .. import frontend as ark
from ..dtypes import DType, fp32, int32
from ..errors import InvalidUsageError
from ..frontend import Tensor
from .config import Config
from .sharding import Shard
from .weights import Arrays

__all__ = ["Experts", "build_mlp", "read_experts", "stack_experts"]

# With fewer rows per expert on average, the rows are not sorted by expert.
_MIN_ROWS = 2
_PROJECTIONS = ("gate_proj", "up_proj", "down_proj")


@dataclass(frozen=True)
class Names:
    """The names of the tensors of a file, below ``model.layers.<n>.``."""

    router: str = "mlp.gate.weight"
    expert: str = "mlp.experts.{}"
    projections: tuple[str, str, str] = _PROJECTIONS


MIXTRAL = Names("block_sparse_moe.gate.weight", "block_sparse_moe.experts.{}", ("w1", "w3", "w2"))


@dataclass(frozen=True)
class Experts:
    """The experts of a decoder.

    Attributes:
        num_experts: number of experts of a layer.
        experts_per_token: number of experts that compute each token.
        width: number of inner columns of an expert, or of a rank's part of it.
        normalize: True if the weights of the chosen experts are scaled to a sum of one.
        dense: the layers that have an MLP without experts.
        shared: number of inner columns of the expert that all tokens get; 0 for none.
        names: names of the tensors in files.

    Example:
        >>> mixtral_8x7b = Experts(num_experts=8, experts_per_token=2, width=14336, normalize=True)
    """

    num_experts: int
    experts_per_token: int
    width: int
    normalize: bool
    dense: frozenset[int] = frozenset()
    shared: int = 0
    names: Names = Names()

    def has(self, layer: int) -> bool:
        """Returns True if a layer has experts."""
        return layer not in self.dense

    def divide(self, size: int) -> Experts:
        """Returns the part of each of `size` ranks, which have a part of the inner columns of every
        expert; raises InvalidUsageError if the columns are not divisible."""
        for kind, width in (("expert", self.width), ("shared expert", self.shared)):
            if width % size:
                raise InvalidUsageError(
                    f"tensor_parallel {size} does not divide the {width} columns of the {kind}"
                )
        return replace(self, width=self.width // size, shared=self.shared // size)


def read_experts(config: Config, layers: int) -> Experts | None:
    """Reads the experts of a ``config.json``; returns None for a model without experts.

    Raises InvalidUsageError if an entry is invalid.
    """
    kind = config.word("model_type", "llama")
    if kind == "mixtral":
        experts = Experts(
            num_experts=config.count("num_local_experts"),
            experts_per_token=config.count("num_experts_per_tok"),
            width=config.count("intermediate_size"),
            normalize=True,
            names=MIXTRAL,
        )
    elif kind == "qwen3_moe":
        key = "num_experts" if "num_experts" in config.entries else "num_local_experts"
        experts = Experts(
            num_experts=config.count(key),
            experts_per_token=config.count("num_experts_per_tok"),
            width=config.count("moe_intermediate_size"),
            normalize=config.flag("norm_topk_prob", False),
            dense=_dense_layers(config, layers),
        )
    else:
        return None
    if experts.experts_per_token > experts.num_experts:
        raise config.error(
            f"num_experts_per_tok {experts.experts_per_token} exceeds the number of experts "
            f"{experts.num_experts}"
        )
    # These entries concern training.
    config.flag("output_router_logits", False)
    for key in ("router_aux_loss_coef", "router_jitter_noise"):
        config.number(key, 0)
    return experts


def _dense_layers(config: Config, layers: int) -> frozenset[int]:
    step = config.count("decoder_sparse_step", 1)
    named: tuple[int, ...] = ()
    if config.entries.get("mlp_only_layers") is not None:
        named = config.counts("mlp_only_layers")
    return frozenset(n for n in range(layers) if n in named or (n + 1) % step)


# -- weights --------------------------------------------------------------------------------------


def stack_experts(experts: Experts, layers: int, tensors: Arrays, where: str) -> Arrays:
    """Returns the tensors of a file, with the matrices of all experts stacked to one array.

    Args:
        layers: number of layers.
        tensors: the tensors of the file, with names as in `experts.names`.
        where: the folder, for messages.

    The arrays are copies, in memory, named ``model.layers.<n>.mlp.experts.<projection>.weight``;
    the router is ``model.layers.<n>.mlp.gate.weight``. Raises InvalidUsageError if a tensor is
    missing, or the shapes or dtypes of a projection differ.

    Example:
        >>> experts = Experts(num_experts=2, experts_per_token=1, width=8, normalize=True)
        >>> projections = ("gate_proj", "up_proj", "down_proj")
        >>> tensors = {f"model.layers.0.mlp.experts.{e}.{p}.weight": np.zeros((8, 8))
        ...            for e in range(2) for p in projections}
        >>> tensors["model.layers.0.mlp.gate.weight"] = np.zeros((2, 8))
        >>> arrays = stack_experts(experts, 1, tensors, "folder")
        >>> arrays["model.layers.0.mlp.experts.up_proj.weight"].shape
        (2, 8, 8)
    """
    result = dict(tensors)
    for layer in filter(experts.has, range(layers)):
        prefix = f"model.layers.{layer}"
        router = f"{prefix}.{experts.names.router}"
        _require((router,), tensors, where)
        result[f"{prefix}.mlp.gate.weight"] = result.pop(router)
        for ours, theirs in zip(_PROJECTIONS, experts.names.projections, strict=True):
            parts = [
                f"{prefix}.{experts.names.expert.format(number)}.{theirs}.weight"
                for number in range(experts.num_experts)
            ]
            _require(parts, tensors, where)
            arrays = [result.pop(name) for name in parts]
            for name, array in zip(parts, arrays, strict=True):
                if (array.shape, array.dtype) != (arrays[0].shape, arrays[0].dtype):
                    raise InvalidUsageError(
                        f"tensor {name!r} is {array.dtype} {list(array.shape)}, but the tensor of "
                        f"expert 0 is {arrays[0].dtype} {list(arrays[0].shape)}",
                        location=where,
                    )
            result[f"{prefix}.mlp.experts.{ours}.weight"] = np.stack(arrays)
    return result


def _require(names: Iterable[str], tensors: Arrays, where: str) -> None:
    for name in names:
        if name not in tensors:
            raise InvalidUsageError(
                f"the weights lack {name}, which the model type in config.json requires",
                location=where,
            )


# -- program --------------------------------------------------------------------------------------


class Sizes(Protocol):
    """The entries of a decoder's configuration that a layer with experts reads."""

    @property
    def experts(self) -> Experts | None:
        """Returns the experts."""
        ...

    @property
    def shard(self) -> Shard:
        """Returns the part that a rank has."""
        ...


class Graph(Protocol):
    """The parts of a decoder's builder that a layer with experts uses."""

    @property
    def config(self) -> Sizes:
        """Returns the sizes."""
        ...

    @property
    def dtype(self) -> DType:
        """Returns the dtype of hidden states."""
        ...

    def parameter(self, name: str, *shape: int) -> Tensor:
        """Returns a parameter."""
        ...

    def dense(self, x: Tensor, name: str, outputs: int, bias: bool = False) -> Tensor:
        """Returns the product with a matrix of weights, summed over ranks if it is partial."""
        ...


def build_mlp(graph: Graph, experts: Experts, x: Tensor, name: str) -> Tensor:
    """Builds the experts of one layer for hidden states ``[tokens, hidden]``.

    The result has the shape and the dtype of `x`. Probabilities, weights of experts and the sum
    over experts are fp32.
    """
    tokens, hidden = x.shape
    weights, chosen = _route(graph, experts, x, name)
    tables = [
        graph.parameter(f"{name}.experts.{part}.weight", experts.num_experts, *shape)
        for part, shape in zip(
            _PROJECTIONS,
            ((experts.width, hidden), (experts.width, hidden), (hidden, experts.width)),
            strict=True,
        )
    ]
    pairs = tokens * experts.experts_per_token
    if pairs < _MIN_ROWS * experts.num_experts:
        parts = _by_pair(x, tables, chosen, name)
    else:
        parts = _by_expert(x, tables, chosen, name)
    scaled = ark.mul(ark.cast(parts, fp32), ark.unsqueeze(weights, 2), name=f"{name}.scaled")
    total = ark.cast(ark.reduce_sum(scaled, 1, keepdims=False, name=f"{name}.sum"), graph.dtype)
    total = graph.config.shard.total(total, f"{name}.experts.down_proj")
    if not experts.shared:
        return total
    return ark.add(total, _shared(graph, experts, x, name), name=f"{name}.sum")


def _route(graph: Graph, experts: Experts, x: Tensor, name: str) -> tuple[Tensor, Tensor]:
    """Returns the weights and the indices of the experts of each token, ``[tokens, chosen]``."""
    logits = graph.dense(x, f"{name}.gate", experts.num_experts)
    scores = ark.softmax(ark.cast(logits, fp32), name=f"{name}.scores")
    weights, chosen = ark.top_k(scores, experts.experts_per_token, name=f"{name}.top_k")
    if experts.normalize:
        weights = ark.div(weights, ark.reduce_sum(weights, -1), name=f"{name}.weights")
    return weights, chosen


def _activate(gate: Tensor, up: Tensor, name: str) -> Tensor:
    return ark.mul(ark.silu(gate, name=f"{name}.act"), up, name=f"{name}.act")


def _by_pair(x: Tensor, tables: list[Tensor], chosen: Tensor, name: str) -> Tensor:
    """Returns the result of each expert of each token, ``[tokens, chosen, hidden]``."""
    (tokens, hidden), count = x.shape, chosen.shape[1]
    pairs = ark.reshape(chosen, (tokens * count,))
    rows = ark.reshape(x, (tokens, 1, hidden))
    if tokens > 1:  # the row of one token is read in place
        rows = ark.broadcast_to(rows, (tokens, count, hidden))
        rows = ark.reshape(rows, (tokens * count, 1, hidden), name=f"{name}.rows")

    def product(rows: Tensor, part: int) -> Tensor:
        label = f"{name}.experts.{_PROJECTIONS[part]}"
        return ark.indexed_matmul(rows, tables[part], pairs, name=label)

    inner = _activate(product(rows, 0), product(rows, 1), name)
    return ark.reshape(product(inner, 2), (tokens, count, hidden))


def _by_expert(x: Tensor, tables: list[Tensor], chosen: Tensor, name: str) -> Tensor:
    """Returns the result of each expert of each token, ``[tokens, chosen, hidden]``.

    Does the same as :func:`_by_pair`, but sorts the pairs of token and expert by expert, so that
    the rows of an expert form one product.
    """
    tokens, count = chosen.shape
    pairs = tokens * count
    number = ark.arange(pairs)
    owner = ark.reshape(chosen, (pairs,))
    # Keys are unique, with the expert in the upper digits. The position of a pair in the order is
    # the number of lesser keys.
    key = ark.add(ark.mul(owner, pairs), number, name=f"{name}.key")
    lesser = ark.less(ark.reshape(key, (1, pairs)), ark.reshape(key, (pairs, 1)))
    position = ark.reduce_sum(ark.cast(lesser, int32), 1, keepdims=False, name=f"{name}.position")
    here = ark.equal(ark.reshape(position, (1, pairs)), ark.reshape(number, (pairs, 1)))
    pair = ark.where(here, ark.reshape(number, (1, pairs)), 0)
    order = ark.reduce_sum(pair, 1, keepdims=False, name=f"{name}.order")
    experts = ark.reshape(ark.arange(tables[0].shape[0]), (-1, 1))
    is_owner = ark.equal(ark.reshape(owner, (1, pairs)), experts)
    counts = ark.reduce_sum(ark.cast(is_owner, int32), 1, keepdims=False, name=f"{name}.counts")

    def product(rows: Tensor, part: int) -> Tensor:
        label = f"{name}.experts.{_PROJECTIONS[part]}"
        return ark.grouped_matmul(rows, tables[part], counts, name=label)

    rows = ark.gather(x, ark.div(order, count), 0, name=f"{name}.sorted")
    inner = _activate(product(rows, 0), product(rows, 1), name)
    parts = ark.gather(product(inner, 2), position, 0, name=f"{name}.unsorted")
    return ark.reshape(parts, (tokens, count, x.shape[1]))


def _shared(graph: Graph, experts: Experts, x: Tensor, name: str) -> Tensor:
    """Returns the result of the shared expert, which a sigmoid of the hidden states scales."""
    name = f"{name}.shared_expert"
    gate, up = (graph.dense(x, f"{name}.{part}", experts.shared) for part in _PROJECTIONS[:2])
    result = graph.dense(_activate(gate, up, name), f"{name}.down_proj", x.shape[1])
    scale = ark.sigmoid(graph.dense(x, f"{name}_gate", 1), name=f"{name}_gate")
    return ark.mul(result, scale, name=name)
