"""benchmarks/tensor_parallel.py on the cpu: it runs, and refuses wrong results and arguments."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from .conftest import run_benchmark


def benchmark(*arguments: object, prelude: str = "") -> subprocess.CompletedProcess[str]:
    return run_benchmark("tensor_parallel", *arguments, prelude=prelude)


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundles")
    done = benchmark("--compile", folder, "--ranks", "1,2", *TINY, "--target", "cpu:2")
    assert done.returncode == 0, done.stderr
    return folder


TINY = ("--settings", "tiny")
QUICK = (*TINY, "--samples", 1)
WIDE = ("--settings", "tiny-160")
QUICK_WIDE = (*WIDE, "--samples", 1)
# Rank 1 gets the weights of rank 0.
SPOIL = """
import tensor_parallel_ark
def spoilt(buffer, arrays, made=tensor_parallel_ark.rank_part):
    class Other:
        name, shape = buffer.name.replace("rank1", "rank0"), buffer.shape
    return made(Other, arrays)
tensor_parallel_ark.rank_part = spoilt
"""


def cells(text: str) -> dict[int, list[str]]:
    """Returns the rows of the table by number of ranks."""
    rows = [line.strip("| ").split("|") for line in text.splitlines() if line.startswith("| tiny")]
    return {int(row[1]): [cell.strip() for cell in row[2:]] for row in rows}


@pytest.mark.parametrize("extra", [(), ("--one-gpu",)])
def test_amd_gpus_have_the_names_of_cuda_in_pytorch(extra: tuple[str, ...], tmp_path: Path) -> None:
    """The weights of bundles for AMD GPUs are made there by PyTorch for ROCm."""
    chosen = ("--ranks", "2", *WIDE, *extra)
    done = benchmark("--compile", tmp_path, *chosen, "--target", "hip:gfx942")
    assert done.returncode == 0, done.stderr
    told = """
import torch, tensor_parallel_one_gpu
torch.cuda.device_count, torch.cuda.get_device_name = lambda: 2, lambda: "stand-in"
def problem(name, folder, device, decides=False):
    sys.exit(f"weights on {device}")
tensor_parallel.Problem = tensor_parallel_one_gpu.Problem = problem
"""
    done = benchmark("--bundles", tmp_path, *chosen, "--samples", 1, prelude=told)
    assert "weights on cuda" in done.stderr


def test_arms_are_checked_and_timed(bundles: Path, tmp_path: Path) -> None:
    output = tmp_path / "t.md"
    done = benchmark("--bundles", bundles, "--ranks", "1,2", *QUICK, "--output", output)
    assert done.returncode == 0, done.stderr
    table = cells(output.read_text(encoding="utf-8"))
    for ranks in (1, 2):
        nccl, _, _, mine, ratio, *_ = table[ranks]
        assert float(nccl) > 0
        assert float(ratio) == pytest.approx(float(mine) / float(nccl), abs=0.01)
    assert table[1][1:3] == ["", ""]
    assert table[2][1:3] == ["not measured"] * 2  # the cpu has no symmetric memory


def test_more_ranks_than_gpus_are_not_measured(bundles: Path) -> None:
    done = benchmark(
        "--bundles",
        bundles,
        "--ranks",
        "1,2",
        *QUICK,
        prelude="tensor_parallel.MOST_RANKS = 1\ntensor_parallel.rank_count = int",
    )
    assert done.returncode == 0, done.stderr
    assert cells(done.stdout)[2][:3] == ["not measured"] * 3
    assert cells(done.stdout)[1][2] != "not measured"


def test_wrong_results_have_no_times(bundles: Path) -> None:
    """Rank 1 gets the weights of rank 0."""
    done = benchmark("--bundles", bundles, "--ranks", "2", *QUICK, prelude=SPOIL)
    assert done.returncode == 1
    assert "tiny, ranks 2, ark: WRONG: relative error" in done.stderr
    assert cells(done.stdout)[2][3] == "not measured"
    assert float(cells(done.stdout)[2][0]) > 0


@pytest.fixture(scope="module")
def shared_bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shared")
    done = benchmark(
        "--compile", folder, "--one-gpu", "--ranks", "1,2,4", *WIDE, "--target", "cpu:4"
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_ranks_on_one_device_have_the_tokens_of_one_rank(
    shared_bundles: Path, tmp_path: Path
) -> None:
    output = tmp_path / "t.md"
    arguments = ("--bundles", shared_bundles, "--one-gpu", "--ranks", "2,4", *QUICK_WIDE)
    done = benchmark(*arguments, "--output", output)
    assert done.returncode == 0, done.stderr
    table = cells(output.read_text(encoding="utf-8"))
    one, two, four = table[1], table[2], table[4]
    assert one[1:3] == ["", ""]
    assert float(two[1]) == pytest.approx(float(two[0]) / float(one[0]), rel=0.05)
    assert two[2] == "1.15"
    assert [row[3] for row in (one, two, four)] == [str(4 * 128)] * 3
    assert two[5:] == ["not measured"] * 4  # the columns of several GPUs
    assert "the right token wins by" in done.stdout


def test_wrong_ranks_on_one_device_have_no_times(shared_bundles: Path) -> None:
    arguments = ("--bundles", shared_bundles, "--one-gpu", "--ranks", "2", *QUICK_WIDE)
    done = benchmark(*arguments, prelude=SPOIL)
    assert done.returncode == 1
    assert "tiny-160, ranks 2: WRONG: relative error" in done.stderr
    assert cells(done.stdout)[2][:2] == ["not measured"] * 2
    assert cells(done.stdout)[1][0] != "not measured"


# The sum of one layer has a wrong part of rank 1. The errors of the logits are not compared.
WRONG_SUM = """
import tensor_parallel_ark
tensor_parallel_ark.Problem.error_of = lambda self, logits: 0.01
def spoilt(buffer, arrays, made=tensor_parallel_ark.rank_part):
    class Other:
        name, shape = buffer.name, buffer.shape
    if buffer.name == "rank1/model.layers.{layer}.{weight}.weight":
        Other.name = buffer.name.replace("rank1", "rank0")
    return made(Other, arrays)
tensor_parallel_ark.rank_part = spoilt
"""


@pytest.mark.parametrize(
    ("layer", "weight"), [(0, "self_attn.o_proj"), (1, "mlp.down_proj"), (1, "self_attn.o_proj")]
)
def test_a_wrong_sum_of_one_layer_changes_tokens(
    shared_bundles: Path, layer: int, weight: str
) -> None:
    arguments = ("--bundles", shared_bundles, "--one-gpu", "--ranks", "2", *QUICK_WIDE)
    prelude = WRONG_SUM.replace("{layer}", str(layer)).replace("{weight}", weight)
    done = benchmark(*arguments, prelude=prelude)
    assert done.returncode == 1
    assert "tiny-160, ranks 2: WRONG: step" in done.stderr
    assert cells(done.stdout)[1][3] == str(4 * 128)
    assert cells(done.stdout)[2][3] == "not measured"


def test_heads_that_cannot_decide_raise() -> None:
    """A tied head, and a vocabulary without rivals for every token."""
    script = """
import torch
from dataclasses import replace
from decode_settings import SETTINGS
from decided_weights import decide
def attempt(setting):
    starts = [[1], [2]]
    try:
        decide(setting, {}, {}, (), starts, 2, 0.01)
    except ValueError as error:
        print(error)
wide = SETTINGS["tiny-160"]
attempt(replace(wide, sizes=replace(wide.sizes, tied=True)))
attempt(replace(wide, sizes=replace(wide.sizes, vocabulary=600)))
tensor_parallel.main = lambda: 0
"""
    done = benchmark(prelude=script)
    assert done.returncode == 0, done.stderr
    assert "tied to the embeddings decides no sequence" in done.stdout
    assert "316 tokens and their rivals are more than" in done.stdout


def test_a_missing_bundle_of_ranks_on_one_device_is_named(
    shared_bundles: Path, tmp_path: Path
) -> None:
    for name in ("tiny-160.npz", "tiny-160-1-ranks-one-gpu.arkbin"):
        (tmp_path / name).write_bytes((shared_bundles / name).read_bytes())
    done = benchmark("--bundles", tmp_path, "--one-gpu", "--ranks", "2", *QUICK_WIDE)
    assert done.returncode == 1
    assert "tiny-160-2-ranks-one-gpu.arkbin" in done.stderr
    assert cells(done.stdout)[1][0] != "not measured"


def test_a_missing_bundle_is_named(bundles: Path, tmp_path: Path) -> None:
    for name in ("tiny.npz", "tiny-1-ranks.arkbin"):
        (tmp_path / name).write_bytes((bundles / name).read_bytes())
    done = benchmark("--bundles", tmp_path, "--ranks", "1,2", *QUICK)
    assert done.returncode == 1
    assert f"there is no {tmp_path / 'tiny-2-ranks.arkbin'}" in done.stderr
    assert cells(done.stdout)[1][2] != "not measured"


def test_a_folder_without_bundles_is_named(tmp_path: Path) -> None:
    done = benchmark("--bundles", tmp_path)
    assert done.returncode == 1
    assert f"{tmp_path} has no bundle of these settings" in done.stderr


def test_sizes_that_the_ranks_do_not_divide_are_an_error(tmp_path: Path) -> None:
    done = benchmark("--compile", tmp_path, "--ranks", "8", *TINY, "--target", "cpu:2")
    assert done.returncode == 1
    assert "tensor_parallel: tiny, ranks 8: tensor_parallel 8 does not divide" in done.stderr
    assert not list(tmp_path.glob("*.arkbin"))
