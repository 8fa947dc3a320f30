// RUN: ark-opt %s --ark-target=cpu:2 --ark-compile-to=synchronization | FileCheck %s
// RUN: ark-opt %s --ark-target=cpu:2 --ark-compile-to=kernel | FileCheck %s --check-prefix=KERNEL
// RUN: ark-opt %s --ark-target=cpu:2 --ark-compile-to=graph --ark-collectives=two-shot | FileCheck %s --check-prefix=TWO
// The proof also checks waits between ranks: it fails if any one of them is deleted.
// RUN: ark-opt %s --ark-target=cpu:2 --ark-compile-to=synchronization | ark-opt --pass-pipeline='builtin.module(ark.program(ark-test-delete-each-wait))' -o /dev/null

// Rank 1 depends on rank 0; each rank has two SMs and lanes only there.
// CHECK: ark.target = #ark.target<{{.*}}sms = 2
// CHECK-LABEL: ark.program @p0
// CHECK-SAME: ark.name = "rank0/x"
// CHECK-SAME: ark.name = "rank1/x"
// CHECK-SAME: ark.name = "rank0/y"
// CHECK-SAME: ark.name = "rank1/y"
// CHECK: ark.task "rank0/put_packet.to1" {{.*}} plan = {rank = 0 : i64}
// CHECK: ark.schedule "list" sms = 4
// CHECK: ark.semaphore @"rank0/put_packet.to1" arrivals = 1 handoff = packet
// CHECK: ark.lane sms = [0, 1]
// CHECK: ark.run "rank0/put_packet.to1" [0, 1]
// CHECK-NEXT: ark.signal @"rank0/put_packet.to1"
// CHECK: ark.lane sms = [2, 3]
// CHECK: ark.wait @"rank0/put_packet.to1"
// CHECK-NEXT: ark.run "rank1/read_packet.from0+rank1/add" [0, 1]

// KERNEL: ark.kernel @p0
// KERNEL-SAME: ranks = 2 : i64
// KERNEL-SAME: sms = 4 : i64

// TWO: ark.group "rank0/put_packet.to1"
ark.program @p0(%x: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xf32> {ark.name = "y"}) attributes {rank = 0 : i64, world_size = 2 : i64} {
  %0 = ark.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  %1 = ark.send %0 to 1 tag = 0 : (tensor<8xf32>) -> tensor<8xf32>
  ark.return %1 : tensor<8xf32>
}
ark.program @p1(%x: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xf32> {ark.name = "y"}) attributes {rank = 1 : i64, world_size = 2 : i64} {
  %0 = ark.recv from 0 tag = 0 : tensor<8xf32>
  %1 = ark.add %0, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  ark.return %1 : tensor<8xf32>
}
