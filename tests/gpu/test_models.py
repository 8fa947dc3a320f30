"""Small models of every kind on a GPU: logits within practical bounds, and the interpreter's
tokens.

`make gpu-bundles` (`export_models.py`) makes programs, arrays and tokens on a machine with the
compiler.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from decoding import Decoder
from internals import driver_of

import ark_mlir as ark
from ark_mlir.testing.bounds import assert_within

Array = np.ndarray[Any, Any]
Load = Callable[[str], ark.Executable]
FOLDER = Path(os.environ.get("ARK_GPU_BUNDLES", Path(__file__).parents[2] / "build" / "gpu"))
MODELS = FOLDER / "models"
DECODERS = sorted(path.parent.name for path in MODELS.glob("*/decode.arkbin"))
ENCODERS = sorted(path.parent.name for path in MODELS.glob("*/embed.arkbin"))

pytestmark = pytest.mark.gpu


def test_there_are_models() -> None:
    assert len(DECODERS) > 10
    assert len(ENCODERS) > 5


class Model:
    """Programs of one model with their parameters bound, its arrays and cases."""

    def __init__(self, name: str, load: Load) -> None:
        folder = MODELS / name
        with np.load(folder / "arrays.npz") as file:
            self.arrays = {name: file[name] for name in file.files}
        self.programs: dict[str, ark.Executable] = {}
        for path in sorted(folder.glob("*.arkbin")):
            executable = load(f"models/{name}/{path.stem}")
            executable.bind(self.read("parameter", executable.parameters))
            self.programs[path.stem] = executable
        cases = folder / "cases.json"
        self.cases: Any = json.loads(cases.read_text()) if cases.exists() else None

    def read(self, prefix: str, buffers: Any) -> dict[str, Array]:
        """Returns the arrays of some buffers."""
        return {
            b.name: np.frombuffer(self.arrays[f"{prefix}.{b.name}"], b.dtype.numpy).reshape(b.shape)
            for b in buffers
        }


@pytest.fixture
def open_model(load: Load) -> Callable[[str], Model]:
    """``open_model(name)`` returns a model, which is closed after the test."""
    return lambda name: Model(name, load)


@pytest.mark.parametrize("name", DECODERS)
def test_every_run(open_model: Callable[[str], Model], name: str) -> None:
    """Compares every run of a prompt in chunks and of the tokens after it. Each run begins with the
    interpreter's states, so that its bounds do not grow with the number of runs."""
    model = open_model(name)
    arrays = model.arrays
    for number, which in enumerate(model.cases["steps"]):
        executable = model.programs[which]
        manifest = executable.bundle.manifest
        executable.bind(model.read(f"{number}.state", manifest.states))
        got = executable.run(model.read(f"{number}.input", executable.inputs))
        expected, bound = (arrays[f"{number}.{kind}.logits"] for kind in ("output", "bound"))
        assert_within(got["logits"], expected, bound, f"run {number}: logits")
        if "temperature" not in {buffer.name for buffer in executable.inputs}:
            assert got["token"].tolist() == got["logits"].argmax(-1).tolist()


@pytest.mark.parametrize("name", DECODERS)
def test_generation(open_model: Callable[[str], Model], name: str) -> None:
    """Compares the tokens of one launch, which ends early at an end token. Sampled tokens are
    equal, too, since their noise is deterministic."""
    model = open_model(name)
    decoder = Decoder(model.programs["prefill"], model.programs["decode"])
    driver = driver_of(decoder.decode)
    for case in model.cases["generations"]:
        before = driver.epoch
        assert (
            decoder.generate(**{k: v for k, v in case.items() if k != "tokens"}) == case["tokens"]
        ), case
        assert driver.epoch - before == len(case["tokens"]) - 1


def test_some_continuations_end_early() -> None:
    """Checks that some continuations end early, since the tests above rely on it."""
    cases = [
        case
        for name in DECODERS
        for case in json.loads((MODELS / name / "cases.json").read_text())["generations"]
    ]
    assert sum(len(case["tokens"]) < case["count"] for case in cases) > 10
    assert sum(bool(case["choice"]) for case in cases) > 10


@pytest.mark.parametrize("name", ENCODERS)
def test_an_encoder(open_model: Callable[[str], Model], name: str) -> None:
    """Prompts have unequal lengths with padding, a hole in a mask, or two sentences."""
    model = open_model(name)
    executable = model.programs["embed"]
    inputs = model.read("input", executable.inputs)
    got = executable.run(inputs)["embedding"]
    expected, bound = (model.arrays[f"{kind}.embedding"] for kind in ("output", "bound"))
    assert_within(got, expected, bound, "embedding")
    for _ in range(5):
        assert executable.run(inputs)["embedding"].tobytes() == got.tobytes()
