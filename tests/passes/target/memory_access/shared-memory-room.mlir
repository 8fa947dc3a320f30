// A pass takes shared memory only from the room that remains beside the tables of the kernel, for which 65,536 bytes
// are reserved, and beside the temporaries of the body. A temporary takes a multiple of 128 bytes. Three stages of
// this product take 49,536 bytes, so an SM needs 65,536 + 128 + 49,536 = 115,200 bytes for them. With less shared memory,
// the product has two stages.
// RUN: sed -e 's/BYTES/115200/' -e 's/ALIGNMENT/4/' %s | ark-opt --ark-use-tensor-cores=threads=128 | FileCheck %s
// RUN: sed -e 's/BYTES/115199/' -e 's/ALIGNMENT/4/' %s | ark-opt --ark-use-tensor-cores=threads=128 | FileCheck %s --check-prefix=SMALL
// The temporary takes 512 bytes if this is its alignment.
// RUN: sed -e 's/BYTES/115583/' -e 's/ALIGNMENT/512/' %s | ark-opt --ark-use-tensor-cores=threads=128 | FileCheck %s --check-prefix=SMALL
// RUN: sed -e 's/BYTES/115584/' -e 's/ALIGNMENT/512/' %s | ark-opt --ark-use-tensor-cores=threads=128 | FileCheck %s

// CHECK: memref.alloca() {alignment = 128 : i64} : memref<12384xf32>
// SMALL: memref.alloca() {alignment = 128 : i64} : memref<8256xf32>

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_80", sms = 108, warps = 16,
    shared_memory = BYTES, bandwidth = 1850, flops = 250000, handoff = 700, barrier = 1200, overhead = 250>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<64x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<64x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<64x64xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %temporary = memref.alloca() {alignment = ALIGNMENT : i64} : memref<1xf32>
  scf.for %v = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<64x256xbf16>, memref<64x256xbf16>) outs(%y : memref<64x64xf32>) {
      ^bb0(%a: bf16, %b: bf16, %c: f32):
        %l = arith.extf %a : bf16 to f32
        %r = arith.extf %b : bf16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
    }
  }
  return
}
}
