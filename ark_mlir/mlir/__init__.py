"""Helpers for MLIR: names of locations, diagnostics as errors of ark, and a safe parser."""
