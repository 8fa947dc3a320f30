"""The experts of decoders: their sizes, routers and names, and their entries in ``config.json``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..errors import InvalidUsageError
from .config import Config

__all__ = [
    "DEFAULT_NAMES", "PROJECTIONS", "Clamp", "Experts", "Names", "Router", "read_deepseek_v2",
    "read_deepseek_v3", "read_gpt_oss", "read_mixtral", "read_olmoe", "read_qwen_moe",
]  # fmt: skip

PROJECTIONS = ("gate_proj", "up_proj", "down_proj")

# The weights of the chosen experts are a softmax of all logits, a sigmoid of each logit, or a
# softmax of the logits of the chosen experts.
Score = Literal["softmax", "sigmoid", "softmax_of_chosen"]


@dataclass(frozen=True)
class Names:
    """The names of the tensors of a file, below ``model.layers.<n>.``.

    Attributes:
        router: the router, without ``.weight`` and ``.bias``.
        expert: the prefix of an expert's tensors, with a field for its number.
        projections: the gate, the other input and the output of an expert.
        correction: the numbers that a router adds to the scores that select experts.
        fused: None, or the prefix of tensors that have the matrices of all experts, with columns
            of gate and input in turn.
    """

    router: str = "mlp.gate"
    expert: str = "mlp.experts.{}"
    projections: tuple[str, str, str] = PROJECTIONS
    correction: str = "mlp.gate.e_score_correction_bias"
    fused: str | None = None


DEFAULT_NAMES = Names()
_MIXTRAL = Names("block_sparse_moe.gate", "block_sparse_moe.experts.{}", ("w1", "w3", "w2"))
_GPT_OSS = Names("mlp.router", fused="mlp.experts")


@dataclass(frozen=True)
class Router:
    """The rule by which a router weighs and selects experts; the defaults are those of Mixtral.

    Attributes:
        score: see :data:`Score`.
        bias: True if the logits have a bias.
        correction: True if numbers of the file are added to the scores that select experts, but
            not to the weights.
        groups: number of groups of experts, of equal size.
        chosen_groups: number of groups whose experts can be selected: those with the best scores.
        best: number of experts of a group whose scores are summed to the score of the group.
        scale: a factor of the weights.
        wide: True if the router's weight and logits are fp32.
    """

    score: Score = "softmax"
    bias: bool = False
    correction: bool = False
    groups: int = 1
    chosen_groups: int = 1
    best: int = 1
    scale: float = 1.0
    wide: bool = False


@dataclass(frozen=True)
class Clamp:
    """The activation of gpt-oss: ``(up + 1) * gate * sigmoid(alpha * gate)``, of clamped inputs.

    Attributes:
        limit: the maximum of `gate`, and the maximum magnitude of `up`.
    """

    alpha: float
    limit: float


@dataclass(frozen=True)
class Experts:
    """The experts of a decoder.

    Attributes:
        num_experts: number of experts of a layer.
        experts_per_token: number of experts that compute each token.
        width: number of inner columns of an expert, or of a rank's shard of it.
        normalize: True if the weights of the chosen experts are scaled to a sum of one.
        dense: the layers that have an MLP without experts.
        shared: number of inner columns of the expert that all tokens get; 0 for none.
        shared_name: the name of this expert.
        shared_gate: True if a sigmoid of the hidden states scales the result of this expert.
        router: how the router weighs and selects experts.
        bias: True if the projections of experts have biases.
        clamp: the activation, if it is not that of the decoder's MLP.
        names: the names of the tensors in files.
        ranks: number of ranks that divide the experts, each of which has whole experts.
        capacity: None, or the number of rows that a rank sends to each rank, as a multiple of the
            mean number; see :mod:`.expert_parallel`.

    Example:
        >>> mixtral_8x7b = Experts(num_experts=8, experts_per_token=2, width=14336, normalize=True)
    """

    num_experts: int
    experts_per_token: int
    width: int
    normalize: bool
    dense: frozenset[int] = frozenset()
    shared: int = 0
    shared_name: str = "shared_expert"
    shared_gate: bool = True
    router: Router = Router()
    bias: bool = False
    clamp: Clamp | None = None
    names: Names = DEFAULT_NAMES
    ranks: int = 1
    capacity: float | None = None

    @property
    def held(self) -> int:
        """Returns the number of experts that a rank has."""
        return self.num_experts // self.ranks

    @property
    def exchanges(self) -> bool:
        """Returns True if ranks exchange the rows of tokens."""
        return self.capacity is not None

    def has(self, layer: int) -> bool:
        """Returns True if a layer has experts."""
        return layer not in self.dense

    def divide(self, size: int, whole: bool = False) -> Experts:
        """Returns the shard of a rank if `size` ranks divide the inner columns of every expert.

        With `whole`, the ranks divide the experts instead, and the columns of the shared expert.
        Raises InvalidUsageError if `size` does not divide the columns or the number of experts.
        """
        divided = [(f"{self.shared} columns of the shared expert", self.shared)]
        if whole:
            divided.append((f"{self.num_experts} experts", self.num_experts))
        else:
            divided.append((f"{self.width} columns of the expert", self.width))
        for label, extent in divided:
            if extent % size:
                raise InvalidUsageError(f"tensor_parallel {size} does not divide the {label}")
        if whole:
            return replace(self, ranks=size, shared=self.shared // size)
        return replace(self, width=self.width // size, shared=self.shared // size)


# -- config.json ----------------------------------------------------------------------------------

# Takes the configuration and the number of layers.
Read = Callable[[Config, int], Experts]


def read_mixtral(config: Config, layers: int) -> Experts:
    """Reads the experts of Mixtral."""
    return _read(
        config,
        num_experts=config.count("num_local_experts"),
        width=config.count("intermediate_size"),
        normalize=True,
        names=_MIXTRAL,
    )


def read_qwen_moe(config: Config, layers: int) -> Experts:
    """Reads the experts of Qwen 2 and Qwen 3; those of Qwen 2 have a shared expert."""
    key = "num_experts" if "num_experts" in config.entries else "num_local_experts"
    shared = config.word("model_type") == "qwen2_moe"
    return _read(
        config,
        num_experts=config.count(key),
        width=config.count("moe_intermediate_size"),
        normalize=config.flag("norm_topk_prob", False),
        dense=_dense_layers(config, layers),
        shared=config.count("shared_expert_intermediate_size") if shared else 0,
    )


def read_olmoe(config: Config, layers: int) -> Experts:
    """Reads the experts of OLMoE."""
    return _read(
        config,
        num_experts=config.count("num_experts"),
        width=config.count("intermediate_size"),
        normalize=config.flag("norm_topk_prob", False),
    )


def read_gpt_oss(config: Config, layers: int) -> Experts:
    """Reads the experts of gpt-oss."""
    # The activation of experts does not depend on this entry.
    config.plain("hidden_act", "silu")
    return _read(
        config,
        num_experts=config.count("num_local_experts"),
        width=config.count("intermediate_size"),
        normalize=False,
        router=Router("softmax_of_chosen", bias=True),
        bias=True,
        clamp=Clamp(config.number("swiglu_alpha", 1.702), config.number("swiglu_limit", 7.0)),
        names=_GPT_OSS,
    )


def read_deepseek_v2(config: Config, layers: int) -> Experts:
    """Reads the experts of DeepSeek-V2, whose weights are not normalized."""
    method = config.word("topk_method", "greedy")
    config.plain("topk_method", "greedy", "group_limited_greedy")
    config.plain("scoring_func", "softmax")
    config.plain("norm_topk_prob", False)
    return _read_deepseek(
        config, layers, Router(wide=True), grouped=method != "greedy", normalize=False
    )


def read_deepseek_v3(config: Config, layers: int) -> Experts:
    """Reads the experts of DeepSeek-V3 and of GLM-4.5."""
    config.plain("topk_method", "noaux_tc")
    config.plain("scoring_func", "sigmoid")
    router = Router("sigmoid", correction=True, best=2, wide=True)
    normalize = config.flag("norm_topk_prob", True)
    return _read_deepseek(config, layers, router, grouped=True, normalize=normalize)


def _read_deepseek(
    config: Config, layers: int, router: Router, *, grouped: bool, normalize: bool
) -> Experts:
    """Reads the entries that both versions have."""
    config.plain("moe_layer_freq", 1)
    width = config.count("moe_intermediate_size")
    number, per_token = config.count("n_routed_experts"), config.count("num_experts_per_tok")
    router = replace(router, scale=config.number("routed_scaling_factor"))
    if grouped:
        groups, chosen = config.count("n_group"), config.count("topk_group")
        if number % groups or chosen > groups or per_token > number // groups * chosen:
            raise config.error(
                f"{number} experts cannot form n_group {groups} groups, of which topk_group "
                f"{chosen} have num_experts_per_tok {per_token} experts"
            )
        if number // groups < router.best:
            raise config.error(f"n_group {groups} has fewer than {router.best} experts in a group")
        if groups > 1:
            router = replace(router, groups=groups, chosen_groups=chosen)
    else:
        config.skip("n_group")
        config.skip("topk_group")
    return _read(
        config,
        num_experts=number,
        width=width,
        normalize=normalize,
        dense=frozenset(range(min(config.natural("first_k_dense_replace"), layers))),
        shared=width * config.natural("n_shared_experts"),
        shared_name="shared_experts",
        shared_gate=False,
        router=router,
    )


def _read(config: Config, **fields: Any) -> Experts:
    experts = Experts(experts_per_token=config.count("num_experts_per_tok"), **fields)
    if experts.experts_per_token > experts.num_experts:
        raise config.error(
            f"num_experts_per_tok {experts.experts_per_token} exceeds the number of experts "
            f"{experts.num_experts}"
        )
    # These entries concern training.
    config.flag("output_router_logits", False)
    for key in ("router_aux_loss_coef", "router_jitter_noise", "aux_loss_alpha"):
        config.number(key, 0)
    config.flag("seq_aux", True)
    return experts


def _dense_layers(config: Config, layers: int) -> frozenset[int]:
    step = config.count("decoder_sparse_step", 1)
    named: tuple[int, ...] = ()
    if config.entries.get("mlp_only_layers") is not None:
        named = config.counts("mlp_only_layers")
    return frozenset(n for n in range(layers) if n in named or (n + 1) % step)
