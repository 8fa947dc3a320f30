// Accesses of GpuPeerRanks.mlir to memory of other AMD GPUs, all of which this GPU maps.
//
// LLVM's default scope is the system, which contains all GPUs. A release with this scope writes the
// L2 back, and an acquire invalidates the lines of the L2 that other GPUs may have written.

func.func private @ark_stop_word(%context: !llvm.ptr, %distance: i64) -> !llvm.ptr

func.func private @ark_remote_stop_word(%context: !llvm.ptr, %distance: i64) -> !llvm.ptr {
  %word = func.call @ark_stop_word(%context, %distance) : (!llvm.ptr, i64) -> !llvm.ptr
  return %word : !llvm.ptr
}

// The release also covers stores to the peer by other lanes of this GPU that have signalled before:
// LLVM's order of accesses is transitive over scopes. The wait is that of @ark_write_back.
func.func private @ark_add_remote_arrival(%context: !llvm.ptr, %counter: !llvm.ptr,
                                          %semaphore: i64) {
  %one = arith.constant 1 : i64
  llvm.fence release
  rocdl.s.waitcnt 3952
  %global = llvm.addrspacecast %counter : !llvm.ptr to !llvm.ptr<1>
  %old = llvm.atomicrmw add %global, %one monotonic : !llvm.ptr<1>, i64
  return
}

func.func private @ark_store_remote(%context: !llvm.ptr, %word: !llvm.ptr, %value: i64) {
  %global = llvm.addrspacecast %word : !llvm.ptr to !llvm.ptr<1>
  llvm.store %value, %global atomic monotonic {alignment = 8 : i64} : i64, !llvm.ptr<1>
  return
}

// The arrivals may come from another GPU.
func.func private @ark_load_arrivals(%counter: !llvm.ptr) -> i64 {
  %global = llvm.addrspacecast %counter : !llvm.ptr to !llvm.ptr<1>
  %arrivals = llvm.load %global atomic acquire {alignment = 8 : i64} : !llvm.ptr<1> -> i64
  return %arrivals : i64
}

func.func private @ark_load_from_peers(%word: !llvm.ptr) -> i64 {
  %global = llvm.addrspacecast %word : !llvm.ptr to !llvm.ptr<1>
  %value = llvm.load %global atomic monotonic {alignment = 8 : i64} : !llvm.ptr<1> -> i64
  return %value : i64
}
