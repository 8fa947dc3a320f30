"""Programs of several ranks: worlds in one process, and processes that are ranks."""
