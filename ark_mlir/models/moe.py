"""Mixtures of experts: an MLP that computes few of its experts for each token.

A router chooses the experts. Weights of all experts are one tensor for each projection,
``[experts, rows, columns]``, of which a run reads the chosen matrices only. No token is dropped,
for any choice of the router.

With few tokens, each pair of a token and one of its experts is a product of one row. With more,
pairs are sorted by expert first, so that several rows share a read of an expert.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from .. import frontend as ark
from ..dtypes import DType, fp32, int32
from ..frontend import Tensor
from .activations import ACTIVATIONS
from .expert_order import Order
from .expert_parallel import exchange, held
from .experts import PROJECTIONS, Experts
from .sharding import Shard

__all__ = ["build_mlp"]

# With fewer rows per expert on average, the rows are not sorted by expert.
_MIN_ROWS = 2
# The score of an expert that cannot be selected. This score is less than other scores, and finite.
_LEAST = -3e38
# Prevents a division by zero if all sigmoids underflow.
_SMALLEST_SUM = 1e-20

# Takes rows and the index of a projection, and returns their products with the rows' experts.
Product = Callable[[Tensor, int], Tensor]


class Sizes(Protocol):
    """The entries of a decoder's configuration that a layer with experts reads."""

    @property
    def experts(self) -> Experts | None:
        """Returns the experts."""
        ...

    @property
    def activation(self) -> str:
        """Returns the name of the MLP's activation."""
        ...

    @property
    def shard(self) -> Shard:
        """Returns the shard of a rank."""
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

    def parameter(self, name: str, *shape: int, dtype: DType | None = None) -> Tensor:
        """Returns a parameter, by default of the dtype of the model."""
        ...

    def dense(self, x: Tensor, name: str, outputs: int, bias: bool = False) -> Tensor:
        """Returns the product with a matrix of weights, summed over ranks if it is partial."""
        ...

    def total(self, product: Tensor, name: str) -> Tensor:
        """Returns a product, summed over ranks if the layer `name` computes partial sums."""
        ...

    def all_rows(self, x: Tensor, name: str) -> Tensor:
        """Returns the hidden states of all tokens."""
        ...

    def routed(self, logits: Tensor, chosen: Tensor) -> None:
        """Takes the logits of a router and the experts that it chose."""
        ...


def build_mlp(graph: Graph, experts: Experts, x: Tensor, name: str) -> Tensor:
    """Builds the experts of one layer for hidden states ``[tokens, hidden]``.

    The result has the shape and the dtype of `x`. Probabilities, weights of experts and the sum
    over experts are fp32.
    """
    weights, chosen = _route(graph, experts, x, name)
    parts = _parts(graph, experts, x, chosen, name)
    scaled = ark.mul(ark.cast(parts, fp32), ark.unsqueeze(weights, 2), name=f"{name}.scaled")
    total = ark.cast(ark.reduce_sum(scaled, 1, keepdims=False, name=f"{name}.sum"), graph.dtype)
    if not experts.exchanges:
        total = graph.total(total, f"{name}.experts.down_proj")
    if not experts.shared:
        return total
    if experts.exchanges:
        x = graph.all_rows(x, f"{name}.{experts.shared_name}")
    return ark.add(total, _shared(graph, experts, x, name), name=f"{name}.sum")


def _parts(graph: Graph, experts: Experts, x: Tensor, chosen: Tensor, name: str) -> Tensor:
    """Returns the results of the chosen experts, ``[tokens, chosen, hidden]``.

    If ranks have whole experts, the results are zeros where another rank has the expert, or all
    results if the ranks exchange rows.
    """
    if experts.ranks == 1:
        return _local_parts(graph, experts, x, chosen, name)
    shard = graph.config.shard
    if experts.exchanges:

        def compute(rows: Tensor, owners: Tensor) -> Tensor:
            return _local_parts(graph, experts, rows, owners, name)

        return exchange(experts, shard, x, chosen, compute, name)
    local, mine = held(experts, shard, chosen)
    parts = _local_parts(graph, experts, x, local, name)
    return ark.where(ark.unsqueeze(mine, 2), parts, 0, name=f"{name}.mine")


def _local_parts(graph: Graph, experts: Experts, x: Tensor, chosen: Tensor, name: str) -> Tensor:
    """Returns the results of experts that this rank has, ``[tokens, chosen, hidden]``."""
    pairs = x.shape[0] * chosen.shape[1]
    build = _by_pair if pairs < _MIN_ROWS * experts.held else _by_expert
    return build(graph, experts, x, chosen, name)


# -- the router -----------------------------------------------------------------------------------


def _route(graph: Graph, experts: Experts, x: Tensor, name: str) -> tuple[Tensor, Tensor]:
    """Returns the weights and the indices of the experts of each token, ``[tokens, chosen]``."""
    router, count = experts.router, experts.experts_per_token
    logits = _logits(graph, experts, x, name)
    if router.score == "softmax_of_chosen":
        best, chosen = ark.top_k(logits, count, name=f"{name}.top_k")
        weights = ark.softmax(best, name=f"{name}.weights")
    else:
        score = ark.softmax if router.score == "softmax" else ark.sigmoid
        scores = score(logits, name=f"{name}.scores")
        ranked = _rank(graph, experts, scores, name)
        weights, chosen = ark.top_k(ranked, count, name=f"{name}.top_k")
        if router.correction:
            weights = _select(scores, chosen, name)
    graph.routed(logits, chosen)
    if experts.normalize:
        total = ark.reduce_sum(weights, -1)
        if router.score == "sigmoid":
            total = ark.add(total, _SMALLEST_SUM)
        weights = ark.div(weights, total, name=f"{name}.weights")
    if router.scale != 1:
        weights = ark.mul(weights, router.scale, name=f"{name}.weights")
    return weights, chosen


def _logits(graph: Graph, experts: Experts, x: Tensor, name: str) -> Tensor:
    """Returns the logits of all experts in fp32, ``[tokens, experts]``."""
    router = experts.router
    if not router.wide:
        return ark.cast(graph.dense(x, f"{name}.gate", experts.num_experts, router.bias), fp32)
    shape = (experts.num_experts, x.shape[1])
    weight = graph.parameter(f"{name}.gate.weight", *shape, dtype=fp32)
    return ark.matmul(ark.cast(x, fp32), weight, transpose_other=True, name=f"{name}.gate")


def _rank(graph: Graph, experts: Experts, scores: Tensor, name: str) -> Tensor:
    """Returns the scores that select experts; experts outside of the best groups have the least."""
    router = experts.router
    if router.correction:
        correction = graph.parameter(f"{name}.gate.correction", experts.num_experts, dtype=fp32)
        scores = ark.add(scores, correction, name=f"{name}.corrected")
    if router.groups == 1:
        return scores
    tokens, number = scores.shape
    grouped = ark.reshape(scores, (tokens, router.groups, number // router.groups))
    best, _ = ark.top_k(grouped, router.best, name=f"{name}.best")
    of_groups = ark.reduce_sum(best, -1, keepdims=False, name=f"{name}.groups")
    _, chosen = ark.top_k(of_groups, router.chosen_groups, name=f"{name}.groups")
    chosen = ark.reshape(chosen, (tokens, router.chosen_groups, 1))
    hits = ark.cast(ark.equal(chosen, ark.arange(router.groups)), int32)
    hit = ark.reduce_max(hits, 1, keepdims=False, name=f"{name}.chosen_groups")
    hit = ark.greater(ark.reshape(hit, (tokens, router.groups, 1)), 0)
    return ark.reshape(ark.where(hit, grouped, _LEAST, name=f"{name}.grouped"), scores.shape)


def _select(scores: Tensor, chosen: Tensor, name: str) -> Tensor:
    """Returns the scores of the chosen experts of each token."""
    tokens, number = scores.shape
    begins = ark.reshape(ark.mul(ark.arange(tokens), number), (tokens, 1))
    index = ark.add(chosen, begins, name=f"{name}.index")
    return ark.gather(ark.reshape(scores, (-1,)), index, 0, name=f"{name}.chosen")


# -- the experts ----------------------------------------------------------------------------------


def _build_expert(
    graph: Graph, experts: Experts, rows: Tensor, owners: Tensor, product: Product, name: str
) -> Tensor:
    """Returns the results of experts for `rows`.

    Args:
        owners: the expert of each row.
        product: returns the products of rows with one of the projections.
    """

    def project(rows: Tensor, part: int) -> Tensor:
        result = product(rows, part)
        # One rank adds the bias of the partial sums of an expert that ranks share.
        partial = part == 2 and experts.ranks == 1 and graph.config.shard.rank > 0
        if not experts.bias or partial:
            return result
        label = f"{name}.experts.{PROJECTIONS[part]}.bias"
        table = graph.parameter(label, experts.held, result.shape[-1])
        bias = ark.gather(table, owners, 0, name=label)
        return ark.add(result, ark.reshape(bias, result.shape), name=label)

    gate, up = project(rows, 0), project(rows, 1)
    return project(_activate(graph, experts, gate, up, name), 2)


def _activate(graph: Graph, experts: Experts, gate: Tensor, up: Tensor, name: str) -> Tensor:
    name = f"{name}.act"
    if experts.clamp is None:
        return ark.mul(ACTIVATIONS[graph.config.activation](gate, name), up, name=name)
    alpha, limit = experts.clamp.alpha, experts.clamp.limit
    gate = ark.minimum(gate, limit, name=name)
    up = ark.clamp(up, -limit, limit, name=name)
    inner = ark.mul(gate, ark.sigmoid(ark.mul(gate, alpha), name=name), name=name)
    return ark.mul(ark.add(up, 1.0), inner, name=name)


def _tables(graph: Graph, experts: Experts, hidden: int, name: str) -> list[Tensor]:
    shapes = ((experts.width, hidden), (experts.width, hidden), (hidden, experts.width))
    return [
        graph.parameter(f"{name}.experts.{part}.weight", experts.held, *shape)
        for part, shape in zip(PROJECTIONS, shapes, strict=True)
    ]


def _by_pair(graph: Graph, experts: Experts, x: Tensor, chosen: Tensor, name: str) -> Tensor:
    """Returns the result of each expert of each token, ``[tokens, chosen, hidden]``."""
    (tokens, hidden), count = x.shape, chosen.shape[1]
    tables = _tables(graph, experts, hidden, name)
    pairs = ark.reshape(chosen, (tokens * count,))
    rows = ark.reshape(x, (tokens, 1, hidden))
    if tokens > 1:  # the row of one token is read in place
        rows = ark.broadcast_to(rows, (tokens, count, hidden))
        rows = ark.reshape(rows, (tokens * count, 1, hidden), name=f"{name}.rows")

    def product(rows: Tensor, part: int) -> Tensor:
        label = f"{name}.experts.{PROJECTIONS[part]}"
        return ark.indexed_matmul(rows, tables[part], pairs, name=label)

    parts = _build_expert(graph, experts, rows, pairs, product, name)
    return ark.reshape(parts, (tokens, count, hidden))


def _by_expert(graph: Graph, experts: Experts, x: Tensor, chosen: Tensor, name: str) -> Tensor:
    """Returns the result of each expert of each token, ``[tokens, chosen, hidden]``.

    Does the same as :func:`_by_pair`, but sorts the pairs of token and expert by expert, so that
    the rows of an expert form one product.
    """
    tokens, count = chosen.shape
    pairs = tokens * count
    tables = _tables(graph, experts, x.shape[1], name)
    owner = ark.reshape(chosen, (pairs,))
    by_expert = Order.of(owner, experts.held, name)

    def product(rows: Tensor, part: int) -> Tensor:
        label = f"{name}.experts.{PROJECTIONS[part]}"
        return ark.grouped_matmul(rows, tables[part], by_expert.counts, name=label)

    rows = ark.gather(x, ark.div(by_expert.order, count), 0, name=f"{name}.sorted")
    owners = owner
    if experts.bias:
        owners = ark.gather(owner, by_expert.order, 0, name=f"{name}.owners")
    parts = _build_expert(graph, experts, rows, owners, product, name)
    parts = ark.gather(parts, by_expert.position, 0, name=f"{name}.unsorted")
    return ark.reshape(parts, (tokens, count, x.shape[1]))


def _shared(graph: Graph, experts: Experts, x: Tensor, name: str) -> Tensor:
    """Returns the result of the expert of all tokens."""
    name = f"{name}.{experts.shared_name}"
    gate, up = (graph.dense(x, f"{name}.{part}", experts.shared) for part in PROJECTIONS[:2])
    inner = _activate(graph, experts, gate, up, name)
    if experts.shared_gate:
        # Before the last product: ranks may divide the rows of its result.
        scale = ark.sigmoid(graph.dense(x, f"{name}_gate", 1), name=f"{name}_gate")
        inner = ark.mul(inner, scale, name=name)
    return graph.dense(inner, f"{name}.down_proj", x.shape[1])
