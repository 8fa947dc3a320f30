// What comes before the kernel knows machines by their figures alone: programs for
// two GPUs of equal figures differ in the target's name until then.
// RUN: ark-opt %s --ark-compile-to=synchronization '--ark-target=#ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16, shared_memory = 65536, bandwidth = 4000, flops = 700000, handoff = 600, barrier = 950, overhead = 200>' \
// RUN:   | sed 's/backend = cuda, arch = "sm_90a"/backend = hip, arch = "gfx942"/' > %t.cuda
// RUN: ark-opt %s --ark-compile-to=synchronization '--ark-target=#ark.target<backend = hip, arch = "gfx942", sms = 132, warps = 16, shared_memory = 65536, bandwidth = 4000, flops = 700000, handoff = 600, barrier = 950, overhead = 200>' > %t.hip
// RUN: diff %t.cuda %t.hip
// RUN: FileCheck %s --input-file=%t.hip

// Nor do the sources of these stages name what one GPU has.
// RUN: not grep -rnEi 'nvidia|nvvm|nvgpu|\bptx|cuda|cubin|sm_[0-9]|rocdl|amdgpu' %S/../../passes/graph %S/../../passes/tiling \
// RUN:   %S/../../passes/memory %S/../../passes/scheduling %S/../../passes/synchronization %S/../../lib/analysis

// CHECK: ark.stage = "synchronization", ark.target = #ark.target<backend = hip
// CHECK: ark.task
// CHECK: ark.wait
ark.program @layer(
    %x: tensor<64x256xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %g: tensor<256xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "g"},
    %w: tensor<512x256xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %v: tensor<256x512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "v"})
    -> (tensor<64x256xbf16> {ark.name = "y"}) {
  %0 = ark.rmsnorm %x weight %g eps = 1.0e-5 : (tensor<64x256xbf16>, tensor<256xbf16>) -> tensor<64x256xbf16>
  %1 = ark.matmul %0, %w {transpose_other} : (tensor<64x256xbf16>, tensor<512x256xbf16>) -> tensor<64x512xbf16>
  %2 = ark.gelu %1 approximate = none : (tensor<64x512xbf16>) -> tensor<64x512xbf16>
  %3 = ark.matmul %2, %v {transpose_other} : (tensor<64x512xbf16>, tensor<256x512xbf16>) -> tensor<64x256xbf16>
  %4 = ark.softmax %3 axis = 1 : (tensor<64x256xbf16>) -> tensor<64x256xbf16>
  ark.return %4 : tensor<64x256xbf16>
}
