// RUN: ark-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{attribute 'ark.domains' must be an array of numbers of domains, on a module}}
module attributes {ark.domains = array<i64: 0, -1>} {
}

// -----

// expected-error @below {{attribute 'ark.network' must be "nccl" or "mscclpp", on a module}}
module attributes {ark.network = "mpi"} {
}

// -----

// expected-error @below {{attribute 'ark.network' must be "nccl" or "mscclpp", on a module}}
module attributes {ark.network = 1 : i64} {
}

// -----

// expected-error @below {{attribute 'ark.network' must be "nccl" or "mscclpp", on a module}}
func.func private @onAFunction() attributes {ark.network = "nccl"}

// -----

// expected-error @below {{attribute 'ark.representative' must be a unit attribute, on a module}}
module attributes {ark.representative = 1 : i64} {
}
