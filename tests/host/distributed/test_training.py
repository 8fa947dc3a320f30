"""Ranks that train together stop together; a rank that fails leaves files of whole steps."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from ark_mlir.runtime.arrays.safetensors import read_safetensors

Train = Callable[[str], "list[Any]"]
# Batches are made at most three steps ahead, and steps are saved by fours.
STEPS, SAVED = 30, (8, 12)


@pytest.fixture
def train(launch_ranks: Callable[..., list[Any]], tmp_path: Path) -> Train:
    """``train(kind)`` starts or resumes a training in two ranks; something happens in step 13."""
    script = Path(__file__).with_name("training_scenarios.py")
    # The fixture also returns the processes of earlier calls.
    return lambda kind: launch_ranks(script, kind, str(tmp_path))[-2:]


@pytest.fixture(scope="module")
def weights(request: pytest.FixtureRequest) -> list[Any]:
    """The weights after all steps, once known."""
    return []


def finish(train: Train, weights: list[Any]) -> None:
    """Resumes a training; all trainings of this module end with the same bits."""
    got = train("whole")
    assert got[0] == got[1]
    assert (got[0]["error"], got[0]["step"], got[0]["saved"]) == (["", ""], STEPS, STEPS)
    weights.append(got[0]["weights"])
    assert weights[0] == weights[-1]


def test_ranks_run_the_same_steps(train: Train, weights: list[Any]) -> None:
    finish(train, weights)


def test_ctrl_c_in_one_rank(train: Train, weights: list[Any], tmp_path: Path) -> None:
    got = train("interrupted")
    assert got[0] == got[1]
    assert got[0]["error"][0] == "KeyboardInterrupt"
    stopped = got[0]["saved"]
    assert 9 < got[0]["step"] == stopped < STEPS
    shutil.copy(tmp_path / "1.safetensors", tmp_path / "earlier.safetensors")
    finish(train, weights)
    for each in train("apart"):
        assert each["error"][0] == "InvalidUsageError"
        assert "the ranks have no saved step in common: " in each["error"][1]
        assert f"rank 0 has {STEPS}, rank 1 has {stopped}" in each["error"][1]


def test_ranks_that_divide_the_moments(train: Train, tmp_path: Path) -> None:
    """A training that is interrupted and resumed has the bits of plain data parallelism."""
    plain = train("whole, adamw")
    assert plain[0] == plain[1]
    assert plain[0]["step"] == STEPS
    for file in tmp_path.iterdir():
        file.unlink()
    stopped = train("interrupted, sharded")
    assert stopped[0]["error"][0] == "KeyboardInterrupt"
    assert 9 < stopped[0]["step"] < STEPS
    resumed = train("whole, sharded")
    assert resumed == plain
    moments = [read_safetensors(tmp_path / f"{rank}.safetensors") for rank in range(2)]
    # Three weights are two for each rank, with a zero at the end.
    assert [each["adamw.mean.bucket0"].shape for each in moments] == [(2,), (2,)]
    assert moments[1]["adamw.mean.bucket0"][1] == 0


def test_a_rank_that_is_lost(train: Train, weights: list[Any]) -> None:
    got = train("killed")
    assert got[1] == -signal.SIGKILL
    assert got[0]["error"][0] == "RankFailedError"
    assert "rank 1 (process " in got[0]["error"][1]
    assert got[0]["saved"] in SAVED
    finish(train, weights)


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize(
    "moment",
    ["killed before the file", "killed after the file", "killed before the former file goes"],
)
def test_a_rank_that_is_lost_in_a_save(
    moment: str, number: int, train: Train, weights: list[Any], tmp_path: Path
) -> None:
    """Both ranks resume from the former save, or from this one if both have written it."""
    got = train(f"{moment} in save {number}")
    assert got[1] == -signal.SIGKILL
    assert got[0]["error"][0] == "RankFailedError"
    # Rank 0 replaces its file only if rank 1 has written its own.
    assert got[0]["saved"] == 4 * (number if "goes" in moment else number - 1)
    finish(train, weights)
    assert {file.name for file in tmp_path.iterdir()} == {"0.safetensors", "1.safetensors"}


def test_a_full_disk_of_one_rank(train: Train, weights: list[Any]) -> None:
    """If the file of one rank cannot be written, the former files of both ranks stay."""
    got = train("a full disk in save 2")
    assert got[1]["error"][0] == "OSError"
    assert got[0]["error"][0] == "RankFailedError"
    assert "rank 1 failed: [Errno 28] No space left on device" in got[0]["error"][1]
    assert got[0]["saved"] == got[1]["saved"] == 4
    finish(train, weights)


def test_a_batch_of_the_wrong_shape_in_one_rank(train: Train, weights: list[Any]) -> None:
    got = train("misshapen")
    assert got[1]["error"][0] == "InvalidUsageError"
    assert "the batch of step 13: 'x' is float32[3, 3]" in got[1]["error"][1]
    assert got[0]["error"][0] == "RankFailedError"
    assert "rank 1 failed: " in got[0]["error"][1]
    assert got[0]["saved"] == got[1]["saved"]
    assert got[0]["saved"] in SAVED
    assert got[0]["step"] == got[1]["step"] <= 13
    finish(train, weights)
