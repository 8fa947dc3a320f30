// One space precedes the keywords of attributes.
// RUN: ark-opt %s --verify-roundtrip | FileCheck %s --strict-whitespace

// CHECK-LABEL: ark.program @words(
ark.program @words(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xi1> {ark.name = "y"}) {
  // CHECK: = ark.gelu %arg0 approximate = none : (
  %0 = ark.gelu %x approximate = none : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: = ark.gelu %0 approximate = tanh : (
  %1 = ark.gelu %0 approximate = tanh : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: = ark.all_reduce sum %1 world_size = 2 : (
  %2 = ark.all_reduce sum %1 world_size = 2 : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: = ark.reduce_scatter max %2 axis = 0 world_size = 2 : (
  %3 = ark.reduce_scatter max %2 axis = 0 world_size = 2 : (tensor<4xf32>) -> tensor<2xf32>
  // CHECK: = ark.compare lt %{{[0-9]+}}, %arg0 : (
  %4 = ark.compare lt %1, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  ark.return %4 : tensor<4xi1>
}

// CHECK-LABEL: ark.program @handoffs(
ark.program @handoffs() {
  ark.schedule "s" sms = 1 {
    // CHECK: {{^}}      ark.semaphore @a arrivals = 1{{$}}
    ark.semaphore @a arrivals = 1
    // CHECK: {{^}}      ark.semaphore @b arrivals = 1 handoff = barrier{{$}}
    ark.semaphore @b arrivals = 1 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.barrier @a
      ark.barrier @b
    }
  }
  ark.return
}
