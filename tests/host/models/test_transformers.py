"""Randomly initialised models of transformers are saved as users get them, loaded and compared.

Logits agree with transformers in float64 up to its table of angles, which it makes in fp32;
compiled logits agree with the float64 interpreter within its bound; and tokens are the same.
"""

from __future__ import annotations

import copy
import dataclasses
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")

import ark_mlir as ark
from ark_mlir.testing.bounds import assert_within

torch: Any = importlib.import_module("torch")
transformers: Any = importlib.import_module("transformers")

Pick = Callable[[str], str]

# transformers computes angles, and their cosines, in fp32.
ANGLES = 3e-5

LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 32,
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Decoder:
    """One model, and the options of its run."""

    kind: str
    heads: int
    kv_heads: int
    vocabulary: int
    prompt: int = 13
    chunk: int = 5
    target: str = "cpu:2"
    # The number of positions of the cache, if it exceeds the number of tokens.
    positions: int = 0
    more: dict[str, Any] = dataclasses.field(default_factory=dict[str, Any])

    def make(self, folder: Path) -> Any:
        """Saves the model and returns it in float64."""
        torch.manual_seed(self.heads * 1000 + self.vocabulary)
        sizes: dict[str, Any] = {
            "vocab_size": self.vocabulary, "hidden_size": 8 * self.heads, "num_hidden_layers": 2,
            "num_attention_heads": self.heads, "num_key_value_heads": self.kv_heads,
            "intermediate_size": 44, "max_position_embeddings": 128, "initializer_range": 0.3,
            "bos_token_id": None, "eos_token_id": None, "pad_token_id": None,
        }  # fmt: skip
        families = {
            "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
            "qwen3": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM),
            "mixtral": (transformers.MixtralConfig, transformers.MixtralForCausalLM),
            "qwen3_moe": (transformers.Qwen3MoeConfig, transformers.Qwen3MoeForCausalLM),
        }
        config, family = families[self.kind]
        model = family(config(**{**sizes, **self.more})).float()
        with torch.no_grad():  # norms are initialised as ones, which would hide a missing weight
            for name, parameter in model.named_parameters():
                if "norm" in name:
                    parameter.add_(0.3 * torch.randn_like(parameter))
                if "experts" in name or "mlp.gate." in name:  # zeros in some versions
                    parameter.copy_(0.3 * torch.randn_like(parameter))
        if hasattr(model, "set_experts_implementation"):  # others do not take float64
            model.set_experts_implementation("eager")
        model.save_pretrained(folder)
        return model.double().eval()

    @property
    def ids(self) -> list[int]:
        return [(7 * i + 3) % self.vocabulary for i in range(self.prompt)]


DECODERS = {
    "llama": Decoder("llama", 4, 4, 37),
    "grouped": Decoder("llama", 6, 2, 101, more={"rope_parameters": LLAMA3}),
    "one key head": Decoder("llama", 8, 1, 128, more={"tie_word_embeddings": True}),
    "odd head count": Decoder("llama", 5, 5, 251, prompt=1, chunk=8),
    "long prompt": Decoder(
        "llama", 4, 2, 53, prompt=67, chunk=16, more={"rope_parameters": LLAMA3}
    ),
    "biases": Decoder("llama", 4, 2, 61, more={"attention_bias": True, "mlp_bias": True}),
    "wide heads": Decoder("llama", 4, 2, 61, more={"head_dim": 24}),
    "split cache": Decoder("llama", 4, 1, 53, prompt=67, chunk=4, target="cpu:16", positions=128),
    "split cache, grouped": Decoder(
        "qwen3", 6, 2, 45, prompt=40, chunk=5, target="cpu:16", positions=120, more={"head_dim": 16}
    ),
    "qwen3": Decoder("qwen3", 4, 2, 97, more={"head_dim": 16}),
    "qwen3, tied": Decoder(
        "qwen3", 3, 1, 45, prompt=40, chunk=7, more={"head_dim": 8, "tie_word_embeddings": True}
    ),
    "mixtral": Decoder(
        "mixtral", 4, 2, 61, more={"num_local_experts": 4, "num_experts_per_tok": 2}
    ),
    "qwen3_moe": Decoder(
        "qwen3_moe", 4, 2, 61, prompt=20, chunk=16,
        more={
            "head_dim": 16, "num_experts": 6, "num_experts_per_tok": 2, "norm_topk_prob": True,
            "moe_intermediate_size": 20,
        },
    ),
    "qwen3_moe with a dense layer": Decoder(
        "qwen3_moe", 4, 2, 61,
        more={
            "head_dim": 16, "num_experts": 8, "num_experts_per_tok": 3, "norm_topk_prob": False,
            "moe_intermediate_size": 20, "mlp_only_layers": [0],
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DECODERS)
def test_a_decoder(name: str, tmp_path: Path, pick_target: Pick, pick_splitting: Any) -> None:
    case = DECODERS[name]
    theirs, ids, count = case.make(tmp_path), case.ids, 12
    prompt = torch.tensor([ids])
    with torch.no_grad():
        logits = theirs(prompt).logits[0].numpy()
        # Without a mask, transformers would mask tokens that equal the padding token.
        whole_prompt = {"attention_mask": torch.ones_like(prompt), "pad_token_id": 0}
        continued = theirs.generate(prompt, max_new_tokens=count, do_sample=False, **whole_prompt)
    tokens = continued[0, len(ids) :].tolist()
    limit = max(len(ids) + count, case.positions)
    pick = pick_splitting if case.positions else pick_target
    model = ark.models.load(tmp_path, max_length=limit, chunk=case.chunk)
    model.compile(pick(case.target))
    tasks = model.executables["decode"].report().task_ops
    assert any("partial_attention" in ops for ops, _ in tasks) == (case.positions > 0)
    assert model.generate(ids, count) == tokens
    assert model.generate(ids, count, stop=tokens[4]) == tokens[: tokens.index(tokens[4]) + 1]

    whole = ark.models.load(tmp_path, max_length=limit, chunk=len(ids)).compile(
        pick_target("cpu:2")
    )
    inputs: dict[str, Any] = {
        "ids": np.array([ids], np.int32),
        "begin": 0,
        "ends": -np.ones(8, np.int32),
    }
    if len(ids) > 1:
        inputs["last"] = len(ids) - 1
    program, arrays = whole.programs["prefill"], {**whole.parameters_of("prefill"), **inputs}
    wanted = ark.reference.error_spread(program, arrays)
    expected = wanted.outputs["logits"]
    np.testing.assert_allclose(expected[0], logits[-1], atol=10 * ANGLES)
    got = whole.run("prefill", inputs)["logits"]
    assert_within(got, expected, wanted.bounds["logits"], "logits")


# -- narrow dtypes --------------------------------------------------------------------------------


TORCH_NAMES = {"bf16": "bfloat16", "fp16": "float16"}


def rms(x: Any) -> float:
    return float(np.sqrt(np.mean(np.square(x))))


def device_of(target: str) -> str:
    """Returns PyTorch's device for a target of ark."""
    return "cuda" if target.startswith("cuda") else "cpu"


def narrow_errors(name: str, dtype: str, folder: Path, target: str) -> tuple[float, float]:
    """Returns the errors of ark and PyTorch in a dtype, relative to float64: all logits of a
    prompt, token by token."""
    case = DECODERS[name]
    theirs = case.make(folder).to(getattr(torch, TORCH_NAMES[dtype]))
    ids = [(7 * i + 3) % case.vocabulary for i in range(64)]
    exact, device = copy.deepcopy(theirs).double(), device_of(target)
    with torch.no_grad():
        wanted = exact(torch.tensor([ids])).logits[0].numpy()
        prompt = torch.tensor([ids], device=device)
        plain = theirs.to(device)(prompt).logits[0].double().cpu().numpy()
    model = ark.models.load(folder, max_length=64, chunk=1, dtype=dtype).compile(target)
    inputs = {"ends": -np.ones(8, np.int32)}
    run = model.executables["prefill"].run
    rows = [
        run({"ids": np.array([[token]], np.int32), "begin": index, **inputs})["logits"][0]
        for index, token in enumerate(ids)
    ]
    return rms(np.array(rows) - wanted), rms(plain - wanted)


@pytest.mark.parametrize("dtype", TORCH_NAMES)
def test_narrow_decoders_are_no_further_off_than_pytorch(
    dtype: str, tmp_path: Path, pick_target: Pick
) -> None:
    """Compares mean errors over several models, since the error of one small model is noise."""
    ratios: dict[str, float] = {}
    for number, name in enumerate(("grouped", "long prompt", "wide heads", "qwen3", "qwen3, tied")):
        ours, theirs = narrow_errors(name, dtype, tmp_path / str(number), pick_target("cpu:2"))
        ratios[name] = ours / theirs
    assert np.mean(list(ratios.values())) <= 1, ratios
    assert max(ratios.values()) <= 1.15, ratios


@pytest.mark.parametrize("dtype", TORCH_NAMES)
def test_a_narrow_encoder_is_no_further_off_than_pytorch(
    dtype: str, tmp_path: Path, pick_target: Pick
) -> None:
    """The errors of all hidden states of a batch, relative to float64."""
    torch.manual_seed(4)
    config = transformers.BertConfig(
        vocab_size=97, hidden_size=64, num_hidden_layers=4, num_attention_heads=4,
        intermediate_size=128, max_position_embeddings=32, initializer_range=0.1,
    )  # fmt: skip
    theirs = transformers.BertModel(config).eval()
    theirs.save_pretrained(tmp_path)
    theirs = theirs.to(getattr(torch, TORCH_NAMES[dtype]))
    target = pick_target("cpu:2")
    exact, device = copy.deepcopy(theirs).double(), device_of(target)
    ids = np.array([[(5 * i + 11 * row) % 97 for i in range(32)] for row in range(4)])
    with torch.no_grad():
        wanted = exact(torch.tensor(ids)).last_hidden_state.numpy()
        plain = theirs.to(device)(torch.tensor(ids, device=device)).last_hidden_state
    options = {"batch": 4, "length": 32, "pooling": "none", "normalize": False, "dtype": dtype}
    got = ark.models.load(tmp_path, **options).compile(target).embed(ids)
    assert rms(got - wanted) <= rms(plain.double().cpu().numpy() - wanted)


# -- encoders -------------------------------------------------------------------------------------

ENCODERS: dict[str, dict[str, Any]] = {
    "gelu": {},
    "one head": {"num_attention_heads": 1, "hidden_act": "gelu_new", "type_vocab_size": 1},
    "three layers": {"num_hidden_layers": 3, "num_attention_heads": 6, "hidden_act": "relu"},
    "silu": {"hidden_act": "swish", "vocab_size": 101, "type_vocab_size": 3},
}
PROMPTS = [[5, 9, 2, 17, 3], [4], [8, 8, 1, 30, 30, 2, 6, 11, 23], [1, 2], [7, 7, 7]]


@pytest.mark.parametrize("name", ENCODERS)
def test_an_encoder(name: str, tmp_path: Path, pick_target: Pick) -> None:
    """Batches of unequal lengths, with token types, padding and every pooling."""
    torch.manual_seed(3)
    sizes: dict[str, Any] = {
        "vocab_size": 37, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 40, "max_position_embeddings": 16, "initializer_range": 0.3,
    }  # fmt: skip
    config = transformers.BertConfig(**{**sizes, **ENCODERS[name]})
    theirs = transformers.BertModel(config).float()
    theirs.save_pretrained(tmp_path)
    theirs = theirs.double().eval()
    longest = max(map(len, PROMPTS))
    ids, mask, types = (np.zeros((len(PROMPTS), longest), np.int64) for _ in range(3))
    for row, prompt in enumerate(PROMPTS):
        ids[row, : len(prompt)], mask[row, : len(prompt)] = prompt, 1
        types[row, len(prompt) // 2 : len(prompt)] = config.type_vocab_size - 1
    with torch.no_grad():
        result = theirs(
            torch.tensor(ids), attention_mask=torch.tensor(mask), token_type_ids=torch.tensor(types)
        )
    hidden, pooled = result.last_hidden_state.numpy(), result.pooler_output.numpy()
    mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
    expected = {
        "mean": mean / np.linalg.norm(mean, axis=1, keepdims=True), "cls": hidden[:, 0],
        "pooler": pooled, "none": hidden,
    }  # fmt: skip
    for pooling, value in expected.items():
        model = ark.models.load(
            tmp_path, batch=3, length=12, pooling=pooling, normalize=pooling == "mean"
        )
        exact = model.embed(ids, mask, types, reference=True)
        got = model.compile(pick_target("cpu:2")).embed(ids, mask, types)
        if pooling == "none":
            positions = mask.astype(bool)
            value, exact, got = (
                value[positions],
                exact[:, :longest][positions],
                got[:, :longest][positions],
            )
        np.testing.assert_allclose(exact, value, atol=1e-9)
        np.testing.assert_allclose(got, value, atol=2e-5)
