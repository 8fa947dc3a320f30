"""The driver for cpu: a thread for each lane, and a checked ELF image of the kernel.

Comes in: a bundle with a shared object, and launches. Goes out: outcomes. Read first: `driver`,
then `kernel`, the loaded kernel, and `lanes`, the threads. `exchange` transfers inputs and outputs.
`elf` (with `elf_image` and `elf_dynamic`) checks the shared object, `image` loads it, and `host`
describes the processor.
"""
