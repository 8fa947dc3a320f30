"""Each command does what its help states, and reports errors."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ark_mlir.bundle import Bundle, read_bundle, write_bundle
from ark_mlir.bundle.store import BundleStore
from ark_mlir.errors import InvalidUsageError
from ark_mlir.testing.toy import ToyProgram, add_program, compile_kernel, run

Ark = Callable[..., Any]
Calls = list[dict[str, Any]]

ADD = ("--input", "x=x.npy", "--param", "w=w.npy")


# -- run -----------------------------------------------------------------------------------------


def test_surplus_tensors_of_a_models_folder_are_ignored(
    ark: Ark, bundle: Path, tmp_path: Path
) -> None:
    library = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    arrays = {"w": np.ones(128, np.float32), "pooler": np.zeros(3, np.float32)}
    (tmp_path / "model").mkdir()
    library.save_file(arrays, tmp_path / "model" / "model.safetensors")
    command = ("run", bundle, "--input", "x=x.npy", "--params", "model/model.safetensors")
    assert "there is no parameter 'pooler'" in ark(*command).err
    (tmp_path / "model" / "config.json").write_text("{}")
    assert ark(*command, "--output", "y=y.npy").status == 0
    assert np.array_equal(np.load("y.npy"), np.arange(128) + 1.5)
    # A file with other tensors alone is a mistake.
    library.save_file({"pooler": arrays["pooler"]}, tmp_path / "model" / "model.safetensors")
    assert "parameter 'w' is missing" in ark(*command).err


def test_run(ark: Ark, bundle: Path) -> None:
    result = ark("run", bundle, *ADD, "--output", "y=y.npy")
    assert (result.status, result.out, result.err) == (0, "", "")
    assert np.array_equal(np.load("y.npy"), np.arange(128) + 1.5)


def test_run_prints_a_summary_of_outputs_that_are_not_written(ark: Ark, bundle: Path) -> None:
    result = ark("run", bundle, *ADD, "--report", "--iterations", 3)
    assert "y: float32 [128] min 1.5 mean 65 max 128.5" in result.out
    assert "predicted time" in result.out


def test_run_with_safetensors(ark: Ark, bundle: Path, tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    arrays = {"w": np.ones(128, np.float32), "more": np.zeros(3, np.float32)}
    library.save_file(arrays, tmp_path / "w.safetensors")
    command = ("run", bundle, "--input", "x=x.npy", "--params", "w.safetensors")
    refused = ark(*command).err
    assert "there is no parameter 'more'" in refused
    assert "use --allow-extra to ignore other tensors" in refused
    assert ark(*command, "--allow-extra", "--output", "y=y.npy").status == 0


def test_run_traces(ark: Ark, bundle: Path, tmp_path: Path) -> None:
    assert ark("run", bundle, *ADD, "--trace", "t.json").status == 0
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    result = ark("show", bundle, "--trace", "t.json", "-o", "t.html", "--report")
    assert result.out.splitlines()[-1] == "t.html"
    assert "traced" in (tmp_path / "t.html").read_text()


def test_run_with_scalars_and_bf16(ark: Ark, bundle: Path, tmp_path: Path) -> None:
    """numpy's file format loses the type bfloat16, which the bundle provides."""
    program = ToyProgram(sms=1)
    n = program.buffer("n", "scalar", "int32", [], max=9)
    x = program.buffer("x", "input", "bf16", [32])
    y = program.buffer("y", "output", "int32", [2])
    z = program.buffer("z", "output", "bf16", [32])
    fill = program.task("fill", 2, [(y, 0), (n, 0)])
    copy = program.task("copy", 1, [(z, 0), (x, 0)])
    program.lane(0, [run(fill, 0, 2), run(copy, 0, 1)])
    write_bundle(tmp_path / "b.arkbin", *program.parts(compile_kernel()))
    values = np.arange(32).astype(ml_dtypes.bfloat16)
    np.save(tmp_path / "b.npy", values)
    result = ark("run", "b.arkbin", "--input", "n=7", "--input", "x=b.npy", "--output", "z=z.npy")
    assert result.out == "y: int32 [2] min 7 mean 7 max 7\n"
    assert np.array_equal(np.load("z.npy").view(ml_dtypes.bfloat16), values)
    assert "must be in [0, 9]" in ark("run", "b.arkbin", "--input", "n=70").err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--param", "w=w.npy"), "input 'x' is missing"),
        (("--input", "x=x.npy"), "parameter 'w' is missing"),
        (("--input", "x=w.npy", "--param", "w=w.npy"), "has shape [128]"),
        (("--input", "x=no.npy"), "no.npy: cannot be read: No such file"),
        (("--input", "x=a.arkbin"), "a.arkbin: is not a .npy file"),
        ((*ADD, "--input", "x=x.npy"), "--input x is given twice"),
        ((*ADD, "--input", "z=x.npy"), "there is no input 'z'"),
        ((*ADD, "--output", "z=z.npy"), "there is no output 'z'; the outputs are y"),
        ((*ADD, "--output", "y=no/y.npy"), "no/y.npy: No such file or directory"),
        ((*ADD, "--params", "w.npy"), "w.npy"),
    ],
)
def test_run_errors(ark: Ark, bundle: Path, arguments: tuple[str, ...], message: str) -> None:
    result = ark("run", bundle, *arguments)
    assert (result.status, result.out) == (1, "")
    assert message in result.err
    assert result.err.startswith("ark: error: ")


def test_pickled_arrays_are_refused(ark: Ark, bundle: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "o.npy", np.array([object()]), allow_pickle=True)
    result = ark("run", bundle, "--input", "x=o.npy", "--param", "w=w.npy")
    assert result.status == 1
    assert "is not a .npy file" in result.err
    np.savez(tmp_path / "z.npz", np.zeros(1))
    assert "several arrays" in ark("run", bundle, "--input", "x=z.npz").err


# -- bench ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [(), ADD, ("--resident",), ("--iterations", "4")])
def test_bench(ark: Ark, bundle: Path, more: tuple[str, ...]) -> None:
    result = ark("bench", bundle, "--runs", 5, "--warmup", 1, "--json", *more)
    figures = json.loads(result.out)
    assert 0 < figures["least"] <= figures["median"] <= figures["most"]
    assert figures["predicted"] == 12e-6
    assert "per iteration" in ark("bench", bundle, "--runs", 2, *more).out


# -- compile, check, show -------------------------------------------------------------------------


def test_compile(ark: Ark, fake_compiler: Calls, tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text("module {}")
    result = ark(
        *("compile", "m.mlir", "-o", "m.arkbin", "--target", "cpu:4", "--dump-dir", "d"),
        *("--trace", "--set", "scheduler=greedy", "--report"),
    )
    assert result.status == 0, result.err
    assert result.out.splitlines()[-1] == "m.arkbin"
    assert read_bundle("m.arkbin").manifest.traced
    assert fake_compiler == [
        {
            "program": Path("m.mlir"),
            "target": "cpu:4",
            "dump_dir": "d",
            "trace": True,
            "scheduler": "greedy",
        }
    ]


def test_tiles_have_a_form(ark: Ark, fake_compiler: Calls, tmp_path: Path) -> None:
    (tmp_path / "net.mlir").write_text("module {}")
    command = ("compile", "net.mlir", "-o", "net.arkbin", "--set")
    assert ark(*command, "tile=fc1:32x64,layer/up:8").status == 0
    assert fake_compiler[-1]["tile"] == {"fc1": (32, 64), "layer/up": (8,)}
    for value in ("fc1", "fc1=8", "fc1:", ":8", "fc1:8,", "fc1:0x8", "fc1:8*8", '{"fc1":[8]}'):
        result = ark(*command, f"tile={value}")
        assert result.status == 2, value
        assert "expected the name of an op or group and extents, as in tile=fc1:32x64" in result.err


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("net.py", "is a Python program, which the compiler does not run: call ark.compile"),
        ("net.arkbin", "is compiled already: use `ark run`, `ark check`, `ark show` or `ark info`"),
        ("net.safetensors", "holds weights only"),
        ("net.onnx", "is a model in another format"),
    ],
)
def test_files_that_are_no_programs(
    ark: Ark, fake_compiler: Calls, tmp_path: Path, name: str, message: str
) -> None:
    (tmp_path / name).write_text("import ark_mlir")
    result = ark("compile", name, "-o", "out.arkbin")
    assert (result.status, fake_compiler) == (1, [])
    assert result.err.startswith(f"ark: error: {name}: {message}")
    assert len(result.err.splitlines()) == 1


@pytest.mark.parametrize(
    "command",
    [
        ("run",), ("bench",), ("info",), ("profile", "-o", "costs.json"),
        ("show",), ("simulate", "--topology", "h200"), ("tune", "--record", "costs.json"),
    ],
    ids=lambda command: command[0],
)  # fmt: skip
def test_files_that_are_no_bundles(ark: Ark, tmp_path: Path, command: tuple[str, ...]) -> None:
    """Every command that opens a bundle names the mistake, and the command that helps."""
    (tmp_path / "net.safetensors").touch()
    (tmp_path / "net.decode.arkbin").touch()
    name, *options = command
    for path, message in {
        "net.safetensors": "net.safetensors: holds weights only: pass the bundle",
        "net.arkbin": "writes a bundle for each program of a model: net.decode.arkbin",
    }.items():
        result = ark(name, path, *options)
        assert result.status == 1
        assert message in result.err


def test_a_check_of_a_folder(ark: Ark, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    result = ark("check", "model")
    assert result.status == 1
    assert "model: is a folder: `ark compile FOLDER -o OUT.arkbin` writes" in result.err


def test_compile_is_silent(ark: Ark, fake_compiler: Calls, tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text("module {}")
    result = ark("compile", "m.mlir", "-o", "m.arkbin")
    assert (result.status, result.out, result.err) == (0, "", "")


def test_compile_errors(ark: Ark, fake_compiler: Calls, tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text("module {}")
    assert "no such file" in ark("compile", "no.mlir", "-o", "m.arkbin").err
    result = ark("compile", "m.mlir", "-o", "m.arkbin", "--set", "speed=11")
    assert "compile has no option 'speed'" in result.err
    assert "No such file" in ark("compile", "m.mlir", "-o", "no/m.arkbin").err
    assert not (tmp_path / "m.arkbin").exists()


def test_compile_a_model(
    ark: Ark, fake_compiler: Calls, fake_model: list[Any], tmp_path: Path
) -> None:
    result = ark(
        *("compile", "model", "-o", "m.arkbin", "--set", "length=64", "--set", "scheduler=list")
    )
    assert result.status == 0, result.err
    assert result.out.split() == ["m.prefill.arkbin", "m.decode.arkbin"]
    assert fake_model[0].options == {"length": 64}
    assert [call["scheduler"] for call in fake_compiler] == ["list", "list"]
    read_bundle("m.decode.arkbin")


@pytest.mark.parametrize("command", ["run", "info", "bench", "check", "show"])
def test_paths_that_are_no_bundles(ark: Ark, tmp_path: Path, command: str) -> None:
    for name in ("m.decode.arkbin", "m.prefill.arkbin", "p.py"):
        (tmp_path / name).touch()
    (tmp_path / "p.mlir").write_text("module {}")
    found = "no such file; .*: m.decode.arkbin, m.prefill.arkbin"
    wanted = {"m.arkbin": found, "p.py": "is a Python program"}
    if command != "show":
        wanted[str(tmp_path)] = "is a folder: `ark compile FOLDER"
    if command not in ("check", "show"):
        wanted["p.mlir"] = "is the text of a program: `ark compile"
    for name, message in wanted.items():
        result = ark(command, name)
        assert result.status == 1
        assert re.match(f"ark: error: {name}: {message}", result.err), result.err
        assert len(result.err.splitlines()) == 1


def test_run_without_parameters_names_the_option(ark: Ark, bundle: Path) -> None:
    assert "--params FILE.safetensors binds parameters" in ark("run", bundle).err


def test_check(ark: Ark, fake_compiler: Calls, tmp_path: Path) -> None:
    (tmp_path / "s.mlir").write_text("fine")
    assert ark("check", "s.mlir").out == "proven: 12 vCTAs, 4 waits\n"
    assert ark("check", "s.mlir", "--target", "cuda:sm_90a").status == 0
    assert [call["target"] for call in fake_compiler] == [None, "cuda:sm_90a"]
    (tmp_path / "s.mlir").write_text("race")
    result = ark("check", "s.mlir")
    assert (result.status, result.err) == (1, "ark: error: s.mlir:3:1: a race\n")
    assert "no such file" in ark("check", "no.mlir").err


def test_check_a_bundle(ark: Ark, fake_compiler: Calls) -> None:
    write_bundle("a.arkbin", *add_program().parts())
    assert ark("check", "a.arkbin").out == "proven: 16 vCTAs\n"
    assert fake_compiler == [{"check": "a.arkbin"}]
    result = ark("check", "a.arkbin", "--target", "cpu")
    assert (result.status, "cannot be used with a bundle" in result.err) == (1, True)


def test_sign(
    ark: Ark, fake_compiler: Calls, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cryptography", reason="signatures need the package cryptography")
    assert ark("sign", "--generate", "me.pem").out == "me.pem.pub\n"
    assert "exists already" in ark("sign", "--generate", "me.pem").err
    before = bundle.read_bytes()
    result = ark("sign", "a.arkbin", "--key", "me.pem", "-o", "b.arkbin")
    assert (result.status, bundle.read_bytes()) == (0, before)
    assert result.out.startswith("b.arkbin: Ed25519 ")
    monkeypatch.setenv("ARK_TRUSTED_KEYS", "me.pem.pub")
    refused = ark("run", "a.arkbin", "--input", "x=x.npy", "--param", "w=w.npy")
    assert "a.arkbin: signature: the bundle has none" in refused.err
    assert ark("run", "b.arkbin", "--input", "x=x.npy", "--param", "w=w.npy").status == 0
    assert ark("show", "b.arkbin").status == 0
    assert ", trusted: me.pem.pub" in (tmp_path / "b.html").read_text()
    assert ", trusted: me.pem.pub" in ark("check", "b.arkbin").out
    assert ark("sign", "a.arkbin", "--key", "me.pem").status == 0  # signs in place
    assert bundle.read_bytes() == (tmp_path / "b.arkbin").read_bytes()


def test_show_a_bundle(ark: Ark, tmp_path: Path) -> None:
    write_bundle(tmp_path / "a.arkbin", *add_program().parts())
    assert ark("show", "a.arkbin").out == "a.html\n"
    assert (tmp_path / "a.html").read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("command", [("show",), ("simulate", "--topology", "h200")], ids=str)
@pytest.mark.parametrize("option", [("--target", "cpu:2"), ("--set", "scheduler=list")], ids=str)
def test_a_bundle_takes_no_options_of_the_compiler(
    ark: Ark, bundle: Path, command: tuple[str, ...], option: tuple[str, ...]
) -> None:
    result = ark(command[0], bundle, *command[1:], *option)
    assert (result.status, result.out) == (1, "")
    assert f"{option[0]}: a bundle is compiled already; pass {option[0]} to ark" in result.err


def test_show_refuses_a_program_that_is_not_compiled(
    ark: Ark, fake_compiler: Calls, fake_model: list[Any], tmp_path: Path
) -> None:
    (tmp_path / "m.mlir").write_text("module {}")
    assert ark("show", "m.mlir", "-o", "m.html").status == 0
    assert "choose one with --program" in ark("show", "model").err
    assert ark("show", "model", "--program", "decode").out == "model.html\n"
    assert len(fake_compiler) == 2, "only the program that is shown is compiled"


@pytest.mark.parametrize("source", ["a.arkbin", "m.mlir", "model"])
def test_show_refuses_an_unknown_program(
    ark: Ark, fake_compiler: Calls, fake_model: list[Any], tmp_path: Path, source: str
) -> None:
    (tmp_path / "m.mlir").write_text("module {}")
    write_bundle(tmp_path / "a.arkbin", *add_program().parts())
    result = ark("show", source, "--program", "nonsense")
    assert result.status == 1
    assert f"{source}: --program nonsense: there is no such program; use " in result.err


def test_without_a_compiler(ark: Ark, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The machine has the runtime only."""
    for package in ("ark_mlir.compiler", "ark_mlir.models"):
        monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / "model").mkdir()
    (tmp_path / "model/config.json").write_text('{"model_type": "llama"}')
    (tmp_path / "m.mlir").write_text("module {}")
    for line in (
        "compile m.mlir -o m",
        "compile model -o m",
        "check m.mlir",
        "show m.mlir",
        "generate model --prompt-ids 1",
    ):
        result = ark(*line.split())
        assert result.status == 1
        assert "the compiler is not installed here, only the runtime" in result.err
    assert ark("env").status == 0


def test_env_shows_the_cache(ark: Ark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def shown() -> dict[str, str]:
        return json.loads(ark("env", "--json").out)["cache"]

    monkeypatch.setenv("ARK_CACHE_DIR", str(tmp_path / "c"))
    monkeypatch.setenv("ARK_CACHE_SIZE", "5M")
    monkeypatch.setenv("ARK_CACHE", "1")
    assert shown() == {
        "path": str(tmp_path / "c"),
        "size": "0.0 of 5 MB, 0 programs",
        "hits": "0 of 0 compilations",
    }
    store = BundleStore(tmp_path / "c", 1 << 30)
    store.save("k", Bundle.from_parts(*add_program().parts(bytes(100_000))))
    assert store.load("k") is not None
    assert store.load("l") is None
    monkeypatch.setenv("ARK_CACHE", "0")
    assert shown() == {
        "path": f"{tmp_path / 'c'} (off)",
        "size": "0.1 of 5 MB, 1 programs",
        "hits": "1 of 2 compilations",
    }
    monkeypatch.setenv("ARK_CACHE_SIZE", "large")
    assert "ARK_CACHE_SIZE" in shown()["path"]


@pytest.mark.parametrize("port", ["0", "65536", "x", "-1"])
def test_serve_refuses_ports(ark: Ark, port: str) -> None:
    result = ark("serve", "model", f"--port={port}")
    assert result.status == 2
    assert f"argument --port: expected a number from 1 to 65535, got '{port}'" in result.err


@pytest.mark.parametrize(
    "command",
    [("run", "m.arkbin"), ("bench", "m.arkbin"), ("profile", "m.arkbin", "-o", "costs.json")],
    ids=lambda command: command[0],
)
@pytest.mark.parametrize("given", [{}, {"devices": (0, 0), "concurrent": True}], ids=str)
def test_devices_reach_load(
    ark: Ark,
    command: tuple[str, ...],
    given: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    seen: list[dict[str, Any]] = []

    def load(path: str, **options: Any) -> None:
        seen.append(options)
        raise InvalidUsageError("stops here")

    monkeypatch.setattr("ark_mlir.runtime.load", load)
    (tmp_path / "m.arkbin").write_bytes(b"")
    arguments = ("--devices", "0,0", "--concurrent") if given else ()
    assert "stops here" in ark(*command, *arguments).err
    assert seen == [{"devices": None, "concurrent": False} | given]
