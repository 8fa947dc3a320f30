// RUN: ark-opt %s --verify-diagnostics \
// RUN:   --pass-pipeline='builtin.module(func.func(ark-vectorize-contractions{vector-lanes=5}))'

// expected-error @below {{vector-lanes must be 4, 8 or 16, not 5}}
func.func @oddLanes() {
  return
}
