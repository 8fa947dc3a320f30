"""Models of several ranks generate tokens on emulated GPUs: one for each rank, or one for all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tiny_models
from emulation import emulated_gpus

import ark_mlir as ark
from ark_mlir.cli.main import main

PROMPT = [(7 * i + 3) % 37 for i in range(6)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.write_model(tmp_path_factory.mktemp("tiny"), "llama")


def load(folder: Path, **options: Any) -> ark.models.GenerativeModel:
    return ark.models.load(folder, max_length=16, chunk=4, dtype="bf16", **options)


@pytest.fixture(scope="module")
def expected(folder: Path) -> list[int]:
    return load(folder).compile("cpu:1").generate(PROMPT, 4, stop=())


def test_machines_that_cannot_run_all_ranks(folder: Path, library: Path, tmp_path: Path) -> None:
    remedy = "compile with devices=[0] to run all ranks on one GPU"
    model = load(folder, tensor_parallel=2)
    with emulated_gpus(library, tmp_path, 1) as (cuda, target):
        with pytest.raises(ark.UnsupportedError, match="there is no GPU 1") as few:
            model.compile(target)
        assert few.value.notes == (remedy,)
    with emulated_gpus(library, tmp_path, 2) as (cuda, target):
        cuda.unlinked = {(0, 1)}
        with pytest.raises(ark.UnsupportedError, match="GPU 0 cannot access") as unlinked:
            model.compile(target)
        assert unlinked.value.notes == (remedy,)


@pytest.mark.parametrize("placement", ["--devices 1,0", "--devices 0,0 --concurrent"])
def test_ark_generate(
    placement: str,
    folder: Path,
    expected: list[int],
    library: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    prompt = ",".join(map(str, PROMPT))
    settings = ["max_length=16", "chunk=4", "dtype=bf16", "cache=false"]
    with emulated_gpus(library, tmp_path, 2) as (cuda, target):
        status = main([
            "generate", str(folder), "--prompt-ids", prompt, "--max-new-tokens", "4",
            "--tensor-parallel", "2", *placement.split(), "--target", target.mlir,
            *(word for each in settings for word in ("--set", each)),
        ])  # fmt: skip
        assert cuda.failure == ""
    assert status == 0
    assert capsys.readouterr().out == ",".join(map(str, expected)) + "\n"


@pytest.mark.parametrize("devices", [[0, 1], [1, 0], [0], None], ids=str)
def test_tokens_are_those_of_one_rank(
    devices: list[int] | None, folder: Path, expected: list[int], library: Path, tmp_path: Path
) -> None:
    model = load(folder, tensor_parallel=2)
    count = 1 if devices == [0] else 2
    with emulated_gpus(library, tmp_path, count, sms=4) as (cuda, target):
        model.compile(target, devices=devices, cache=False)
        for _ in range(2):
            assert model.generate(PROMPT, 4, stop=()) == expected
        assert cuda.failure == ""
        for executable in model.executables.values():
            executable.close()
        assert cuda.held == 0
