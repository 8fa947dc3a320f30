"""ptxas overlaps the warpgroup instructions of kernels with many bodies."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from assembled_ptx import record_ptx

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.models.decoder import DecoderConfig, build_prefill
from ark_mlir.targets.cuda_toolkit import find_toolkit


@pytest.mark.parametrize("tokens", [128, 512])
def test_a_prompt(tokens: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Products and attention use `wgmma`. A function call between two of these instructions would
    make ptxas wait for each of them separately, with the note C7510.
    """
    texts = record_ptx(monkeypatch)
    config = DecoderConfig(
        vocabulary=1024, hidden=2048, layers=2, heads=32, kv_heads=8, head=64, intermediate=8192,
        positions=tokens,
    )  # fmt: skip
    ark.compile(build_prefill(config, chunk=tokens, max_length=tokens), "cuda:sm_90a", cache=False)
    source = tmp_path / "kernel.ptx"
    source.write_text(texts.pop())
    command = [str(find_toolkit().ptxas), "-v", "-arch=sm_90a", str(source), "-o", "/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert source.read_text().count("wgmma.mma_async") > 8
    assert "Used " in done.stderr
    assert "serialized" not in done.stderr
