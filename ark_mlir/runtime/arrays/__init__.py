"""Arrays of the caller, and the memory that a kernel uses instead of them.

Comes in: arguments of a run or of `bind`. Goes out: addresses and their owners, by slot of the
bundle. Read first: `receiving`, the checks of all arguments, then `binding`, the memory of an
array: the array itself, or a copy. `device` describes arrays on a GPU, `frameworks` converts arrays
of other libraries, and both use `dlpack`. `exchange` is the interface through which a driver
transfers inputs and outputs, `overlaps` compares the addresses of outputs with all others,
`streams` orders the work on a GPU, and `safetensors` reads files.
"""
