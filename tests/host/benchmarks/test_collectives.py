"""benchmarks/collectives.py and data_parallel.py on the cpu: bundles, tables, and refusals."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.bundle import read_bundle

from .conftest import run_benchmark

TINY = ("--elements", "1024", "--ranks", "2")
# Short chains, and few iterations of them.
SHORT = "collectives.CHAINS = {1024: 3}\ncollectives.ITERATIONS = (2, 2)\n"
QUICK = (*TINY, "--no-torch", "--samples", 1)


def benchmark(*arguments: object, prelude: str = "") -> subprocess.CompletedProcess[str]:
    return run_benchmark("collectives", *arguments, prelude=prelude)


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundles")
    done = benchmark("--compile", folder, *TINY, "--target", "cpu:2", prelude=SHORT)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_collective_is_checked_and_timed(bundles: Path, tmp_path: Path) -> None:
    output = tmp_path / "t.md"
    done = benchmark("--bundles", bundles, *QUICK, "--output", output, prelude=SHORT)
    assert done.returncode == 0, done.stderr
    text = output.read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| 2,048")]
    assert len(rows) == 3
    for row in rows:
        float(row.split("|")[2])
    for op in ("all_reduce", "all_gather", "reduce_scatter"):
        assert f"{op}, 2 ranks" in text


def test_ranks_on_one_device_are_timed(tmp_path: Path) -> None:
    chosen = (*TINY, "--one-gpu", "--ops", "all_reduce")
    done = benchmark("--compile", tmp_path, *chosen, "--target", "cpu:2", prelude=SHORT)
    assert done.returncode == 0, done.stderr
    done = benchmark("--bundles", tmp_path, *chosen, "--samples", 1, prelude=SHORT)
    assert done.returncode == 0, done.stderr
    assert "all_reduce, 2 ranks on one GPU" in done.stdout
    (row,) = (line for line in done.stdout.splitlines() if line.startswith("| 2,048"))
    _, *several, mine, ratio, aim = (cell.strip() for cell in row.strip("| ").split("|"))
    assert several == ["not measured"] * 4
    assert (float(mine), ratio, aim) == (pytest.approx(float(mine)), "", "2.0")


def test_gpu_bundles_of_one_device_share_it(tmp_path: Path) -> None:
    arguments = ("--compile", tmp_path, *TINY, "--one-gpu", "--ops", "all_gather")
    done = benchmark(*arguments, prelude=SHORT)
    assert done.returncode == 0, done.stderr
    paths = sorted(tmp_path.glob("*.arkbin"))
    assert [path.name for path in paths] == [
        f"all_gather-2x1024-auto-{count}-one-gpu.arkbin" for count in (1, 3)
    ]
    for path in paths:
        manifest = read_bundle(path).manifest
        assert (manifest.ranks, manifest.shares_device, manifest.target.sms) == (2, True, 132)


# A world of two GPUs whose tensors are in host memory; ark.load takes the place of its kernel.
STAND_IN = """
import torch
full, seen, waited = torch.full, [], []
def placed(shape, value, dtype, device):
    seen.append(str(device))
    return full(shape, value, dtype=dtype)
torch.full, torch.cuda.synchronize = placed, lambda device: waited.append(str(device))
class World:
    def __init__(self, path):
        self.bundle = collectives.read_bundle(path)
        self.inputs = self.bundle.manifest.inputs
    def run(self, inputs, iterations=1, out=None):
        assert all(type(each["x"]) is torch.Tensor for each in inputs)
        return [{"y": sum(each["x"] for each in inputs) / len(inputs)} for _ in inputs]
    def close(self):
        print(sorted(set(seen)), sorted(set(waited)))
collectives.ark.load = World
"""


def test_amd_gpus_are_measured_with_tensors_of_pytorch_for_rocm(tmp_path: Path) -> None:
    """PyTorch for ROCm calls the GPUs ``cuda``."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    chosen = ("--ops", "all_reduce")
    done = benchmark("--compile", tmp_path, *TINY, *chosen, "--target", "hip:gfx942", prelude=SHORT)
    assert done.returncode == 0, done.stderr
    done = benchmark("--bundles", tmp_path, *QUICK, *chosen, prelude=SHORT + STAND_IN)
    assert done.returncode == 0, done.stderr
    gpus = ["cuda:0", "cuda:1"]
    assert f"{gpus} {sorted([*gpus, '0', '1'])}" in done.stdout
    (row,) = (line for line in done.stdout.splitlines() if line.startswith("| 2,048"))
    float(row.split("|")[2])


def test_ranks_of_pytorch_for_rocm_use_rccl(tmp_path: Path) -> None:
    """RCCL has the name of NCCL, which the device ``cuda`` selects."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    done = benchmark(
        "--compile", tmp_path, *TINY, "--ops", "all_reduce", "--target", "hip:gfx942",
        prelude=SHORT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = """
import torch_ranks
class Ranks:
    def __init__(self, ranks, device, port, make, job):
        sys.exit(f"ranks of {device} with {job.device}")
torch_ranks.RankProcesses = Ranks
"""
    done = benchmark("--bundles", tmp_path, *TINY, "--samples", 1, prelude=SHORT + told)
    assert "ranks of cuda with cuda" in done.stderr


def test_wrong_results_have_no_times(bundles: Path) -> None:
    """Rank 1 has the operand of rank 0."""
    spoil = """
def full(self, rank, value, made=collectives.Chain._full):
    return made(self, rank, 1)
collectives.Chain._full = full
"""
    done = benchmark("--bundles", bundles, *QUICK, "--ops", "all_reduce", prelude=SHORT + spoil)
    assert done.returncode == 1
    assert "gives wrong numbers" in done.stderr
    assert "not measured" in done.stdout


def test_a_folder_without_bundles_is_named(tmp_path: Path) -> None:
    done = benchmark("--bundles", tmp_path, *QUICK)
    assert done.returncode == 1
    assert f"{tmp_path} has no bundle of 2 ranks" in done.stderr


def test_gradients_are_means_of_products(tmp_path: Path) -> None:
    arguments = ("--compile", tmp_path, "--ranks", 2, "--size", 32, "--target", "cpu:4")
    done = run_benchmark("data_parallel", *arguments, prelude="data_parallel.LIMITS = (0, 1)")
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("gradients-2-*.arkbin"))) == 5
    random = np.random.default_rng(0)
    with ark.load(tmp_path / "gradients-2-both-1-sms.arkbin") as world:
        assert isinstance(world, ark.World)
        inputs: list[dict[str, np.ndarray]] = [{}, {}]
        for buffer in world.inputs:
            rank, _, name = buffer.name.partition("/")
            values = random.standard_normal(buffer.shape).astype(buffer.dtype.numpy)
            inputs[int(rank[-1])][name] = values
        outputs = world.run(inputs)
    products = [each["e0"].astype(np.float32) @ each["v0"].astype(np.float32).T for each in inputs]
    for output in outputs:
        found = output["y0"].astype(np.float32)
        np.testing.assert_allclose(found, sum(products) / 2, rtol=0.02, atol=0.05)
