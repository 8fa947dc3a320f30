"""Emulated GPUs for all code that compiles and runs in a block, such as a model of two programs."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from unittest import mock

from ark_mlir.runtime.cuda import api
from ark_mlir.targets import resolve
from ark_mlir.targets.cuda import use_toolchain

from .host_code import load_library
from .lower import Site
from .machine import Behaviour, EmulatedCuda
from .toolchain import HostToolchain

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from ark_mlir import ir
    from ark_mlir.targets import Target
    from ark_mlir.targets.cuda_assembler import Assembled
    from ark_mlir.targets.cuda_lines import SourceLine


@contextmanager
def emulated_gpus(
    library: Path, folder: Path, devices: int, sms: int = 2, warps: int = 4
) -> Generator[tuple[EmulatedCuda, Target]]:
    """Replaces the GPUs of this machine by emulated GPUs.

    Args:
        library: the result of :func:`~emulation.host_code.build_library`.
        folder: for files of the host's compiler.
        devices: the number of GPUs.
        sms: the number of SMs of each GPU.
        warps: the number of warps of a CTA.

    Yields the GPUs, and the target of one of them.
    """
    target = replace(resolve("cuda:sm_90a"), sms=sms, warps=warps)
    sites: list[Site] = []
    cuda = EmulatedCuda(load_library(library), target.arch, sms, sites, Behaviour(), devices)
    with (
        mock.patch.object(api, "import_driver", return_value=cuda),
        use_toolchain(_Toolchain(library, folder, races=True, all_sites=sites)),
    ):
        yield cuda, target


@dataclass
class _Toolchain(HostToolchain):
    """Compiles several kernels; `all_sites` becomes the instructions of the longest of them."""

    all_sites: list[Site] = field(default_factory=list[Site])

    def make(
        self, module: ir.Operation, arch: str, opt_level: int, lines: list[SourceLine] | None
    ) -> Assembled:
        """See :class:`HostToolchain`."""
        result = super().make(module, arch, opt_level, lines)
        if len(self.lowered.sites) > len(self.all_sites):
            self.all_sites[:] = self.lowered.sites
        return result
