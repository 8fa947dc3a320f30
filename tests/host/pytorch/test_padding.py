"""Graphs on padded tensors have the results of the graphs, for all values of the padding.

No program is compiled. PyTorch computes each graph twice: as it is, and by the Padder on tensors
whose padding is NaN, or the largest integer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
nn = torch.nn
functional = nn.functional
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
    pytest.mark.usefixtures("fresh_torch"),
]


def dynamic(tensor: Any, *dims: int) -> Any:
    """Marks dimensions of an input as dynamic; by default the first."""
    for dim in dims or (0,):
        torch._dynamo.mark_dynamic(tensor, dim)
    return tensor


def traced(function: Callable[..., Any], arguments: Any) -> tuple[Any, list[Any]]:
    """Returns the ATen graph of a function with symbols for dynamic sizes, and its arguments."""
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    from ark_mlir.pytorch.decompositions import decompositions

    seen: list[Any] = []

    def keep(graph: Any, _: Any) -> Any:
        def run(*given: Any) -> Any:
            seen[:] = [graph, list(given)]
            return graph.forward(*given)

        return make_boxed_func(run)

    backend = aot_autograd(
        fw_compiler=keep, inference_compiler=keep, decompositions=decompositions()
    )
    torch.compile(function, backend=backend)(*arguments)
    return seen[0], seen[1]


def poisoned(tensor: Any, described: Any, sizes: Any) -> Any:
    from ark_mlir.pytorch.axes import axis_of_size

    shape = sizes.shape(tuple(axis_of_size(size) for size in described.shape))
    worst = True if tensor.dtype == torch.bool else (
        math.nan if tensor.is_floating_point() else torch.iinfo(tensor.dtype).max
    )  # fmt: skip
    wide = tensor.new_full(shape, worst)
    wide[tuple(slice(0, extent) for extent in tensor.shape)] = tensor
    return wide


def assert_padded(function: Callable[..., Any], *arguments: Any, equal: bool = False) -> None:
    """Checks the results of a function's graph on poisoned tensors. If `equal`, sizes that are
    equal in this call are taken to be the same."""
    from ark_mlir.pytorch.axes import Sizes, bucket
    from ark_mlir.pytorch.padding import Padder
    from ark_mlir.pytorch.specialise import _lengths, _Results, _same, _sources

    graph, given = traced(function, arguments)
    described = [n.meta.get("val") for n in graph.graph.nodes if n.op == "placeholder"]
    sources = _sources(described)
    assert sources, "no size is dynamic"
    values = {symbol: source(given) for symbol, source in sources.items()}
    sizes = Sizes({symbol: bucket(value + 1) for symbol, value in values.items()})
    lengths = _lengths(values, torch.device("cpu"))
    same = _same(values) if equal else {}
    padder = Padder(graph, sizes, dict(zip(values, lengths, strict=True)), same)
    tensors = [
        poisoned(a, d, sizes) if isinstance(a, torch.Tensor) else a
        for a, d in zip(given, described, strict=True)
    ]
    outputs = padder.run(*tensors)
    got = _Results(graph, padder.results).cut(outputs, values)
    wanted = graph.forward(*given)
    for y, w in zip(got, wanted, strict=True):
        if isinstance(w, torch.Tensor):
            torch.testing.assert_close(y, w, rtol=1e-5, atol=1e-6)
            assert y.stride() == w.stride()
        else:
            assert y == w


def rows(*shape: int) -> Any:
    return dynamic(torch.randn(5, *shape))


def causal(x: Any) -> Any:
    n = x.shape[0]
    scores = (x @ x.t()).masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), -math.inf)
    return torch.softmax(scores, -1) @ x


def masked_attention(x: Any) -> Any:
    q = x.unsqueeze(0).unsqueeze(0)
    keep = torch.arange(x.shape[0]) <= torch.arange(x.shape[0])[:, None]
    return functional.scaled_dot_product_attention(q, q, q, attn_mask=keep)


def sorted_pairs(x: Any) -> Any:
    """Sorts twice as many rows as `x` has, adds their number, and restores the order."""
    keys = (x[:, :2] * 3).to(torch.int64).reshape(-1)
    ordered, order = keys.sort(stable=True)
    rows = x[order // 2] * ordered[:, None]
    back = torch.empty_like(order).index_put((order,), torch.arange(order.shape[0]))
    return rows[back].view(-1, 2, 8).sum(1)


GRAPHS: dict[str, Callable[[Any], Any]] = {
    "elements": lambda x: (x * 2 + 1).relu() / (x.abs() + 1),
    "a number": lambda x: x * x.shape[0] + x.shape[0] // 1,
    "softmax": lambda x: x.softmax(0) + x.log_softmax(0),
    "sums": lambda x: (x.sum(0), x.sum(), x.mean(0), x.mean(), x.mean(1)),
    "extremes": lambda x: (x.amax(0), x.max(0), x.min(0), x.argmax(0), (x > 9).any(0)),
    "prefixes": lambda x: x.cumsum(0),
    "contraction": lambda x: x.t() @ x,
    "outer": lambda x: x @ x.t(),
    "linear": lambda x: functional.linear(x, torch.ones(3, 8), torch.ones(3)),
    "joined": lambda x: x.unsqueeze(0).expand(3, -1, -1).reshape(-1, 8).mul(2).view(3, -1, 8),
    "joined softmax": lambda x: x.expand(3, *x.shape).reshape(-1, 8).exp().sum(0),
    "heads": lambda x: x.view(-1, 2, 4).transpose(0, 1).sum(-1),
    "last": lambda x: (x[-1], x[-2:], x[1:], x[:-1], x[:3], x[2]),
    "differences": lambda x: x[1:] - x[:-1],
    "before": lambda x: torch.cat([torch.zeros(2, 8), x]),
    "after": lambda x: torch.cat([x, torch.ones(1, 8)]).softmax(0),
    "after nothing": lambda x: torch.cat([torch.zeros(0), x, torch.zeros(0)], 1),
    "twice after": lambda x: torch.cat([torch.cat([x, torch.ones(1, 8)]), torch.ones(2, 8)])[3:],
    "positions": lambda x: torch.arange(x.shape[0]) + 1,
    "table": lambda x: torch.randn(64, 8)[torch.arange(x.shape[0])] * 0 + x,
    "from the end": lambda x: x[torch.tensor([-1, 0, -2])],
    "gathered": lambda x: x.gather(0, torch.zeros(1, 8, dtype=torch.int64).expand(x.shape[0], 8)),
    "triangle": lambda x: (x @ x.t()).tril(),
    "causal": causal,
    "attention": lambda x: functional.scaled_dot_product_attention(x[None], x[None], x[None]),
    "causal attention": lambda x: functional.scaled_dot_product_attention(
        x[None, None], x[None, None], x[None, None], is_causal=True
    ),
    "masked attention": masked_attention,
    "grouped-query attention": lambda x: functional.scaled_dot_product_attention(
        x.view(1, -1, 4, 2).transpose(1, 2), x[None, None, :, :2], x[None, None, :, 2:4],
        is_causal=True, enable_gqa=True,
    ),
    "norm": lambda x: functional.layer_norm(x, (8,)),
    "padded": lambda x: functional.pad(x, (1, 2)),
    "split": lambda x: torch.stack(x.split(4, 1)) + torch.stack(x.chunk(2, 1)),
    "sizes": lambda x: (x, x.shape[0] + 1),
    "integers": lambda x: (x * 7).to(torch.int64) // (x.to(torch.int64) * 0 + 3),
    "largest": lambda x: x.topk(3),
    "smallest": lambda x: x.topk(2, -1, largest=False)[0],
    "sorted": lambda x: (*x.sort(0), *x.sort(1)),
    "sorted in descending order": lambda x: x.round().sort(dim=0, descending=True, stable=True),
    "sorted integers": lambda x: (x * 2).to(torch.int64).sort(dim=0, stable=True),
    "histogram": lambda x: torch.histc(x, 4, -1, 2),
    "sorted pairs": sorted_pairs,
    "full": lambda x: x + torch.full((x.shape[0], 1), 2.0) + torch.zeros_like(x),
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs(name: str) -> None:
    assert_padded(GRAPHS[name], rows(8))


def test_ops_of_losses_and_backward_passes() -> None:
    aten = torch.ops.aten

    def gradients(x: Any) -> Any:
        logs, labels = x.log_softmax(1), x.argmax(1)
        loss, count = aten.nll_loss_forward(logs, labels, torch.ones(8), 1, 2)
        slopes = aten.nll_loss_backward(loss, logs, labels, None, 1, 2, count)
        rows = aten.embedding_dense_backward(x, labels, 8, 3, False)
        return loss, slopes, rows, *aten.native_layer_norm(x, [8], None, None, 1e-5)

    def filters(x: Any) -> Any:
        settings = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True] * 3)
        return aten.convolution_backward(x[:, :, 2:, 2:], x, torch.ones(3, 3, 3, 3), [3], *settings)

    assert_padded(gradients, rows(8))
    assert_padded(filters, dynamic(torch.randn(5, 3, 6, 6)))


def test_batches_of_images() -> None:
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.GroupNorm(2, 4), nn.MaxPool2d(2))
    assert_padded(net.eval(), dynamic(torch.randn(5, 3, 8, 8)))


def test_two_sizes() -> None:
    def scores(x: Any, y: Any) -> Any:
        return torch.softmax(x @ y.t(), -1) @ y

    assert_padded(scores, rows(8), dynamic(torch.randn(7, 8)))


def test_ids_and_a_mask() -> None:
    table = nn.Embedding(11, 8)

    def embed(ids: Any, mask: Any) -> Any:
        hidden = table(ids) * mask.unsqueeze(-1)
        return hidden.sum(1) / mask.sum(1, keepdim=True)

    ids = dynamic(torch.tensor([[1, 10, 3, 4, 5], [0, 2, 2, 9, 8]]), 1)
    assert_padded(embed, ids, dynamic(torch.ones(2, 5), 1))


@pytest.mark.parametrize("model", ["Llama", "GPT2", "Mixtral"])
def test_a_decoder_of_transformers(model: str) -> None:
    """The cache begins with tensors of shape (0,), heads of Llama's queries share keys, and
    Mixtral sorts rows by expert."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    heads = {} if model == "GPT2" else {"num_key_value_heads": 2}
    config = getattr(transformers, f"{model}Config")(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=1,
        num_attention_heads=4, bos_token_id=0, eos_token_id=1, **heads,
    )  # fmt: skip
    decoder = getattr(transformers, f"{model}Model")(config).eval()

    def decode(ids: Any) -> Any:
        result = decoder(input_ids=ids)
        return result.last_hidden_state, result.past_key_values.layers[0].keys

    ids = dynamic(torch.tensor([[1, 10, 3, 4, 5]]), 1)
    with torch.no_grad():
        assert_padded(decode, ids)


def test_an_encoder_layer() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        assert_padded(layer, dynamic(torch.randn(2, 5, 8), 1))
    finally:
        torch.backends.mha.set_fastpath_enabled(True)


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "joined sizes leave the graph": (lambda x: x.reshape(-1) + 1, "a result with joined sizes"),
    "a sort of joined sizes": (
        lambda x: x.unsqueeze(0).expand(3, -1, -1).reshape(-1, 8).sort(0).values,
        "joined sizes",
    ),
    "the largest of a size": (lambda x: x.topk(2, 0)[0], "the largest elements along a size"),
    "a write elsewhere": (
        lambda x: torch.zeros(9, 8).index_put((x[:, 0].to(torch.int64),), x),
        "other rows than",
    ),
    "a flip": (lambda x: x.flip(0), "aten.flip"),
    "a variance": (lambda x: x.var(0), "aten.var"),
    "a normalised size": (lambda x: functional.layer_norm(x.t(), (x.shape[0],)), "over a size"),
    "a step": (lambda x: x[::2], "the size|a step"),
    "a size as an operand": (lambda x: x.new_zeros(x.shape[0] * x.shape[0], 8), "the size"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    from ark_mlir.pytorch.axes import Refusal

    function, reason = REFUSED[name]
    with pytest.raises(Refusal, match=reason):
        assert_padded(function, rows(8))


def test_equal_sizes_are_not_the_same_size() -> None:
    from ark_mlir.pytorch.axes import Refusal

    def add(x: Any, y: Any) -> Any:
        return torch.cat([x, y])

    with pytest.raises(Refusal, match="two sizes that change"):
        assert_padded(add, rows(8), dynamic(torch.randn(7, 8)))


def test_keys_and_values_of_equal_lengths() -> None:
    """TorchDynamo gives them a symbol each if their lengths happened to be equal at first."""
    from ark_mlir.pytorch.axes import Refusal

    def attend(q: Any, k: Any, v: Any) -> Any:
        new = torch.ones(1, 2, 1, 8)
        k, v = torch.cat([k, new], 2), torch.cat([v, new], 2)
        return functional.scaled_dot_product_attention(q, k, v), k, v

    def apart(*shape: int) -> Any:
        return dynamic(torch.randn(shape), 2)

    def arguments() -> tuple[Any, ...]:
        return torch.randn(1, 2, 1, 8), apart(1, 2, 5, 8), apart(1, 2, 5, 8)

    from torch.fx.experimental import _config

    with _config.patch(use_duck_shape=False):
        with pytest.raises(Refusal, match="an attention over"):
            assert_padded(attend, *arguments())
        torch._dynamo.reset()
        assert_padded(attend, *arguments(), equal=True)
