"""The cache of compiled programs: its entries, and what its keys cover."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir import knobs
from ark_mlir.bundle import store
from ark_mlir.compiler import bundles
from ark_mlir.compiler import cache as cache_module
from ark_mlir.compiler.cache import find_slot
from ark_mlir.compiler.lowering import choose_target
from ark_mlir.compiler.source import load_module
from ark_mlir.targets import backend_of
from ark_mlir.targets.fingerprints import hash_files

SIZE = 24


def program(
    factor: float = 2.0, name: str = "scaled", dtype: ark.DType = ark.fp32, table: float = 0.5
) -> ark.Program:
    with ark.Program(name) as built:
        x = ark.input("x", (SIZE,), dtype)
        weights = ark.constant(np.linspace(0, table, SIZE), dtype)
        ark.output("y", x * factor + weights)
    return built


ONE = program()  # the key covers locations, also those of callers


def save_and_read(exe: ark.Executable, path: Path) -> bytes:
    exe.save(path)
    return path.read_bytes()


def y_of(exe: ark.Executable) -> Any:
    return exe.run(x=np.ones(SIZE, np.float32))["y"]


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns a list with an entry for every program that is compiled rather than taken from the
    cache.
    """
    done: list[str] = []
    make: Callable[..., Any] = bundles.make_bundle

    def counted(*arguments: Any) -> Any:
        done.append("compiled")
        return make(*arguments)

    monkeypatch.setattr(bundles, "make_bundle", counted)
    return done


# -- entries ---------------------------------------------------------------------------------------


def test_a_second_compilation_takes_the_entry(tmp_path: Path, compilations: list[str]) -> None:
    made, found, plain = (
        ark.compile(ONE, "cpu:2", cache=cache) for cache in (tmp_path / "c", tmp_path / "c", False)
    )
    assert len(compilations) == 2  # one of these compilations does not use the cache
    np.testing.assert_array_equal(y_of(found), y_of(plain))
    # An entry has the same bytes as a bundle of the compiler.
    expected = save_and_read(plain, tmp_path / "a")
    assert save_and_read(made, tmp_path / "a") == save_and_read(found, tmp_path / "a") == expected


def test_a_damaged_entry_is_compiled_again(
    tmp_path: Path, compilations: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    ark.compile(ONE, "cpu:2", cache=tmp_path)
    (entry,) = tmp_path.glob("*.arkbin")
    whole = entry.read_bytes()
    entry.write_bytes(whole[:-100])
    for _ in range(2):
        np.testing.assert_allclose(y_of(ark.compile(ONE, "cpu:2", cache=tmp_path))[-1], 2.5)
    assert len(compilations) == 2
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert entry.read_bytes() == whole


def test_a_disk_without_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "_SAID", set())
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        for _ in range(2):
            assert y_of(ark.compile(ONE, "cpu:2", cache=tmp_path))[-1] == 2.5
    (record,) = caplog.records
    assert "No space left" in record.getMessage()


# -- when the cache is used ------------------------------------------------------------------------


def test_the_folder_follows_the_environment(tmp_path: Path, compilations: list[str]) -> None:
    def entries(**variables: str) -> int:
        with knobs.scope(ARK_CACHE_DIR=str(tmp_path / "c"), **variables):
            ark.compile(ONE, "cpu:2", cache=True if "ARK_CACHE" not in variables else None)
        return len(list((tmp_path / "c").glob("*.arkbin")))

    assert entries(ARK_CACHE="0") == 0
    assert entries(ARK_CACHE="1") == 1
    assert entries() == 1
    assert len(compilations) == 2


@pytest.mark.parametrize("way", ["option", "variable"])
def test_dumps_need_the_stages_to_run(tmp_path: Path, compilations: list[str], way: str) -> None:
    for number in range(2):
        dump = str(tmp_path / f"{way}{number}")
        if way == "option":
            ark.compile(ONE, "cpu:2", cache=tmp_path / "c", dump_dir=dump)
        else:
            with knobs.scope(ARK_DUMP_DIR=dump):
                ark.compile(ONE, "cpu:2", cache=tmp_path / "c")
        assert len(list(Path(dump).glob("*.mlir"))) >= 6
    assert len(compilations) == 2
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("value", [3, 1.5, ("a",)])
def test_an_invalid_cache_argument_raises(value: Any) -> None:
    with pytest.raises(ark.InvalidUsageError, match="option cache="):
        ark.compile(ONE, "cpu:2", cache=value)


# -- keys ------------------------------------------------------------------------------------------


def key(source: Any, target: str = "cpu:2", **options: Any) -> str:
    module = load_module(source)
    machine = choose_target(module, target)
    slot = find_slot(
        module, machine, backend_of(machine.backend), ark.CompileOptions(cache=True, **options)
    )
    assert slot is not None
    return slot.key


@pytest.mark.parametrize(
    "other",
    [
        lambda: key(program(factor=3.0)),
        lambda: key(program(table=0.25)),
        lambda: key(program(name="other")),
        lambda: key(program(dtype=ark.bf16)),
        lambda: key(ONE, "cpu:3"),
        lambda: key(ONE, "cuda:sm_80"),
        lambda: key(ONE, trace=True),
        lambda: key(ONE, verify=False),
        lambda: key(ONE, keep_mlir=True),
        lambda: key(ONE, opt_level=1),
        lambda: key(ONE, cpu="baseline"),
        lambda: key(ONE, scheduler="round-robin"),
        lambda: key(ONE, tile={"add": (8,)}),
        lambda: key(str(ONE.module.operation.get_asm(enable_debug_info=False))),
    ],
)
def test_changes_that_matter_change_the_key(other: Callable[[], str]) -> None:
    assert key(ONE) == key(ONE)
    assert other() != key(ONE)


def test_changes_that_do_not_matter_keep_the_key(tmp_path: Path) -> None:
    two, turned = {"a": (8,), "b": (4,)}, {"b": (4,), "a": (8,)}
    assert key(ONE, tile=two) == key(ONE, tile=turned)
    slots = [
        find_slot(
            load_module(ONE), ark.targets.resolve("cpu:2"), backend_of("cpu"),
            ark.CompileOptions(cache=folder),
        )
        for folder in (tmp_path / "a", tmp_path / "b")
    ]  # fmt: skip
    assert slots[0] is not None
    assert slots[1] is not None
    assert slots[0].key == slots[1].key


def test_constants_of_any_size_count() -> None:
    def large(last: float) -> str:
        values = np.zeros(100_000, np.float32)
        values[-1] = last
        with ark.Program("large") as built:
            ark.output("y", ark.input("x", (100_000,), ark.fp32) + ark.constant(values, ark.fp32))
        return key(built)

    keys = [large(last) for last in (1.0, 1.0, 2.0)]
    assert keys[0] == keys[1] != keys[2]


def test_another_compiler_is_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key(ONE)
    monkeypatch.setattr(cache_module, "compiler_build", lambda: "another build")
    assert key(ONE) != before


def test_hashes_of_different_files_differ(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_bytes(b"x" * 200_000)
    first = hash_files([a])
    a.write_bytes(b"x" * 199_999 + b"y")
    assert hash_files([a]) != first
    b.write_bytes(a.read_bytes())
    assert hash_files([b]) != hash_files([a])  # the file's name is part of the key
    library = Path(cache_module._ark.__file__)
    with library.open("rb") as stream:
        head = bytearray(stream.read())
    offset = head.find(b"GNU\0", head.find(b"\x03\0\0\0GNU\0")) + 4
    a.write_bytes(head)
    before = hash_files([a])
    head[offset] ^= 1
    a.write_bytes(head)
    assert hash_files([a]) != before


# -- processes -------------------------------------------------------------------------------------

SCRIPT = """
import sys
import numpy as np
import ark_mlir as ark
with ark.Program("p") as program:
    x = ark.input("x", (24,), ark.fp32)
    ark.output("y", x * 2.0 + ark.constant(np.linspace(0, 0.5, 24), ark.fp32))
exe = ark.compile(program, "cpu:2", cache=sys.argv[1], opt_level=0)
assert exe.run(x=np.ones(24, np.float32))["y"][-1] == 2.5
"""


def test_sixteen_processes_compile_at_once(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    started = [
        subprocess.Popen(
            [sys.executable, tmp_path / "script.py", tmp_path / "c"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # String hashes differ between processes, and must not affect a key.
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
        )
        for seed in range(16)
    ]
    results = [(process.communicate()[0], process.returncode) for process in started]
    assert results == [("", 0)] * 16
    (entry,) = (tmp_path / "c").glob("*.arkbin")  # all processes have one key
    assert {path.name for path in entry.parent.iterdir()} <= {entry.name, "hits", "misses"}
    ark.load(entry).close()
