// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-bufferize-program,ark.task(ark-bufferize-bodies,cse,canonicalize),lower-affine,ark.task(ark-place-temporaries),ark-plan-arena,ark-verify-memory))' | FileCheck %s

#query = affine_map<(m, n, k, c) -> (m, k)>
#keys = affine_map<(m, n, k, c) -> (n, k)>
#values = affine_map<(m, n, k, c) -> (n, c)>
#product = affine_map<(m, n, k, c) -> (m, c)>
#rows = affine_map<(m, n, k, c) -> (m)>
#scores = affine_map<(m, n, k, c) -> (m, n)>

// Nothing is copied: the op overwrites its outs. The scores of a run-time length are a part of a temporary.
// CHECK-LABEL: ark.program @attention
// CHECK: ark.task "t" grid [1] {{.*}}shared_memory = 2176
// CHECK: ^bb0(%{{.+}}: index, %[[Q:[a-z0-9]+]]: memref<2x8xf32, {{[^%]+}}%{{[a-z0-9]+}}: memref<256x8xf32, {{[^%]+}}%{{[a-z0-9]+}}: memref<i32, {{[^%]+}}%[[O:[a-z0-9]+]]: memref<2x8xf32
// CHECK: %[[S:.+]] = memref.alloca() {{.*}} : memref<2x256xf32>
// CHECK: %[[PART:.+]] = memref.subview %[[S]][0, 0] [2, %{{.+}}] [1, 1]
// CHECK-NOT: linalg.copy
// CHECK: ark.online_attention ins(%[[Q]], %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} :
// CHECK-SAME: outs(%[[O]], %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %[[PART]] :
// CHECK-NOT: linalg.copy
ark.program @attention(%q: tensor<2x8xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<256x8xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %n: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "n"}) -> (tensor<2x8xf32> {ark.name = "y"}) {
  %e = tensor.empty() : tensor<2x8xf32>
  %0 = ark.task "t" grid [1]
      ins(%q[#ark.region<(d0) -> (0, 0), [2, 8]>] : tensor<2x8xf32>, %k[#ark.region<(d0) -> (0, 0), [256, 8]>] : tensor<256x8xf32>,
          %n[#ark.region<(d0) -> (), []>] : tensor<i32>)
      outs(%e[#ark.region<(d0) -> (0, 0), [2, 8]>] : tensor<2x8xf32>) {
  ^bb0(%i: index, %a: tensor<2x8xf32>, %b: tensor<256x8xf32>, %m: tensor<i32>, %o: tensor<2x8xf32>):
    %c257 = arith.constant 257 : index
    %l0 = tensor.extract %m[] : tensor<i32>
    %l1 = arith.index_cast %l0 : i32 to index
    %l2 = ark.check_index %l1 below %c257
    %length = affine.min affine_map<(d0) -> (d0, 256)>(%l2)
    %keys = tensor.extract_slice %b[0, 0] [%length, 8] [1, 1] : tensor<256x8xf32> to tensor<?x8xf32>
    %p = tensor.empty() : tensor<2x8xf32>
    %r = tensor.empty() : tensor<2xf32>
    %t = tensor.empty() : tensor<2xf32>
    %s = tensor.empty(%length) : tensor<2x?xf32>
    %1:4 = ark.online_attention ins(%a, %keys, %keys : tensor<2x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>)
        outs(%p, %r, %t, %s : tensor<2x8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x?xf32>)
        maps [#query, #keys, #values, #product, #rows, #rows, #scores] {
    ^bb1(%row: index, %key: index, %dot: f32):
      ark.yield %dot : f32
    } -> tensor<2x8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x?xf32>
    %2 = linalg.copy ins(%1#0 : tensor<2x8xf32>) outs(%o : tensor<2x8xf32>) -> tensor<2x8xf32>
    ark.yield %2 : tensor<2x8xf32>
  } : tensor<2x8xf32>
  ark.return %0 : tensor<2x8xf32>
}
