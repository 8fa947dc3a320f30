"""`ark simulate`: predictions, comparisons with measured times, and errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ark_mlir import simulation
from ark_mlir.bundle import write_bundle
from ark_mlir.testing.toy import add_program

Ark = Callable[..., Any]


def test_simulate_a_bundle(ark: Ark, tmp_path: Path) -> None:
    write_bundle(tmp_path / "a.arkbin", *add_program().parts())
    result = ark("simulate", "a.arkbin", "--topology", "h200", "--measured", "10", "-o", "a.html")
    assert result.status == 0, result.err
    assert result.out.startswith("toy: 1 ranks on h200\n")
    assert "error of the prediction" in result.out
    assert result.out.endswith("a.html\n")
    assert '["simulated",' in (tmp_path / "a.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--topology", "h200", "--world", "2"), "program 'toy' has 1 ranks, not 2"),
        (("--topology", "h200", "--program", "other"), "--program other: there is no such program"),
        (("--topology", "h200", "--world", "9"), "--world 9: topology 'h200' has only 8 GPUs"),
        (("--topology", "none.json"), "none.json: cannot be read: No such file"),
        (("--topology", "h200", "--measured", "-1"), "measured_ns must be a positive number"),
        (("--topology", "h200", "--costs", "none.json"), "none.json: cannot be read"),
    ],
)
def test_errors_of_simulate_name_the_problem(
    ark: Ark, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    write_bundle(tmp_path / "a.arkbin", *add_program().parts())
    result = ark("simulate", "a.arkbin", *arguments)
    assert (result.status, result.out) == (1, "")
    assert message in result.err


def test_simulate_compares_with_measured_times(ark: Ark) -> None:
    topology = json.loads((Path(simulation.__file__).parent / "topologies/h200.json").read_bytes())
    topology["measured"] = topology["measured"][:1]
    topology["published"] = []
    Path("net.json").write_text(json.dumps(topology))
    result = ark("simulate", "--topology", "net.json", "--validate")
    assert result.status == 0, result.err
    assert result.out.startswith("all_reduce of 2,048 bytes, 2 ranks: measured 1 µs, simulated ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "ark simulate needs a bundle or file, or --validate"),
        (("a.arkbin", "--validate"), "--validate takes no bundle or file"),
        (("--validate", "--topology", "bare.json"), "topology 'bare' has no measured and no"),
    ],
)
def test_simulate_with_and_without_a_bundle(
    ark: Ark, arguments: tuple[str, ...], message: str
) -> None:
    known = json.loads((Path(simulation.__file__).parent / "topologies/h200x8.json").read_bytes())
    del known["published"]
    Path("bare.json").write_text(json.dumps(known))
    topology = () if "--topology" in arguments else ("--topology", "h200")
    result = ark("simulate", *arguments, *topology)
    assert (result.status, result.out) == (1, "")
    assert message in result.err
