//===- Passes.td - Passes that send and receive LL packets --*- tablegen -*-===//

#ifndef ARK_PASSES_TARGET_PACKETS_PASSES_TD
#define ARK_PASSES_TARGET_PACKETS_PASSES_TD

include "mlir/Pass/PassBase.td"

def ReceivePacketsPass : Pass<"ark-receive-packets", "::mlir::ModuleOp"> {
  let summary = "Poll for LL packets with all threads of a CTA";
  let description = [{
    Each thread loads four packets at once, or two packets of f32. It loads fewer, two or one, if
    the length or the distance of the rows is not a multiple of this number, or if `per_load` is
    smaller. It repeats loads until all packets carry the epoch of this iteration. While loads are
    in flight, the first thread of every warp issues copies of parameters that later work items
    read, and checks for a timeout at intervals.
    The received values are stored to a temporary. Consecutive receives become one loop.

    ```mlir
    ark.receive_packets %x to %values : memref<1x2048xi32> to memref<1x2048xbf16>
    // =>
    call @ark_receive_bf16_2048_2048(%address, %values) {ark.cta_collective = 1 : i64}
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
  ];
  let statistics = [
    Statistic<"numReceived", "received", "Groups of receives that were lowered">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect",
    "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect",
  ];
}

def SendPacketsPass : Pass<"ark-send-packets", "::mlir::ModuleOp"> {
  let summary = "Store LL packets by relaxed stores";
  let description = [{
    Stores to buffers of LL packets become relaxed stores at the scope that contains all ranks of
    the program, so that readers see a packet as a whole and without delay. `ark.epoch` becomes a
    read of the epoch that the dispatch loop keeps in shared memory. Any other access to packets is
    an error. Arguments keep the attribute `ark.packets`, which `ark-verify-target` needs.

    ```mlir
    %epoch = ark.epoch : i32
    memref.store %packet, %x[%i] : memref<2048xi32>
    // =>
    %epoch = call @ark_packet_epoch() : () -> i32
    call @ark_send_packet(%address, %packet) : (!llvm.ptr, i32) -> ()
    ```
  }];
  let statistics = [
    Statistic<"numStores", "stores", "Stores of packets">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect",
  ];
}

#endif // ARK_PASSES_TARGET_PACKETS_PASSES_TD
