"""AMD GPUs: the API of hip-python for the driver in `gpu`.

Comes in: a bundle with a code object. Goes out: the driver for its GPUs. Read first: `library`, the
functions of hip-python that the runtime calls, then `api` and `image`, the module of a kernel.
`records` are those of memory that GPUs share. `devices` selects the GPUs.
"""
