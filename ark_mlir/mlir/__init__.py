"""What MLIR says, in ark's words: locations, diagnostics, and texts that somebody else wrote."""
