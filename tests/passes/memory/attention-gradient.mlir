// RUN: ark-opt %s --pass-pipeline='builtin.module(ark.program(ark-bufferize-program,ark.task(ark-bufferize-bodies,cse,canonicalize),lower-affine,ark.task(ark-place-temporaries),ark-plan-arena,ark-verify-memory))' | FileCheck %s

#left = affine_map<(r, o, d, c, b) -> (r, d)>
#right = affine_map<(r, o, d, c, b) -> (o, d)>
#left_slope = affine_map<(r, o, d, c, b) -> (r, c)>
#right_slope = affine_map<(r, o, d, c, b) -> (o, c)>
#row = affine_map<(r, o, d, c, b) -> (r)>
#block = affine_map<(r, o, d, c, b) -> (r, b)>

// Nothing is copied: the gradient is computed in its out. Weights and slopes have the size of a block, whatever the
// number of keys is.
// CHECK-LABEL: ark.program @gradient
// CHECK: ark.task "t" grid [1] {{.*}}shared_memory = 256
// CHECK: ^bb0(%{{.+}}: index, %[[Q:[a-z0-9]+]]: memref<2x8xf32, {{[^%]+}}%[[K:[a-z0-9]+]]: memref<256x8xf32, {{[^%]+}}%[[S:[a-z0-9]+]]: memref<2xf32, {{[^%]+}}%[[O:[a-z0-9]+]]: memref<2x8xf32
// CHECK-DAG: %[[W:.+]] = memref.alloca() {{.*}} : memref<2x16xf32>
// CHECK-DAG: %[[T:.+]] = memref.alloca() {{.*}} : memref<2x16xf32>
// CHECK-NOT: linalg.copy
// CHECK: ark.blocked_attention_gradient ins(%[[Q]], %[[K]], %[[Q]], %[[K]], %[[S]], %[[S]] :
// CHECK-SAME: outs(%[[O]] :
// CHECK-NOT: linalg.copy
ark.program @gradient(%q: tensor<2x8xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<256x8xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %s: tensor<2xf32> {ark.kind = #ark.kind<input>, ark.name = "s"}) -> (tensor<2x8xf32> {ark.name = "y"}) {
  %e = tensor.empty() : tensor<2x8xf32>
  %0 = ark.task "t" grid [1]
      ins(%q[#ark.region<(d0) -> (0, 0), [2, 8]>] : tensor<2x8xf32>, %k[#ark.region<(d0) -> (0, 0), [256, 8]>] : tensor<256x8xf32>,
          %s[#ark.region<(d0) -> (0), [2]>] : tensor<2xf32>)
      outs(%e[#ark.region<(d0) -> (0, 0), [2, 8]>] : tensor<2x8xf32>) {
  ^bb0(%i: index, %a: tensor<2x8xf32>, %b: tensor<256x8xf32>, %m: tensor<2xf32>, %o: tensor<2x8xf32>):
    %w = tensor.empty() : tensor<2x16xf32>
    %t = tensor.empty() : tensor<2x16xf32>
    %1:3 = ark.blocked_attention_gradient
        ins(%a, %b, %a, %b, %m, %m : tensor<2x8xf32>, tensor<256x8xf32>, tensor<2x8xf32>, tensor<256x8xf32>, tensor<2xf32>, tensor<2xf32>)
        outs(%o : tensor<2x8xf32>) memory(%w, %t : tensor<2x16xf32>, tensor<2x16xf32>)
        maps [#left, #right, #left_slope, #right_slope, #row, #row, #left, #block, #block] {
    ^bb1(%row: index, %key: index, %dot: f32):
      ark.yield %dot : f32
    } -> tensor<2x8xf32>, tensor<2x16xf32>, tensor<2x16xf32>
    ark.yield %1#0 : tensor<2x8xf32>
  } : tensor<2x8xf32>
  ark.return %0 : tensor<2x8xf32>
}
