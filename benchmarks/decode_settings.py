"""The models, contexts and batches of benchmarks/decode.py and benchmarks/serving.py."""

from __future__ import annotations

from dataclasses import dataclass, replace

Shapes = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class Sizes:
    """The sizes of a decoder, with the field names of ``ark_mlir.models.decoder.DecoderConfig``.

    DecoderConfig belongs to the compiler, which a machine that only runs bundles need not have.
    `scaling` holds the fields of RopeScaling. The matrices of layers have weights of `bits` bits:
    16 for bf16, 8 for fp8 with fp32 scales, and 4 for numbers with fp16 scales and int8 zeros, of
    groups of `group` inputs.
    """

    vocabulary: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head: int
    intermediate: int
    eps: float
    theta: float
    scaling: tuple[float, float, float, int] | None = None
    tied: bool = True
    qk_norm: bool = False
    bits: int = 16
    group: int = 128

    def quantized(self) -> Shapes:
        """Returns the shapes of the weights that are quantized, by their Hugging Face names."""
        if self.bits == 16:
            return {}
        return {
            name: shape
            for name, shape in self.parameters().items()
            if ".layers." in name and len(shape) == 2
        }

    @property
    def bytes_per_weight(self) -> float:
        """Returns the bytes of an element of a layer's matrices, with its share of the scale and
        of the zero of its group."""
        factors = {16: 0, 8: 4, 4: 3}[self.bits]
        return self.bits / 8 + factors / self.group

    def parameters(self) -> Shapes:
        """Returns the shapes of the weights, by their Hugging Face names."""
        hidden, queries, keys = self.hidden, self.heads * self.head, self.kv_heads * self.head
        layer: Shapes = {
            "input_layernorm": (hidden,),
            "self_attn.q_proj": (queries, hidden),
            "self_attn.k_proj": (keys, hidden),
            "self_attn.v_proj": (keys, hidden),
            "self_attn.o_proj": (hidden, queries),
            "post_attention_layernorm": (hidden,),
            "mlp.gate_proj": (self.intermediate, hidden),
            "mlp.up_proj": (self.intermediate, hidden),
            "mlp.down_proj": (hidden, self.intermediate),
        }
        if self.qk_norm:
            layer |= {"self_attn.q_norm": (self.head,), "self_attn.k_norm": (self.head,)}
        shapes: Shapes = {"model.embed_tokens.weight": (self.vocabulary, hidden)}
        for index in range(self.layers):
            shapes |= {f"model.layers.{index}.{name}.weight": layer[name] for name in layer}
        shapes["model.norm.weight"] = (hidden,)
        if not self.tied:
            shapes["lm_head.weight"] = (self.vocabulary, hidden)
        return shapes

    def cache(self, batch: int, context: int) -> tuple[int, ...]:
        """Returns the shape of the keys, or values, of one layer."""
        return (batch, self.kv_heads, context, self.head)


LLAMA_1B = Sizes(
    vocabulary=128256,
    hidden=2048,
    layers=16,
    heads=32,
    kv_heads=8,
    head=64,
    intermediate=8192,
    eps=1e-5,
    theta=500000.0,
    scaling=(32.0, 1.0, 4.0, 8192),
)
QWEN3_600M = Sizes(
    vocabulary=151936,
    hidden=1024,
    layers=28,
    heads=16,
    kv_heads=8,
    head=128,
    intermediate=3072,
    eps=1e-6,
    theta=1000000.0,
    qk_norm=True,
)
QWEN3_4B = Sizes(
    vocabulary=151936,
    hidden=2560,
    layers=36,
    heads=32,
    kv_heads=8,
    head=128,
    intermediate=9728,
    eps=1e-6,
    theta=1000000.0,
    qk_norm=True,
)
QWEN3_8B = Sizes(
    vocabulary=151936,
    hidden=4096,
    layers=36,
    heads=32,
    kv_heads=8,
    head=128,
    intermediate=12288,
    eps=1e-6,
    theta=1000000.0,
    tied=False,
    qk_norm=True,
)
QWEN3_14B = Sizes(
    vocabulary=151936,
    hidden=5120,
    layers=40,
    heads=40,
    kv_heads=8,
    head=128,
    intermediate=17408,
    eps=1e-6,
    theta=1000000.0,
    tied=False,
    qk_norm=True,
)
LLAMA_8B = Sizes(
    vocabulary=128256,
    hidden=4096,
    layers=32,
    heads=32,
    kv_heads=8,
    head=128,
    intermediate=14336,
    eps=1e-5,
    theta=500000.0,
    scaling=(8.0, 1.0, 4.0, 8192),
    tied=False,
)
TINY = Sizes(
    vocabulary=512,
    hidden=64,
    layers=2,
    heads=4,
    kv_heads=2,
    head=16,
    intermediate=128,
    eps=1e-5,
    theta=10000.0,
    scaling=(8.0, 1.0, 4.0, 64),
    tied=False,
)
TINY_WIDE = Sizes(
    vocabulary=8192,
    hidden=256,
    layers=2,
    heads=8,
    kv_heads=4,
    head=32,
    intermediate=512,
    eps=1e-5,
    theta=10000.0,
    tied=False,
)
TINY_NORM = Sizes(
    vocabulary=384,
    hidden=96,
    layers=3,
    heads=6,
    kv_heads=3,
    head=32,
    intermediate=160,
    eps=1e-6,
    theta=10000.0,
    qk_norm=True,
)


@dataclass(frozen=True)
class Setting:
    """One line of figures.

    Attributes:
        context: number of positions of the cache; the generated tokens are the last ones.
    """

    description: str
    sizes: Sizes
    context: int
    batch: int = 1

    def bytes_read(self, tokens: int) -> float:
        """Returns the bytes that a step must read: the weights once, and the cache, on average."""
        sizes = self.sizes
        shapes = sizes.parameters()
        if not sizes.tied:
            del shapes["model.embed_tokens.weight"]  # a step reads one of its rows
        quantized = sizes.quantized()
        weights = sum(
            _product(shape) * (sizes.bytes_per_weight if name in quantized else 2.0)
            for name, shape in shapes.items()
        )
        length = self.context - (tokens - 1) / 2
        row = _product(sizes.cache(self.batch, 1))
        return weights + 4.0 * sizes.layers * row * length

    def flops(self, tokens: int) -> float:
        """Returns the floating-point operations of the products of a step, on average."""
        sizes = self.sizes
        shapes = sizes.parameters()
        if not sizes.tied:
            del shapes["model.embed_tokens.weight"]
        weights = sum(_product(shape) for shape in shapes.values() if len(shape) == 2)
        pairs = self.context - (tokens - 1) / 2
        attention = 2 * sizes.layers * sizes.heads * sizes.head * pairs
        return 2.0 * self.batch * (weights + attention)


def untied(setting: Setting) -> Setting:
    """Returns a setting whose vocabulary head is a weight of its own."""
    return replace(setting, sizes=replace(setting.sizes, tied=False))


def _product(shape: tuple[int, ...]) -> int:
    result = 1
    for extent in shape:
        result *= extent
    return result


SETTINGS = {
    "A": Setting("Llama-3.2-1B, positions up to 160", LLAMA_1B, 160),
    "B": Setting("Qwen3-0.6B, context 1024", QWEN3_600M, 1024),
    "A-1k": Setting("A', Llama-3.2-1B, context 1024", LLAMA_1B, 1024),
    "A-b8": Setting("Llama-3.2-1B, positions up to 160, batch 8", LLAMA_1B, 160, batch=8),
    "A-128": Setting("Llama-3.2-1B, context 128", LLAMA_1B, 128),
    "A-4k": Setting("Llama-3.2-1B, context 4096", LLAMA_1B, 4096),
    "A-16k": Setting("Llama-3.2-1B, context 16384", LLAMA_1B, 16384),
    "Qwen3-4B": Setting("Qwen3-4B, positions up to 160", QWEN3_4B, 160),
    "Qwen3-8B": Setting("Qwen3-8B, positions up to 160", QWEN3_8B, 160),
    "Qwen3-14B": Setting("Qwen3-14B, positions up to 160", QWEN3_14B, 160),
    "Llama-3.1-8B": Setting("Llama-3.1-8B, positions up to 160", LLAMA_8B, 160),
    "Llama-3.1-8B-fp8": Setting(
        "Llama-3.1-8B in fp8, scales of 128 inputs, positions up to 160",
        replace(LLAMA_8B, bits=8), 160,
    ),
    "Llama-3.1-8B-int4": Setting(
        "Llama-3.1-8B in 4 bits, groups of 128 inputs, positions up to 160",
        replace(LLAMA_8B, bits=4), 160,
    ),
    "tiny": Setting("a small Llama", TINY, 48),
    "tiny-fp8": Setting("a small Llama in fp8", replace(TINY, bits=8, group=32), 48),
    "tiny-int4": Setting("a small Llama in 4 bits", replace(TINY, bits=4, group=32), 48),
    "tiny-160": Setting("a small Llama, positions up to 160", TINY_WIDE, 160),
    "tiny-norm": Setting("a small Qwen3, batch 2", TINY_NORM, 40, batch=2),
}  # fmt: skip
FIGURES = ("A", "B", "A-1k")


def _serving() -> dict[str, Setting]:
    """Returns the batches and contexts of benchmarks/serving.py."""
    models = {"1B": ("Llama-3.2-1B", LLAMA_1B), "8B": ("Qwen3-8B", QWEN3_8B)}
    return {
        f"{name}-{context}-b{batch}": Setting(
            f"{description}, context {context}, batch {batch}", sizes, context, batch
        )
        for name, (description, sizes) in models.items()
        for context in (160, 4096)
        for batch in (1, 2, 4, 8, 16, 32, 64)
    }


SERVING = {**_serving(), "tiny-b4": Setting("a small Llama, batch 4", TINY, 48, batch=4)}
