// RUN: ark-opt %s --split-input-file --verify-diagnostics -o /dev/null

func.func private @f(%x: memref<4xf32>)
func.func @more(%x: memref<4xf32>) {
  // expected-error @below {{attribute 'ark.cta_collective' must be an i64 from 0 to the number of operands, on a call}}
  func.call @f(%x) {ark.cta_collective = 2 : i64} : (memref<4xf32>) -> ()
  return
}

// -----

func.func private @f(%x: memref<4xf32>)
func.func @unit(%x: memref<4xf32>) {
  // expected-error @below {{attribute 'ark.cta_collective' must be an i64}}
  func.call @f(%x) {ark.cta_collective} : (memref<4xf32>) -> ()
  return
}

// -----

// expected-error @below {{attribute 'ark.cta_collective' must be an i64 from 0 to the number of operands, on a call}}
func.func @notACall() attributes {ark.cta_collective = 0 : i64} {
  return
}

// -----

// expected-error @below {{attribute 'ark.tensor_maps' must be an array of arrays of 5 non-negative i64, on a function}}
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

// -----

func.func @hint(%x: memref<8xf32>) {
  // expected-error @below {{attribute 'ark.read_once' must be a unit}}
  %0 = memref.subview %x[0] [4] [1] {ark.read_once = true} : memref<8xf32> to memref<4xf32, strided<[1]>>
  return
}

// -----

func.func @pressure(%n: index) {
  // expected-error @below {{attribute 'ark.high_register_pressure' must be a unit}}
  scf.forall (%thread) in (%n) {
  } {ark.high_register_pressure = 1 : i64, mapping = [#gpu.thread<linear_dim_0>]}
  return
}

// -----

func.func @negativeMean(%n: index, %one: index) {
  // expected-error @below {{attribute 'ark.mean_trips' must be a finite f64 from 0 on, on a loop}}
  scf.for %i = %one to %n step %one {
  } {ark.mean_trips = -0.5 : f64}
  return
}

// -----

func.func @meanOfNoLoop() {
  // expected-error @below {{attribute 'ark.mean_trips' must be a finite f64 from 0 on, on a loop}}
  %0 = arith.constant {ark.mean_trips = 2.0 : f64} 1 : index
  return
}

// -----

// expected-error @below {{attribute 'ark.line_table' must be an array}}
gpu.module @lines attributes {ark.line_table = "mlp.py"} {
}

// -----

// expected-error @below {{attribute 'ark.body' must be the symbol of a function, on a task}}
func.func @noTask() attributes {ark.body = @noTask} {
  return
}

// -----

// expected-error @below {{attribute 'ark.work_item_vctas' must be a positive i64, on a function}}
func.func @noVcta() attributes {ark.work_item_vctas = 0 : i64} {
  return
}
