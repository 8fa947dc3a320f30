"""The driver for GPUs: one launch of the persistent kernel, whose CTAs are on the GPU at once.

Comes in: a bundle with a kernel for a GPU, launches, and the API of the GPU's vendor. Goes out:
outcomes. Read first: `driver`, then `record`, the block of memory that a run copies, and
`exchange`, which fills it. `kernel` and `memory` are the resources, and `api`, `limits` and
`backlog` are the calls of the vendor's driver and the release of its handles. `queue` watches
launches that have not begun, `graphs` manages captured runs, and `resident` manages a kernel that
stays. `streams` has the order of runs and copies, and waits for events. `world` runs a program on
several GPUs, with memory of `peers`.
"""
