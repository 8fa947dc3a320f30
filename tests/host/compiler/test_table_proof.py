"""The proof of a bundle's tables: on compilation, on request at load, and by ``ark check``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.bundle import Bundle, Opcode, read_bundle
from ark_mlir.cli.main import main
from ark_mlir.compiler import bundles
from ark_mlir.compiler.table_proof import prove
from ark_mlir.testing.toy import add_program, counting_program


def mlp() -> ark.Program:
    with ark.Program("mlp") as program:
        x = ark.input("x", (16, 64))
        up = ark.relu(ark.matmul(x, ark.parameter("up", (128, 64)), transpose_other=True))
        ark.output("y", ark.matmul(up, ark.parameter("down", (64, 128)), transpose_other=True))
    return program


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    with ark.compile(mlp(), target="cpu:2", opt_level=0, tile={"matmul": (16, 32)}) as exe:
        return exe.bundle


def spoiled(bundle: Bundle, table: str, spoil: Callable[[Any], object]) -> Bundle:
    rows = np.array(getattr(bundle.tables, table))
    spoil(rows)
    return Bundle.from_parts(bundle.manifest, {**bundle.sections, table: rows.tobytes()}, "mlp")


def test_a_bundle_is_proven(bundle: Bundle) -> None:
    proof = prove(bundle)
    assert proof.vctas == sum(task.vctas for task in bundle.manifest.tasks)
    assert proof.cells > 0
    assert bundle.manifest.proven


def test_ordered_tasks_are_not_compared_vcta_by_vcta() -> None:
    with ark.Program("chain") as program:
        x = ark.input("x", (64, 64))
        for _ in range(16):
            x = ark.softmax(ark.matmul(x, x))
        ark.output("y", x)
    with ark.compile(program, target="cpu:2", opt_level=0, tile={"matmul": (16, 32)}) as exe:
        proof = prove(exe.bundle)
    # A vCTA of a product reads tiles of two operands, which consist of two cells or more. What
    # remains are the cells of each task's own writes.
    assert proof.accesses < 1.5 * proof.vctas


def race(rows: Any) -> None:
    """Moves the first wait behind the run that needs it."""
    waits = np.flatnonzero(rows[:, 0] == Opcode.WAIT)
    if not len(waits):
        waits = np.flatnonzero(rows[:, 0] == Opcode.BARRIER)
    first = int(waits[0])
    rows[[first, first + 1]] = rows[[first + 1, first]]


def test_a_race_names_tasks_vctas_sms_and_bytes(bundle: Bundle) -> None:
    with pytest.raises(ark.VerificationError) as caught:
        prove(spoiled(bundle, "instructions", race))
    message = str(caught.value)
    assert "mlp: instructions[" in message
    for word in ("hazard: vCTA", "on SM", "bytes [", "without waiting for", "test_table_proof.py:"):
        assert word in message, message


def test_the_toy_bundles_are_proven() -> None:
    assert prove(Bundle.from_parts(*add_program().parts())).vctas == 16


def test_lanes_end_in_a_barrier() -> None:
    with pytest.raises(ark.VerificationError, match="does not end in a barrier"):
        prove(Bundle.from_parts(*counting_program().parts()))


def test_check_and_load(bundle: Bundle, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.arkbin", tmp_path / "bad.arkbin"
    bundle.save(good)
    spoiled(bundle, "instructions", race).save(bad)
    assert main(["check", str(good)]) == 0
    assert "mlp on cpu (" in capsys.readouterr().out
    assert main(["check", str(bad)]) == 1
    assert f"{bad}: instructions[" in capsys.readouterr().err
    ark.load(good, verify=True).close()
    # The reader checks each row separately, and believes the claim of a proof.
    assert read_bundle(bad).manifest.proven
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ark.load(bad).close()
    with pytest.raises(ark.VerificationError, match="hazard"):
        ark.load(bad, verify=True)


def test_unproven_bundles_are_warned_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.arkbin"
    with pytest.warns(ark.UnprovenWarning, match="verify=False"):
        exe = ark.compile(mlp(), target="cpu:2", opt_level=0, verify=False)
    assert "not proven" in str(exe.report())
    exe.save(path)
    exe.close()
    assert read_bundle(path).manifest.options["verify"] is False
    with pytest.warns(ark.UnprovenWarning, match="not proven"):
        ark.load(path).close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ark.load(path, verify=True).close()
    (tmp_path / "m.mlir").write_text(mlp().mlir)
    arguments = ["compile", str(tmp_path / "m.mlir"), "-o", str(path), "--set", "verify=false"]
    assert main(arguments) == 0
    assert "ark: warning: verify=False" in capsys.readouterr().err


@pytest.mark.parametrize(("stage", "number"), [("kernel", "06"), ("target", "07")])
def test_bundles_of_modules_without_tasks_are_not_proven(
    stage: str, number: str, tmp_path: Path
) -> None:
    """The functions of such a module may access bytes that its tables do not declare."""
    ark.compile(mlp(), target="cpu:2", opt_level=0, dump_dir=tmp_path).close()
    with pytest.warns(ark.UnprovenWarning, match=f"at the stage '{stage}'"):
        exe = ark.compile(tmp_path / f"{number}-{stage}.mlir", opt_level=0)
    assert not exe.bundle.manifest.proven
    exe.close()


def test_every_compilation_proves_its_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    proven: list[str] = []
    real = bundles.prove

    def record(bundle: Bundle) -> Any:
        proven.append(bundle.manifest.program)
        return real(bundle)

    monkeypatch.setattr(bundles, "prove", record)
    ark.compile(mlp(), target="cpu:2", opt_level=0).close()
    assert proven == ["mlp"]
