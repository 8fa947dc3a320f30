"""NVIDIA GPUs: the API of cuda-python for the driver in `gpu`, and networks of GPUs.

Comes in: a bundle with a cubin or PTX. Goes out: the driver for its GPUs. Read first: `api`, then
`image`, the module of a kernel. `devices` selects the driver, and `survey` lists the GPUs.
`legacy_ipc` shares memory where the functions of `gpu.peers` are forbidden.
"""
