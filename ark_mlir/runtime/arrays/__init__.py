"""The path of arrays from the caller to the memory of a run, and back.

`receiving` checks the arguments. It describes arrays on a GPU by `device`, and converts those of
other frameworks by `frameworks`; both read DLPack by `dlpack`. `binding` returns the memory of an
array: the array itself, or a copy. `exchange` transfers inputs and outputs. `streams` orders the
work on a GPU, and `safetensors` reads files.
"""
