"""Kernels in LLVM IR that are launched without a program."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ark_mlir.runtime.cpu.image import Image

from .host_code import compile_kernel, load_library
from .lower import Site, lower
from .machine import Behaviour, Kernel, Part, Shape, address_of, launch

HEAD = """
@ark_shared_memory = external addrspace(3) global [0 x i8], align 1024
"""


@dataclass(frozen=True)
class Outcome:
    """The state after a launch.

    Attributes:
        words: global memory.
        failure: the error that ended the launch, or an empty string.
    """

    words: list[int]
    failure: str


class TextKernel:
    """``ark_kernel(ptr)`` of LLVM's IR, which gets the address of words of 32 bits.

    Args:
        text: the IR, without the declaration of shared memory.
        library: the emulator.
        folder: for files of the host's compiler.
        races: True to look for accesses to shared memory that nothing orders.
    """

    def __init__(self, text: str, library: Path, folder: Path, races: bool = True) -> None:
        self._library = load_library(library)
        lowered = lower(HEAD + text, races=races)
        self.sites: list[Site] = lowered.sites
        image = Image(memoryview(compile_kernel(lowered, library, folder)), "test")
        self._kernel = Kernel(image, address_of(image, "ark_kernel"), self.sites)

    def launch(
        self,
        shape: Shape,
        words: int | Sequence[int],
        behaviour: Behaviour | None = None,
        devices: int = 1,
        home: int = 0,
        shared: bool = True,
    ) -> Outcome:
        """Runs the kernel on a number of zero words, or on given words.

        The kernel on GPU `d` gets the address of word `d`.

        Args:
            shape: the CTAs of each GPU.
            words: the number of zero words, or the values of words.
            behaviour: the options of the emulation.
            devices: the number of GPUs, which run the kernel concurrently.
            home: the GPU whose memory holds the words.
            shared: True if all GPUs may access the words.
        """
        values = [0] * words if isinstance(words, int) else list(words)
        nbytes = 4 * len(values)
        library = self._library
        library.simt_set_devices(devices)
        address = library.simt_allocate(nbytes, 0, home)
        assert address
        if shared:
            library.simt_set_access(address, (1 << devices) - 1)
        memory = (ctypes.c_uint32 * len(values)).from_address(address)
        memory[:] = values
        parts = [
            Part(self._kernel, address + 4 * device, shape, device) for device in range(devices)
        ]
        try:
            failure = launch(library, parts, behaviour or Behaviour())
            return Outcome(list(memory), failure)
        finally:
            del memory
            library.simt_free(address)
