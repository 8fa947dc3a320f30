// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-select-tiles | FileCheck %s --check-prefixes=CHECK,SM90
// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_80 --ark-select-tiles | FileCheck %s --check-prefixes=CHECK,SM80
// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-select-tiles=matmul-m=64 | FileCheck %s --check-prefix=FIXED

// Products with the same left operand share the SMs. Without a list of tiles, each product has tiles of its own.

// 96 tiles of 128 x 64 take one wave. Alone, each product would take a wave of smaller tiles.
// CHECK-LABEL: ark.program @queriesKeysValues
// FIXED-LABEL: ark.program @queriesKeysValues
ark.program @queriesKeysValues(
    %x: tensor<128x4096xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %wq: tensor<4096x4096xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "wq"},
    %wk: tensor<1024x4096xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "wk"},
    %wv: tensor<1024x4096xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "wv"})
    -> (tensor<128x4096xbf16> {ark.name = "q"}, tensor<128x1024xbf16> {ark.name = "k"}, tensor<128x1024xbf16> {ark.name = "v"}) {
  // SM90: ark.group "q" {{.*}}tile = array<i64: 128, 64>
  // SM80: ark.group "q" {{.*}}tile = array<i64: 64, 64>
  // FIXED: ark.group "q" {{.*}}tile = array<i64: 64,
  %0 = ark.group "q" (%a = %x, %b = %wq) : (tensor<128x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<128x4096xbf16> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<128x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<128x4096xbf16>
    ark.yield %1 : tensor<128x4096xbf16>
  }
  // SM90: ark.group "k" {{.*}}tile = array<i64: 128, 64>
  // SM80: ark.group "k" {{.*}}tile = array<i64: 16, 64>
  %2 = ark.group "k" (%a = %x, %b = %wk) : (tensor<128x4096xbf16>, tensor<1024x4096xbf16>) -> tensor<128x1024xbf16> {
    %3 = ark.matmul %a, %b {transpose_other} : (tensor<128x4096xbf16>, tensor<1024x4096xbf16>) -> tensor<128x1024xbf16>
    ark.yield %3 : tensor<128x1024xbf16>
  }
  // SM90: ark.group "v" {{.*}}tile = array<i64: 128, 64>
  %4 = ark.group "v" (%a = %x, %b = %wv) : (tensor<128x4096xbf16>, tensor<1024x4096xbf16>) -> tensor<128x1024xbf16> {
    %5 = ark.matmul %a, %b {transpose_other} : (tensor<128x4096xbf16>, tensor<1024x4096xbf16>) -> tensor<128x1024xbf16>
    ark.yield %5 : tensor<128x1024xbf16>
  }
  ark.return %0, %2, %4 : tensor<128x4096xbf16>, tensor<128x1024xbf16>, tensor<128x1024xbf16>
}

// "gate" reads the result of "up", so that both cannot run at once.
// CHECK-LABEL: ark.program @dependent
ark.program @dependent(
    %x: tensor<128x4096xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %wu: tensor<4096x4096xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "wu"},
    %wg: tensor<4096x4096xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "wg"})
    -> (tensor<128x4096xbf16> {ark.name = "h"}) {
  // SM90: ark.group "up" {{.*}}tile = array<i64: 64, 64>
  %0 = ark.group "up" (%a = %x, %b = %wu) : (tensor<128x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<128x4096xbf16> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<128x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<128x4096xbf16>
    ark.yield %1 : tensor<128x4096xbf16>
  }
  // SM90: ark.group "gate" {{.*}}tile = array<i64: 64, 64>
  %2 = ark.group "gate" (%a = %x, %b = %wg, %c = %0) : (tensor<128x4096xbf16>, tensor<4096x4096xbf16>, tensor<128x4096xbf16>) -> tensor<128x4096xbf16> {
    %3 = ark.matmul %a, %b {transpose_other} : (tensor<128x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<128x4096xbf16>
    %4 = ark.mul %3, %c : (tensor<128x4096xbf16>, tensor<128x4096xbf16>) -> tensor<128x4096xbf16>
    ark.yield %4 : tensor<128x4096xbf16>
  }
  ark.return %2 : tensor<128x4096xbf16>
}
