"""A bundle runs only with the model that it was compiled from."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.bundle import read_bundle

PROMPT = [3, 10, 17]


@pytest.fixture(scope="module")
def bundles(tiny: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with a Llama in ``model``, and its bundles ``m.*.arkbin``."""
    root = tmp_path_factory.mktemp("origins")
    folder = tiny.write_model(root / "model", "llama")
    model = ark.models.load(folder, max_length=24, chunk=4).compile("cpu:2", opt_level=0)
    for name, executable in model.executables.items():
        executable.save(root / f"m.{name}.arkbin")
    return root


def load(folder: Path, bundles: Path) -> Any:
    return ark.models.load_compiled(folder, bundles / "m.arkbin")


def changed(tiny: Any, folder: Path, **entries: Any) -> Path:
    return tiny.write_model(folder, "llama", tiny.weights("llama"), entries)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"rope_theta": 5e5}, "'rope_theta' in "),
        ({"rms_norm_eps": 1e-6, "rope_theta": 5e5}, "'rms_norm_eps', 'rope_theta' in "),
        ({"hidden_act": "gelu"}, "'hidden_act' in "),
        ({"model_type": "mistral"}, "has the model type llama, the folder mistral"),
    ],
)
def test_another_configuration_of_equal_shapes(
    tiny: Any, tmp_path: Path, bundles: Path, entries: dict[str, Any], message: str
) -> None:
    folder = changed(tiny, tmp_path / "other", **entries)
    with pytest.raises(ark.BundleError) as caught:
        load(folder, bundles)
    text = str(caught.value)
    assert "was compiled from another model" in text
    assert message in text
    assert "compile it again: ark compile" in text
    assert "\n" not in text


def test_other_tensors(tiny: Any, tmp_path: Path, bundles: Path) -> None:
    """A bias that the program lacks would be left out silently."""
    weights = {
        **tiny.weights("llama"),
        "model.layers.0.self_attn.q_proj.bias": np.ones(32, np.float32),
    }
    folder = tiny.write_model(tmp_path / "other", "llama", weights)
    with pytest.raises(ark.BundleError, match=r"names or shapes of the tensors in .* differ"):
        load(folder, bundles)


def test_a_fine_tuned_checkpoint_runs(tiny: Any, tmp_path: Path, bundles: Path) -> None:
    """Other weights of the same configuration, written by another version of transformers."""
    weights = {name: array * np.float32(1.25) for name, array in tiny.weights("llama").items()}
    entries = {"transformers_version": "9.9", "_name_or_path": "tuned", "use_cache": False}
    folder = tiny.write_model(tmp_path / "tuned", "llama", weights, entries)
    expected = ark.models.load(folder, max_length=24).generate(PROMPT, 8, reference=True)
    assert load(folder, bundles).generate(PROMPT, 8) == expected


def test_a_bundle_without_a_record(tmp_path: Path, bundles: Path) -> None:
    for name in ("prefill", "decode"):
        bundle = read_bundle(bundles / f"m.{name}.arkbin")
        assert bundle.manifest.origin is not None
        old = replace(bundle, manifest=replace(bundle.manifest, origin=None))
        old.save(tmp_path / f"m.{name}.arkbin")
    with pytest.raises(ark.BundleError, match=r"has no record of the model .* ark compile"):
        load(bundles / "model", tmp_path)


@pytest.mark.parametrize("kind", ["mixtral", "qwen3_moe"])
def test_experts_from_bundles(tiny: Any, tmp_path: Path, kind: str) -> None:
    folder = tiny.write_model(tmp_path / "model", kind)
    model = ark.models.load(folder, max_length=16, chunk=4).compile("cpu:2", opt_level=0)
    for name, executable in model.executables.items():
        executable.save(tmp_path / f"m.{name}.arkbin")
    assert load(folder, tmp_path).generate(PROMPT, 6) == model.generate(PROMPT, 6)


def test_the_pooling_of_an_encoder(tiny: Any, tmp_path: Path) -> None:
    folder = tiny.write_model(tmp_path / "bert", "bert")
    model = ark.models.load(folder, batch=1, length=8).compile("cpu:2", opt_level=0)
    model.executable("embed").save(tmp_path / "e.arkbin")
    (folder / "modules.json").write_text(json.dumps([]))
    with pytest.raises(ark.BundleError, match=r"'modules\.json' in "):
        ark.models.load_compiled(folder, tmp_path / "e.arkbin")


def test_the_command_line(tiny: Any, tmp_path: Path, bundles: Path) -> None:
    folder = changed(tiny, tmp_path / "other", rope_theta=5e5)
    command = ["-m", "ark_mlir", "generate", folder, "--bundle", bundles / "m.arkbin"]
    done = subprocess.run(
        [sys.executable, *map(str, command), "--prompt-ids", "1,2"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"ark: error: {bundles / 'm.prefill.arkbin'}: was compiled from")
    found = subprocess.run(
        [sys.executable, "-m", "ark_mlir", "info", str(bundles / "m.decode.arkbin")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "built from" in found.stdout
    assert "a folder of the model type llama" in found.stdout
