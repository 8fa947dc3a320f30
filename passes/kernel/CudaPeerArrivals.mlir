// Arrivals at semaphores of a program of several ranks, which may run on one NVIDIA GPU or on a GPU
// for each rank.
//
// A GPU holds the counters of the semaphores that its own lanes wait for. The number of a semaphore
// in a signal is relative to the signalling GPU: its upper bits, from bit 15 on, are the distance
// to the GPU of the counter. Consecutive GPUs have their counters 2^15 counters apart.

func.func private @ark_add_release(%word: !llvm.ptr)

// A release at the scope of the system takes about twice as long as one at the scope of a GPU, so
// only signals to other GPUs have it. Stores to a peer that another lane of this GPU has signalled
// before are covered, too: causality order is transitive over scopes.
func.func private @ark_add_arrival(%counter: !llvm.ptr, %semaphore: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %bits = arith.constant 15 : i64
  %distance = arith.shrsi %semaphore, %bits : i64
  %is_local = arith.cmpi eq, %distance, %zero : i64
  cf.cond_br %is_local, ^local, ^peer

^local:
  func.call @ark_add_release(%counter) : (!llvm.ptr) -> ()
  cf.br ^finish

^peer:
  llvm.inline_asm has_side_effects "red.release.sys.add.u64 [$0], $1;", "l,l,~{memory}"
      %counter, %one : (!llvm.ptr, i64) -> ()
  cf.br ^finish

^finish:
  return
}

// The arrivals may come from another GPU.
func.func private @ark_load_arrivals(%counter: !llvm.ptr) -> i64 {
  %arrivals = llvm.inline_asm has_side_effects "ld.acquire.sys.u64 $0, [$1];", "=l,l,~{memory}"
      %counter : (!llvm.ptr) -> i64
  return %arrivals : i64
}
