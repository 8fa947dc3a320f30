"""Programs of several ranks: worlds in one process, and processes that are ranks.

Comes in: a bundle with the lanes of all ranks, and the inputs of each rank. Goes out: the outputs
of each rank. Read first: `world`, then `meeting`, where the threads of ranks wait for each other.
`naming` names the buffers of a rank. `parts` and `linking` make the program of one rank from that
of all, and `outcomes` does the reverse for results. `membership` knows if this process is a rank.
"""
