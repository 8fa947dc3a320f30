"""Programs of several ranks: worlds in one process, and processes that are ranks.

Comes in: a bundle with the lanes of all ranks, and the inputs of each rank. Goes out: the outputs
of each rank. Read first: `world`, then `run_barrier`, at which the threads of ranks wait for each
other. `rank` is one rank of a world, and `naming` names its buffers. `rank_bundle` and `linking`
derive the program of one rank from the program of all ranks, and `linked_semaphore` the counters of
its semaphores. `relocation` adapts linked tables to
other addresses, and `outcomes` merges the results of the ranks. `membership` returns the world of
which this process is a rank.
"""
