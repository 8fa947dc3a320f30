"""benchmarks/decode.py on the cpu with small models: it runs, and refuses wrong results."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import numpy as np
import torch

from .conftest import FOLDER, run_benchmark


def benchmark(*arguments: object, prelude: str = "") -> subprocess.CompletedProcess[str]:
    return run_benchmark("decode", *arguments, prelude=prelude)


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundles")
    arguments = ("--settings", "tiny,tiny-norm", "--target", "cpu:2")
    done = benchmark("--compile", folder, *arguments)
    assert done.returncode == 0, done.stderr
    return folder


ARMS = ("eager", "ark-1", "ark-128")
QUICK = ("--arms", ",".join(ARMS), "--tokens", 16, "--samples", 2)


def cells(text: str) -> dict[tuple[str, str], list[str]]:
    """Rows of the table by setting and arm."""
    rows = [line.strip("| ").split("|") for line in text.splitlines() if line.startswith("| tiny")]
    return {(row[0].strip(), row[1].strip()): [cell.strip() for cell in row[2:]] for row in rows}


def test_all_arms_are_correct_and_timed(bundles: Path, tmp_path: Path) -> None:
    done = benchmark(
        "--bundles", bundles, "--settings", "tiny,tiny-norm", *QUICK, "--output", tmp_path / "t.md"
    )
    assert done.returncode == 0, done.stderr
    table = cells((tmp_path / "t.md").read_text(encoding="utf-8"))
    assert set(table) == {(name, arm) for name in ("tiny", "tiny-norm") for arm in ARMS}
    for (name, _), row in table.items():
        assert float(row[0]) > 0
        assert float(row[-1]) <= float(table[name, "eager"][-1])


def test_wrong_results_have_no_times(bundles: Path) -> None:
    """A difference in one matrix of the weights is enough."""
    spoil = """
load = decode.load_ark
def spoilt(path, weights, caches):
    name = "model.layers.1.mlp.down_proj.weight"
    return load(path, {**weights, name: weights[name].roll(1, 0)}, caches)
decode.load_ark = spoilt
"""
    done = benchmark("--bundles", bundles, "--settings", "tiny", *QUICK, prelude=spoil)
    assert done.returncode == 1
    assert "decode: WRONG: tiny, ark-1: relative error" in done.stderr
    assert set(cells(done.stdout)) == {("tiny", "eager")}


def test_tokens_that_depend_on_the_launch_are_refused(bundles: Path) -> None:
    shift = """
made = decode.ArkArm.made
decode.ArkArm.made = lambda arm, *rest: made(arm, *rest) + arm._single
"""
    done = benchmark("--bundles", bundles, "--settings", "tiny", *QUICK, prelude=shift)
    assert done.returncode == 1
    assert "tiny: one launch and several make other tokens" in done.stderr
    assert set(cells(done.stdout)) == {("tiny", "eager")}


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports the modules of the benchmark."""
    monkeypatch.syspath_prepend(str(FOLDER))
    import decode
    import decode_settings
    import torch_decoder

    return decode, decode_settings, torch_decoder


def test_fused_products_are_the_same_step(parts: Any) -> None:
    _, settings, decoder = parts
    setting = settings.SETTINGS["tiny-norm"]
    weights = decoder.make_weights(setting.sizes, "cpu")
    caches = decoder.make_caches(setting, "cpu")
    rope = torch.rand(setting.context, 16), torch.rand(setting.context, 16)
    results = []
    for fused in (False, True):
        model = decoder.TorchDecoder(setting, weights, caches, rope, torch.float64, fused)
        model.put(torch.tensor([3, 5]), 20)
        results.append([model(), model()])
        assert model.position.tolist() == [22]
        assert model.token.tolist() == results[-1][1].argmax(-1).tolist()
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other)


def test_shapes_are_those_of_the_program(parts: Any) -> None:
    """The sizes of the benchmark equal the compiler's, which the benchmark must not import."""
    _, settings, _ = parts
    from dataclasses import fields

    from ark_mlir.models.decoder import DecoderConfig, build_decode

    known = {field.name for field in fields(DecoderConfig)}
    for name in ("tiny", "tiny-norm"):
        setting = settings.SETTINGS[name]
        assert {field.name for field in fields(settings.Sizes)} <= known
        sizes = {field: getattr(setting.sizes, field) for field in vars(setting.sizes)}
        config = DecoderConfig(**{**sizes, "scaling": None})
        program = build_decode(config, batch=setting.batch, max_length=setting.context)
        shapes = {name: tuple(tensor.shape) for name, tensor in program.parameters.items()}
        assert shapes == setting.sizes.parameters()
        assert tuple(program.states["layers.0.key"].shape) == setting.sizes.cache(
            setting.batch, setting.context
        )


@pytest.mark.parametrize(("name", "size"), [("A", 2.477), ("A-1k", 2.505), ("B", 1.31)])
def test_bytes_are_those_of_the_records(parts: Any, name: str, size: float) -> None:
    """The bytes are counted at the last token's context, as in the figures of other projects."""
    _, settings, _ = parts
    assert settings.SETTINGS[name].bytes_read(1) / 1e9 == pytest.approx(size, abs=0.001)


def test_an_error_of_nan_does_not_pass(parts: Any) -> None:
    decode, _, _ = parts
    found = np.array([1.0, np.nan], np.float32)
    assert not decode.error_of(found, np.ones(2, np.float32)) <= 1


def test_a_clock_of_events_measures_the_kernel(parts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The events surround only the launch, on its stream."""
    decode, _, _ = parts
    from ark_mlir.testing.fake_cuda import FakeCuda, fake_executable
    from ark_mlir.testing.toy import add_program, compile_kernel

    cuda = FakeCuda()
    monkeypatch.setattr(FakeCuda, "_cuEventElapsedTime", lambda *_: 12.5, raising=False)
    with fake_executable(cuda, compile_kernel(), add_program()) as executable:
        executable.bind({"w": np.ones(128, np.float32)})
        clock = decode.DeviceClock(executable)
        executable.run(x=np.ones((8, 16), np.float32))
        launch = cuda.calls.index("cuLaunchKernelEx")
        assert cuda.calls[launch - 1] == cuda.calls[launch + 1] == "cuEventRecord"
        assert clock.seconds() == 0.0125


def test_the_streaming_read_assembles(parts: Any) -> None:
    """All loads are in flight: their results have registers, and a CTA of 1024 threads fits."""
    del parts
    import read_limit

    from ark_mlir.targets.cuda_assembler import assemble

    read = assemble(read_limit.ptx(), "sm_90a", 3)
    assert read.spill_bytes == 0
    assert 4 * read_limit.LOADS < read.registers <= 64


def test_a_missing_bundle_is_reported(bundles: Path, tmp_path: Path) -> None:
    """The other arms are still measured."""
    for name in ("tiny.npz", "tiny-norm.npz", "tiny-norm.arkbin"):
        (tmp_path / name).write_bytes((bundles / name).read_bytes())
    done = benchmark("--bundles", tmp_path, "--settings", "tiny,tiny-norm", *QUICK)
    assert done.returncode == 1
    assert "tiny: there is no bundle of it" in done.stderr
    assert set(cells(done.stdout)) == {("tiny", "eager")} | {("tiny-norm", arm) for arm in ARMS}


def test_a_failing_arm_costs_only_its_own_figures(bundles: Path) -> None:
    fail = """
import torch_decoder
def compiled(model, mode):
    raise RuntimeError(f"no luck with {mode}")
torch_decoder.compiled = compiled
"""
    arms = ("--arms", "eager,reduce-overhead,ark-1", "--tokens", 16, "--samples", 1)
    done = benchmark("--bundles", bundles, "--settings", "tiny", *arms, prelude=fail)
    assert done.returncode == 1
    assert "WRONG: tiny, reduce-overhead: RuntimeError('no luck with reduce" in done.stderr
    assert set(cells(done.stdout)) == {("tiny", "eager"), ("tiny", "ark-1")}


def test_a_failing_setting_costs_only_its_own_figures(bundles: Path, tmp_path: Path) -> None:
    for path in bundles.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "tiny.arkbin").write_bytes((tmp_path / "tiny-norm.arkbin").read_bytes())
    done = benchmark("--bundles", tmp_path, "--settings", "tiny,tiny-norm", *QUICK)
    assert done.returncode == 1
    assert "WRONG: tiny: InvalidUsageError" in done.stderr
    assert set(cells(done.stdout)) == {("tiny-norm", arm) for arm in ARMS}
