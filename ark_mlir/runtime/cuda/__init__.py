"""The driver for NVIDIA GPUs: one cooperative launch of the persistent kernel, by cuda-python.

Comes in: a bundle with a cubin or PTX, and launches. Goes out: outcomes. Read first: `driver`, then
`record`, the block of memory that a run copies, and `exchange`, which fills it. `kernel`, `image`
and `memory` are the resources, and `api`, `limits` and `backlog` the calls of the driver and the
release of its handles. `queue` watches launches that have not begun, `graphs` captured runs, and
`resident` a kernel that stays. `world` runs a program on several GPUs, with memory of `peers`.
"""
