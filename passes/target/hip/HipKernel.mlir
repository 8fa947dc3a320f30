// Primitives of GpuKernel.mlir and GpuSemaphores.mlir on AMD GPUs.
//
// All CUs of one GPU take part, so the scope is `<device>`, whose name the target states. Words in
// host memory have LLVM's default scope, the system. A barrier of the CTA makes the memory that the
// leader has acquired visible to all threads. Shared words lie in global memory, which is address
// space 1.

func.func private @ark_load_relaxed(%word: !llvm.ptr) -> i64 {
  %global = llvm.addrspacecast %word : !llvm.ptr to !llvm.ptr<1>
  %value = llvm.load %global atomic syncscope("<device>") monotonic {alignment = 8 : i64}
      : !llvm.ptr<1> -> i64
  return %value : i64
}

func.func private @ark_load_acquire(%word: !llvm.ptr) -> i64 {
  %global = llvm.addrspacecast %word : !llvm.ptr to !llvm.ptr<1>
  %value = llvm.load %global atomic syncscope("<device>") acquire {alignment = 8 : i64}
      : !llvm.ptr<1> -> i64
  return %value : i64
}

// Writes the CU's stores back to memory (the fence) and waits until they have arrived (vmcnt(0), as
// gfx9 encodes it). A release needs this wait, but LLVM 22 omits the wait if it knows of no
// outstanding store.
func.func private @ark_write_back() {
  llvm.fence syncscope("<device>") release
  rocdl.s.waitcnt 3952
  return
}

func.func private @ark_add_release(%word: !llvm.ptr) {
  %one = arith.constant 1 : i64
  func.call @ark_write_back() : () -> ()
  %global = llvm.addrspacecast %word : !llvm.ptr to !llvm.ptr<1>
  %old = llvm.atomicrmw add %global, %one syncscope("<device>") monotonic : !llvm.ptr<1>, i64
  return
}

func.func private @ark_set_if_zero(%word: !llvm.ptr, %code: i64) -> i1 {
  %zero = arith.constant 0 : i64
  func.call @ark_write_back() : () -> ()
  %global = llvm.addrspacecast %word : !llvm.ptr to !llvm.ptr<1>
  %pair = llvm.cmpxchg %global, %zero, %code syncscope("<device>") acquire acquire
      : !llvm.ptr<1>, i64
  %first = llvm.extractvalue %pair[1] : !llvm.struct<(i64, i1)>
  return %first : i1
}

func.func private @ark_store_release(%word: !llvm.ptr, %value: i64) {
  func.call @ark_write_back() : () -> ()
  %global = llvm.addrspacecast %word : !llvm.ptr to !llvm.ptr<1>
  llvm.store %value, %global atomic syncscope("<device>") monotonic {alignment = 8 : i64}
      : i64, !llvm.ptr<1>
  return
}

func.func private @ark_load_host(%word: !llvm.ptr) -> i64 {
  %global = llvm.addrspacecast %word : !llvm.ptr to !llvm.ptr<1>
  %value = llvm.load %global atomic acquire {alignment = 8 : i64} : !llvm.ptr<1> -> i64
  return %value : i64
}

func.func private @ark_store_host(%word: !llvm.ptr, %value: i64) {
  llvm.fence release
  rocdl.s.waitcnt 3952
  %global = llvm.addrspacecast %word : !llvm.ptr to !llvm.ptr<1>
  llvm.store %value, %global atomic monotonic {alignment = 8 : i64} : i64, !llvm.ptr<1>
  return
}

// A counter of 100 MHz that all CUs share.
func.func private @ark_now() -> i64 {
  %period = arith.constant 10 : i64
  %ticks = llvm.call_intrinsic "llvm.amdgcn.s.memrealtime"() : () -> i64
  %now = arith.muli %ticks, %period : i64
  return %now : i64
}

// Every warp waits for its own stores. A barrier only makes them visible within the CTA, and the
// leader's release waits only for the stores of the leader's warp.
func.func private @ark_cta_barrier() {
  rocdl.s.waitcnt 3952
  gpu.barrier
  return
}

// Moves the number to a scalar register. Computations on the number then use scalar instructions
// and branches instead of execution masks.
func.func private @ark_uniform(%number: i32) -> i32 {
  %result = rocdl.readfirstlane %number : i32
  return %result : i32
}

// Marks the address of a buffer as uniform and global; ark-build-kernel passes all addresses for
// bodies through this function. A load then keeps the address in scalar registers and needs no test
// of the address space at run time.
func.func private @ark_mark_global(%address: !llvm.ptr) -> !llvm.ptr {
  // The address passes through an integer, because LLVM would fold a pair of address-space casts.
  %number = llvm.ptrtoint %address : !llvm.ptr to i64
  %uniform = rocdl.readfirstlane %number : i64
  %global = llvm.inttoptr %uniform : i64 to !llvm.ptr<1>
  %result = llvm.addrspacecast %global : !llvm.ptr<1> to !llvm.ptr
  return %result : !llvm.ptr
}

// Sleeps for 64 clocks, which leaves the CU's memory ports to other warps.
func.func private @ark_back_off() {
  rocdl.s.sleep 1
  return
}

// Shared memory with one word per warp; see ark-allocate-vote-slots.
func.func private @ark_vote_slots() -> !llvm.ptr<3>
func.func private @ark_warps() -> i32

// Block-wide vote: every warp stores true if the predicate holds in one of its threads, and reads
// the words of all warps. The second barrier keeps the next vote from overwriting these words.
func.func private @ark_any(%predicate: i1) -> i1 {
  %none = arith.constant 0 : i64
  %no_vote = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %size = arith.constant kHipWarpSize : i32
  %votes = func.call @ark_vote_slots() : () -> !llvm.ptr<3>
  %warps = func.call @ark_warps() : () -> i32
  %thread_index = gpu.thread_id x
  %thread = arith.index_cast %thread_index : index to i32
  %warp = arith.divui %thread, %size : i32
  %in_warp = arith.remui %thread, %size : i32

  %here = rocdl.ballot %predicate : i64
  %any_here = arith.cmpi ne, %here, %none : i64
  %vote = arith.extui %any_here : i1 to i32
  %own = llvm.getelementptr %votes[%warp] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  llvm.store %vote, %own : i32, !llvm.ptr<3>
  gpu.barrier
  %last = arith.subi %warps, %one : i32
  %reads = arith.minui %in_warp, %last : i32
  %other = llvm.getelementptr %votes[%reads] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %voted = llvm.load %other : !llvm.ptr<3> -> i32
  %yes = arith.cmpi ne, %voted, %no_vote : i32
  %all = rocdl.ballot %yes : i64
  gpu.barrier
  %result = arith.cmpi ne, %all, %none : i64
  return %result : i1
}

// The lane passes through empty inline assembly, because comparisons with it would otherwise occupy
// scalar registers during all bodies.
func.func private @ark_lane() -> i64 {
  %block = gpu.block_id x
  %known = arith.index_cast %block : index to i32
  %number = llvm.inline_asm has_side_effects "", "=s,0" %known : (i32) -> i32
  %lane = arith.extui %number : i32 to i64
  return %lane : i64
}

// On AMD GPUs, the thread id occupies a register anyway, so it is not read again.
func.func private @ark_is_leader() -> i1
func.func private @ark_is_leader_again() -> i1 {
  %leads = func.call @ark_is_leader() : () -> i1
  return %leads : i1
}
