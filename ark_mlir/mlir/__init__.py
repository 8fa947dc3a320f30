"""Helpers for MLIR: texts of locations, conversion of diagnostics to errors, and a safe parser."""
