// The stages before `kernel` know a GPU only by its figures, by one list, the preferred tiles of its
// matrix units, and by the number of its L2s (dialects/ark/ArkKnownTargets.cpp). GPUs with equal
// figures and one L2 compile to programs that differ in the name of the target only, if no product
// uses a tile of the list. If plans name all tiles, programs differ in predicted times as well. Here
// sm_80 has no list, and sm_90a and gfx90a have one.
// RUN: split-file %s %t

// DEFINE: %{figures} = sms = 132, warps = 16, shared_memory = 65536, bandwidth = 4000, flops = 700000, handoff = 600, barrier = 950, overhead = 200
// DEFINE: %{program} =
// DEFINE: %{compile-sm80} = ark-opt %t/%{program}.mlir --ark-compile-to=synchronization '--ark-target=#ark.target<backend = cuda, arch = "sm_80", %{figures}>' | sed 's/backend = cuda, arch = "sm_80"/ANY/'
// DEFINE: %{compile-sm90} = ark-opt %t/%{program}.mlir --ark-compile-to=synchronization '--ark-target=#ark.target<backend = cuda, arch = "sm_90a", %{figures}>' | sed 's/backend = cuda, arch = "sm_90a"/ANY/'
// DEFINE: %{compile-hip} = ark-opt %t/%{program}.mlir --ark-compile-to=synchronization '--ark-target=#ark.target<backend = hip, arch = "gfx90a", %{figures}>' | sed 's/backend = hip, arch = "gfx90a"/ANY/'

// REDEFINE: %{program} = layer
// RUN: %{compile-sm80} > %t/layer.sm80
// RUN: %{compile-sm90} > %t/layer.sm90
// RUN: %{compile-hip} > %t/layer.hip
// RUN: diff %t/layer.sm80 %t/layer.hip
// RUN: diff %t/layer.sm90 %t/layer.hip
// RUN: FileCheck %s --check-prefix=LAYER --input-file=%t/layer.hip
// LAYER: ark.stage = "synchronization", ark.target = #ark.target<ANY
// LAYER: ark.task
// LAYER: ark.wait

// REDEFINE: %{program} = planned
// RUN: %{compile-sm80} > %t/planned.sm80
// RUN: %{compile-sm90} > %t/planned.sm90
// RUN: %{compile-hip} > %t/planned.hip
// The times of the listed tiles are facts of the list, so predicted times differ.
// RUN: sed -i 's/ predicted_ns = [0-9]*//' %t/planned.sm80 %t/planned.sm90 %t/planned.hip
// RUN: diff %t/planned.sm80 %t/planned.hip
// RUN: diff %t/planned.sm90 %t/planned.hip
// RUN: FileCheck %s --check-prefix=PLANNED --input-file=%t/planned.hip
// The SMs have equally many vCTAs, so that their times decide nothing.
// PLANNED: ark.task "matmul" grid [33, 64]

// REDEFINE: %{program} = product
// RUN: %{compile-sm80} > %t/product.sm80
// RUN: %{compile-sm90} > %t/product.sm90
// RUN: %{compile-hip} > %t/product.hip
// RUN: FileCheck %s --check-prefix=ALONE --input-file=%t/product.sm80
// RUN: FileCheck %s --check-prefix=LIST --input-file=%t/product.hip
// RUN: FileCheck %s --check-prefix=LIST --input-file=%t/product.sm90
// ALONE: ark.task "matmul" grid [32, 32]
// LIST: ark.task "matmul" grid [16, 32]

// The sources of these stages, and the libraries of all stages, do not name features of a single GPU
// either. `ls` fails if a folder is missing, where grep would find nothing.
// DEFINE: %{root} = %S/../..
// DEFINE: %{stages} = %{root}/passes/graph %{root}/passes/tiling %{root}/passes/memory %{root}/passes/scheduling %{root}/passes/synchronization
// DEFINE: %{libraries} = %{root}/lib/analysis %{root}/lib/support %{root}/lib/proof %{root}/lib/validation
// RUN: ls %{stages} %{libraries}
// RUN: not grep -rnEi 'nvidia|nvvm|nvgpu|\bptx|cuda|cubin|sm_[0-9]|wgmma|rocdl|\bamd|\bhip|hsaco|cdna|gfx[0-9]|mfma' %{stages} %{libraries}

//--- layer.mlir
ark.program @layer(
    %x: tensor<46x256xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %g: tensor<256xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "g"},
    %w: tensor<512x256xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %v: tensor<256x512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "v"})
    -> (tensor<46x256xbf16> {ark.name = "y"}) {
  %0 = ark.rmsnorm %x weight %g eps = 1.0e-5 : (tensor<46x256xbf16>, tensor<256xbf16>) -> tensor<46x256xbf16>
  %1 = ark.matmul %0, %w {transpose_other} : (tensor<46x256xbf16>, tensor<512x256xbf16>) -> tensor<46x512xbf16>
  %2 = ark.gelu %1 approximate = none : (tensor<46x512xbf16>) -> tensor<46x512xbf16>
  %3 = ark.matmul %2, %v {transpose_other} : (tensor<46x512xbf16>, tensor<256x512xbf16>) -> tensor<46x256xbf16>
  %4 = ark.softmax %3 axis = 1 : (tensor<46x256xbf16>) -> tensor<46x256xbf16>
  ark.return %4 : tensor<46x256xbf16>
}

//--- planned.mlir
ark.program @planned(
    %x: tensor<4224x4096xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<4096x4096xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4224x4096xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other, ark.plan = {tile = array<i64: 128, 64>}} : (tensor<4224x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4224x4096xbf16>
  ark.return %0 : tensor<4224x4096xbf16>
}

//--- product.mlir
ark.program @product(
    %x: tensor<4096x4096xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<4096x4096xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4096x4096xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  ark.return %0 : tensor<4096x4096xbf16>
}
