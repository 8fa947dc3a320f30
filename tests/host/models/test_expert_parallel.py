"""Ranks with whole experts give the results of one rank; rows beyond a capacity are dropped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from expert_layers import Layer
from model_cases import PROMPT, read_recorded, write_folder

import ark_mlir as ark
from ark_mlir.models import moe
from ark_mlir.models.expert_order import Order
from ark_mlir.models.experts import Experts
from ark_mlir.models.sharding import Shard

CASES = read_recorded()
TOKENS, HIDDEN = 4, 16
MODES: dict[str, dict[str, Any]] = {
    "sums": {},
    "gathered": {"sequence_parallel": True},
    "exchanged": {"sequence_parallel": True, "expert_capacity": 2},
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["mixtral", "qwen2_moe", "gpt_oss", "deepseek_v3"])
def test_logits_are_those_of_one_rank(name: str, mode: str, tmp_path: Path) -> None:
    write_folder(tmp_path, CASES[name]["config"])
    options: Any = {"max_length": 16, "chunk": 8, "tensor_parallel": 2, "expert_parallel": True}
    model = ark.models.load(tmp_path, **options, **MODES[mode])
    ends = {"ends": [-1] * 8}
    inputs: dict[str, dict[str, Any]] = {
        "prefill": {"ids": [PROMPT[:8]], "begin": 0, "last": 7, **ends}, "decode": ends,
    }  # fmt: skip
    for program, arrays in inputs.items():
        weights = model.parameters_of(program)
        exact = ark.reference.run(model.programs[program], {**weights, **arrays})["logits"]
        ranks = model.ranks[program]
        parts = [{**arrays, **Shard.of(each).parts(weights, each)} for each in ranks]
        for outputs in ark.reference.run(ranks, parts):
            np.testing.assert_allclose(outputs["logits"], exact, rtol=1e-6, atol=1e-6)
    exchanges = model.ranks["prefill"][0].mlir.count("ark.all_to_all")
    assert (exchanges > 0) == (mode == "exchanged")
    whole = model.programs["prefill"].parameters
    for key, part in model.ranks["prefill"][0].parameters.items():
        if ".experts." in key:
            assert part.shape == (whole[key].shape[0] // 2, *whole[key].shape[1:])


@pytest.mark.parametrize("mode", ["sums", "exchanged"])
def test_compiled_tokens_are_those_of_one_rank(mode: str, tmp_path: Path) -> None:
    write_folder(tmp_path, CASES["gpt_oss"]["config"])
    options: Any = {"max_length": 18, "chunk": 6, "tensor_parallel": 2, "expert_parallel": True}
    model = ark.models.load(tmp_path, **options, **MODES[mode]).compile("cpu:2", opt_level=0)
    expected = CASES["gpt_oss"]["tokens"]
    assert model.generate(PROMPT, len(expected), stop=()) == expected


# -- one layer ------------------------------------------------------------------------------------


class Recording(Layer):
    """A layer of a rank that keeps its parameters."""

    def __init__(self, experts: Experts, shard: Shard) -> None:
        super().__init__(experts, ark.fp32)
        self.shard = shard
        self.tensors: dict[str, ark.Tensor] = {}

    def parameter(self, name: str, *shape: int, dtype: Any = None) -> ark.Tensor:
        self.tensors[name] = super().parameter(name, *shape, dtype=dtype)
        return self.tensors[name]


def build(experts: Experts, shard: Shard, tokens: int) -> ark.Program:
    """A layer, and the slopes of the sum of the squares of its results."""
    with shard.program("layer") as program:
        layer = Recording(experts, shard)
        y = ark.output("y", moe.build_mlp(layer, experts, ark.input("x", (tokens, HIDDEN)), "mlp"))
        loss = ark.reduce_sum(y * y, keepdims=False)
        slopes = ark.gradients(loss, list(layer.tensors.values()))
        for name, slope in zip(layer.tensors, slopes, strict=True):
            ark.output(f"slope of {name}", slope)
    return program


def make_arrays(experts: Experts, tokens: int) -> dict[str, Any]:
    rng = np.random.default_rng(11)
    program = build(experts, Shard(), tokens)
    arguments = {**program.inputs, **program.parameters}
    return {name: rng.standard_normal(each.shape) for name, each in arguments.items()}


def run_ranks(experts: Experts, arrays: dict[str, Any], size: int) -> list[dict[str, Any]]:
    """Runs a layer whose tokens and experts are divided among ranks."""
    shards = [Shard(rank, size) for rank in range(size)]
    programs = [build(experts, shard, TOKENS) for shard in shards]
    given = [
        {name: shard.part(arrays[name], argument.shape) for name, argument in
         {**program.inputs, **program.parameters}.items()}
        for shard, program in zip(shards, programs, strict=True)
    ]  # fmt: skip
    return ark.reference.run(programs, given)


PLAIN = Experts(6, 2, 8, normalize=True)


@pytest.mark.parametrize("size", [2, 3])
def test_exchanged_rows_and_their_slopes(size: int) -> None:
    """With room for all rows, results and slopes are those of one rank."""
    arrays = make_arrays(PLAIN, size * TOKENS)
    divided = replace(PLAIN, ranks=size, capacity=float(size))
    (exact,) = [ark.reference.run(build(PLAIN, Shard(), size * TOKENS), arrays)]
    ranks = run_ranks(divided, arrays, size)
    np.testing.assert_allclose(np.concatenate([each["y"] for each in ranks]), exact["y"], atol=1e-9)
    for name in (name for name in exact if "experts" in name):
        slopes = np.concatenate([each[name] for each in ranks])
        np.testing.assert_allclose(slopes, exact[name], atol=1e-9 * np.abs(exact[name]).max())
    routers = sum(each["slope of mlp.gate.weight"] for each in ranks)
    expected = exact["slope of mlp.gate.weight"]
    np.testing.assert_allclose(routers, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("capacity", [0.1, 1.0, 1.5, 2.0])
def test_rows_beyond_the_capacity(capacity: float) -> None:
    """All tokens choose expert 4, on rank 1: each rank sends its first tokens, and drops others."""
    one = replace(PLAIN, experts_per_token=1)
    arrays = make_arrays(one, 2 * TOKENS)
    arrays["mlp.gate.weight"][:] = 0
    arrays["mlp.gate.weight"][4] = arrays["x"].T @ np.linalg.solve(
        arrays["x"] @ arrays["x"].T, np.ones(2 * TOKENS)
    )  # a logit of one for each token
    exact = ark.reference.run(build(one, Shard(), 2 * TOKENS), arrays)["y"]
    sent = max(1, int(np.ceil(capacity * TOKENS / 2)))
    ranks = run_ranks(replace(one, ranks=2, capacity=capacity), arrays, 2)
    for rank, outputs in enumerate(ranks):
        expected = exact[rank * TOKENS : (rank + 1) * TOKENS].copy()
        expected[sent:] = 0
        np.testing.assert_allclose(outputs["y"], expected, atol=1e-9)


def test_wrong_options(tmp_path: Path) -> None:
    write_folder(tmp_path, CASES["qwen3_moe"]["config"])  # six experts
    two: dict[str, Any] = {"tensor_parallel": 2, "expert_parallel": True}
    four = {**two, "tensor_parallel": 4}
    for options, message in (
        ({"expert_parallel": True}, "expert_parallel needs tensor_parallel above 1, not 1"),
        ({**two, "expert_capacity": 2}, "needs expert_parallel and sequence_parallel"),
        ({**two, "expert_capacity": 0}, "expert_capacity must be a positive number, not 0"),
        (four, "tensor_parallel 4 does not divide"),
    ):
        with pytest.raises(ark.InvalidUsageError, match=message):
            ark.models.load(tmp_path, **options)
    with pytest.raises(ark.InvalidUsageError, match="4 does not divide the 6 experts"):
        PLAIN.divide(4, whole=True)
    write_folder(tmp_path, CASES["qwen2"]["config"])
    with pytest.raises(ark.InvalidUsageError, match="models of type qwen2 have no experts"):
        ark.models.load(tmp_path, **two)


@pytest.mark.parametrize("pairs", [1, 70, 2048, 2049, 2500, 4096, 4097, 9000])
@pytest.mark.parametrize("only", [None, 0, 4])
def test_the_order_of_pairs(pairs: int, only: int | None) -> None:
    """Pairs of one expert keep their order; experts without pairs are counted, too. More than 4,096
    pairs have more than 64 blocks, which are searched in groups."""
    with ark.Program("order") as program:
        made = Order.of(ark.input("owner", (pairs,), ark.int32), 6, "pairs")
        for name in ("position", "order", "counts"):
            ark.output(name, getattr(made, name))
    owner = np.random.default_rng(pairs).integers(0, 5, pairs)
    owner = (owner if only is None else np.full(pairs, only)).astype(np.int32)
    order = np.argsort(owner, kind="stable")
    with ark.compile(program, target="cpu:2") as executable:
        for got in (ark.reference.run(program, {"owner": owner}), executable.run(owner=owner)):
            np.testing.assert_array_equal(got["order"], order)
            np.testing.assert_array_equal(got["position"][order], np.arange(pairs))
            np.testing.assert_array_equal(got["counts"], np.bincount(owner, minlength=6))
