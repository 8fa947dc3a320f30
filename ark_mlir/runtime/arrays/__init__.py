"""Conversion between the arrays of users and the memory of a run.

`frameworks` converts arrays of NumPy and other frameworks, `binding` checks arrays against the
buffers of a program, `device` and `dlpack` describe arrays on a GPU, `safetensors` reads files,
`streams` orders the work on a GPU, and `exchange` transfers inputs and outputs.
"""
