"""Decoders with experts: logits and tokens of transformers, all routings, ranks, invalid folders.

The numbers of transformers are those of its float64 models of the folders of ``tiny_models``.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import tiny_models
from expert_layers import build_layer, make_arrays

import ark_mlir as ark
from ark_mlir.models.experts import Clamp, Experts, Router
from ark_mlir.models.sharding import Shard

Pick = Callable[[str], str]
Array = np.ndarray[Any, Any]

PROMPT = [(7 * i + 3) % 37 for i in range(11)]
LOGITS = {
    "mixtral": [3.013105, 1.856873, 0.6258206, -0.5158557],
    "qwen3_moe": [-0.177973, 1.595056, -0.8988567, 0.8202061],
}
TOKENS = {
    "mixtral": [33, 32, 17, 35, 8, 29, 32, 35], "qwen3_moe": [27, 15, 0, 11, 36, 9, 9, 9]
}  # fmt: skip
KINDS = list(TOKENS)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: Any) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("experts")
    return {kind: tiny_models.write_model(root / kind, kind) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_logits_are_those_of_transformers(folders: dict[str, Path], kind: str) -> None:
    model = ark.models.load(folders[kind], max_length=32, chunk=16)
    inputs = {
        "ids": [PROMPT + [0] * 5], "begin": 0, "last": len(PROMPT) - 1, "ends": [-1] * 8,
    }  # fmt: skip
    arrays = {**model.parameters_of("prefill"), **inputs}
    outputs = ark.reference.run(model.programs["prefill"], arrays)
    np.testing.assert_allclose(outputs["logits"][0, :4], LOGITS[kind], atol=2e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_bundles_need_no_compiler(folders: dict[str, Path], kind: str, tmp_path: Path) -> None:
    """As on a machine that has only the runtime; the weights of experts are stacked there."""
    model = ark.models.load(folders[kind], max_length=24, chunk=4)
    for name, executable in model.compile("cpu:2", opt_level=0).executables.items():
        executable.save(tmp_path / f"m.{name}.arkbin")
    script = (
        "import sys\n"
        "for name in ('_mlir_libs', 'ir', 'dialects', 'compiler', 'frontend'):\n"
        "    sys.modules['ark_mlir.' + name] = None\n"
        "from ark_mlir.cli import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    command = [
        sys.executable, "-c", script, "generate", folders[kind], "--bundle", tmp_path / "m.arkbin",
        "--prompt-ids", ",".join(map(str, PROMPT)), "--max-new-tokens", "8",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout) == (0, ",".join(map(str, TOKENS[kind])) + "\n"), done


@pytest.mark.parametrize("kind", KINDS)
def test_generation_is_that_of_transformers(
    folders: dict[str, Path], kind: str, pick_target: Pick
) -> None:
    """Chunks of 16 tokens sort rows by expert; one token is multiplied row by row."""
    model = ark.models.load(folders[kind], max_length=24, chunk=16)
    assert model.generate(PROMPT, 8, reference=True) == TOKENS[kind]
    model.compile(pick_target("cpu:2"))
    assert model.generate(PROMPT, 8) == TOKENS[kind]
    assert model.generate(PROMPT, 8) == TOKENS[kind]  # no state of the run before remains


# -- one layer ------------------------------------------------------------------------------------


def silu(x: Array) -> Array:
    return x / (1 + np.exp(-x))


def compute(experts: Experts, arrays: dict[str, Array]) -> Array:
    """Computes a layer token by token, as the definition says."""
    parts = {name: array.astype(np.float64) for name, array in arrays.items()}
    x, result, router = parts["x"], np.zeros(arrays["x"].shape), experts.router
    gate, up, down = (parts[f"mlp.experts.{part}_proj.weight"] for part in ("gate", "up", "down"))
    biases = [parts.get(f"mlp.experts.{part}_proj.bias") for part in ("gate", "up", "down")]
    of_gate, of_up, of_down = (np.zeros(len(gate)) if b is None else b for b in biases)
    for token, row in enumerate(x):
        logits = parts["mlp.gate.weight"] @ row + parts.get("mlp.gate.bias", 0)
        scores = 1 / (1 + np.exp(-logits)) if router.score == "sigmoid" else softmax(logits)
        chosen = choose(experts, scores + parts.get("mlp.gate.correction", 0))
        if router.score == "softmax_of_chosen":
            scores[chosen] = softmax(logits[chosen])
        total = scores[chosen].sum() if experts.normalize else 1.0
        for e in chosen:
            inner = activate(experts, gate[e] @ row + of_gate[e], up[e] @ row + of_up[e])
            result[token] += router.scale * scores[e] / total * (down[e] @ inner + of_down[e])
    if experts.shared:
        gate, up, down = (
            parts[f"mlp.{experts.shared_name}.{part}_proj.weight"]
            for part in ("gate", "up", "down")
        )
        shared = (silu(x @ gate.T) * (x @ up.T)) @ down.T
        scale = parts.get("mlp.shared_expert_gate.weight")
        result += shared if scale is None else shared / (1 + np.exp(-x @ scale.T))
    return result


def softmax(x: Array) -> Array:
    powers = np.exp(x - x.max())
    return powers / powers.sum()


def choose(experts: Experts, scores: Array) -> Array:
    """Returns the experts with the best scores, of the best groups."""
    router = experts.router
    grouped = scores.reshape(router.groups, -1)
    of_groups = np.sort(grouped, 1)[:, -router.best :].sum(1)
    worst = np.argsort(-of_groups, kind="stable")[router.chosen_groups :]
    grouped[worst] = -np.inf
    return np.argsort(-grouped.reshape(-1), kind="stable")[: experts.experts_per_token]


def activate(experts: Experts, gate: Array, up: Array) -> Array:
    if experts.clamp is None:
        return silu(gate) * up
    alpha, limit = experts.clamp.alpha, experts.clamp.limit
    gate, up = np.minimum(gate, limit), np.clip(up, -limit, limit)
    return gate / (1 + np.exp(-alpha * gate)) * (up + 1)


GPT_OSS = Experts(
    8, 2, 12, normalize=False, bias=True, clamp=Clamp(1.75, 2.0),
    router=Router("softmax_of_chosen", bias=True),
)  # fmt: skip
DEEPSEEK_V2 = Experts(
    8, 3, 12, normalize=False, shared=20, shared_name="shared_experts", shared_gate=False,
    router=Router(groups=4, chosen_groups=2, scale=3.0, wide=True),
)  # fmt: skip
DEEPSEEK_V3 = Experts(
    8, 3, 12, normalize=True,
    router=Router("sigmoid", correction=True, groups=4, chosen_groups=2, best=2, wide=True),
)  # fmt: skip


@pytest.mark.parametrize("tokens", [1, 3, 40])
@pytest.mark.parametrize(
    "experts",
    [
        Experts(8, 2, 12, normalize=True),
        Experts(8, 3, 12, normalize=False, shared=20),
        Experts(4, 4, 5, normalize=True),
        GPT_OSS,
        DEEPSEEK_V2,
        DEEPSEEK_V3,
    ],
    ids=["two of eight", "shared", "all", "gpt-oss", "DeepSeek-V2", "DeepSeek-V3"],
)
def test_a_layer_is_its_definition(experts: Experts, tokens: int) -> None:
    program = build_layer(experts, tokens)
    arrays = make_arrays(program, tokens)
    got = ark.reference.run(program, arrays)["y"]
    np.testing.assert_allclose(got, compute(experts, arrays), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("tokens", [2, 40])
@pytest.mark.parametrize(
    "experts",
    [Experts(8, 1, 12, normalize=True), replace(GPT_OSS, experts_per_token=1)],
    ids=["mixtral", "gpt-oss"],
)
def test_all_tokens_to_one_expert(experts: Experts, tokens: int, pick_target: Pick) -> None:
    """No token is dropped, and experts without tokens do no harm, even with weights of NaN."""
    program = build_layer(experts, tokens)
    arrays = make_arrays(program, 5)
    router = np.zeros((8, 16), np.float32)
    router[6] = 50 * np.sign(arrays["x"][0])
    arrays["x"] = np.abs(arrays["x"]) * np.sign(arrays["x"][0])
    arrays["mlp.gate.weight"] = router
    for name in arrays:
        if "experts" in name:
            arrays[name][:6] = arrays[name][7] = np.nan
    expected = compute(experts, arrays)
    assert np.isfinite(expected).all()
    wanted = ark.reference.evaluate(program, arrays)
    np.testing.assert_allclose(wanted.outputs["y"], expected, rtol=1e-9, atol=1e-9)
    with ark.compile(program, target=pick_target("cpu:2")) as executable:
        executable.bind({name: arrays[name] for name in program.parameters})
        got = executable.run(x=arrays["x"])["y"]
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)


# -- several ranks --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_ranks_share_every_expert(folders: dict[str, Path], kind: str) -> None:
    model = ark.models.load(folders[kind], max_length=16, chunk=4, tensor_parallel=2)
    programs = model.ranks["prefill"]
    scalars = {name: 3 if name == "last" else 0 for name in programs[0].scalars}
    inputs = {"ids": np.array([PROMPT[:4]], np.int32), "ends": np.full(8, -1, np.int32), **scalars}
    whole = {**model.parameters_of("prefill"), **inputs}
    exact = ark.reference.run(model.programs["prefill"], whole)["logits"]
    parts = [
        {n: Shard(rank, 2).part(whole[n], a.shape) for n, a in program.parameters.items()}
        for rank, program in enumerate(programs)
    ]
    for outputs in ark.reference.run(programs, [{**part, **inputs} for part in parts]):
        np.testing.assert_allclose(outputs["logits"], exact, rtol=1e-6, atol=1e-6)


def test_columns_that_ranks_cannot_share() -> None:
    with pytest.raises(ark.InvalidUsageError, match="5 columns of the expert"):
        Experts(4, 1, 5, normalize=True).divide(2)
    with pytest.raises(ark.InvalidUsageError, match="7 columns of the shared expert"):
        Experts(4, 1, 4, normalize=True, shared=7).divide(2)


# -- invalid folders ------------------------------------------------------------------------------


def drop(arrays: dict[str, Any], name: str) -> None:
    del arrays[name]


def cut(arrays: dict[str, Any], name: str) -> None:
    arrays[name] = arrays[name][:-1]


@pytest.mark.parametrize(
    ("change", "name", "message"),
    [
        (drop, "block_sparse_moe.experts.3.w2.weight", "lack .*experts.3.w2.weight"),
        (drop, "block_sparse_moe.gate.weight", "lack .*block_sparse_moe.gate.weight"),
        (
            cut,
            "block_sparse_moe.experts.1.w1.weight",
            "experts.1.w1.weight.* the tensor of expert 0",
        ),
        (cut, "block_sparse_moe.gate.weight", "gate.weight.*requires"),
    ],
)
def test_invalid_weights(tmp_path: Path, change: Any, name: str, message: str) -> None:
    arrays = tiny_models.weights("mixtral")
    change(arrays, f"model.layers.1.{name}")
    folder = tiny_models.write_model(tmp_path, "mixtral", arrays)
    with pytest.raises(ark.InvalidUsageError, match=message):
        ark.models.load(folder)


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("mixtral", {"num_experts_per_tok": 5}, "num_experts_per_tok 5 exceeds"),
        ("mixtral", {"num_local_experts": None}, "'num_local_experts' is missing"),
        ("mixtral", {"num_local_experts": 0}, "num_local_experts"),
        ("qwen3_moe", {"mlp_only_layers": [-1]}, "mlp_only_layers"),
        ("qwen3_moe", {"norm_topk_prob": 1}, "norm_topk_prob"),
        ("qwen3_moe", {"decoder_sparse_step": 0}, "decoder_sparse_step"),
        ("qwen3_moe", {"shared_expert_intermediate_size": 8}, "unknown entries"),
    ],
)
def test_invalid_configurations(
    tmp_path: Path, kind: str, changes: dict[str, Any], message: str
) -> None:
    folder = tiny_models.write_model(tmp_path, kind, config=changes)
    with pytest.raises(ark.InvalidUsageError, match=message):
        ark.models.load(folder)
