// RUN: ark-opt %s --pass-pipeline='builtin.module(ark.program(ark-expand-collectives{algorithm=tree}))' --verify-diagnostics

// expected-error @below {{unknown algorithm 'tree' of collectives: expected auto, one-shot, two-shot or ring}}
ark.program @p() attributes {rank = 0 : i64, world_size = 2 : i64} {
  ark.return
}
