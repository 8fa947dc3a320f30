// RUN: ark-opt %s --ark-target=cuda:sm_90a --ark-compile-to=tiling | FileCheck %s

// The products of one row occupy the 132 SMs of their rank, not half of the SMs of both ranks. So they become one task,
// and each of its vCTAs computes the norm.
// CHECK-DAG: ark.task "rank0/rmsnorm+rank0/matmul+rank0/matmul_2" grid [128]
// CHECK-DAG: ark.task "rank1/rmsnorm+rank1/matmul+rank1/matmul_2" grid [128]
ark.program @products(%x: tensor<1x4096xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"}, %q: tensor<2048x4096xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "q"}, %k: tensor<2048x4096xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "k"}) -> (tensor<1x2048xbf16> {ark.name = "y"}, tensor<1x2048xbf16> {ark.name = "z"}) attributes {rank = 0, world_size = 2} {
  %0 = ark.all_reduce sum %x world_size = 2 : (tensor<1x4096xbf16>) -> tensor<1x4096xbf16>
  %1 = ark.rmsnorm %0 eps = 1.0e-6 : (tensor<1x4096xbf16>) -> tensor<1x4096xbf16>
  %2 = ark.matmul %1, %q {transpose_other} : (tensor<1x4096xbf16>, tensor<2048x4096xbf16>) -> tensor<1x2048xbf16>
  %3 = ark.matmul %1, %k {transpose_other} : (tensor<1x4096xbf16>, tensor<2048x4096xbf16>) -> tensor<1x2048xbf16>
  ark.return %2, %3 : tensor<1x2048xbf16>, tensor<1x2048xbf16>
}
ark.program @products1(%x: tensor<1x4096xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"}, %q: tensor<2048x4096xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "q"}, %k: tensor<2048x4096xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "k"}) -> (tensor<1x2048xbf16> {ark.name = "y"}, tensor<1x2048xbf16> {ark.name = "z"}) attributes {rank = 1, world_size = 2} {
  %0 = ark.all_reduce sum %x world_size = 2 : (tensor<1x4096xbf16>) -> tensor<1x4096xbf16>
  %1 = ark.rmsnorm %0 eps = 1.0e-6 : (tensor<1x4096xbf16>) -> tensor<1x4096xbf16>
  %2 = ark.matmul %1, %q {transpose_other} : (tensor<1x4096xbf16>, tensor<2048x4096xbf16>) -> tensor<1x2048xbf16>
  %3 = ark.matmul %1, %k {transpose_other} : (tensor<1x4096xbf16>, tensor<2048x4096xbf16>) -> tensor<1x2048xbf16>
  ark.return %2, %3 : tensor<1x2048xbf16>, tensor<1x2048xbf16>
}
