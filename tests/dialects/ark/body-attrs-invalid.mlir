// RUN: ark-opt %s --split-input-file --verify-diagnostics -o /dev/null

func.func private @f(%x: memref<4xf32>)
func.func @more(%x: memref<4xf32>) {
  // expected-error @below {{attribute 'ark.cooperative' must be an i64, on a call with as many operands at least}}
  func.call @f(%x) {ark.cooperative = 2 : i64} : (memref<4xf32>) -> ()
  return
}

// -----

func.func private @f(%x: memref<4xf32>)
func.func @unit(%x: memref<4xf32>) {
  // expected-error @below {{attribute 'ark.cooperative' must be an i64}}
  func.call @f(%x) {ark.cooperative} : (memref<4xf32>) -> ()
  return
}

// -----

// expected-error @below {{attribute 'ark.cooperative' must be an i64, on a call}}
func.func @place() attributes {ark.cooperative = 0 : i64} {
  return
}

// -----

// expected-error @below {{attribute 'ark.tensor_maps' must be an array of arrays of 5 i64, none of them negative, on a function}}
func.func @short() attributes {ark.tensor_maps = [array<i64: 0, 192, 256, 192>]} {
  return
}

// -----

// expected-error @below {{attribute 'ark.tensor_maps' must be an array}}
func.func @negative() attributes {ark.tensor_maps = [array<i64: 0, 192, 256, 192, -1>]} {
  return
}

// -----

// expected-error @below {{attribute 'ark.tensor_maps' must be an array}}
module attributes {ark.tensor_maps = []} {
}
