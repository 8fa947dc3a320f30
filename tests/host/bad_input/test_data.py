"""Arrays, bundles and models that do not fit give one clear error that names them.

Each input is given to the Python API and, if a command takes it, to the command line: exit status
1, one message on stderr, no traceback.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.bundle import read_bundle
from ark_mlir.runtime import Executable

Refused = Callable[..., str]


# -- arrays ---------------------------------------------------------------------------------------


def make_linear() -> ark.Program:
    """``y = softmax(x w)``."""
    with ark.Program("linear") as made:
        x = ark.input("x", (4, 8), ark.fp32)
        w = ark.parameter("w", (8, 16), ark.fp32)
        ark.output("y", ark.softmax(ark.matmul(x, w)))
    return made


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled program with its arrays beside it."""
    folder = tmp_path_factory.mktemp("linear")
    ark.compile(make_linear(), target="cpu:2").save(folder / "linear.arkbin")
    np.save(folder / "x.npy", np.ones((4, 8), np.float32))
    np.save(folder / "w.npy", np.ones((8, 16), np.float32))
    np.save(folder / "double.npy", np.ones((8, 16)))
    np.save(folder / "double_x.npy", np.ones((4, 8)))
    return folder / "linear.arkbin"


X = np.ones((4, 8), np.float32)
W = np.ones((8, 16), np.float32)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "parameter 'w' is missing"),
        ({"w": W.T}, "parameter 'w' has shape [16, 8]; expected [8, 16]"),
        ({"w": W.astype(np.float64)}, "parameter 'w' has elements of float64; expected fp32"),
        ({"w": W, "v": W}, "there is no parameter 'v'"),
        ({"w": None}, "parameter 'w' is a NoneType"),
        ({"w": [[1.0]]}, "parameter 'w' is a list"),
        ({3: W}, "the name of a parameter must be a string, not 3"),
        (None, "cannot bind a NoneType"),
        (5, "cannot bind an int"),
        ("no.safetensors", "no.safetensors: cannot be read"),
        (__file__, Path(__file__).name),
    ],
)
def test_parameters_that_do_not_fit(bundle: Path, parameters: Any, message: str) -> None:
    with ark.load(bundle) as executable:
        with pytest.raises(ark.InvalidUsageError, match=re.escape(message)):
            executable.bind(parameters)
        # Nothing was bound, and binding still works.
        with pytest.raises(ark.InvalidUsageError, match="parameter 'w' is not bound"):
            executable.run(x=X)
        executable.bind({"w": W}).run(x=X)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "input 'x' is missing"),
        ({"x": X.T}, "input 'x' has shape [8, 4]; expected [4, 8]"),
        ({"x": X.astype(np.int32)}, "input 'x' has elements of int32; expected fp32"),
        ({"x": X.astype(">f4")}, "another byte order"),
        ({"x": X, "z": X}, "there is no input 'z'"),
        ({"x": None}, "input 'x' is a NoneType"),
        ({"x": X, "w": W}, "there is no input 'w'"),
    ],
)
def test_inputs_that_do_not_fit(bundle: Path, inputs: Any, message: str) -> None:
    with ark.load(bundle).bind({"w": W}) as executable:
        with pytest.raises(ark.InvalidUsageError, match=re.escape(message)):
            executable.run(inputs)
        np.testing.assert_allclose(executable.run(x=X)["y"], 1 / 16)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--param", "w=w.npy"), "input 'x' is missing"),
        (("--input", "x=x.npy"), "parameter 'w' is missing"),
        (("--input", "x=w.npy", "--param", "w=w.npy"), "input 'x' has shape [8, 16]"),
        (("--input", "x=double_x.npy", "--param", "w=w.npy"), "has elements of float64"),
        (("--input", "x=x.npy", "--param", "w=x.npy"), "parameter 'w' has shape [4, 8]"),
        (("--input", "x=x.npy", "--param", "w=double.npy"), "has elements of float64"),
        (("--input", "x=x.npy", "--param", "w=w.npy", "--param", "v=w.npy"), "no parameter 'v'"),
        (("--input", "x=no.npy", "--param", "w=w.npy"), "no.npy: cannot be read"),
    ],
)
def test_wrong_arrays_on_the_command_line(
    bundle: Path,
    arguments: tuple[str, ...],
    message: str,
    refused: Refused,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(bundle.parent)
    assert message in refused("run", bundle.name, *arguments)


# -- bundles --------------------------------------------------------------------------------------


def rewritten(bundle: Path, path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """Returns the bundle with another manifest and matching hashes."""
    original = read_bundle(bundle)
    manifest = json.loads(json.dumps(original.manifest.as_json()))
    change(manifest)
    sections = {name: bytes(data) for name, data in original.sections.items()}
    Executable.from_parts(manifest, sections).save(path)
    return path


def bad_bundles(bundle: Path, folder: Path) -> dict[str, tuple[Path, str]]:
    """Returns, for each fault, a file and the expected text of its error."""
    data = bundle.read_bytes()
    cases: dict[str, tuple[Path, str]] = {"missing": (folder / "no.arkbin", "cannot be read")}

    def write(name: str, content: bytes, message: str) -> None:
        path = folder / f"{name}.arkbin"
        path.write_bytes(content)
        cases[name] = (path, message)

    write("empty", b"", "the file has 0 bytes")
    write("text", b"hello world\n" * 100, "it is not a bundle")
    write("short", data[: len(data) // 2], "truncated")
    write("shorter-by-one", data[:-1], "truncated")
    write("longer", data + b"\0", "bytes were appended")
    for name, at in {"manifest": 200, "kernel": len(data) // 2}.items():
        changed = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        write(f"altered-{name}", changed, "altered: its SHA-256 differs")

    def target(name: str, key: str, value: Any, message: str) -> None:
        path = rewritten(
            bundle,
            folder / f"{name}.arkbin",
            lambda manifest: manifest["target"].update({key: value}),
        )
        cases[name] = (path, message)

    target("machine", "arch", "vax", "is for vax; this machine is")
    target("features", "features", ["avx9000"], "needs avx9000")
    # The package hip-python is missing, or it finds neither ROCm nor a GPU.
    target("backend", "backend", "hip", "a program for hip needs ")
    return cases


def test_faulty_bundles_raise(bundle: Path, tmp_path: Path) -> None:
    for path, message in bad_bundles(bundle, tmp_path).values():
        with pytest.raises(ark.ArkError, match=re.escape(message)) as caught:
            ark.load(path)
        assert str(caught.value).startswith(f"{path}: ")


def test_faulty_bundles_on_the_command_line(bundle: Path, tmp_path: Path, refused: Refused) -> None:
    cases = bad_bundles(bundle, tmp_path)
    for path, message in (
        cases[name] for name in ("missing", "short", "altered-kernel", "machine")
    ):
        error = refused("run", path.name, "--input", "x=x.npy")
        assert error.startswith(f"ark: error: {path.name}: ")
        assert message in error


# -- models ---------------------------------------------------------------------------------------

BERT = {
    "model_type": "bert", "vocab_size": 23, "hidden_size": 16, "num_hidden_layers": 2,
    "num_attention_heads": 4, "intermediate_size": 24, "max_position_embeddings": 64,
    "type_vocab_size": 2, "layer_norm_eps": 1e-12, "hidden_act": "gelu",
}  # fmt: skip
BAD_MODELS: dict[str, tuple[dict[str, bytes], str]] = {
    # name: (files, message)
    "empty": ({}, "model: the model folder has no config.json"),
    "no-json": ({"config.json": b"{"}, "config.json: not valid JSON"),
    "no-text": ({"config.json": b"\xff\xfe\x00"}, "config.json: not valid JSON"),
    "a-list": ({"config.json": b"[]"}, "config.json: expected an object, got an array"),
    "no-type": ({"config.json": b"{}"}, "config.json: key 'model_type' is missing"),
    "unknown-type": (
        {"config.json": b'{"model_type": "zork"}'},
        "config.json: unknown model type 'zork': docs/support.md lists the types",
    ),
    "nan": (
        {"config.json": json.dumps({**BERT, "hidden_size": float("nan")}).encode()},
        "config.json: not valid JSON: NaN is not a number",
    ),
    "no-weights": ({"config.json": json.dumps(BERT).encode()}, "safetensors"),
    "cut-weights": (
        {"config.json": json.dumps(BERT).encode(), "model.safetensors": b"\x40\0\0\0\0\0\0\0{"},
        "model.safetensors: ",
    ),
}


@pytest.mark.parametrize("name", BAD_MODELS)
def test_faulty_models_raise(name: str, tmp_path: Path) -> None:
    write_model(tmp_path / "model", name)
    with pytest.raises(ark.ArkError, match=re.escape(BAD_MODELS[name][1])) as caught:
        ark.models.load(tmp_path / "model")
    assert str(caught.value).startswith(str(tmp_path / "model"))


@pytest.mark.parametrize("name", ["empty", "no-json", "unknown-type", "cut-weights"])
def test_faulty_models_on_the_command_line(name: str, refused: Refused) -> None:
    write_model(Path("model"), name)
    assert BAD_MODELS[name][1] in refused("compile", "model", "-o", "o.arkbin")


def test_a_missing_model_raises(tmp_path: Path, refused: Refused) -> None:
    with pytest.raises(ark.InvalidUsageError, match="the model folder does not exist"):
        ark.models.load(tmp_path / "no")
    assert "no: the model folder" in refused("generate", "no", "--prompt-ids", "1")
    (tmp_path / "file").write_text("")
    with pytest.raises(ark.InvalidUsageError, match="is not a folder"):
        ark.models.load(tmp_path / "file")


def write_model(folder: Path, name: str) -> None:
    folder.mkdir()
    for file, content in BAD_MODELS[name][0].items():
        (folder / file).write_bytes(content)
