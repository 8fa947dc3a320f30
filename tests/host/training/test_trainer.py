"""The Trainer saves, resumes, stops and refuses; each launch leaves whole steps."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from fit_program import batch, build

import ark_mlir as ark
from ark_mlir.runtime.arrays.safetensors import read_safetensors, write_safetensors

Array = np.ndarray[Any, Any]
Batch = Callable[[int], dict[str, Array]]


def make(batches: Batch = batch, launch: int = 4, kind: str = "AdamW", **options: Any) -> Any:
    program, loop = build(launch, kind)
    return ark.training.Trainer(program, loop, batches, target="cpu:1", **options)


@pytest.fixture(scope="module")
def whole() -> tuple[Array, dict[str, Array]]:
    """The losses and the states of eleven steps."""
    with make() as trainer:
        return trainer.run(11), trainer.state_arrays()


@pytest.fixture
def trainer() -> Iterator[Any]:
    with make() as made:
        yield made


def same(got: dict[str, Array], expected: dict[str, Array]) -> bool:
    kept = [name for name in expected if name != "loop.losses"]  # a ring, of launches of any length
    return all(got[name].tobytes() == expected[name].tobytes() for name in kept)


def test_a_resumed_run_has_the_bits_of_one_that_went_on(
    whole: tuple[Array, dict[str, Array]], tmp_path: Path
) -> None:
    path = tmp_path / "fit.safetensors"
    with make(save=path) as first:
        begin = first.run(6)
    with make(launch=3) as second, pytest.raises(ark.InvalidUsageError, match=r"loop\.losses"):
        second.load(path)
    with make() as third:
        third.load(path)
        assert third.step == 6
        end = third.run(5)
        assert np.array_equal(np.concatenate([begin, end]), whole[0])
        assert same(third.state_arrays(), whole[1])
        assert third.losses == [float(loss) for loss in whole[0]]


def test_the_length_of_launches_does_not_matter(whole: tuple[Array, dict[str, Array]]) -> None:
    with make(launch=1) as trainer:
        losses = trainer.run(11)
        states = trainer.state_arrays()
    assert np.array_equal(losses, whole[0])
    assert same(states, whole[1])


def test_ctrl_c_leaves_a_state_to_resume(
    whole: tuple[Array, dict[str, Array]], tmp_path: Path
) -> None:
    path = tmp_path / "fit.safetensors"

    def interrupt(step: int) -> dict[str, Array]:
        if step == 4:
            os.kill(os.getpid(), signal.SIGINT)
        return batch(step)

    before = signal.getsignal(signal.SIGINT)
    with make(interrupt, save=path) as trainer:
        with pytest.raises(KeyboardInterrupt):
            trainer.run(11)
        stopped = trainer.step
    assert signal.getsignal(signal.SIGINT) is before
    assert 4 < stopped < 11
    with make() as again:
        again.load(path)
        assert again.step == stopped
        again.run(11 - stopped)
        assert same(again.state_arrays(), whole[1])


def test_a_loss_that_is_not_finite_stops_with_the_step(tmp_path: Path) -> None:
    path = tmp_path / "fit.safetensors"

    def poisoned(step: int) -> dict[str, Array]:
        values = batch(step)
        if step == 6:
            values["x"][0, 0] = np.nan
        return values

    with make(poisoned, save=path, save_every=3) as trainer:
        with pytest.raises(ark.DeviceError, match="the loss of step 6 is nan"):
            trainer.run(11)
        assert trainer.step == 6
        assert len(trainer.losses) == 6
        weights = trainer.state_arrays()["w"]
    assert np.isfinite(weights).all()
    saved = read_safetensors(path)
    assert int(saved["loop.step"]) == 6
    assert np.array_equal(saved["w"], weights)


def test_a_full_disk_leaves_the_old_file(
    trainer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "fit.safetensors"
    trainer.run(1)
    trainer.save(path)
    content = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    trainer.run(1)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left") as caught:
            trainer.save(path)
    assert caught.value.filename == str(path)
    assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == ["fit.safetensors"]
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="Not a regular file"):
        trainer.save(tmp_path / "pipe")


def test_a_batch_of_the_wrong_form(trainer: Any) -> None:
    good = batch(0)

    def refuses(wrong: Any, reason: str) -> None:
        trainer._batch = lambda step: wrong if step == 2 else good
        with pytest.raises(ark.InvalidUsageError, match=reason):
            trainer.run(8)
        assert trainer.step == 2 or trainer.step == 1

    refuses(
        {**good, "x": good["x"][:4]},
        r"batch of step 2: 'x' is float32\[4, 5\], not float32\[8, 5\]",
    )
    refuses({**good, "x": good["x"].astype(float)}, "batch of step 2: 'x' is float64")
    refuses({"x": good["x"]}, r"batch of step 2 has the inputs \['x'\], but .* \['x', 'y'\]")
    refuses(None, "batch of step 2 is None")


def test_a_launch_that_fails(tmp_path: Path) -> None:
    """The states may be those within a step, so that they are neither used nor saved."""
    path = tmp_path / "fit.safetensors"
    with ark.Program("labels") as program:
        loop = ark.training.Loop(steps=4)
        w = ark.state("w", (5, 3), init=0.1)
        labels = loop.input("labels", (8,), ark.int32)
        loss = ark.cross_entropy(loop.input("x", (8, 5)) @ w, labels)
        ark.optim.AdamW([w], lr=0.05).step(ark.gradients(loss, [w]), skip=loop.end(loss))
    broken = True

    def labelled(step: int) -> dict[str, Array]:
        labels = np.arange(8, dtype=np.int32) % 3
        if step == 5 and broken:
            labels[3] = 99
        return {"x": batch(step)["x"], "labels": labels}

    options: Any = {"target": "cpu:1", "save": path, "save_every": 2}
    with ark.training.Trainer(program, loop, labelled, **options) as trainer:
        with pytest.raises(
            ark.DataRangeError, match=r"index 99 .* in the launch of steps? [45]"
        ) as caught:
            trainer.run(9)
        # The op that the user wrote, although its look-up is in a fused task.
        assert "cross_entropy" in " ".join(caught.value.notes)
        assert trainer.failed is not None
        content = path.read_bytes()
        for use in (lambda: trainer.run(1), lambda: trainer.save(path)):
            with pytest.raises(ark.InvalidUsageError, match=r"failed, so that .* call load"):
                use()
        assert path.read_bytes() == content
        trainer.load(path)
        assert trainer.step == len(trainer.losses) == 4
        broken = False
        trainer.run(5)
        assert trainer.step == 9
        kept = trainer.state_arrays()
    with ark.training.Trainer(program, loop, labelled, target="cpu:1") as whole:
        whole.run(9)
        assert same(whole.state_arrays(), kept)


@pytest.mark.parametrize(
    ("poison", "origin"),
    [
        (lambda x: x * np.nan, r"comes from input 'x'; lower"),
        (lambda x: -x, r"comes from ark\.log at .*test_trainer\.py:\d+; lower"),
        (lambda x: x * 1e6, r"comes from ark\.cast 'half' at .*test_trainer\.py:\d+; lower"),
    ],
)
def test_the_op_that_made_a_loss_not_finite(poison: Any, origin: str) -> None:
    with ark.Program("fit") as program:
        loop = ark.training.Loop(steps=4)
        x, w = loop.input("x", (8, 5)), ark.state("w", (5,), init=1.0)
        hidden = ark.where(ark.constant(np.eye(8, 5) > 0), float("-inf"), x * w)
        weights = ark.softmax(hidden * ark.parameter("scale", (1,)))  # the infinities are masks
        half = ark.cast(x @ w, ark.fp16, name="half")
        total = ark.log(ark.cast(half, ark.fp32)) + ark.reduce_sum(weights, 1, keepdims=False)
        loss = ark.reduce_mean(total, keepdims=False)
        ark.optim.SGD([w], lr=0.01).step(ark.gradients(loss, [w]), skip=loop.end(loss))

    def poisoned(step: int) -> dict[str, Array]:
        x = np.random.default_rng(step).random((8, 5), np.float32) + 1
        return {"x": (poison(x) if step == 3 else x).astype(np.float32)}

    options: Any = {"target": "cpu:1", "bind": {"scale": np.ones(1, np.float32)}, "explain": True}
    with ark.training.Trainer(program, loop, poisoned, **options) as trainer:
        with pytest.raises(ark.DeviceError, match=rf"^the loss of step 3 is .*; .* {origin}"):
            trainer.run(9)
        assert trainer.step == 3
        assert np.isfinite(trainer.state_arrays()["w"]).all()


def test_a_norm_that_is_not_finite(tmp_path: Path) -> None:
    """The gradient of a root at zero is infinite; its step changes no weight."""
    with ark.Program("root") as program:
        loop = ark.training.Loop(steps=4)
        w = ark.state("w", (5,), init=0.5)
        loss = ark.reduce_sum(ark.sqrt(loop.input("x", (5,)) * w), keepdims=False)
        slopes, norm = ark.optim.clip_by_global_norm(ark.gradients(loss, [w]), 1.0)
        ark.optim.SGD([w], lr=0.01).step(slopes, skip=loop.end(loss, norm))

    def zeros_at_five(step: int) -> dict[str, Array]:
        return {"x": np.full(5, float(step != 5), np.float32)}

    with ark.training.Trainer(
        program, loop, zeros_at_five, target="cpu:1", explain=True
    ) as trainer:
        message = r"the norm of step 5 is (nan|inf), and its loss 0; .* comes from ark\.\w+ .*at"
        with pytest.raises(ark.DeviceError, match=message):
            trainer.run(9)
        assert trainer.step == len(trainer.losses) == 5
        assert np.isfinite(trainer.state_arrays()["w"]).all()
        assert trainer.failed is None


def test_a_file_of_another_training(trainer: Any, tmp_path: Path) -> None:
    path = tmp_path / "fit.safetensors"
    with make(kind="SGD") as other:
        other.save(path)
    before = trainer.state_arrays()
    with pytest.raises(ark.InvalidUsageError, match="the program has the state 'adamw"):
        trainer.load(path)
    write_safetensors(path, {"w": np.zeros(5, np.float32)})
    with pytest.raises(ark.InvalidUsageError, match="is not a file of training states"):
        trainer.load(path)
    with pytest.raises(ark.InvalidUsageError, match="cannot be read"):
        trainer.load(tmp_path / "missing")
    assert same(trainer.state_arrays(), before)


def test_wrong_uses() -> None:
    program, loop = build()
    with pytest.raises(ark.InvalidUsageError, match="save_every must be a positive integer"):
        ark.training.Trainer(program, loop, batch, save_every=0)
    with ark.Program("other") as other:
        ark.output("y", ark.input("x", (2,)) * 2)
    with pytest.raises(ark.InvalidUsageError, match="built without this loop"):
        ark.training.Trainer(other, loop, batch)
    with ark.Program("unfed") as unfed:
        own = ark.training.Loop()
        own.end(ark.reduce_sum(ark.input("x", (2,)), keepdims=False))
        with pytest.raises(ark.InvalidUsageError, match="has a loss already"):
            own.end(ark.zeros(()))
    with pytest.raises(ark.InvalidUsageError, match="input 'x' was not declared by the loop"):
        ark.training.Trainer(unfed, own, batch)
    with ark.Program("none"):
        ark.output("y", ark.zeros((1,)))
        with pytest.raises(ark.InvalidUsageError, match=r"test_trainer\.py:.*positive integer"):
            ark.training.Loop(steps=0)
        with pytest.raises(ark.InvalidUsageError, match=r"shape\[0\] must be an integer, not 2\.5"):
            ark.training.Loop().input("x", (2.5,))  # type: ignore[arg-type]
    with pytest.raises(ark.InvalidUsageError, match="missing/a: the folder does not exist"):
        ark.training.Trainer(program, loop, batch, save="missing/a")
    with pytest.raises(ark.InvalidUsageError, match="paths must be a list of paths"):
        ark.training.read_bytes("a.txt")


@pytest.mark.parametrize("span", [0.0097, 0.95, 1.0, 9.0, 9.99, 1e5])
def test_a_curve_has_a_few_round_losses(span: float, tmp_path: Path) -> None:
    path = tmp_path / "loss.html"
    ark.training.write_curve(path, [2.0 + span, 2.0])
    assert 4 <= path.read_text().count('class="grid"/>') <= 11


def test_a_curve(trainer: Any, tmp_path: Path) -> None:
    trainer.run(5)
    trainer.plot(tmp_path / "loss.html")
    page = (tmp_path / "loss.html").read_text()
    assert page.count("<polyline") == 2
    assert f"last {trainer.losses[-1]:.4f}" in page
    assert "<script" not in page
    ark.training.write_curve(tmp_path / "long.html", np.linspace(5, 1, 5000), title="a < b")
    long = (tmp_path / "long.html").read_text()
    assert "a &lt; b" in long
    assert len(long) < 60_000
    with pytest.raises(ark.InvalidUsageError, match="no finite loss"):
        ark.training.write_curve(tmp_path / "none.html", [float("nan")])


def test_safetensors_are_those_of_the_package(tmp_path: Path) -> None:
    numpy_files = pytest.importorskip("safetensors.numpy")
    arrays = {"a": np.arange(3, dtype=np.int8), "b": np.ones((2, 3), np.float32), "c": np.array(4)}
    write_safetensors(tmp_path / "x.safetensors", arrays)
    for read in (numpy_files.load_file, read_safetensors):
        got = read(tmp_path / "x.safetensors")
        assert {name: (a.dtype, a.tolist()) for name, a in got.items()} == {
            name: (a.dtype, a.tolist()) for name, a in arrays.items()
        }
    with pytest.raises(ark.InvalidUsageError, match="array 'z' is complex64"):
        write_safetensors(tmp_path / "y.safetensors", {"z": np.zeros(1, np.complex64)})
