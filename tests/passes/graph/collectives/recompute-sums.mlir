// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cuda:sm_90a --ark-recompute-sums | FileCheck %s
// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cpu:2 --ark-recompute-sums | FileCheck %s --check-prefix=CPU

// On a cpu, all readers share one sum.
// CPU-LABEL: ark.program @residual
// CPU-COUNT-3: ark.add
// CPU-NOT: ark.add
// CPU: ark.return

// Each norm has a copy of the ops from the tensor of the other rank to the residual. The copy reads
// the previous residual, and does not compute it again.
// CHECK-LABEL: ark.program @residual
// CHECK-SAME: (%[[OWN:.+]]: tensor<1x64xbf16> {{.+}}, %[[X:.+]]: tensor<1x64xbf16>
// CHECK: %[[GOT:.+]] = ark.channel.get
// CHECK: %[[WIDE:.+]] = ark.cast %[[GOT]] to f32
// CHECK: %[[SUM:.+]] = ark.add %[[WIDE]]
// CHECK: %[[NARROW:.+]] = ark.cast %[[SUM]] to bf16
// CHECK: %[[RESIDUAL:.+]] = ark.add %[[X]], %[[NARROW]]
// CHECK-NEXT: %[[WIDE2:.+]] = ark.cast %[[GOT]] to f32
// CHECK-NEXT: %[[OWN2:.+]] = ark.cast %[[OWN]] to f32
// CHECK-NEXT: %[[SUM2:.+]] = ark.add %[[WIDE2]], %[[OWN2]]
// CHECK-NEXT: %[[NARROW2:.+]] = ark.cast %[[SUM2]] to bf16
// CHECK-NEXT: %[[RESIDUAL2:.+]] = ark.add %[[X]], %[[NARROW2]]
// CHECK-NEXT: %[[NORM:.+]] = ark.rmsnorm %[[RESIDUAL2]]
// CHECK: %[[GOT3:.+]] = ark.channel.get
// CHECK: ark.add %[[RESIDUAL]], %[[GOT3]]
// CHECK-NEXT: %[[SECOND:.+]] = ark.add %[[RESIDUAL]], %[[GOT3]]
// CHECK-NEXT: ark.rmsnorm %[[SECOND]]
// CHECK-NOT: ark.cast
ark.program @residual(
    %own: tensor<1x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "own"},
    %x: tensor<1x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<1x64xbf16> {ark.name = "a"}, tensor<1x64xbf16> {ark.name = "b"}, tensor<1x64xbf16> {ark.name = "c"})
    attributes {rank = 0, world_size = 2} {
  %c = ark.channel.open peer = 1 tag = 0 : !ark.channel
  %0 = ark.channel.get %c : !ark.channel -> tensor<1x64xbf16>
  %1 = ark.cast %0 to f32 : (tensor<1x64xbf16>) -> tensor<1x64xf32>
  %2 = ark.cast %own to f32 : (tensor<1x64xbf16>) -> tensor<1x64xf32>
  %3 = ark.add %1, %2 : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
  %4 = ark.cast %3 to bf16 : (tensor<1x64xf32>) -> tensor<1x64xbf16>
  %5 = ark.add %x, %4 : (tensor<1x64xbf16>, tensor<1x64xbf16>) -> tensor<1x64xbf16>
  %6 = ark.rmsnorm %5 eps = 1.0e-5 : (tensor<1x64xbf16>) -> tensor<1x64xbf16>
  %7 = ark.channel.get %c : !ark.channel -> tensor<1x64xbf16>
  %8 = ark.add %5, %7 : (tensor<1x64xbf16>, tensor<1x64xbf16>) -> tensor<1x64xbf16>
  %9 = ark.rmsnorm %8 eps = 1.0e-5 : (tensor<1x64xbf16>) -> tensor<1x64xbf16>
  ark.return %6, %8, %9 : tensor<1x64xbf16>, tensor<1x64xbf16>, tensor<1x64xbf16>
}

// -----

// The norm is the only reader: its group contains the sum anyway.
// CHECK-LABEL: ark.program @onlyReader
// CHECK-COUNT-1: ark.add
// CHECK-NOT: ark.add
ark.program @onlyReader(%x: tensor<1x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<1x64xbf16> {ark.name = "y"}) attributes {rank = 0, world_size = 2} {
  %c = ark.channel.open peer = 1 tag = 0 : !ark.channel
  %0 = ark.channel.get %c : !ark.channel -> tensor<1x64xbf16>
  %1 = ark.add %x, %0 : (tensor<1x64xbf16>, tensor<1x64xbf16>) -> tensor<1x64xbf16>
  %2 = ark.rmsnorm %1 eps = 1.0e-5 : (tensor<1x64xbf16>) -> tensor<1x64xbf16>
  ark.return %2 : tensor<1x64xbf16>
}

// -----

// No other rank takes part in the sum.
// CHECK-LABEL: ark.program @ownSum
// CHECK-COUNT-1: ark.add
// CHECK-NOT: ark.add
ark.program @ownSum(%x: tensor<1x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<1x64xbf16> {ark.name = "y"}, tensor<1x64xbf16> {ark.name = "z"}) {
  %1 = ark.add %x, %x : (tensor<1x64xbf16>, tensor<1x64xbf16>) -> tensor<1x64xbf16>
  %2 = ark.rmsnorm %1 eps = 1.0e-5 : (tensor<1x64xbf16>) -> tensor<1x64xbf16>
  ark.return %1, %2 : tensor<1x64xbf16>, tensor<1x64xbf16>
}

// -----

// A CTA has 16 warps, so vCTAs do not compute 17 rows again.
// CHECK-LABEL: ark.program @manyRows
// CHECK-COUNT-1: ark.add
// CHECK-NOT: ark.add
ark.program @manyRows(%x: tensor<17x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<17x64xbf16> {ark.name = "y"}, tensor<17x64xbf16> {ark.name = "z"}) attributes {rank = 0, world_size = 2} {
  %c = ark.channel.open peer = 1 tag = 0 : !ark.channel
  %0 = ark.channel.get %c : !ark.channel -> tensor<17x64xbf16>
  %1 = ark.add %x, %0 : (tensor<17x64xbf16>, tensor<17x64xbf16>) -> tensor<17x64xbf16>
  %2 = ark.rmsnorm %1 eps = 1.0e-5 : (tensor<17x64xbf16>) -> tensor<17x64xbf16>
  ark.return %1, %2 : tensor<17x64xbf16>, tensor<17x64xbf16>
}

// -----

// The user's plan pins the sum.
// CHECK-LABEL: ark.program @pinned
// CHECK-COUNT-1: ark.add
// CHECK-NOT: ark.add
ark.program @pinned(%x: tensor<1x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<1x64xbf16> {ark.name = "y"}, tensor<1x64xbf16> {ark.name = "z"}) attributes {rank = 0, world_size = 2} {
  %c = ark.channel.open peer = 1 tag = 0 : !ark.channel
  %0 = ark.channel.get %c : !ark.channel -> tensor<1x64xbf16>
  %1 = ark.add %x, %0 {ark.plan = {sms = [0, 4]}} : (tensor<1x64xbf16>, tensor<1x64xbf16>) -> tensor<1x64xbf16>
  %2 = ark.rmsnorm %1 eps = 1.0e-5 : (tensor<1x64xbf16>) -> tensor<1x64xbf16>
  ark.return %1, %2 : tensor<1x64xbf16>, tensor<1x64xbf16>
}

// -----

// The norm reads the tensor of the other rank itself, as at the start of a stage of a pipeline. There is no sum.
// CHECK-LABEL: ark.program @received
// CHECK: %[[GOT:.+]] = ark.channel.get
// CHECK-NEXT: %[[NORM:.+]] = ark.rmsnorm %[[GOT]]
// CHECK-NEXT: %[[SUM:.+]] = ark.add %[[GOT]], %[[NORM]]
// CHECK-NEXT: ark.return %[[SUM]]
ark.program @received() -> (tensor<1x64xbf16> {ark.name = "y"}) attributes {rank = 1, world_size = 2} {
  %c = ark.channel.open peer = 0 tag = 0 : !ark.channel
  %0 = ark.channel.get %c : !ark.channel -> tensor<1x64xbf16>
  %1 = ark.rmsnorm %0 eps = 1.0e-5 : (tensor<1x64xbf16>) -> tensor<1x64xbf16>
  %2 = ark.add %0, %1 : (tensor<1x64xbf16>, tensor<1x64xbf16>) -> tensor<1x64xbf16>
  ark.return %2 : tensor<1x64xbf16>
}
