"""Results that other SMs receive as packets, for all kinds of code that sends packets."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulation import Emulation
from emulation.mutants import Mutation

import ark_mlir as ark

Check = Callable[..., Any]
ARCHITECTURES = ("sm_90a", "sm_80", "gfx90a", "gfx942", "gfx950")


def is_amd(arch: str) -> bool:
    return arch.startswith("gfx")


def send_of(arch: str) -> str:
    """Returns the text of the stores of packets."""
    if is_amd(arch):
        return 'store atomic i32 %[^\n]* syncscope\\("agent"\\) monotonic'
    return r"st\.relaxed\.gpu\.global\.u32"


def mma_of(arch: str) -> str:
    return "llvm.amdgcn.mfma.f32" if is_amd(arch) else "mma.m16n8k16"


def random_arrays(shapes: dict[str, tuple[int, ...]], dtype: Any) -> dict[str, Any]:
    random = np.random.default_rng(0)
    return {
        name: (random.standard_normal(shape) * shape[-1] ** -0.5).astype(dtype.numpy)
        for name, shape in shapes.items()
    }


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("depth", [32, 64])
def test_attention_of_blocks_of_rows(depth: int, arch: str, check: Check) -> None:
    """Sixteen heads share their keys: a block of rows with neighbouring columns."""
    dtype = ark.bf16
    heads, keys, width = 32, 16, 64
    shapes = {
        "q": (1, heads, 1, depth),
        "k": (1, 2, keys, depth),
        "v": (1, 2, keys, depth),
        "w": (width, heads * depth),
    }
    with ark.Program("attention") as program:
        q, k, v = (ark.input(name, shapes[name], dtype) for name in "qkv")
        w = ark.parameter("w", shapes["w"], dtype)
        rows = ark.reshape(ark.attention(q, k, v), (1, heads * depth))
        ark.output("y", ark.matmul(rows, w, transpose_other=True))
    emulation = check(program, random_arrays(shapes, dtype), arch=arch)
    assert emulation.executable.bundle.manifest.packets
    assert re.search(send_of(arch), emulation.text)


def two_products(shapes: dict[str, tuple[int, int]]) -> ark.Program:
    """Builds a product of `x` by `v`, and one of its result by `w`, each with a SiLU."""
    with ark.Program("products") as program:
        x = ark.input("x", shapes["x"], ark.bf16)
        for name in "vw":
            w = ark.parameter(name, shapes[name], ark.bf16)
            x = ark.silu(ark.matmul(x, w, transpose_other=True))
        ark.output("y", x)
    return program


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_products_by_tensor_cores(arch: str, check: Check) -> None:
    """An mma computes eight rows, and the next product polls for them."""
    shapes = {"x": (8, 256), "v": (256, 256), "w": (128, 256)}
    emulation = check(two_products(shapes), random_arrays(shapes, ark.bf16), arch=arch)
    assert emulation.executable.bundle.manifest.packets
    assert re.search(send_of(arch), emulation.text)
    assert mma_of(arch) in emulation.text


# Instructions that load packets of 32 bits, by the number of packets.
LOADS = {1: "global.u32 $0", 2: "global.v2.u32", 4: "global.v4.u32"}


def loads_of(text: str) -> set[int]:
    """Returns the numbers of packets that the loads of a kernel for NVIDIA GPUs have."""
    return {count for count, load in LOADS.items() if f"ld.relaxed.gpu.{load}" in text}


def receives_of(text: str) -> set[int]:
    """Returns the numbers of packets that the loads of a kernel for AMD GPUs have, at most two."""
    load = r'load atomic i(32|64), [^\n]* syncscope\("agent"\) monotonic'
    return {int(bits) // 32 for bits in re.findall(load, text)}


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize(("width", "count"), [(131, 1), (65, 1), (130, 2), (66, 2), (132, 4)])
@pytest.mark.parametrize("rows", [1, 3])
def test_rows_of_any_length(rows: int, width: int, count: int, arch: str, check: Check) -> None:
    """A thread loads as many packets at once as divide a row: four, two or one.

    A row that a load of four packets exceeded would lack the last values, or wait for packets that
    no task sends.
    """
    shapes = {"x": (rows, 64), "v": (width, 64), "w": (64, width)}
    emulation = check(two_products(shapes), random_arrays(shapes, ark.bf16), arch=arch)
    assert emulation.executable.bundle.manifest.packets
    if is_amd(arch):
        # The counters of the kernel have 64 bits, too.
        assert (1 in receives_of(emulation.text)) == (count == 1)
    else:
        assert count in loads_of(emulation.text)


@pytest.mark.parametrize(("head", "count"), [(12, 4), (10, 2), (6, 2)])
def test_rotated_halves_of_any_length(head: int, count: int, check: Check) -> None:
    """A rotation reads two halves of a head, which threads receive as one row: a half of five
    values would need a load for each of them."""
    dtype = ark.bf16
    shapes = {"x": (1, 64), "w": (head, 64), "cos": (1, head // 2), "sin": (1, head // 2)}
    with ark.Program("rotation") as program:
        x = ark.input("x", shapes["x"], dtype)
        cos, sin = (ark.input(name, shapes[name], dtype) for name in ("cos", "sin"))
        w = ark.parameter("w", shapes["w"], dtype)
        rows = ark.reshape(ark.matmul(x, w, transpose_other=True), (1, 1, 1, head))
        ark.output("y", ark.rope(rows, cos, sin))
    emulation = check(program, random_arrays(shapes, dtype))
    assert emulation.executable.bundle.manifest.packets
    assert loads_of(emulation.text) == {count}


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
def test_epochs_on_amd_gpus(arch: str, library: Path, tmp_path: Path) -> None:
    """Words of the last iteration have another tag. A row is handed on, wherever stores wait."""
    shapes = {"x": (1, 256), "v": (512, 256), "w": (64, 512)}
    arrays = random_arrays(shapes, ark.bf16)
    emulation = Emulation(two_products(shapes), library, tmp_path, arch=arch)
    results: set[bytes] = set()
    for seed in range(3):
        emulation.load(seed)
        with emulation.executable as executable:
            executable.bind({name: arrays[name] for name in "vw"})
            for scale in (1, 2, 1):
                x = (arrays["x"].astype(np.float32) * scale).astype(arrays["x"].dtype)
                got = emulation.run({"x": x}, iterations=2)["y"]
                if scale == 1:
                    results.add(got.tobytes())
    assert len(results) == 1


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize("width", [512, 1024, 4096])
def test_weights_are_loaded_ahead(width: int, arch: str, check: Check) -> None:
    """The last row of a lane has no next row; weights of 4096 columns take several steps."""
    shapes = {"x": (1, 512), "v": (width, 512), "w": (37, width)}
    emulation = check(two_products(shapes), random_arrays(shapes, ark.bf16), arch=arch)
    assert emulation.executable.bundle.manifest.packets
    assert "!nontemporal" in emulation.text


def test_a_narrow_poll_on_amd_gpus_is_caught(library: Path, tmp_path: Path) -> None:
    """A poll at the scope of the CTA may load an old packet for ever. Each warp loads packets at
    two positions of the kernel: four at once are two loads."""
    shapes = {"x": (1, 64), "v": (128, 64), "w": (64, 128)}
    arrays = random_arrays(shapes, ark.bf16)
    # A warp that reports a hang reads the number of instructions left, which the leader stores
    # without a barrier: if the leader does not report first, that is a race, in the report alone.
    emulation = Emulation(two_products(shapes), library, tmp_path, arch="gfx942", races=False)
    loads = [
        site.number
        for site in emulation.sites
        if (site.name, site.order, site.scope) == ("ptx_ld", "relaxed", "gpu")
    ]
    caught: set[int] = set()
    for number in loads:
        emulation.load(0, {number: Mutation.NARROW_TO_CTA})
        with ark.knobs.scope(ARK_TIMEOUT="2"), emulation.executable as executable:
            executable.bind({name: arrays[name] for name in "vw"})
            try:
                emulation.run({"x": arrays["x"]})
            except ark.HangError:
                caught.add(number)
    assert len(caught) == 2
