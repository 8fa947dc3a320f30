// A callback that cannot call its callee is an error, which names the function that is wrong.
// RUN: ark-opt %s --split-input-file --ark-build-tensor-maps --verify-diagnostics -o /dev/null

// The module lacks the callee.
// expected-error @below {{function '@ark_make_tensor_maps' of the kernel is missing}}
module {
ark.kernel @missingCallee {
    entry = @ark_kernel, sms = 1 : i64, arena = 1024 : i64, bodies = [{function = @product, operands = 1 : i64}], buffers = [], tasks = [{}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @product(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<128x192xbf16>)
    attributes {ark.tensor_maps = [array<i64: 0, 192, 128, 192, 128>]} {
  return
}
func.func private @ark_tensor_maps() -> !llvm.ptr<1>
func.func private @ark_tensor_map_firsts() -> !llvm.ptr<4>
func.func private @ark_tensor_map_records() -> !llvm.ptr<1>
func.func private @ark_tensor_map_scratch() -> !llvm.ptr<3>
func.func private @ark_tensor_map_count() -> i64
func.func private @ark_tensor_map_warps() -> i64
func.func private @ark_begin_tensor_maps(%context: !llvm.ptr) {
  return
}
}

// -----

// A declaration is no callback: it has no body for the call.
// expected-error @below {{function '@ark_begin_tensor_maps' of the kernel is missing}}
module {
ark.kernel @declaredCallback {
    entry = @ark_kernel, sms = 1 : i64, arena = 1024 : i64, bodies = [{function = @product, operands = 1 : i64}], buffers = [], tasks = [{}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @product(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<128x192xbf16>)
    attributes {ark.tensor_maps = [array<i64: 0, 192, 128, 192, 128>]} {
  return
}
func.func private @ark_tensor_maps() -> !llvm.ptr<1>
func.func private @ark_tensor_map_firsts() -> !llvm.ptr<4>
func.func private @ark_tensor_map_records() -> !llvm.ptr<1>
func.func private @ark_tensor_map_scratch() -> !llvm.ptr<3>
func.func private @ark_tensor_map_count() -> i64
func.func private @ark_tensor_map_warps() -> i64
func.func private @ark_make_tensor_maps(!llvm.ptr)
func.func private @ark_begin_tensor_maps(!llvm.ptr)
}

// -----

// The callback calls a function already.
// expected-error @below {{function '@ark_begin_tensor_maps' of the kernel has more than one callee}}
module {
ark.kernel @secondCallee {
    entry = @ark_kernel, sms = 1 : i64, arena = 1024 : i64, bodies = [{function = @product, operands = 1 : i64}], buffers = [], tasks = [{}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @product(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<128x192xbf16>)
    attributes {ark.tensor_maps = [array<i64: 0, 192, 128, 192, 128>]} {
  return
}
func.func private @ark_tensor_maps() -> !llvm.ptr<1>
func.func private @ark_tensor_map_firsts() -> !llvm.ptr<4>
func.func private @ark_tensor_map_records() -> !llvm.ptr<1>
func.func private @ark_tensor_map_scratch() -> !llvm.ptr<3>
func.func private @ark_tensor_map_count() -> i64
func.func private @ark_tensor_map_warps() -> i64
func.func private @ark_make_tensor_maps(!llvm.ptr)
func.func private @other(!llvm.ptr)
func.func private @ark_begin_tensor_maps(%context: !llvm.ptr) {
  call @other(%context) : (!llvm.ptr) -> ()
  return
}
}
