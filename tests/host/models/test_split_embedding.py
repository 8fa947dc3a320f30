"""Decoders whose ranks divide the table of embeddings give the bits of a whole table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.cli.main import main
from ark_mlir.models.sharding import Shard

# Tokens of all ranks' parts, the first and the last one of the vocabulary among them.
PROMPT = [36, 0, 18, 19, 9, 28, 10, 27, 1, 35, 20]
TABLE = "model.embed_tokens.weight"
OPTIONS: dict[str, Any] = {"max_length": 24, "chunk": 4}


@pytest.fixture(scope="module")
def folders(tiny: Any, tmp_path_factory: Any) -> dict[bool, Path]:
    """Returns folders of decoders whose head is tied to the table, or not."""
    root = tmp_path_factory.mktemp("split")

    def write(tied: bool) -> Path:
        config = {"tie_word_embeddings": tied}
        return tiny.write_model(root / str(tied), "llama", tiny.weights("llama", config), config)

    return {tied: write(tied) for tied in (False, True)}


def logits_of(model: Any, tokens: list[list[int]]) -> list[Any]:
    """Returns the logits of all ranks after a chunk of each sequence."""
    inputs: dict[str, Any] = {"ids": np.array(tokens, np.int32), "begin": 0, "last": 3}
    for name, argument in model.ranks["prefill"][0].inputs.items():
        if name != "ids":
            inputs[name] = np.full(argument.shape, 0 if name == "padding" else -1, np.int32)
    return [each["logits"] for each in ark.World.run(model.executables["prefill"], inputs)]


@pytest.mark.parametrize(
    ("ranks", "tied", "dtype"),
    [(2, True, "bf16"), (2, False, "fp32"), (4, True, "fp32"), (4, False, "bf16")],
)
def test_logits_have_the_bits_of_a_whole_table(
    folders: dict[bool, Path], ranks: int, tied: bool, dtype: str
) -> None:
    """37 tokens: neither number of ranks divides the vocabulary."""
    options = {**OPTIONS, "dtype": dtype, "tensor_parallel": ranks}
    whole, split = (
        ark.models.load(folders[tied], **options, split_embedding=splits).compile("cpu:1")
        for splits in (False, True)
    )
    extent = -(-37 // ranks)
    for model, rows in ((whole, 37), (split, extent)):
        for program in model.ranks["prefill"] + model.ranks["decode"]:
            assert program.parameters[TABLE].shape == (rows, 32)
    for first in range(0, 8, 4):
        chunk = [PROMPT[first : first + 4]]
        expected, got = logits_of(whole, chunk), logits_of(split, chunk)
        for mine, other in zip(got, expected, strict=True):
            assert mine.tobytes() == other.tobytes()
    tokens = whole.generate(PROMPT, 8, stop=())
    assert split.generate(PROMPT, 8, stop=()) == tokens
    assert split.generate(PROMPT, 8, stop=(), reference=True) == tokens


def test_ranks_that_also_divide_the_tokens(folders: dict[bool, Path]) -> None:
    """A reduce-scatter passes the rows of a chunk's tokens to the ranks of these tokens."""
    options = {**OPTIONS, "dtype": "bf16", "batch": 2, "tensor_parallel": 2}
    whole, split = (
        ark.models.load(
            folders[True], **options, sequence_parallel=True, split_embedding=splits
        ).compile("cpu:1")
        for splits in (False, True)
    )
    prompts = [PROMPT[:4], PROMPT[4:8]]
    for mine, other in zip(logits_of(split, prompts), logits_of(whole, prompts), strict=True):
        assert mine.tobytes() == other.tobytes()
    for program in split.ranks["prefill"]:
        assert program.mlir.count("ark.reduce_scatter sum") == 2 * 2 + 1
    for program in split.ranks["decode"]:
        assert program.mlir.count("ark.all_reduce sum") == 2 * 2 + 1


def test_each_rank_has_its_rows_once(folders: dict[bool, Path]) -> None:
    """The tied head is the rank's part of the table, not a slice of it."""
    model = ark.models.load(folders[True], **OPTIONS, tensor_parallel=2, split_embedding=True)
    table = model.parameters_of("decode")[TABLE]
    assert table.shape == (37, 32)
    for rank, rows in enumerate((range(19), range(18, 37))):
        program = model.ranks["decode"][rank]
        part = Shard(rank, 2).parts(model.parameters_of("decode"), program)[TABLE]
        np.testing.assert_array_equal(part, table[rows.start : rows.stop])
        assert "lm_head.weight" not in program.parameters


@pytest.mark.parametrize("size", [2, 3, 4])
def test_every_bit_of_a_row_arrives(size: int) -> None:
    """Signs of zeros, infinities and NaN; a sum with positive zeros would lose a sign.

    Of five rows, several ranks have some in common, and one of four ranks contributes none.
    """
    table = np.arange(15).reshape(5, 3).astype(ark.bf16.numpy)
    table[2], table[3, 0], table[4, 1] = -0.0, np.inf, np.nan
    programs, parts = [], []
    for rank in range(size):
        shard = Shard(rank, size)
        shape = (len(shard.interval(5)), 3)
        with ark.Program("table", rank=rank, world_size=size) as program:
            ids = ark.input("ids", (5,), ark.int32)
            part = ark.parameter("table", shape, ark.bf16)
            ark.output("y", shard.embedding(ids, part, 5))
        programs.append(program)
        parts.append({"table": shard.part(table, shape)})
    with ark.compile(programs, target="cpu:1").bind(parts) as world:
        order = [4, 3, 2, 1, 0]
        for outputs in world.run({"ids": np.array(order, np.int32)}):
            assert outputs["y"].tobytes() == table[order].tobytes()
        for token in (-1, 5):
            with pytest.raises(ark.ArkError, match="is out of range"):
                world.run({"ids": np.array([0, 1, token, 2, 3], np.int32)})


def test_ark_generate_with_a_split_embedding(
    folders: dict[bool, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    alone = ark.models.load(folders[True], max_length=24, chunk=4).compile("cpu:1")
    expected = alone.generate(PROMPT, 4)
    words = ",".join(map(str, PROMPT))
    command = ["generate", str(folders[True]), "--prompt-ids", words, "--max-new-tokens", "4"]
    settings = ("max_length=24", "chunk=4", "split_embedding=true")
    flags = [part for each in settings for part in ("--set", each)]
    assert main([*command, *flags, "--tensor-parallel", "2", "--target", "cpu:1"]) == 0
    assert [int(word) for word in capsys.readouterr().out.split(",")] == list(expected)


def test_one_rank_has_nothing_to_divide(folders: dict[bool, Path]) -> None:
    with pytest.raises(ark.InvalidUsageError, match="split_embedding needs tensor_parallel above"):
        ark.models.load(folders[True], split_embedding=True)
