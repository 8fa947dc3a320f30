// Two stages of this product of f32 take 196,608 bytes of shared memory. Without the tables of the kernel, of which 8 bytes
// must be there, they fit. The product then takes the memory that is reserved for tables, since nothing but warpgroups
// multiplies f32 fast. Tables that do not fit stay in global memory (ark-cache-tables).
// RUN: sed -e 's/BYTES/196616/' %s | ark-opt --ark-use-tensor-cores | FileCheck %s
// CHECK: memref.alloca() {alignment = 1024 : i64} : memref<{{49152|49168|49176}}xf32>
// CHECK: nvvm.wgmma.mma_async
// With less memory, threads multiply.
// RUN: sed -e 's/BYTES/196615/' %s | ark-opt --ark-use-tensor-cores | FileCheck %s --check-prefix=LESS
// LESS-NOT: nvvm.wgmma.mma_async
// LESS: linalg.generic
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (k, n)>
#y = affine_map<(m, n, k) -> (m, n)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = BYTES, bandwidth = 4680, flops = 790000, handoff = 600, barrier = 950, overhead = 250>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<128x192xf32> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<192x128xf32> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<128x128xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<128x192xf32>, memref<192x128xf32>) outs(%y : memref<128x128xf32>) {
      ^bb0(%a: f32, %b: f32, %c: f32):
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
  }
  return
}
}
