"""AMD GPUs: the API of hip-python for the driver in `gpu`.

Comes in: a bundle with a code object. Goes out: the driver for one GPU. Read first: `library`, the
functions of hip-python that the runtime calls, then `api` and `image`, the module of a kernel.
`devices` selects the GPU.
"""
