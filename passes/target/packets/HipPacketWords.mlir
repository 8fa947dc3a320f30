// Stores and loads of task packets on AMD GPUs, and primitives of warps that poll.
//
// Relaxed atomic accesses of 32 and 64 bits are single-copy atomic, at the scope of all ranks of the
// program. LLVM makes them bypass the caches that the scope does not share: the L1 of a CU, and on
// gfx942 and gfx950 the L2 of an XCD. The memory model has no atomic access of 128 bits, so four
// packets are two loads. A load of 64 bits may read two packets of 32 bits, since each of them is
// valid only with its own tag.

func.func private @ark_send_packet(%word: !llvm.ptr, %packet: i32) {
  %global = llvm.addrspacecast %word : !llvm.ptr to !llvm.ptr<1>
  llvm.store %packet, %global atomic syncscope("<ranks>") monotonic {alignment = 4 : i64}
      : i32, !llvm.ptr<1>
  return
}

func.func private @ark_send_wide_packet(%word: !llvm.ptr, %packet: i64) {
  %global = llvm.addrspacecast %word : !llvm.ptr to !llvm.ptr<1>
  llvm.store %packet, %global atomic syncscope("<ranks>") monotonic {alignment = 8 : i64}
      : i64, !llvm.ptr<1>
  return
}

func.func private @ark_load_wide_packet(%word: !llvm.ptr) -> i64 {
  %global = llvm.addrspacecast %word : !llvm.ptr to !llvm.ptr<1>
  %packet = llvm.load %global atomic syncscope("<ranks>") monotonic {alignment = 8 : i64}
      : !llvm.ptr<1> -> i64
  return %packet : i64
}

func.func private @ark_load_wide_packets(%words: !llvm.ptr) -> (i64, i64) {
  %bytes = arith.constant 8 : i64
  %next = llvm.getelementptr %words[%bytes] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %a = func.call @ark_load_wide_packet(%words) : (!llvm.ptr) -> i64
  %b = func.call @ark_load_wide_packet(%next) : (!llvm.ptr) -> i64
  return %a, %b : i64, i64
}

func.func private @ark_load_packet(%word: !llvm.ptr) -> i32 {
  %global = llvm.addrspacecast %word : !llvm.ptr to !llvm.ptr<1>
  %packet = llvm.load %global atomic syncscope("<ranks>") monotonic {alignment = 4 : i64}
      : !llvm.ptr<1> -> i32
  return %packet : i32
}

// Loads two packets with one load.
func.func private @ark_load_two_packets(%words: !llvm.ptr) -> (i32, i32) {
  %half = arith.constant 32 : i64
  %both = func.call @ark_load_wide_packet(%words) : (!llvm.ptr) -> i64
  %a = arith.trunci %both : i64 to i32
  %upper = arith.shrui %both, %half : i64
  %b = arith.trunci %upper : i64 to i32
  return %a, %b : i32, i32
}

func.func private @ark_load_packets(%words: !llvm.ptr) -> (i32, i32, i32, i32) {
  %bytes = arith.constant 8 : i64
  %next = llvm.getelementptr %words[%bytes] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %a, %b = func.call @ark_load_two_packets(%words) : (!llvm.ptr) -> (i32, i32)
  %c, %d = func.call @ark_load_two_packets(%next) : (!llvm.ptr) -> (i32, i32)
  return %a, %b, %c, %d : i32, i32, i32, i32
}

func.func private @ark_any_of_warp(%predicate: i1) -> i1 {
  %none = arith.constant 0 : i64
  %votes = rocdl.ballot %predicate : i64
  %any = arith.cmpi ne, %votes, %none : i64
  return %any : i1
}

func.func private @ark_warp_size() -> index {
  %size = arith.constant kHipWarpSize : index
  return %size : index
}
