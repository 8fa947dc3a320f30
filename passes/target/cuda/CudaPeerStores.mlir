// Accesses of GpuPeerRanks.mlir to memory of other GPUs, all of which this GPU maps.

func.func private @ark_stop_word(%context: !llvm.ptr, %distance: i64) -> !llvm.ptr

func.func private @ark_remote_stop_word(%context: !llvm.ptr, %distance: i64) -> !llvm.ptr {
  %word = func.call @ark_stop_word(%context, %distance) : (!llvm.ptr, i64) -> !llvm.ptr
  return %word : !llvm.ptr
}

// The release also covers stores to the peer by other lanes of this GPU that have signalled before:
// causality order is transitive over scopes.
func.func private @ark_add_remote_arrival(%context: !llvm.ptr, %counter: !llvm.ptr,
                                          %semaphore: i64) {
  %one = arith.constant 1 : i64
  llvm.inline_asm has_side_effects "red.release.<system>.add.u64 [$0], $1;", "l,l,~{memory}"
      %counter, %one : (!llvm.ptr, i64) -> ()
  return
}

func.func private @ark_store_remote(%context: !llvm.ptr, %word: !llvm.ptr, %value: i64) {
  llvm.inline_asm has_side_effects "st.relaxed.<system>.u64 [$0], $1;", "l,l,~{memory}" %word, %value
      : (!llvm.ptr, i64) -> ()
  return
}

// The arrivals may come from another GPU.
func.func private @ark_load_arrivals(%counter: !llvm.ptr) -> i64 {
  %arrivals = llvm.inline_asm has_side_effects "ld.acquire.<system>.u64 $0, [$1];", "=l,l,~{memory}"
      %counter : (!llvm.ptr) -> i64
  return %arrivals : i64
}

func.func private @ark_load_from_peers(%word: !llvm.ptr) -> i64 {
  %value = llvm.inline_asm has_side_effects "ld.relaxed.<system>.u64 $0, [$1];", "=l,l,~{memory}" %word
      : (!llvm.ptr) -> i64
  return %value : i64
}
