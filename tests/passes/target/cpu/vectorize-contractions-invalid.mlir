// RUN: ark-opt %s --verify-diagnostics \
// RUN:   --pass-pipeline='builtin.module(func.func(ark-vectorize-contractions{vector-elements=5}))'

// expected-error @below {{vector-elements must be 4, 8 or 16, not 5}}
func.func @oddVectors() {
  return
}
