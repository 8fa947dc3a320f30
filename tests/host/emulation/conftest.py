"""Fixtures for kernels for GPUs, which run thread by thread on the host."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from emulation import Emulation, build_library, missing_tools

import ark_mlir as ark
from ark_mlir.testing.bounds import assert_within

Check = Callable[..., Emulation]
# Tests of a wheel run in a copy of the tree without the package.
BUILT_HERE = (Path(__file__).parents[3] / "ark_mlir").is_dir()


@pytest.fixture(scope="session")
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds the emulator; its tools may be missing only when a wheel is tested."""
    if missing := missing_tools():
        tell = pytest.fail if BUILT_HERE else pytest.skip
        tell(f"{' and '.join(missing)}, which build ark, are not there")
    cache = getattr(request.config, "cache", None)
    return build_library(cache.mkdir("emulation") if cache else tmp_path_factory.mktemp("library"))


@pytest.fixture
def check(library: Path, tmp_path: Path) -> Check:
    """``check(program, arrays, **options)`` runs a program in the emulator, and compares outputs
    with the interpreter within its bound per element; the options are those of Emulation."""

    def run(program: ark.Program, arrays: dict[str, Any], **options: Any) -> Emulation:
        emulation = Emulation(program, library, tmp_path, **options)
        parameters = {buffer.name for buffer in emulation.executable.parameters}
        expected = ark.reference.evaluate(program, arrays, bound=True)
        with emulation.executable as executable:
            executable.bind({name: arrays[name] for name in parameters})
            got = emulation.run({n: a for n, a in arrays.items() if n not in parameters})
        for name, array in got.items():
            assert_within(array, expected.outputs[name], expected.bounds[name], name)
        return emulation

    return run
