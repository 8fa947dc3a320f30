"""NVIDIA GPUs: the API of cuda-python for the driver in `gpu`, and programs on several GPUs.

Comes in: a bundle with a cubin or PTX. Goes out: the driver for its GPUs. Read first: `api`, then
`image`, the module of a kernel. `devices` selects the driver, `survey` lists the GPUs, and `world`
runs a program on several GPUs, with memory of `peers`. `legacy_ipc` shares memory where the
functions of `peers` are forbidden.
"""
