// RUN: ark-opt %s --ark-target=cpu:1 --ark-compile-to=synchronization | FileCheck %s
// RUN: ark-opt %s --ark-target=cpu:1 --ark-compile-to=kernel | FileCheck %s --check-prefix=KERNEL
// RUN: ark-opt %s --ark-target=cpu:1 --ark-compile-to=target | FileCheck %s --check-prefix=TARGET
// RUN: ark-opt %s --ark-target=hip:gfx942 --ark-compile-to=synchronization | FileCheck %s --check-prefix=HIP

// A rank puts in a task of its own, so that it sends early, and reads where it uses the data. The only
// counter is the barrier at the end.
// CHECK: ark.semaphore @"rank1/put_packet.to0" arrivals = 1 handoff = packet
// CHECK-NEXT: ark.semaphore @"rank0/put_packet.to1" arrivals = 1 handoff = packet
// CHECK-NEXT: ark.semaphore @end
// CHECK-NEXT: ark.lane sms = [0, 1]
// CHECK-NEXT: ark.run "rank0/put_packet.to1" [0, 1]
// CHECK-NEXT: ark.signal @"rank0/put_packet.to1"
// CHECK-NEXT: ark.wait @"rank1/put_packet.to0"
// CHECK-NEXT: ark.run "rank0/read_packet.from1+rank0/add" [0, 1]
// CHECK-NEXT: ark.barrier @end

// KERNEL: ark.kernel
// KERNEL: func.func private @body_put_packet({{.+}}: memref<4xi64>, {{.+}}: memref<4xf32> {{.+}}, {{.+}}: memref<4xi64> {ark.packets, llvm.noalias})
// KERNEL: call @ark_epoch

// TARGET: llvm.func internal @body_put_packet({{.+}} {ark.packets,
// TARGET: llvm.store %{{.+}} atomic release {alignment = 8 : i64} : i64, !llvm.ptr

// On a GPU, ranks put plain values, and a semaphore counts them.
// HIP: ark.semaphore @"rank1/put.to0" arrivals = 1 handoff = peer
ark.program @p(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<4xf32> {ark.name = "y"}) attributes {rank = 0, world_size = 2} {
  %0 = ark.all_reduce sum %x world_size = 2 : (tensor<4xf32>) -> tensor<4xf32>
  ark.return %0 : tensor<4xf32>
}
ark.program @p1(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<4xf32> {ark.name = "y"}) attributes {rank = 1, world_size = 2} {
  %0 = ark.all_reduce sum %x world_size = 2 : (tensor<4xf32>) -> tensor<4xf32>
  ark.return %0 : tensor<4xf32>
}
