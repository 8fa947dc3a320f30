"""benchmarks/decode.py on the cpu with small models: it runs, and refuses wrong results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import numpy as np
import torch

from ark_mlir.testing.fake_gpu import FakeCuda, FakeHip, fake_executable
from ark_mlir.testing.fake_gpu.hip import _FUNCTIONS as hip_functions
from ark_mlir.testing.toy import add_program, compile_kernel

from .conftest import FOLDER, compile_rows, measure, run_benchmark, table_cells

ARMS = ("eager", "graph", "ark-1", "ark-128")
ALL = ",".join(ARMS)


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_rows("decode", "tiny,tiny-norm", tmp_path_factory.mktemp("bundles"))


def test_all_arms_are_correct_and_timed(bundles: Path, tmp_path: Path) -> None:
    """Each row has a process of its own, and the record has the arms of both."""
    options = ("--rows", "tiny,tiny-norm", "--arms", ALL, "--samples", 2)
    done = run_benchmark("decode", "--bundles", bundles, *options, "--output", tmp_path / "t.md")
    assert done.returncode == 0, done.stderr
    table = table_cells((tmp_path / "t.md").read_text(encoding="utf-8"))
    assert set(table) == {(name, arm) for name in ("tiny", "tiny-norm") for arm in ARMS}
    for (name, _), row in table.items():
        assert float(row[0]) > 0
        assert float(row[-1]) <= float(table[name, "eager"][-1])


def test_quantized_weights(tmp_path: Path) -> None:
    """The step with quantized weights is that of PyTorch with the same weights in bf16."""
    rows = "tiny-fp8,tiny-int4"
    folder = compile_rows("decode", rows, tmp_path)
    options = ("--rows", rows, "--arms", "eager,ark-1,ark-128", "--samples", 1)
    done = run_benchmark("decode", "--bundles", folder, *options, "--output", tmp_path / "t.md")
    assert done.returncode == 0, done.stderr
    table = table_cells((tmp_path / "t.md").read_text(encoding="utf-8"))
    assert len(table) == 6
    for (name, _), row in table.items():
        assert float(row[-1]) <= float(table[name, "eager"][-1])


def test_wrong_results_have_no_times(bundles: Path, tmp_path: Path) -> None:
    """A difference in one matrix of the weights is enough."""
    spoil = """
load = decode.load_ark
def spoilt(path, weights, caches):
    name = "model.layers.1.mlp.down_proj.weight"
    return load(path, {**weights, name: weights[name].roll(1, 0)}, caches)
decode.load_ark = spoilt
"""
    found = {each["arm"]: each for each in measure("decode", bundles, "tiny", ALL, tmp_path, spoil)}
    assert set(found) == set(ARMS)
    for arm, result in found.items():
        wrong = arm.startswith("ark")
        assert result["problem"].startswith("WRONG: relative error") == wrong
        assert (result["device"] is None) == wrong


def test_tokens_that_depend_on_the_launch_are_refused(bundles: Path, tmp_path: Path) -> None:
    shift = """
made = decode.ArkArm.made
decode.ArkArm.made = lambda arm, *rest: made(arm, *rest) + arm._single
"""
    found = {each["arm"]: each for each in measure("decode", bundles, "tiny", ALL, tmp_path, shift)}
    assert "one launch and several make other tokens" in found["ark-1"]["problem"]
    assert "one launch and several make other tokens" in found["ark-128"]["problem"]
    assert found["eager"]["device"] > 0


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
        own = {"bits", "group"}  # of quantized weights
        assert {field.name for field in fields(settings.Sizes)} - own <= known
        sizes = {
            field: getattr(setting.sizes, field)
            for field in vars(setting.sizes)
            if field not in own
        }
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


@pytest.mark.parametrize(
    ("bits", "group", "size"), [(16, 128, 2), (8, 128, 1.03125), (4, 64, 0.546875)]
)
def test_bytes_of_quantized_weights(parts: Any, bits: int, group: int, size: float) -> None:
    """Scales of fp8 have 4 bytes; scales and zeros of 4 bits have 3."""
    _, settings, _ = parts
    sizes = replace(settings.LLAMA_8B, bits=bits, group=group)
    assert sizes.bytes_per_weight == size
    assert len(sizes.quantized()) == (0 if bits == 16 else 7 * sizes.layers)


@pytest.mark.parametrize(
    ("vendor", "launch", "record"),
    [
        (FakeCuda, "cuLaunchKernelEx", "cuEventRecord"),
        (FakeHip, "hipModuleLaunchKernel", "hipEventRecord"),
    ],
)
def test_a_clock_of_events_measures_the_kernel(
    vendor: type[FakeCuda], launch: str, record: str, parts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The events surround only the launch, on its stream."""
    decode, _, _ = parts
    for name in ("EventSynchronize", "EventElapsedTime"):
        monkeypatch.setitem(hip_functions, f"hip{name}", f"cu{name}")
    gpu = vendor()
    monkeypatch.setattr(FakeCuda, "_cuEventElapsedTime", lambda *_: 12.5, raising=False)
    with fake_executable(gpu, compile_kernel(), add_program()) as executable:
        executable.bind({"w": np.ones(128, np.float32)})
        clock = decode.DeviceClock(executable)
        executable.run(x=np.ones((8, 16), np.float32))
        launched = gpu.calls.index(launch)
        assert gpu.calls[launched - 1] == gpu.calls[launched + 1] == record
        assert clock.seconds() == 0.0125


def test_the_streaming_read_assembles(parts: Any) -> None:
    """All loads are in flight: their results have registers, and a CTA of 1024 threads fits."""
    del parts
    import read_limit

    from ark_mlir.targets.cuda_assembler import assemble

    read = assemble(read_limit.ptx(), "sm_90a", 3)
    assert read.spill_bytes == 0
    assert 4 * read_limit.LOADS < read.registers <= 64


def test_the_streaming_read_says_why_an_amd_gpu_has_none() -> None:
    done = run_benchmark("read_limit", prelude="read_limit.torch.version.hip = '6.4'")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ("Streaming read: not measured on an AMD GPU, since the kernel is PTX.\n")


def test_a_missing_bundle_is_reported(bundles: Path, tmp_path: Path) -> None:
    """The other arms are still measured."""
    (tmp_path / "tiny.npz").write_bytes((bundles / "tiny.npz").read_bytes())
    done = run_benchmark(
        "decode", "--bundles", tmp_path, "--rows", "tiny", "--arms", ALL, "--samples", 1
    )
    assert done.returncode == 1
    assert "- tiny, ark-1: failed: BundleError:" in done.stdout
    assert table_cells(done.stdout)["tiny", "ark-1"][0] == "see below"
    assert float(table_cells(done.stdout)["tiny", "eager"][0]) > 0


def test_a_failing_arm_costs_only_its_own_figures(bundles: Path, tmp_path: Path) -> None:
    fail = """
def compiled(model, mode, device):
    raise RuntimeError(f"no luck with {mode}")
decode.compiled = compiled
"""
    arms = "eager,reduce-overhead,ark-1"
    found = {each["arm"]: each for each in measure("decode", bundles, "tiny", arms, tmp_path, fail)}
    assert "RuntimeError: no luck with reduce-overhead" in found["reduce-overhead"]["problem"]
    assert found["eager"]["device"] > 0
    assert found["ark-1"]["device"] > 0


def test_a_batch_of_serving_is_measured(tmp_path: Path) -> None:
    bundles = compile_rows("serving", "tiny-b4", tmp_path / "bundles")
    done = run_benchmark(
        "serving", "--bundles", bundles, "--rows", "tiny-b4", "--arms", "graph,ark-128"
    )
    assert done.returncode == 0, done.stderr
    assert float(table_cells(done.stdout)["tiny-b4", "ark-128"][0]) > 0
    assert "- ragged batch: not supported: " in done.stdout


def test_attention_without_a_mask_is_the_same_step(parts: Any) -> None:
    _, settings, decoder = parts
    setting = settings.SETTINGS["tiny-norm"]
    weights = decoder.make_weights(setting.sizes, "cpu")
    caches = decoder.make_caches(setting, "cpu")
    rope = torch.rand(setting.context, 16), torch.rand(setting.context, 16)
    results = []
    for flex in (False, True):
        model = decoder.TorchDecoder(
            setting, weights, caches, rope, torch.float32, fused=True, flex=flex
        )
        model.put(torch.tensor([3, 5]), 20)
        results.append(model())
    torch.testing.assert_close(*results)
