"""Settings and fixtures that all host tests share."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

HOST = Path(__file__).parent
# Folders and files of tests/host whose tests run with every version of Python. They cover arrays,
# threads, signals, ctypes and the bindings, which differ between versions, in two minutes.
QUICK = (
    "bundle",
    "e2e/test_lanes.py",
    "e2e/test_states.py",
    "e2e/test_stop.py",
    "frontend",
    "reference",
    "runtime",
    "test_json_checks.py",
    "testing",
    "tuning",
)
# Tests that make each call of CUDA's driver fail take minutes.
NOT_QUICK = ("runtime/cuda",)
# Tests with many similar cases that take most of the time: `make test` runs every n-th case, and
# none if n is zero. `make test-all` runs all cases. runtime/cuda/test_faults.py::
# test_the_kth_call_fails is no such test: defects were in the paths of sessions that every third
# session leaves out (exports, dropped executables, shared states, peeks), which take 11 s.
SAMPLED = {
    "benchmarks/test_architectures.py::test_models_of_transformers_are_one_program": 2,
    "benchmarks/test_architectures.py::test_networks_are_one_program": 4,
    "benchmarks/test_spills.py::test_a_decode_step_spills_nothing": 3,
    "benchmarks/test_spills.py::test_a_prompt_spills_nothing": 2,
    "benchmarks/test_spills.py::test_an_encoder_spills_nothing": 2,
    "benchmarks/test_spills.py::test_older_gpus_have_the_instructions_of_a_decode_step": 0,
    "benchmarks/test_spills.py::test_steps_of_several_sequences_spill_nothing": 4,
    "distributed/test_engines.py::test_a_fault_at_every_call_of_the_driver": 3,
    "distributed/test_engines.py::test_every_rank_raises_the_same_error": 4,
    "distributed/test_gpu_processes.py::test_a_fault_at_every_call_with_legacy_ipc": 0,
    "e2e/test_bitcast.py::test_every_bit_is_kept": 5,
    "e2e/test_ops.py::test_op": 6,
    "e2e/test_ranks.py::test_every_algorithm": 2,
    "e2e/test_ranks.py::test_every_world_size": 3,
    "emulation/test_attention.py::test_one_pass": 2,
    "emulation/test_decoders.py::test_one_token": 2,
    "emulation/test_decoders.py::test_one_token_of_two_ranks": 2,
    "emulation/test_generation.py::test_tokens_are_those_of_one_rank": 4,
    "emulation/test_mutants.py::test_mutants_are_caught": 2,
    "emulation/test_ops.py::test_op": 6,
    "emulation/test_worlds.py::test_algorithms_of_collectives": 2,
    "emulation/test_worlds.py::test_every_collective": 4,
    "emulation/test_worlds.py::test_parts_of_a_vocabulary": 2,
    "models/test_compiled.py::test_a_layer_is_within_its_bound": 2,
    "models/test_compiled.py::test_other_shapes_of_decoders": 2,
    "models/test_families.py::test_logits_and_tokens_are_those_of_transformers": 3,
    "models/test_folder_bundles.py::test_parameters_are_those_of_the_files": 3,
    "models/test_moe.py::test_generation_is_that_of_transformers": 2,
    "models/test_parallel.py::test_four_ranks_with_a_vocabulary_that_they_do_not_divide": 2,
    "models/test_parallel.py::test_logits_are_those_of_one_rank": 4,
    "models/test_parallel.py::test_ranks_that_divide_the_tokens": 2,
    "models/test_parallel.py::test_tokens_are_those_of_one_rank": 2,
    "models/test_streaming.py::test_weights_stream": 6,
    "models/test_transformers.py::test_a_decoder": 7,
    "models/test_transformers.py::test_an_encoder": 2,
    "models/test_transformers.py::test_narrow_decoders_are_no_further_off_than_pytorch": 2,
    "pytorch/test_models.py::test_from_torch": 2,
    "runtime/cuda/test_faults.py::test_the_context_is_lost_at_the_kth_call": 3,
    "runtime/cuda/test_world_faults.py::test_the_kth_call_fails": 8,
    "targets/test_cuda.py::test_a_decode_step_of_every_architecture": 3,
    "targets/test_cuda.py::test_a_model_on_every_architecture": 5,
    "targets/test_cuda.py::test_rows_longer_than_the_memory_of_an_sm": 5,
    "targets/test_cuda.py::test_weights_of_8_bits_are_read_without_a_cast": 6,
    "targets/test_hip.py::test_every_op": 12,
    "test_gpu_session.py::test_exit_status": 3,
    "training/test_char_gpt.py::test_the_loss_falls": 0,
}

# On a busy machine a test may be slow without a failure.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])


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
    # On a busy machine a long wait is no hang; tests of hangs set their own timeout. A GPU runs one
    # kernel at a time, whatever else the machine does.
    os.environ["ARK_TIMEOUT"] = "10" if config.getoption("--ark-target") else "100"
    # JAX uses the CPU: these tests pass arrays in host memory, and JAX would reserve most of a GPU
    # that other test processes use with PyTorch.
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    settings.load_profile("patient")
    # Background jobs of a shell ignore SIGINT, which some tests send.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and "pick_target" in item.fixturenames:
            item.add_marker("any_target")
        if is_below(item.path, QUICK) and not is_below(item.path, NOT_QUICK):
            item.add_marker("quick")
    mark_soak(items)


def mark_soak(items: list[pytest.Item]) -> None:
    """Marks the cases of sampled tests that only `make test-all` runs."""
    cases: Counter[str] = Counter()
    for item in items:
        if not isinstance(item, pytest.Function) or not item.path.is_relative_to(HOST):
            continue
        name = f"{item.path.relative_to(HOST)}::{item.originalname}"
        if name in SAMPLED:
            interval = SAMPLED[name]
            if interval == 0 or cases[name] % interval:
                item.add_marker("soak")
            cases[name] += 1


def is_below(path: Path, places: tuple[str, ...]) -> bool:
    return any(path.is_relative_to(HOST / place) for place in places)


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

        def guarded(one: Callable[[], object]) -> None:
            try:
                one()
            except BaseException as error:  # re-raised in the test
                errors.append(error)

        threads = [threading.Thread(target=guarded, args=(one,)) for one in work]
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
