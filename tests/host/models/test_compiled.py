"""Models compiled for the CPU, against the interpreter and transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.runtime.cpu import CpuDriver
from ark_mlir.runtime.driver import Launch

IDS = [[1, 5, 9, 2], [3, 3, 8, 4, 11, 2], [7]]
PROMPT = [(7 * i + 3) % 37 for i in range(11)]
# As in test_decoder.py.
TOKENS = {"llama": [27, 13, 5, 5, 5, 5, 5, 5], "qwen3": [9, 25, 0, 10, 16, 10, 3, 10]}


def test_an_encoder(tiny: Any, tmp_path: Path) -> None:
    folder = tiny.write_model(tmp_path, "bert")
    model = ark.models.load(folder, batch=2, length=8)
    assert model.compile("cpu:2") is model
    got = model.embed(IDS)
    assert (got.dtype, got.shape) == (np.float32, (3, 16))
    np.testing.assert_allclose(got, model.embed(IDS, reference=True), atol=1e-5)


@pytest.mark.parametrize("pooling", ["cls", "none"])
def test_other_poolings(tiny: Any, tmp_path: Path, pooling: str) -> None:
    folder = tiny.write_model(tmp_path, "bert")
    model = ark.models.load(folder, batch=2, length=8, pooling=pooling).compile("cpu:2")
    got, expected = model.embed(IDS), model.embed(IDS, reference=True)
    if pooling == "none":  # what padding gives is nobody's business
        got, expected = got[:, :1], expected[:, :1]
    np.testing.assert_allclose(got, expected, atol=1e-5)


@pytest.mark.parametrize("kind", list(TOKENS))
def test_a_decoder(tiny: Any, tmp_path: Path, kind: str) -> None:
    folder = tiny.write_model(tmp_path, kind)
    model = ark.models.load(folder, max_length=24, chunk=4).compile("cpu:2")
    assert model.generate(PROMPT, 8) == TOKENS[kind]
    assert model.generate(PROMPT[:3], 4) == model.generate(PROMPT[:3], 4, reference=True)
    assert model.generate(PROMPT, 8) == TOKENS[kind]  # nothing is left of the run before


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
    driver: Any = model.executables["decode"]._runner.driver
    before = driver.epoch
    assert model.generate(PROMPT, 8, stop=5) == [27, 13, 5]
    assert driver.epoch - before == 2
    assert model.generate(PROMPT, 8, stop=27) == [27]
    assert driver.epoch - before == 2


def test_options_reach_the_compiler(tiny: Any, tmp_path: Path) -> None:
    folder = tiny.write_model(tmp_path / "model", "bert")
    model = ark.models.load(folder, batch=1, length=4)
    model.compile("cpu:1", dump_dir=tmp_path / "dump")
    assert sorted(p.name for p in (tmp_path / "dump").iterdir())[0].endswith("graph.mlir")
    with pytest.raises(ark.InvalidUsageError, match="no option 'lenght'"):
        model.compile("cpu:1", lenght=3)
