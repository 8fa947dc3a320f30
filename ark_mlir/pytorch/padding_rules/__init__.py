"""The rules of ATen ops on padded tensors; see ``padding``. An import enters all rules."""

from . import elementwise, images, indexing, products, reductions, views

__all__ = ["elementwise", "images", "indexing", "products", "reductions", "views"]
