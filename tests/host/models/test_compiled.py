"""Models compiled for the CPU, compared with the interpreter and transformers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from internals import driver_of

import ark_mlir as ark
from ark_mlir.runtime.cpu.driver import CpuDriver
from ark_mlir.runtime.drivers.interface import Launch
from ark_mlir.testing.bounds import assert_within

Pick = Callable[[str], str]

IDS = [[1, 5, 9, 2], [3, 3, 8, 4, 11, 2], [7]]
PROMPT = [(7 * i + 3) % 37 for i in range(11)]
# As in test_decoder.py.
TOKENS = {"llama": [27, 13, 5, 5, 5, 5, 5, 5], "qwen3": [9, 25, 0, 10, 16, 10, 3, 10]}


def test_an_encoder(tiny: Any, tmp_path: Path, pick_target: Pick) -> None:
    folder = tiny.write_model(tmp_path, "bert")
    model = ark.models.load(folder, batch=2, length=8)
    assert model.compile(pick_target("cpu:2")) is model
    got = model.embed(IDS)
    assert (got.dtype, got.shape) == (np.float32, (3, 16))
    np.testing.assert_allclose(got, model.embed(IDS, reference=True), atol=1e-5)


@pytest.mark.parametrize("pooling", ["cls", "pooler", "none"])
def test_other_poolings(tiny: Any, tmp_path: Path, pooling: str, pick_target: Pick) -> None:
    folder = tiny.write_model(tmp_path, "bert")
    model = ark.models.load(folder, batch=2, length=8, pooling=pooling).compile(
        pick_target("cpu:2")
    )
    got, expected = model.embed(IDS), model.embed(IDS, reference=True)
    if pooling == "none":  # results at padding are undefined
        got, expected = got[:, :1], expected[:, :1]
    np.testing.assert_allclose(got, expected, atol=1e-5)


@pytest.mark.parametrize("kind", list(TOKENS))
def test_a_decoder(tiny: Any, tmp_path: Path, kind: str, pick_target: Pick) -> None:
    folder = tiny.write_model(tmp_path, kind)
    model = ark.models.load(folder, max_length=24, chunk=4).compile(pick_target("cpu:2"))
    assert model.generate(PROMPT, 8) == TOKENS[kind]
    assert model.generate(PROMPT[:3], 4) == model.generate(PROMPT[:3], 4, reference=True)
    assert model.generate(PROMPT, 8) == TOKENS[kind]  # no state of the run before remains


def test_threads_that_generate_at_once(
    tiny: Any, tmp_path: Path, in_threads: Callable[..., None]
) -> None:
    """Each thread gets the tokens of its own prompt."""
    folder = tiny.write_model(tmp_path, "llama")
    model = ark.models.load(folder, max_length=24, chunk=2).compile("cpu:1")
    prompts = [PROMPT, PROMPT[:3], PROMPT[::-1]]
    alone = [model.generate(prompt, 8) for prompt in prompts]

    def generate(number: int) -> None:
        for _ in range(5):
            assert model.generate(prompts[number], 8) == alone[number]

    in_threads(*[lambda number=number: generate(number) for number in range(len(prompts))])


def test_a_decoder_with_a_split_cache(tiny: Any, tmp_path: Path, pick_splitting: Any) -> None:
    """Idle workers compute attention over parts of the keys; the tokens do not change."""
    changes = {"max_position_embeddings": 192}
    folder = tiny.write_model(tmp_path, "llama", tiny.weights("llama"), changes)
    model = ark.models.load(folder, max_length=192, chunk=4).compile(pick_splitting("cpu:16"))
    ops = {name for names, _ in model.executables["decode"].report().task_ops for name in names}
    assert "partial_attention" in ops
    assert model.generate(PROMPT, 8) == TOKENS["llama"]
    long = (PROMPT * 12)[:120]
    assert model.generate(long, 8) == model.generate(long, 8, reference=True)


SHAPES: dict[str, dict[str, Any]] = {
    "one key head": {
        "num_attention_heads": 8, "num_key_value_heads": 1, "vocab_size": 127,
        "tie_word_embeddings": False,
    },
    "odd": {
        "num_attention_heads": 5, "num_key_value_heads": 5, "hidden_size": 30, "vocab_size": 41,
        "num_hidden_layers": 1, "intermediate_size": 7, "rope_scaling": None,
    },
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_other_shapes_of_decoders(tiny: Any, tmp_path: Path, shape: str, pick_target: Pick) -> None:
    """The tokens after a prompt of many chunks equal the interpreter's, and the logits of the first
    chunk lie within the interpreter's bound."""
    changes = SHAPES[shape]
    folder = tiny.write_model(
        tmp_path, "llama", tiny.weights("llama", changes), {**changes, "eos_token_id": 3}
    )
    model = ark.models.load(folder, max_length=48, chunk=7).compile(pick_target("cpu:3"))
    prompt = [(11 * i + 1) % changes["vocab_size"] for i in range(40)]
    assert model.generate(prompt, 8) == model.generate(prompt, 8, reference=True)

    program, arrays = first_chunk(model, prompt[:7])
    got = model.executables["prefill"].run(chunk_inputs(prompt[:7]))["logits"]
    wanted = ark.reference.error_spread(program, arrays)
    assert wanted.bounds["logits"].max() < 1e-3
    assert_within(got, wanted.outputs["logits"], wanted.bounds["logits"], "logits")


def chunk_inputs(ids: list[int]) -> dict[str, Any]:
    """Returns the arrays that the first chunk of a prompt binds."""
    ends = np.full(8, -1, np.int32)
    return {"ids": np.array([ids], np.int32), "begin": 0, "last": len(ids) - 1, "ends": ends}


def first_chunk(model: Any, ids: list[int]) -> tuple[ark.Program, dict[str, Any]]:
    """Returns a prefill and its arrays."""
    return model.programs["prefill"], {**model.parameters_of("prefill"), **chunk_inputs(ids)}


@pytest.mark.parametrize("kind", list(TOKENS))
def test_a_layer_is_within_its_bound(
    tiny: Any, tmp_path: Path, kind: str, pick_target: Pick
) -> None:
    """With small weights and one layer, worst-case bounds are still tight."""
    one = {"num_hidden_layers": 1}
    arrays = {
        name: array if "norm" in name else array * np.float32(0.1)
        for name, array in tiny.weights(kind, one).items()
    }
    folder = tiny.write_model(tmp_path, kind, arrays, one)
    model = ark.models.load(folder, max_length=16, chunk=7).compile(pick_target("cpu:2"))
    program, inputs = first_chunk(model, PROMPT[:7])
    expected = ark.reference.evaluate(program, inputs, bound=True)
    value, bound = expected.outputs["logits"], expected.bounds["logits"]
    assert bound.max() < 0.15 * np.abs(value).max()
    got = model.executables["prefill"].run(chunk_inputs(PROMPT[:7]))["logits"]
    assert_within(got, value, bound, "logits")


def test_all_new_tokens_are_one_launch(
    tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tiny.write_model(tmp_path, "llama")
    model = ark.models.load(folder, max_length=24, chunk=4).compile("cpu:2")
    launches: list[int] = []
    launch = CpuDriver.launch

    def counted(self: CpuDriver, work: Launch) -> None:
        launches.append(work.iterations)
        launch(self, work)

    monkeypatch.setattr(CpuDriver, "launch", counted)
    assert model.generate(PROMPT, 8) == TOKENS["llama"]
    assert launches == [1, 1, 1, 7]  # three chunks of the prompt, then seven tokens
    driver = driver_of(model.executables["decode"])
    before = driver.epoch
    assert model.generate(PROMPT, 8, stop=5) == [27, 13, 5]
    assert driver.epoch - before == 2
    assert model.generate(PROMPT, 8, stop=27) == [27]
    assert driver.epoch - before == 2


def test_positions_out_of_range(tiny: Any, tmp_path: Path, pick_target: Pick) -> None:
    """No memory outside of buffers is accessed, and the program can be used afterwards."""
    folder = tiny.write_model(tmp_path, "llama")
    model = ark.models.load(folder, max_length=16, chunk=4).compile(pick_target("cpu:2"))
    ends = np.full(8, -1, np.int32)
    decode, prefill = model.executables["decode"], model.executables["prefill"]
    for position in (16, -1, 2**31 - 1):
        decode.bind({"position": np.array(position, np.int32)})
        with pytest.raises(ark.InvalidUsageError, match=r"index -?\d+ is out of range \[0, 16\)"):
            decode.run(ends=ends)
    with pytest.raises(ark.InvalidUsageError, match=r"scalar 'begin'.*12"):
        prefill.run(ids=np.ones((1, 4), np.int32), begin=13, last=0, ends=ends)
    expected = model.generate(PROMPT[:3], 4, reference=True)
    assert model.generate(PROMPT[:3], 4) == expected


def test_options_reach_the_compiler(tiny: Any, tmp_path: Path) -> None:
    folder = tiny.write_model(tmp_path / "model", "bert")
    model = ark.models.load(folder, batch=1, length=4)
    model.compile("cpu:1", dump_dir=tmp_path / "dump")
    assert sorted(p.name for p in (tmp_path / "dump").iterdir())[0].endswith("graph.mlir")
    with pytest.raises(ark.InvalidUsageError, match="no option 'lenght'"):
        model.compile("cpu:1", lenght=3)


@pytest.mark.parametrize("qk_norm", [False, True])
def test_a_layer_of_a_decode_step_is_few_tasks(qk_norm: bool) -> None:
    """Each task is a hand-off, so ops on a few rows and norms of heads get no separate tasks."""

    def tasks(layers: int) -> tuple[int, set[tuple[str, ...]]]:
        config = ark.models.decoder.DecoderConfig(
            vocabulary=96,
            hidden=64,
            layers=layers,
            heads=4,
            kv_heads=2,
            head=16,
            intermediate=128,
            qk_norm=qk_norm,
        )
        program = ark.models.decoder.build_decode(config, max_length=32)
        with ark.compile(program, "cpu:2") as executable:
            report = executable.report()
        return report.tasks, {ops for ops, _ in report.task_ops}

    (two, ops), (four, same) = tasks(2), tasks(4)
    assert four - two <= 2 * 6
    assert ops == same
    assert {
        ("rmsnorm", "matmul", "matmul", "matmul"),
        (*["rmsnorm"] * 2 * qk_norm, "rope", "rope", "update", "update", "attention"),
        ("rmsnorm", "matmul", "matmul", "silu", "mul"),
    } <= ops
    assert ("rmsnorm",) not in ops


@pytest.mark.parametrize(
    ("heads", "kv_heads", "head", "batch", "tokens"),
    [(6, 3, 16, 1, 1), (5, 5, 12, 2, 1), (9, 3, 48, 1, 1), (3, 1, 32, 1, 7), (4, 2, 16, 3, 4)],
)
@pytest.mark.parametrize("target", ["cpu:2", "cpu:16"])
def test_norms_of_heads(
    heads: int, kv_heads: int, head: int, batch: int, tokens: int, target: str
) -> None:
    """Any number of heads, sequences and tokens, with the cache split and unsplit."""
    length, rng = 240, np.random.default_rng(heads)
    with ark.Program("heads") as program:
        q = ark.input("q", (batch * tokens, heads * head), ark.fp32)
        k = ark.input("k", (batch * tokens, kv_heads * head), ark.fp32)
        v = ark.input("v", (batch, kv_heads, tokens, head), ark.fp32)
        cos = ark.input("cos", (tokens, head // 2), ark.fp32)
        sin = ark.input("sin", (tokens, head // 2), ark.fp32)
        position = ark.scalar("position", max=length - tokens)
        rows = []
        for x, count in ((q, heads), (k, kv_heads)):
            weight = ark.input(f"weight{len(rows)}", (head,), ark.fp32)
            x = ark.rmsnorm(ark.reshape(x, (batch, tokens, count, head)), weight, 1e-6)
            rows.append(ark.rope(ark.transpose(x, (0, 2, 1, 3)), cos, sin))
        shape = (batch, kv_heads, length, head)
        caches = [ark.state(name, shape, ark.fp32) for name in ("keys", "values")]
        keys, values = (
            ark.update(state, row, (0, 0, position, 0))
            for state, row in zip(caches, (rows[1], v), strict=True)
        )
        end = ark.add(position, tokens)
        ark.output("y", ark.attention(rows[0], keys, values, causal=True, kv_length=end))
    inputs: dict[str, Any] = {
        name: rng.standard_normal(x.shape).astype(np.float32) for name, x in program.inputs.items()
    }
    with ark.compile(program, target, cache=False) as executable:
        ops = {ops for ops, _ in executable.report().task_ops}
        assert all("rope" in names for names in ops if "rmsnorm" in names), ops
        # A separate task writes rows of several tokens.
        assert tokens > 1 or any(names.count("rmsnorm") == 2 for names in ops), ops
        for start in (0, 3, length - tokens):
            inputs["position"] = np.array(start, np.int32)
            executable.reset()
            expected = ark.reference.evaluate(program, inputs, bound=True)
            got = executable.run(inputs)
            assert_within(got["y"], expected.outputs["y"], expected.bounds["y"], "y")
