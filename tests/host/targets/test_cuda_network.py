"""Kernels for ranks of several NVLink domains, linked with NCCL's device functions."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir._mlir_libs import _ark  # noqa: TID251 - a function of the extension
from ark_mlir.bundle.manifest_checks import parse_manifest
from ark_mlir.compiler import bundles
from ark_mlir.compiler.options import CompileOptions
from ark_mlir.compiler.source import load_module
from ark_mlir.pins import NCCL_VERSION
from ark_mlir.runtime.ranks import routes
from ark_mlir.targets import cuda_network
from ark_mlir.typing import Network


def sums(size: int) -> list[ark.Program]:
    programs: list[ark.Program] = []
    for rank in range(size):
        with ark.Program("sums", rank=rank, world_size=size) as program:
            ark.output("y", ark.all_reduce(ark.input("x", (4, 96), ark.fp32)))
        programs.append(program)
    return programs


def compile_sums(domains: list[int] | None, network: Network = "nccl") -> Any:
    options = CompileOptions(domains=domains, network=network, cache=False)
    return bundles.compile_bundle(load_module(sums(2)), "cuda:sm_90a", options)


def test_a_kernel_links_with_nccl(capfd: pytest.CaptureFixture[str]) -> None:
    try:
        found = version("nvidia-nccl-cu13")
    except PackageNotFoundError:
        pytest.skip("needs nvidia-nccl-cu13: pip install 'ark-mlir[nccl]'")
    assert found == NCCL_VERSION
    bundle = compile_sums([0, 1])
    assert bundle.manifest.domains == (0, 1)
    image = bytes(bundle.sections["kernel"])
    assert image.startswith(b"\x7fELF") or b".version" in image
    # LLVM does not warn that the library has another data layout.
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (
            None,
            r"needs? nvidia-nccl-cu13 .*, which is not installed: pip install 'ark-mlir\[nccl\]'",
        ),
        ("2.31.2", r"version 2\.31\.2 is installed: pip install 'ark-mlir\[nccl\]'"),
        (NCCL_VERSION, r"has no file /nowhere/nvidia/nccl/lib/libnccl_device\.bc"),
    ],
    ids=["missing", "another version", "incomplete"],
)
def test_a_library_that_does_not_fit(
    found: str | None, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Distribution:
        version = found

        def locate_file(self, name: str) -> str:
            return f"/nowhere/{name}"

    def distribution(name: str) -> Any:
        if found is None:
            raise PackageNotFoundError(name)
        return Distribution()

    monkeypatch.setattr(cuda_network, "distribution", distribution)
    with pytest.raises(ark.UnsupportedError, match=message):
        compile_sums([0, 1])


def test_port_channels_need_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel contains all of its functions, and an assembler accepts them."""
    monkeypatch.setattr(cuda_network, "distribution", None)
    bundle = compile_sums([0, 1], "mscclpp")
    assert (bundle.manifest.domains, bundle.manifest.network) == ((0, 1), "mscclpp")
    image = bytes(bundle.sections["kernel"])
    assert image.startswith(b"\x7fELF") or b".version" in image
    assert b"nccl" not in image
    written = bundle.manifest.as_json()
    assert written["network"] == "mscclpp"
    assert parse_manifest(written, "test").network == "mscclpp"


def test_the_network_is_not_recorded_for_one_domain() -> None:
    bundle = compile_sums([3, 3], "mscclpp")
    assert bundle.manifest.network == "nccl"
    assert "network" not in bundle.manifest.as_json()


def test_a_network_that_does_not_exist() -> None:
    with pytest.raises(ark.InvalidUsageError, match="network='mpi': expected nccl or mscclpp"):
        CompileOptions(domains=[0, 1], network="mpi")  # type: ignore[arg-type]
    with pytest.raises(ark.InvalidUsageError, match="network='mscclpp' needs domains="):
        CompileOptions(network="mscclpp")
    written = compile_sums([0, 1], "mscclpp").manifest.as_json()
    with pytest.raises(ark.BundleError, match="network: 'mpi' is not one of nccl, mscclpp"):
        parse_manifest({**written, "network": "mpi"}, "test")


def test_memory_that_port_channels_do_not_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "_MOST_BYTES", 1 << 20)
    with pytest.raises(ark.UnsupportedError, match=r"MSCCL\+\+ reach 1048575"):
        compile_sums([0, 1], "mscclpp")


def test_one_domain_needs_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_network, "distribution", None)
    assert compile_sums([3, 3]).manifest.domains == ()
    assert compile_sums(None).sections["kernel"] == compile_sums([3, 3]).sections["kernel"]


def test_bytes_that_are_no_library() -> None:
    with pytest.raises(ValueError, match="bitcode"):
        _ark.set_data_layout(b"no bitcode", "e")


@pytest.mark.parametrize(
    ("domains", "message"),
    [
        ([0, 1, 1], "has 3 numbers, and the program has 2 ranks: give a number for each rank"),
        ("01", "expected a number for each rank, such as"),
        ([0, -1], "expected a number for each rank, such as"),
        ([0, True], "expected a number for each rank, such as"),
    ],
    ids=str,
)
def test_domains_that_do_not_fit(domains: Any, message: str) -> None:
    with pytest.raises(ark.InvalidUsageError, match=message):
        compile_sums(domains)
