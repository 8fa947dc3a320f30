// Primitives of GpuKernel.mlir and GpuSemaphores.mlir on NVIDIA GPUs.
//
// The memory accesses are inline PTX, because the lowering of LLVM's atomics to PTX loses their
// ordering and scope. All SMs of one GPU take part, so the scope is `<device>`, and `<system>` for
// words in host memory. The target attribute maps these names to scopes of PTX. A barrier of the
// CTA makes the memory that the leader has acquired visible to all threads.

func.func private @ark_load_relaxed(%word: !llvm.ptr) -> i64 {
  %value = llvm.inline_asm has_side_effects "ld.relaxed.<device>.u64 $0, [$1];", "=l,l,~{memory}" %word
      : (!llvm.ptr) -> i64
  return %value : i64
}

func.func private @ark_load_acquire(%word: !llvm.ptr) -> i64 {
  %value = llvm.inline_asm has_side_effects "ld.acquire.<device>.u64 $0, [$1];", "=l,l,~{memory}" %word
      : (!llvm.ptr) -> i64
  return %value : i64
}

func.func private @ark_add_release(%word: !llvm.ptr) {
  %one = arith.constant 1 : i64
  llvm.inline_asm has_side_effects "red.release.<device>.add.u64 [$0], $1;", "l,l,~{memory}" %word, %one
      : (!llvm.ptr, i64) -> ()
  return
}

// Relaxed, since the word announces no earlier stores: the lane that claims it fills the report
// afterwards.
func.func private @ark_set_if_zero(%word: !llvm.ptr, %code: i64) -> i1 {
  %zero = arith.constant 0 : i64
  %old = llvm.inline_asm has_side_effects "atom.relaxed.<device>.cas.b64 $0, [$1], $2, $3;",
      "=l,l,l,l,~{memory}" %word, %zero, %code : (!llvm.ptr, i64, i64) -> i64
  %first = arith.cmpi eq, %old, %zero : i64
  return %first : i1
}

func.func private @ark_store_release(%word: !llvm.ptr, %value: i64) {
  llvm.inline_asm has_side_effects "st.release.<device>.u64 [$0], $1;", "l,l,~{memory}" %word, %value
      : (!llvm.ptr, i64) -> ()
  return
}

func.func private @ark_load_host(%word: !llvm.ptr) -> i64 {
  %value = llvm.inline_asm has_side_effects "ld.acquire.<system>.u64 $0, [$1];", "=l,l,~{memory}" %word
      : (!llvm.ptr) -> i64
  return %value : i64
}

func.func private @ark_store_host(%word: !llvm.ptr, %value: i64) {
  llvm.inline_asm has_side_effects "st.release.<system>.u64 [$0], $1;", "l,l,~{memory}" %word, %value
      : (!llvm.ptr, i64) -> ()
  return
}

func.func private @ark_now() -> i64 {
  %now = nvvm.read.ptx.sreg.globaltimer : i64
  return %now : i64
}

func.func private @ark_cta_barrier() {
  gpu.barrier
  return
}

func.func private @ark_uniform(%number: i32) -> i32 {
  return %number : i32
}

func.func private @ark_back_off() {
  return
}

func.func private @ark_any(%predicate: i1) -> i1 {
  %zero = arith.constant 0 : i32
  %value = arith.extui %predicate : i1 to i32
  %any = nvvm.barrier #nvvm.reduction<or> %value -> i32
  %result = arith.cmpi ne, %any, %zero : i32
  return %result : i1
}

func.func private @ark_sync_warp() {
  %all = arith.constant -1 : i32
  nvvm.bar.warp.sync %all : i32
  return
}

func.func private @ark_lane() -> i64 {
  %lane = llvm.inline_asm has_side_effects "mov.u32 $0, %ctaid.x;", "=r" : () -> i32
  %lane_i64 = arith.extui %lane : i32 to i64
  return %lane_i64 : i64
}

// Returns true for the leader. Reads the thread id again: an id read earlier would occupy a
// register during all bodies.
func.func private @ark_is_leader_again() -> i1 {
  %zero = arith.constant 0 : i32
  %thread = llvm.inline_asm has_side_effects "mov.u32 $0, %tid.x;", "=r" : () -> i32
  %leads = arith.cmpi eq, %thread, %zero : i32
  return %leads : i1
}
