// RUN: ark-opt %s --ark-lower-epoch --verify-diagnostics

func.func @notABody() -> i32 {
  // expected-error @below {{'ark.epoch' op is not in the body of a task}}
  %0 = ark.epoch : i32
  return %0 : i32
}
