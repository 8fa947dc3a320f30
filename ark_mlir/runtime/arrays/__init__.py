"""Conversion between the arrays of users and the memory of a run.

`binding` takes each value of a run or of `bind` to the one module that receives its kind: `device`
(with `dlpack`) for arrays on a GPU, `scalars` for integers, and `frameworks` for arrays in host
memory. All of them use `checks`, which compares an array with the declaration of its buffer.
`safetensors` reads files, `streams` orders the work on a GPU, and `exchange` transfers inputs and
outputs.
"""
