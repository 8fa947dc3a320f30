// The target of the module selects the lowering.
// RUN: ark-opt %s --ark-target=cuda:sm_90a --ark-compile-to=target | FileCheck %s --check-prefix=CUDA
// RUN: ark-opt %s --ark-target=cuda:sm_90a --ark-compile-to=kernel | ark-opt --ark-lower-to-target | FileCheck %s --check-prefix=CUDA
// RUN: ark-opt %s --ark-target=hip:gfx942 --ark-compile-to=target | FileCheck %s --check-prefix=HIP --implicit-check-not=nvvm --implicit-check-not=ocml --implicit-check-not='inline_asm has_side_effects "{{[^"]}}'
// RUN: ark-opt %s --ark-target=cpu:2 --ark-compile-to=kernel | ark-opt --ark-lower-to-target | FileCheck %s --check-prefix=CPU

// CPU-NOT: gpu.module
// CPU: llvm.func @ark_kernel(%{{.+}}: !llvm.ptr, %{{.+}}: i64) -> i32

// CUDA: ark.kernel @norm
// CUDA: gpu.module @ark_gpu [#nvvm.target<O = 3, chip = "sm_90a"
// CUDA-NOT: unrealized_conversion_cast
// CUDA: llvm.mlir.global external @ark_shared_memory() {addr_space = 3 : i32
// CUDA: llvm.func internal @body_softmax(
// CUDA: nvvm.read.ptx.sreg.tid.x
// CUDA: nvvm.barrier0
// CUDA: llvm.func @ark_kernel(%{{.+}}: !llvm.ptr) attributes {gpu.kernel, {{.*}}nvvm.kernel, nvvm.maxntid = array<i32: 512, 1, 1>, nvvm.minctasm = 1 : i32}
// CUDA: nvvm.read.ptx.sreg.ctaid.x

// HIP: ark.kernel @norm
// HIP: gpu.module @ark_gpu [#rocdl.target<O = 3, chip = "gfx942", abi = "500">] attributes {llvm.data_layout = "e-p:64:64-{{.*}}A5{{.*}}"}
// HIP-NOT: unrealized_conversion_cast
// HIP: llvm.mlir.global internal @ark_shared_memory() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<{{[0-9]+}} x i8>
// HIP: llvm.func internal @body_softmax({{.*}} attributes {{.*}}convergent
// HIP: rocdl.workitem.id.x
// HIP: rocdl.ds_swizzle
// HIP: rocdl.barrier
// HIP: llvm.func @ark_kernel(%{{.+}}: !llvm.ptr) attributes {gpu.kernel, {{.*}}rocdl.flat_work_group_size = "256,256", rocdl.kernel
// HIP: rocdl.workgroup.id.x
ark.program @norm(%x: tensor<64x32xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<64x32xf32> {ark.name = "y"}) {
  %0 = ark.softmax %x axis = 1 : (tensor<64x32xf32>) -> tensor<64x32xf32>
  ark.return %0 : tensor<64x32xf32>
}
