"""Settings and fixtures that all host tests share."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from .rotation import ROTATION
from .tiers import HOST, NOT_QUICK, QUICK, SHARD_VARIABLE, find_shard, is_due

# On a busy machine a test may be slow without a failure.
settings.register_profile(
    "no deadline", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--ark-target",
        metavar="TARGET",
        help="compiles what tests of ops and models compile for this target instead of cpu, and "
        "runs it there: cuda, cuda:sm_90a",
    )


def pytest_configure(config: pytest.Config) -> None:
    # Tests compile without the cache; tests of the cache name one.
    os.environ["ARK_CACHE"] = "0"
    # On a busy machine, a long wait is not a hang; tests of hangs set their own timeout. A GPU runs
    # one kernel at a time, whatever else the machine does.
    os.environ["ARK_TIMEOUT"] = "10" if config.getoption("--ark-target") else "100"
    # JAX uses the CPU: these tests pass arrays in host memory, and JAX would reserve most of a GPU
    # that other test processes use with PyTorch.
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    settings.load_profile("no deadline")
    # Background jobs of a shell ignore SIGINT, which some tests send.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header() -> str:
    return f"slow tests: {SHARD_VARIABLE}={find_shard()} selects the same ones"


# The index of a case among all cases of its test, also if a command selects one case.
_CASE = pytest.StashKey[int]()


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem() -> Generator[None, Any, Any]:
    made = yield
    if isinstance(made, list):
        for index, item in enumerate(made):
            item.stash[_CASE] = index
    return made


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Imports only files with quick tests if a run selects quick tests."""
    if not config.option.markexpr.startswith("quick") or collection_path.suffix != ".py":
        return None
    return None if is_quick(collection_path) else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    shard = find_shard()
    for item in items:
        if not isinstance(item, pytest.Function):
            continue
        if "pick_target" in item.fixturenames:
            item.add_marker("any_target")
        path = name_in_host(item.path)
        if path is None:
            continue
        if is_quick(item.path):
            item.add_marker("quick")
        # Cases of slow tests that other commits run. JUnit reports have the index of each case.
        name, case = f"{path}::{item.originalname}", item.stash.get(_CASE, 0)
        if not is_due(name, case, shard):
            item.add_marker("soak")
        if name in ROTATION:
            item.user_properties.append(("case", case))


@cache
def name_in_host(path: Path) -> str | None:
    """Returns the path of a file below tests/host; None for other files."""
    return path.relative_to(HOST).as_posix() if path.is_relative_to(HOST) else None


@cache
def is_quick(path: Path) -> bool:
    return is_below(path, QUICK) and not is_below(path, NOT_QUICK)


def is_below(path: Path, names: tuple[str, ...]) -> bool:
    return any(path.is_relative_to(HOST / name) for name in names)


@pytest.fixture(scope="session")
def pick_target(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """``pick_target("cpu:2")``: that target, or the one of ``--ark-target``.

    Tests that use this fixture hold for every target, and are marked ``any_target``. All other
    tests concern one target, or none.
    """
    chosen = request.config.getoption("--ark-target")
    if chosen and chosen.startswith("cuda"):
        keep_context()
    return lambda target: chosen or target


def keep_context() -> None:
    """Keeps the GPU's context between tests: creating it takes longer than most tests."""
    from ark_mlir.runtime.cuda.api import CudaApi

    api = CudaApi()
    api.call("cuDevicePrimaryCtxRetain", api.device)


@pytest.fixture(params=["FakeCuda", "FakeHip"], ids=["cuda", "hip"])
def vendor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The class of the stand-in for GPUs of a vendor."""
    from ark_mlir.testing import fake_gpu

    chosen = getattr(fake_gpu, request.param)
    monkeypatch.setattr(fake_gpu.OnDevice, "device_type", chosen.device_type)
    return chosen


@pytest.fixture(scope="session")
def pick_splitting(pick_target: Callable[[str], str]) -> Callable[[str], Any]:
    """Returns targets for tests of ops that are split for idle SMs. A GPU target gets as few SMs as
    the CPU target has workers, and hand-offs that cost nothing, so that small problems are split on
    GPUs, too.
    """

    def pick(target: str) -> Any:
        from ark_mlir.targets import resolve

        machine = resolve(pick_target(target))
        if machine.backend == "cpu":
            return target
        return replace(machine, sms=16, handoff=1, barrier=1, overhead=1)

    return pick


@pytest.fixture
def run_example(tmp_path: Path) -> Callable[[str], str]:
    """``run_example(name)``: the last line that an example prints, which leaves no file behind."""

    def run(name: str) -> str:
        path = Path(__file__).parents[2] / "examples" / f"{name}.py"
        result = subprocess.run(
            [sys.executable, "-W", "ignore::FutureWarning", path],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )
        assert (result.returncode, result.stderr) == (0, "")
        assert list(tmp_path.iterdir()) == []
        return result.stdout.splitlines()[-1]

    return run


@pytest.fixture
def in_threads() -> Callable[..., None]:
    """``in_threads(*work)`` runs all of `work` concurrently and raises the first error."""

    def run(*work: Callable[[], object]) -> None:
        errors: list[BaseException] = []

        def guarded(function: Callable[[], object]) -> None:
            try:
                function()
            except BaseException as error:  # re-raised in the test
                errors.append(error)

        threads = [threading.Thread(target=guarded, args=(function,)) for function in work]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for error in errors:
            raise error

    return run


@pytest.fixture(scope="session")
def tiny() -> Any:
    """The module ``tests/support/tiny_models.py``: small model folders."""
    import tiny_models

    return tiny_models
