"""Names in NumPy and PyTorch of functions that ark has under another name."""

from __future__ import annotations

__all__ = ["ARGUMENTS", "NUMPY_FUNCTIONS", "TORCH_FUNCTIONS"]

# A function of numpy -> the op of ark like it.
NUMPY_FUNCTIONS = {
    "amax": "reduce_max", "amin": "reduce_min", "clip": "clamp", "concatenate": "concat",
    "dot": "matmul", "expand_dims": "unsqueeze", "max": "reduce_max", "mean": "reduce_mean",
    "min": "reduce_min", "sum": "reduce_sum", "take": "gather",
}  # fmt: skip

# A function of PyTorch -> the op of ark like it.
TORCH_FUNCTIONS = {
    **NUMPY_FUNCTIONS,
    "cat": "concat", "mm": "matmul", "bmm": "matmul", "permute": "transpose", "rsub": "sub",
    "scaled_dot_product_attention": "attention", "layer_norm": "layernorm", "rms_norm": "rmsnorm",
    "topk": "top_k", "where": "where",
}  # fmt: skip

# An argument of PyTorch's functions -> the argument of ark's.
ARGUMENTS = {"dim": "axis", "keepdim": "keepdims"}
