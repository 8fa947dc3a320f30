"""Every kind of bad input gives one clear error that names the place, and never a crash.

Each is tried through the Python API and, where a command takes it, through the command line:
exit status 1, one message on stderr, no traceback.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.bundle import read_bundle
from ark_mlir.runtime import Executable
from ark_mlir.targets import resolve

Array = np.ndarray[Any, Any]
Refused = Callable[..., str]
Edit = Callable[[str], str]

THIS_FILE = Path(__file__).name
LINES = Path(__file__).read_text(encoding="utf-8").splitlines()


def place(marker: str) -> str:
    """``file:line`` of the line of this file that ends in the comment `marker`."""
    (line,) = (n for n, text in enumerate(LINES, 1) if text.endswith(f"  # {marker}"))
    return f"{THIS_FILE}:{line}"


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Refused:
    """Runs ``ark`` in a process of its own, in a fresh folder; returns its one message."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments: object) -> str:
        result = subprocess.run(
            [sys.executable, "-m", "ark_mlir.cli", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert result.returncode == 1, (result.returncode, result.stderr[-2000:])
        assert result.stdout == ""
        first, *notes = result.stderr.splitlines()
        assert first.startswith("ark: error: ")
        assert "internal error" not in first
        # One message: what follows its first line belongs to it.
        assert all(note.startswith("  note: ") for note in notes), result.stderr
        return result.stderr

    return command


# -- MLIR -----------------------------------------------------------------------------------------


def program(body: str, argument: str = "tensor<4x8xf32>", result: str = "") -> str:
    """MLIR of a program with one input; its body starts at line 2."""
    return (
        f'ark.program @p(%x: {argument} {{ark.kind = #ark.kind<input>, ark.name = "x"}})'
        f' -> ({result or argument} {{ark.name = "y"}}) {{\n{body}\n}}\n'
    )


_T = "tensor<4x8xf32>"
BAD_MLIR: dict[str, tuple[str, int | None, str]] = {
    # name: (text, line, message)
    "not MLIR": ("hello\nworld", 1, "custom op 'hello' is unknown"),
    "binary": ("\x00\x01\x02\n", 1, "unexpected character"),
    "no end": ("module {\n  ark.program", 2, "expected"),
    "cut in the middle": (program(f"  %0 = ark.neg %x : ({_T}) ->"), 2, "expected"),
    "unknown op": (program(f"  %0 = ark.frobnicate %x : {_T}"), 2, "'ark.frobnicate' is unknown"),
    "unknown dialect": ('module {\n  "foo.bar"() : () -> ()\n}', 2, "unregistered dialect"),
    "op of another level": (
        program(f"  %0 = arith.addf %x, %x : {_T}\n  ark.return %0 : {_T}"),
        2,
        "'arith.addf' is not an op of a tensor program",
    ),
    "shapes that differ": (
        program(f"  %0 = ark.matmul %x, %x : ({_T}, {_T}) -> {_T}\n  ark.return %0 : {_T}"),
        2,
        "contracted extents differ, 8 and 4",
    ),
    "type that differs": (
        program(f"  %0 = ark.neg %x : ({_T}) -> tensor<8x4xf32>\n  ark.return %x : {_T}"),
        2,
        "ark.neg",
    ),
    "dtype that no op has": (
        program("  ark.return %x : tensor<4xf64>", "tensor<4xf64>"),
        1,
        "f64",
    ),
    "extent not known": (
        program("  ark.return %x : tensor<?x8xf32>", "tensor<?x8xf32>"),
        1,
        "static",
    ),
    "extent that is NaN": (program(f"  ark.return %x : {_T}", "tensor<nanx8xf32>"), 1, "expected"),
    "extent below zero": (program(f"  ark.return %x : {_T}", "tensor<-4x8xf32>"), 1, "expected"),
    "extent beyond 64 bits": (
        program("", "tensor<99999999999999999999x8xf32>"),
        1,
        "invalid dimension",
    ),
    "cycle of values": (
        program(
            f"  %0 = ark.neg %1 : ({_T}) -> {_T}\n  %1 = ark.neg %0 : ({_T}) -> {_T}\n"
            f"  ark.return %1 : {_T}"
        ),
        2,
        "does not dominate this use",
    ),
    "argument without a name": (
        f"ark.program @p(%x: {_T}) -> {_T} {{\n  ark.return %x : {_T}\n}}",
        1,
        "argument 0 needs ark.kind and ark.name",
    ),
    "two programs": (
        program(f"  ark.return %x : {_T}") + program(f"  ark.return %x : {_T}").replace("@p", "@q"),
        4,
        "is the second program of its module",
    ),
    "an intrinsic that LLVM lacks": (
        program(f"  ark.return %x : {_T}")
        + 'llvm.func @f() {\n  llvm.call_intrinsic "llvm.zork"() : () -> ()\n  llvm.return\n}\n',
        5,
        'could not find LLVM intrinsic: "llvm.zork"',
    ),
    "no program": ("func.func @f() {\n  return\n}\n", None, "holds no ark.program"),
    "nothing": ("module {}\n", 1, "holds no ark.program"),
    "a stage that is none": (
        'module attributes {ark.stage = "zork"} {\n' + program(f"  ark.return %x : {_T}") + "}",
        1,
        "'zork' is not a stage",
    ),
}


@pytest.mark.parametrize("name", BAD_MLIR)
def test_bad_mlir(name: str, tmp_path: Path) -> None:
    """As text and as a file; a file is named."""
    text, line, message = BAD_MLIR[name]
    with pytest.raises(ark.ArkError, match=re.escape(message)) as caught:
        ark.compile(text, target="cpu:1")
    assert line is None or str(caught.value).startswith(f"-:{line}: ")
    (tmp_path / "bad.mlir").write_text(text, encoding="utf-8")
    with pytest.raises(ark.ArkError, match=re.escape(message)) as caught:
        ark.compile(tmp_path / "bad.mlir", target="cpu:1")
    where = tmp_path / "bad.mlir"
    assert str(caught.value).startswith(f"{where}:{line}: " if line else f"{where}: ")


@pytest.mark.parametrize("command", ["compile", "check"])
@pytest.mark.parametrize(
    "name", ["no end", "unknown op", "shapes that differ", "cycle of values", "nothing", "binary"]
)
def test_bad_mlir_by_command(name: str, command: str, refused: Refused) -> None:
    text, line, message = BAD_MLIR[name]
    Path("bad.mlir").write_text(text, encoding="utf-8")
    error = refused(command, "bad.mlir", *(("-o", "o.arkbin") if command == "compile" else ()))
    assert error.startswith(f"ark: error: bad.mlir:{line}: ")
    assert message in error
    assert not Path("o.arkbin").exists()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("no.mlir", "no.mlir: there is no such file"),
        (Path("."), "is a folder"),
        ("", "empty string"),
        (" ", "empty string"),
        (None, "cannot compile a NoneType"),
        (b"module {}", "cannot compile a bytes"),
        (np.zeros(3), "cannot compile a ndarray"),
    ],
)
def test_no_program_at_all(source: Any, message: str) -> None:
    for use in (ark.compile, ark.compiler.check):
        with pytest.raises(ark.InvalidUsageError, match=re.escape(message)):
            use(source)


def test_files_that_are_no_programs(refused: Refused) -> None:
    assert "no.mlir: no such file" in refused("compile", "no.mlir", "-o", "o.arkbin")
    assert "no.mlir: no such file" in refused("check", "no.mlir")
    np.save("x.npy", np.zeros(3))
    assert "x.npy:1: " in refused("compile", "x.npy", "-o", "o.arkbin")
    assert "x.npy: " in refused("show", "x.npy")


# -- Python programs ------------------------------------------------------------------------------


def test_shapes_that_differ() -> None:
    with ark.Program("p"):
        x = ark.input("x", (4, 8), ark.fp32)
        with pytest.raises(
            ark.InvalidUsageError, match=r"ark\.matmul: contracted extents"
        ) as caught:
            ark.matmul(x, x)  # matmul
        assert place("matmul") in str(caught.value)
        with pytest.raises(ark.InvalidUsageError, match=r"ark\.add: ") as caught:
            _ = x + ark.input("z", (4, 7), ark.fp32)  # add
        assert place("add") in str(caught.value)
        ark.output("y", x)


def test_dtypes_that_differ() -> None:
    with ark.Program("p"):
        x = ark.input("x", (4, 8), ark.fp32)
        with pytest.raises(ark.InvalidUsageError, match=r"ark\.matmul: ") as caught:
            ark.matmul(x, ark.input("w", (8, 4), ark.bf16))  # dtypes
        assert place("dtypes") in str(caught.value)
        with pytest.raises(ark.InvalidUsageError) as caught:
            ark.input("u", (4,), "float33")  # dtype
        assert place("dtype") in str(caught.value)
        with pytest.raises(ark.InvalidUsageError, match=r"ark\.embedding: ") as caught:
            ark.embedding(x, x)  # indices
        assert place("indices") in str(caught.value)
        ark.output("y", x)


@pytest.mark.parametrize(
    "extent",
    [float("nan"), float("inf"), 2.5, 2.0, -1, "4", None, True, 2**63, 2**62, np.float32(4)],
)
def test_extents_that_are_no_counts(extent: Any) -> None:
    for make in (ark.input, ark.parameter, ark.state):
        with ark.Program("p"):
            with pytest.raises(ark.InvalidUsageError, match=r"shape") as caught:
                make("x", (extent, 4), ark.fp32)  # extent
            assert place("extent") in str(caught.value)
            x = ark.input("z", (4, 4), ark.fp32)
            if extent != -1:
                with pytest.raises(ark.InvalidUsageError, match=r"shape|extent"):
                    ark.reshape(x, (extent, 4))
            ark.output("y", x)


def test_more_bytes_than_memory_has_addresses() -> None:
    with ark.Program("p"):
        with pytest.raises(ark.InvalidUsageError, match="takes 1152921504606846976 bytes") as e:
            ark.input("x", (2**58,), ark.fp32)  # bytes
        assert place("bytes") in str(e.value)
        ark.output("y", ark.zeros((1,), ark.fp32))


def test_a_program_that_is_not_closed() -> None:
    with pytest.raises(ark.InvalidUsageError, match="its module exists after") as caught:
        ark.compile(ark.Program("p"), target="cpu:1")  # open
    assert place("open") in str(caught.value)


def test_an_op_that_is_none() -> None:
    with pytest.raises(AttributeError, match="frobnicate"):
        _ = ark.frobnicate  # type: ignore[attr-defined]


# -- options --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "zork"}, "target 'zork' is not known"),
        ({"target": "cpu:0"}, "target 'cpu:0': the number of workers"),
        ({"target": "cpu:"}, "target 'cpu:': the number of workers"),
        ({"target": 5}, "target 5: expected a name"),
        ({"target": "cuda:sm_1"}, "target 'cuda:sm_1' is not known"),
        ({"target": "hip:gfx942"}, "makes kernels for cpu and cuda"),
        ({"scheduler": "zork"}, "unknown scheduler 'zork'"),
        ({"scheduler": "a}{"}, "'a}{' holds '}'"),
        ({"dump_dir": "it's"}, "which an option cannot"),
        ({"dump_dir": 5}, "option dump_dir=5: expected a folder"),
        ({"dump_dir": "/dev/null"}, "cannot write '/dev/null/01-graph.mlir'"),
        ({"tile": {"zork": (4,)}}, "no group and no op of the program is 'zork'"),
        ({"tile": {"exp": (4,)}}, "does not fit the result of 'exp'"),
        ({"tile": {"exp": (2**70, 4)}}, "positive integers"),
        ({"opt_level": True}, "option opt_level=True"),
        ({"speed": 11}, "compile has no option 'speed'"),
    ],
)
def test_options_that_mean_nothing(options: dict[str, Any], message: str) -> None:
    with ark.Program("p") as made:
        ark.output("y", ark.exp(ark.input("x", (4, 8), ark.fp32)))
    with pytest.raises(ark.ArkError) as caught:
        ark.compile(made, **{"target": "cpu:1", **options})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_scheduler_that_is_none() -> None:
    with ark.Program("p") as made:
        ark.output("y", ark.exp(ark.input("x", (4, 8), ark.fp32)))
    with pytest.raises(ark.InvalidUsageError, match=r"^unknown scheduler 'zork': expected one of"):
        ark.compile(made, scheduler="zork")
    assert ark.compile(made, scheduler="round-robin", target="cpu:2").name == "p"


@pytest.mark.parametrize("path", [None, 5, 1.5, "", ["x.arkbin"]])
def test_paths_that_are_none(path: Any) -> None:
    with ark.Program("p") as made:
        ark.output("y", ark.exp(ark.input("x", (4, 8), ark.fp32)))
    executable = ark.compile(made, target="cpu:1")
    for use in (executable.save, ark.load, ark.models.load):
        with pytest.raises(ark.InvalidUsageError, match="expected a path") as caught:
            use(path)
        assert repr(path) in str(caught.value)


@pytest.mark.parametrize(
    ("program", "inputs", "message"),
    [
        (None, {}, "cannot interpret a NoneType; expected an ark.Program"),
        (5, {}, "cannot interpret a int"),
        ("no.mlir", {}, "no.mlir: cannot read it"),
        (program(f"  ark.return %x : {_T}"), None, "inputs are a NoneType; expected arrays"),
        (program(f"  ark.return %x : {_T}"), [1], "inputs are a list"),
    ],
)
def test_what_the_reference_cannot_run(program: Any, inputs: Any, message: str) -> None:
    with pytest.raises(ark.InvalidUsageError) as caught:
        ark.reference.run(program, inputs)
    assert message in str(caught.value)


@pytest.mark.parametrize("use", [ark.compile, ark.compiler.check, ark.reference.evaluate])
def test_a_file_that_does_not_parse_is_named(use: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "broken.mlir"
    path.write_text(program("  ark.zork\n"), encoding="utf-8")
    for given in (path, str(path)):
        with pytest.raises(ark.ArkError, match=r"'ark\.zork' is unknown") as caught:
            use(given, {}) if use is ark.reference.evaluate else use(given)
        assert str(caught.value).startswith(f"{path}:2: ")


def test_options_by_command(refused: Refused) -> None:
    Path("p.mlir").write_text(program(f"  ark.return %x : {_T}"), encoding="utf-8")
    compile_it = ("compile", "p.mlir", "-o", "o.arkbin")
    assert "target 'zork'" in refused(*compile_it, "--target", "zork")
    assert "unknown scheduler '5x'" in refused(*compile_it, "--set", "scheduler=5x")
    assert "holds '}'" in refused(*compile_it, "--dump-dir", "a}b")
    assert ".: Is a directory" in refused("compile", "p.mlir", "-o", ".")
    # The file that was asked for, and not the temporary one beside it.
    assert "error: no/o.arkbin: No such" in refused("compile", "p.mlir", "-o", "no/o.arkbin")


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
        ({"w": W.T}, "parameter 'w' has shape [16, 8], should have [8, 16]"),
        ({"w": W.astype(np.float64)}, "parameter 'w' has elements of float64, should have fp32"),
        ({"w": W, "v": W}, "there is no parameter 'v'"),
        ({"w": None}, "parameter 'w' is a NoneType"),
        ({"w": [[1.0]]}, "parameter 'w' is a list"),
        ({3: W}, "the name of a parameter is a string, not 3"),
        (None, "cannot bind a NoneType"),
        (5, "cannot bind a int"),
        ("no.safetensors", "no.safetensors: cannot be read"),
        (__file__, THIS_FILE),
    ],
)
def test_parameters_that_do_not_fit(bundle: Path, parameters: Any, message: str) -> None:
    with ark.load(bundle) as executable:
        with pytest.raises(ark.InvalidUsageError, match=re.escape(message)):
            executable.bind(parameters)
        # Nothing was bound, and nothing is broken.
        with pytest.raises(ark.InvalidUsageError, match="parameter 'w' is not bound"):
            executable.run(x=X)
        executable.bind({"w": W}).run(x=X)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "input 'x' is missing"),
        ({"x": X.T}, "input 'x' has shape [8, 4], should have [4, 8]"),
        ({"x": X.astype(np.int32)}, "input 'x' has elements of int32, should have fp32"),
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
def test_arrays_by_command(
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
    """The bundle with another manifest, with hashes that fit."""
    original = read_bundle(bundle)
    manifest = json.loads(json.dumps(original.manifest.as_json()))
    change(manifest)
    sections = {name: bytes(data) for name, data in original.sections.items()}
    Executable.from_parts(manifest, sections).save(path)
    return path


def bad_bundles(bundle: Path, folder: Path) -> dict[str, tuple[Path, str]]:
    """A file and what its error must say, for each way to go wrong."""
    data = bundle.read_bytes()
    cases: dict[str, tuple[Path, str]] = {"missing": (folder / "no.arkbin", "cannot be read")}

    def write(name: str, content: bytes, message: str) -> None:
        path = folder / f"{name}.arkbin"
        path.write_bytes(content)
        cases[name] = (path, message)

    write("empty", b"", "the file has 0 bytes")
    write("text", b"hello world\n" * 100, "this is no bundle")
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
    target("backend", "backend", "hip", "the bundle is for hip")
    return cases


def test_bundles(bundle: Path, tmp_path: Path) -> None:
    for path, message in bad_bundles(bundle, tmp_path).values():
        with pytest.raises(ark.ArkError, match=re.escape(message)) as caught:
            ark.load(path)
        assert str(caught.value).startswith(f"{path}: ")


def test_bundles_by_command(bundle: Path, tmp_path: Path, refused: Refused) -> None:
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
    "no-json": ({"config.json": b"{"}, "config.json: cannot be read"),
    "no-text": ({"config.json": b"\xff\xfe\x00"}, "config.json: cannot be read"),
    "a-list": ({"config.json": b"[]"}, "config.json: must hold a JSON object"),
    "no-type": ({"config.json": b"{}"}, "config.json: 'model_type' is missing"),
    "unknown-type": (
        {"config.json": b'{"model_type": "zork"}'},
        "config.json: unknown model type 'zork'; known are bert, llama, qwen3",
    ),
    "nan": (
        {"config.json": json.dumps({**BERT, "hidden_size": float("nan")}).encode()},
        "config.json: 'hidden_size' must be a positive integer, not nan",
    ),
    "no-weights": ({"config.json": json.dumps(BERT).encode()}, "safetensors"),
    "cut-weights": (
        {"config.json": json.dumps(BERT).encode(), "model.safetensors": b"\x40\0\0\0\0\0\0\0{"},
        "model.safetensors: ",
    ),
}


@pytest.mark.parametrize("name", BAD_MODELS)
def test_models(name: str, tmp_path: Path) -> None:
    write_model(tmp_path / "model", name)
    with pytest.raises(ark.ArkError, match=re.escape(BAD_MODELS[name][1])) as caught:
        ark.models.load(tmp_path / "model")
    assert str(caught.value).startswith(str(tmp_path / "model"))


@pytest.mark.parametrize("name", ["empty", "no-json", "unknown-type", "cut-weights"])
def test_models_by_command(name: str, refused: Refused) -> None:
    write_model(Path("model"), name)
    assert BAD_MODELS[name][1] in refused("compile", "model", "-o", "o.arkbin")


def test_a_model_that_is_not_there(tmp_path: Path, refused: Refused) -> None:
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


# -- schedules ------------------------------------------------------------------------------------


def make_mlp() -> ark.Program:
    """Three tasks, each of which reads what several vCTAs of the one before wrote."""
    with ark.Program("mlp") as made:
        x = ark.input("x", (32, 64), ark.fp32)
        w1 = ark.parameter("w1", (256, 64), ark.fp32)
        w2 = ark.parameter("w2", (64, 256), ark.fp32)
        h = ark.matmul(x, w1, transpose_other=True, name="up")  # up
        h = ark.matmul(ark.gelu(h), w2, transpose_other=True, name="down")  # down
        ark.output("y", ark.softmax(h, name="scores"))  # scores
    return made


@pytest.fixture(scope="module")
def schedule(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The program at the stage `synchronization`, on four SMs."""
    folder = tmp_path_factory.mktemp("dump")
    ark.compile(make_mlp(), target="cpu:4", dump_dir=folder)
    return (folder / "05-synchronization.mlir").read_text(encoding="utf-8")


def edit(pattern: str, replacement: str = "", count: int = 1) -> Edit:
    """Replaces whole lines; a pattern that is not found fails the test."""

    def apply(text: str) -> str:
        result, found = re.subn(pattern, replacement, text, count=count, flags=re.MULTILINE)
        assert found, f"{pattern} is not in the schedule"
        return result

    return apply


def both(first: Edit, second: Edit) -> Edit:
    return lambda text: second(first(text))


# What is taken away or changed, and what the error must say; `{up}` and so on are places.
BROKEN: dict[str, tuple[Edit, list[str]]] = {
    "wait removed": (
        edit(r"^ *ark\.wait @up loc.*\n"),
        ["{down}: ark.run: RAW hazard: vCTA", "of 'down'", "of 'up'", "{up}: operand 2 of 'up'"],
    ),
    "last wait removed": (
        edit(r"^ *ark\.wait @down loc.*\n"),
        ["{scores}: ark.run: RAW hazard", "of 'scores'", "{down}: operand 2 of 'down'"],
    ),
    "signal removed": (
        edit(r"^ *ark\.signal @up loc.*\n"),
        ["{up}: ark.semaphore: declares 2 arrivals and is signalled 0 times"],
    ),
    "more arrivals than signals": (
        edit(r"@up arrivals = 2", "@up arrivals = 3"),
        ["{up}: ark.semaphore: declares 3 arrivals and is signalled 2 times"],
    ),
    "barrier removed": (
        edit(r"^ *ark\.barrier @end.*\n"),
        ["ark.semaphore: declares 4 arrivals and is signalled 2 times"],
    ),
    "run before its wait": (
        edit(r"^( *ark\.wait @up loc.*\n)( *ark\.run \"down\".*\n)", r"\2\1"),
        ["{down}: ark.run: RAW hazard"],
    ),
    "runs in the wrong order": (
        edit(r"^( *ark\.run \"up\".*\n)((?:.*\n){2})( *ark\.run \"down\".*\n)", r"\3\2\1"),
        ["{down}: ark.run: RAW hazard", "before vCTA", "{up}: operand 2 of 'up'"],
    ),
    "wait before its own signal": (
        edit(r"^( *ark\.signal @up loc.*\n)( *ark\.wait @up loc.*\n)", r"\2\1"),
        ["{down}: ark.wait: never ends (deadlock)", "{up}: SM 2 signals '@up' after"],
    ),
    "lanes that wait for each other": (
        both(
            edit(r"(lane sms = \[0, 2\].*\n)", r"\1        ark.wait @down\n"),
            edit(r"(lane sms = \[2, 4\].*\n)", r"\1        ark.wait @down.1\n"),
        ),
        ["ark.wait: never ends (deadlock)", "SM 0 waits for '@down'", "SM 2 waits for '@down.1'"],
    ),
    "run removed": (
        edit(r"^ *ark\.run \"up\".*\n"),
        ["ark.schedule: never runs vCTA 0 of 'up'", "{up}: the task"],
    ),
    "run twice": (
        edit(r"^( *ark\.run \"scores\".*\n)", r"\1\1"),
        ["{scores}: ark.run: runs vCTA 0 of 'scores' again"],
    ),
    "run out of range": (
        edit(r"\"up\" \[d0 \* 4, d0 \* 4 \+ 4\]", '"up" [d0 * 4 - 9, d0 * 4 + 4]'),
        ["{up}: ark.run: range [-9, 4] on SM 0 leaves the 16 vCTAs of 'up'"],
    ),
    "unknown task": (
        edit(r"ark\.run \"up\"", 'ark.run "zork"'),
        ["{up}: ark.run: names unknown task 'zork'"],
    ),
    "unknown semaphore": (
        edit(r"ark\.wait @up ", "ark.wait @zork "),
        ["{down}: ark.wait: names unknown semaphore '@zork'"],
    ),
    "lanes that overlap": (
        edit(r"lane sms = \[0, 2\]", "lane sms = [0, 3]"),
        ["ark.lane: shares warps or shared memory of an SM with another lane"],
    ),
    "more SMs than there are": (
        edit(r"lane sms = \[2, 4\]", "lane sms = [2, 40]"),
        ["ark.lane: names SM 39 of 4"],
    ),
    "region that lies": (
        edit(r"\(d0 \* 4, 0\)", "(0, 0)"),
        ["{scores}: ark.run: RAW hazard"],
    ),
    "cut in the middle": (lambda text: text[: len(text) // 2], ["broken.mlir:"]),
}


def test_the_schedule_holds_as_it_is(schedule: str) -> None:
    result = ark.compiler.check(schedule)
    assert (result.tasks, result.lanes, result.target.sms) == (3, 4, 4)
    x = np.random.default_rng(0).standard_normal((32, 64)).astype(np.float32)
    weights = {"w1": np.ones((256, 64), np.float32), "w2": np.eye(64, 256, dtype=np.float32)}
    executable = ark.compile(schedule).bind(weights)
    report = executable.report()
    assert (result.waits, result.signals, result.barriers) == (
        report.waits,
        report.signals,
        report.barriers,
    )
    got = executable.run(x=x)["y"]
    expected = ark.reference.run(make_mlp(), {"x": x, **weights})["y"]
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", BROKEN)
def test_schedules_that_do_not_hold(name: str, schedule: str, tmp_path: Path) -> None:
    change, messages = BROKEN[name]
    path = tmp_path / "broken.mlir"
    path.write_text(change(schedule), encoding="utf-8")
    for use in (ark.compile, ark.compiler.check):
        with pytest.raises(ark.CompileError) as caught:
            use(path)
        assert_says(str(caught.value), messages)


@pytest.mark.parametrize(
    "name", ["wait removed", "signal removed", "lanes that wait for each other", "run removed"]
)
def test_schedules_by_command(name: str, schedule: str, refused: Refused) -> None:
    change, messages = BROKEN[name]
    Path("broken.mlir").write_text(change(schedule), encoding="utf-8")
    assert_says(refused("check", "broken.mlir"), messages)
    assert_says(refused("compile", "broken.mlir", "-o", "o.arkbin"), messages)
    assert not Path("o.arkbin").exists()


def assert_says(error: str, messages: list[str]) -> None:
    places = {name: place(name) for name in ("up", "down", "scores")}
    for message in messages:
        assert message.format(**places) in error


@pytest.mark.parametrize("stage", ["kernel", "target"])
def test_what_cannot_be_proven_is_not_called_proven(
    stage: str, schedule: str, refused: Refused
) -> None:
    """A program that says to be past the proof, or has nothing to prove."""
    lie = edit(r'ark\.stage = "synchronization"', f'ark.stage = "{stage}"')
    text = BROKEN["wait removed"][0](lie(schedule))
    with pytest.raises(ark.InvalidUsageError, match=f"is at the stage '{stage}'"):
        ark.compiler.check(text)
    Path("lie.mlir").write_text(text, encoding="utf-8")
    assert f"is at the stage '{stage}'" in refused("check", "lie.mlir")
    with pytest.raises(ark.ArkError):
        ark.compile(text)


# -- sizes beyond all bounds ----------------------------------------------------------------------


def compile_with_little_memory(text: str, folder: Path) -> str:
    """The message of ``ark compile`` in a process with 2 GiB; it must not crash."""
    (folder / "huge.mlir").write_text(text, encoding="utf-8")
    script = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
        "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
        "from ark_mlir.cli import main\n"
        "sys.exit(main(['compile', 'huge.mlir', '-o', 'huge.arkbin']))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )
    assert result.returncode in (0, 1), (result.returncode, result.stderr[-1000:])
    return result.stderr


def sum_of_rows(rows: int) -> str:
    shape = f"tensor<{rows}x4xf32>"
    return program(
        f"  %0 = ark.reduce_sum %x axes = [0] keepdims = true : ({shape}) -> tensor<1x4xf32>\n"
        "  ark.return %0 : tensor<1x4xf32>",
        shape,
        "tensor<1x4xf32>",
    )


def test_a_region_of_many_rows(tmp_path: Path) -> None:
    assert compile_with_little_memory(sum_of_rows(2**28), tmp_path) == ""


def test_bytes_that_overflow(tmp_path: Path) -> None:
    shape = f"tensor<{2**63 - 1}xf32>"
    text = program(
        f"  %0 = ark.reduce_sum %x axes = [0] keepdims = true : ({shape}) -> tensor<1xf32>\n"
        "  ark.return %0 : tensor<1xf32>",
        shape,
        "tensor<1xf32>",
    )
    assert "huge.mlir:" in compile_with_little_memory(text, tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(edit(r'task "up" grid \[2, 8\]', 'task "up" grid [-1, 8]'), id="negative"),
        pytest.param(
            edit(r'task "up" grid \[2, 8\]', f'task "up" grid [{2**63 - 1}, 8]'), id="huge"
        ),
    ],
)
def test_grids_that_are_none(change: Edit, schedule: str, tmp_path: Path) -> None:
    assert place("up") in compile_with_little_memory(change(schedule), tmp_path)


def test_a_target_of_too_many_sms(tmp_path: Path) -> None:
    made = make_mlp().module.operation.get_asm(enable_debug_info=True)
    huge = re.sub(r"sms = \d+", f"sms = {2**63 - 1}", resolve("cpu:4").mlir)
    text = str(made).replace("module {", f"module attributes {{ark.target = {huge}}} {{", 1)
    assert huge in text
    assert "sms" in compile_with_little_memory(text, tmp_path)
