"""Reports of a program and of its runs: sizes, times, traces and causes of failures.

Comes in: a bundle, and the outcomes, stamps or trace of its runs. Goes out: `Report`, `Profile`,
trace files, and the errors of failed runs. Read first: `report`, the numbers of a bundle, then
`hang`, which converts the outcome of a run to its error. `timeouts` computes the time limit of a
wait, `trace` writes and reads the times of instructions, and `profile` sums them by task and op.
"""
