// The fence of loads under register pressure is that of the module's backend.
// RUN: ark-opt %s --ark-map-to-threads | FileCheck %s --check-prefixes=CHECK,HIP
// Without a target, the fence is one that every code generator of LLVM accepts.
// RUN: sed 's/ark.target =/test.target =/' %s | ark-opt - --ark-map-to-threads=warp-size=64 --allow-unregistered-dialect | FileCheck %s --check-prefixes=CHECK,NONE

// The barrier to scheduling also works for an AMD GPU, as it contains no instruction.
module attributes {ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 304, warps = 8,
    shared_memory = 65536, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-COUNT-8: vector.load %{{.+}} : memref<4096x2048xbf16>, vector<8xbf16>
// HIP: llvm.inline_asm has_side_effects "", "=v,0,~{memory}" %{{.+}} : (i64) -> i64
// NONE: llvm.inline_asm has_side_effects "", "=r,0,~{memory}" %{{.+}} : (i64) -> i64
// CHECK-NOT: bar.warp
// CHECK: gpu.shuffle xor
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %w: memref<4096x2048xbf16> {llvm.align = 16 : i64}, %x: memref<4x2048xbf16> {llvm.align = 16 : i64}, %y: memref<4x4096xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %rows = arith.constant 16 : index
  %cols = arith.constant 2048 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%rows) step (%c1) {
    %sums:4 = scf.parallel (%k) = (%c0) to (%cols) step (%c1) init (%zero, %zero, %zero, %zero) -> (f32, f32, f32, f32) {
      %wb = memref.load %w[%i, %k] : memref<4096x2048xbf16>
      %wf = arith.extf %wb : bf16 to f32
      %b0 = memref.load %x[%c0, %k] : memref<4x2048xbf16>
      %f0 = arith.extf %b0 : bf16 to f32
      %p0 = arith.mulf %wf, %f0 : f32
      %b1 = memref.load %x[%c1, %k] : memref<4x2048xbf16>
      %f1 = arith.extf %b1 : bf16 to f32
      %p1 = arith.mulf %wf, %f1 : f32
      %b2 = memref.load %x[%c2, %k] : memref<4x2048xbf16>
      %f2 = arith.extf %b2 : bf16 to f32
      %p2 = arith.mulf %wf, %f2 : f32
      %b3 = memref.load %x[%c3, %k] : memref<4x2048xbf16>
      %f3 = arith.extf %b3 : bf16 to f32
      %p3 = arith.mulf %wf, %f3 : f32
      scf.reduce(%p0, %p1, %p2, %p3 : f32, f32, f32, f32) {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }, {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }, {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }, {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sums#0, %y[%c0, %i] : memref<4x4096xf32>
    memref.store %sums#1, %y[%c1, %i] : memref<4x4096xf32>
    memref.store %sums#2, %y[%c2, %i] : memref<4x4096xf32>
    memref.store %sums#3, %y[%c3, %i] : memref<4x4096xf32>
    scf.reduce
  }
  return
}
}
