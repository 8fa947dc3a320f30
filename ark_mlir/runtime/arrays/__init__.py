"""Arrays of a user as memory of a run, and back: NumPy, DLPack, CUDA array interface, files.

`frameworks` tells whose array it is, `binding` checks it against the program, `device` and `dlpack`
take memory of a GPU, `streams` orders its work, and `exchange` passes inputs in and outputs out.
"""
