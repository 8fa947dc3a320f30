"""The memory of constants, parameters and states, which executables may share.

Comes in: the arrays of `bind`, and memory of the driver. Goes out: the memory of each slot that
outlives a run. Read first: `storage`, the memory of one executable, then `states`, the states that
several executables share, with the lock of their users.
"""
