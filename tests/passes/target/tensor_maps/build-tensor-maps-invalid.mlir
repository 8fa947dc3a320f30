// RUN: ark-opt %s --split-input-file --ark-build-tensor-maps --verify-diagnostics -o /dev/null

// The function has more operands than the kernel lists for it.
// expected-error @below {{has fewer operands for a body than the tensor maps of its function use}}
ark.kernel @operandThatIsNone {
    entry = @ark_kernel, sms = 1 : i64, arena = 1024 : i64,
    bodies = [{function = @product, operands = 1 : i64}], buffers = [], tasks = [{}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @product(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<256x192xbf16>, %w: memref<128x192xbf16>)
    attributes {ark.tensor_maps = [array<i64: 1, 192, 128, 192, 128>]} {
  return
}

// -----

// The module lacks the kernel's text, so the pass cannot complete its functions.
// expected-error @below {{function '@ark_tensor_maps' of the kernel must be a declaration without arguments and with one result}}
// expected-error @below {{function '@ark_tensor_map_firsts' of the kernel must be a declaration without arguments and with one result}}
// expected-error @below {{function '@ark_tensor_map_records' of the kernel must be a declaration without arguments and with one result}}
// expected-error @below {{function '@ark_tensor_map_scratch' of the kernel must be a declaration without arguments and with one result}}
// expected-error @below {{function '@ark_tensor_map_count' of the kernel must be a declaration without arguments and with one result}}
// expected-error @below {{function '@ark_tensor_map_warps' of the kernel must be a declaration without arguments and with one result}}
// expected-error @below {{function '@ark_begin_tensor_maps' of the kernel is missing}}
module {
ark.kernel @kernelWithoutText {
    entry = @ark_kernel, sms = 1 : i64, arena = 1024 : i64,
    bodies = [{function = @product, operands = 2 : i64}], buffers = [], tasks = [{}],
    operands = dense<[[1, 0], [2, 0]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @product(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<256x192xbf16>, %w: memref<128x192xbf16>)
    attributes {ark.tensor_maps = [array<i64: 1, 192, 128, 192, 128>]} {
  return
}
}

// -----

ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 1 : i64}], buffers = [], tasks = [{}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<256x192xbf16>) {
  %number = arith.constant 1 : index
  // expected-error @below {{'func.call' op uses a tensor map that 'ark.tensor_maps' of its body does not describe}}
  %map = func.call @ark_tensor_map(%task, %number) : (index, index) -> i64
  return
}
func.func private @ark_tensor_map(index, index) -> i64

// -----

ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 1 : i64}], buffers = [], tasks = [{}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<256x192xbf16>) attributes {ark.tensor_maps = [array<i64: 0, 192, 256, 192, 128>]} {
  %number = arith.constant 1 : index
  // expected-error @below {{'func.call' op uses a tensor map that 'ark.tensor_maps' of its body does not describe}}
  %map = func.call @ark_tensor_map(%task, %number) : (index, index) -> i64
  return
}
func.func private @ark_tensor_map(index, index) -> i64
