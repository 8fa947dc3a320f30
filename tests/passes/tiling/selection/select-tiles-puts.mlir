// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-select-tiles | FileCheck %s

// The put has the tiles of the product, so that the vCTAs of the product can put. A copy for the
// same rank keeps its own tiles, and so does a put of another shape.
// CHECK-LABEL: ark.program @puts
// CHECK: ark.group "product"{{.*}}tile = array<i64: 1, 16>
// CHECK: ark.group "put"{{.*}}tile = array<i64: 1, 16>
// CHECK: ark.group "copy"{{.*}}tile = array<i64: 1, 512>
// CHECK: ark.group "flat"{{.*}}tile = array<i64: 512>
// CHECK: ark.group "pinned"{{.*}}tile = array<i64: 1, 1024>
ark.program @puts(
    %x: tensor<1x1024xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<2048x1024xbf16> {ark.kind = #ark.kind<input>, ark.name = "w"})
    -> (tensor<1x2048xbf16> {ark.name = "a"}, tensor<1x2048xbf16> {ark.name = "b"}, tensor<2048xbf16> {ark.name = "c"}, tensor<1x2048xbf16> {ark.name = "d"}) {
  %0 = ark.group "product" (%a = %x, %b = %w) attributes {plan = {rank = 0}} : (tensor<1x1024xbf16>, tensor<2048x1024xbf16>) -> tensor<1x2048xbf16> {
    %r = ark.matmul %a, %b {transpose_other} : (tensor<1x1024xbf16>, tensor<2048x1024xbf16>) -> tensor<1x2048xbf16>
    ark.yield %r : tensor<1x2048xbf16>
  }
  %1 = ark.group "put" (%a = %0) attributes {plan = {rank = 0}} : (tensor<1x2048xbf16>) -> tensor<1x2048xbf16> {
    %r = ark.copy %a : (tensor<1x2048xbf16>) -> tensor<1x2048xbf16>
    ark.yield %r : tensor<1x2048xbf16>
  }
  %2 = ark.group "copy" (%a = %0) attributes {plan = {rank = 0}} : (tensor<1x2048xbf16>) -> tensor<1x2048xbf16> {
    %r = ark.copy %a : (tensor<1x2048xbf16>) -> tensor<1x2048xbf16>
    ark.yield %r : tensor<1x2048xbf16>
  }
  %3 = ark.reshape %0 shape = [2048] : (tensor<1x2048xbf16>) -> tensor<2048xbf16>
  %4 = ark.group "flat" (%a = %3) attributes {plan = {rank = 0}} : (tensor<2048xbf16>) -> tensor<2048xbf16> {
    %r = ark.copy %a : (tensor<2048xbf16>) -> tensor<2048xbf16>
    ark.yield %r : tensor<2048xbf16>
  }
  %5 = ark.group "pinned" (%a = %0) attributes {plan = {rank = 0, tile = [1, 1024]}} : (tensor<1x2048xbf16>) -> tensor<1x2048xbf16> {
    %r = ark.copy %a : (tensor<1x2048xbf16>) -> tensor<1x2048xbf16>
    ark.yield %r : tensor<1x2048xbf16>
  }
  %6 = ark.group "sum" (%a = %1, %b = %5) attributes {plan = {rank = 1}} : (tensor<1x2048xbf16>, tensor<1x2048xbf16>) -> tensor<1x2048xbf16> {
    %r = ark.add %a, %b : (tensor<1x2048xbf16>, tensor<1x2048xbf16>) -> tensor<1x2048xbf16>
    ark.yield %r : tensor<1x2048xbf16>
  }
  %7 = ark.group "other" (%a = %4) attributes {plan = {rank = 1}} : (tensor<2048xbf16>) -> tensor<2048xbf16> {
    %r = ark.exp %a : (tensor<2048xbf16>) -> tensor<2048xbf16>
    ark.yield %r : tensor<2048xbf16>
  }
  ark.return %2, %6, %7, %6 : tensor<1x2048xbf16>, tensor<1x2048xbf16>, tensor<2048xbf16>, tensor<1x2048xbf16>
}
