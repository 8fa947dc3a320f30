"""Decoders that two ranks share generate equal tokens on one GPU, in one launch and in two, and on
two GPUs, in one process and in two; the tokens are the interpreter's, as far as rounding cannot
change them.

`export_shared_models.py` makes programs, arrays and tokens on a machine with the compiler.
"""

from __future__ import annotations

import pytest
import shared_models
from processes import Launch, two_gpus

pytestmark = pytest.mark.gpu

MODELS = sorted(path.parent.name for path in shared_models.FOLDER.glob("*/cases.json"))


def test_there_are_models() -> None:
    assert len(MODELS) >= 4
    assert any("drawn" in name for name in MODELS)


@pytest.mark.parametrize("name", MODELS)
def test_on_one_gpu(name: str) -> None:
    generated = shared_models.generate(name, [0])
    expected = shared_models.tokens(name)
    assert shared_models.decided(name, generated) == shared_models.decided(name, expected)


@pytest.mark.parametrize("name", MODELS)
def test_in_two_launches_on_one_gpu(name: str) -> None:
    assert shared_models.generate(name, [0, 0]) == shared_models.generate(name, [0])


@two_gpus
@pytest.mark.parametrize("devices", [[0, 1], [1, 0]], ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_on_two_gpus(name: str, devices: list[int]) -> None:
    assert shared_models.generate(name, devices) == shared_models.generate(name, [0])


@two_gpus
@pytest.mark.parametrize("name", MODELS)
def test_in_two_processes(launch: Launch, name: str) -> None:
    assert launch("generate", name) == [shared_models.generate(name, [0])] * 2
