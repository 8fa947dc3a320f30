// The primitives of GpuKernel.mlir and GpuSemaphores.mlir on AMD GPUs.
//
// All CUs of one GPU take part, so the scope is `agent`, but for words of the
// host; a barrier of the CTA carries what the leader acquires to its other
// threads. What is shared lies in global memory, which is address space 1.

func.func private @ark_load_relaxed(%word: !llvm.ptr) -> i64 {
  %place = llvm.addrspacecast %word : !llvm.ptr to !llvm.ptr<1>
  %value = llvm.load %place atomic syncscope("agent") monotonic {alignment = 8 : i64}
      : !llvm.ptr<1> -> i64
  return %value : i64
}

func.func private @ark_load_acquire(%word: !llvm.ptr) -> i64 {
  %place = llvm.addrspacecast %word : !llvm.ptr to !llvm.ptr<1>
  %value = llvm.load %place atomic syncscope("agent") acquire {alignment = 8 : i64}
      : !llvm.ptr<1> -> i64
  return %value : i64
}

// What the CU wrote is on its way to memory, and then there (vmcnt(0), in the
// bits of gfx9). LLVM 22 leaves out that wait, which belongs to a release, where
// it knows of nothing else to wait for.
func.func private @ark_write_back() {
  llvm.fence syncscope("agent") release
  rocdl.s.waitcnt 3952
  return
}

func.func private @ark_add_release(%word: !llvm.ptr) {
  %one = arith.constant 1 : i64
  func.call @ark_write_back() : () -> ()
  %place = llvm.addrspacecast %word : !llvm.ptr to !llvm.ptr<1>
  %old = llvm.atomicrmw add %place, %one syncscope("agent") monotonic : !llvm.ptr<1>, i64
  return
}

func.func private @ark_claim(%word: !llvm.ptr, %code: i64) -> i1 {
  %zero = arith.constant 0 : i64
  func.call @ark_write_back() : () -> ()
  %place = llvm.addrspacecast %word : !llvm.ptr to !llvm.ptr<1>
  %pair = llvm.cmpxchg %place, %zero, %code syncscope("agent") acquire acquire
      : !llvm.ptr<1>, i64
  %first = llvm.extractvalue %pair[1] : !llvm.struct<(i64, i1)>
  return %first : i1
}

func.func private @ark_store_release(%word: !llvm.ptr, %value: i64) {
  func.call @ark_write_back() : () -> ()
  %place = llvm.addrspacecast %word : !llvm.ptr to !llvm.ptr<1>
  llvm.store %value, %place atomic syncscope("agent") monotonic {alignment = 8 : i64}
      : i64, !llvm.ptr<1>
  return
}

func.func private @ark_load_host(%word: !llvm.ptr) -> i64 {
  %place = llvm.addrspacecast %word : !llvm.ptr to !llvm.ptr<1>
  %value = llvm.load %place atomic acquire {alignment = 8 : i64} : !llvm.ptr<1> -> i64
  return %value : i64
}

func.func private @ark_store_host(%word: !llvm.ptr, %value: i64) {
  llvm.fence release
  rocdl.s.waitcnt 3952
  %place = llvm.addrspacecast %word : !llvm.ptr to !llvm.ptr<1>
  llvm.store %value, %place atomic monotonic {alignment = 8 : i64} : i64, !llvm.ptr<1>
  return
}

// A counter of 100 MHz that all CUs share.
func.func private @ark_now() -> i64 {
  %period = arith.constant 10 : i64
  %ticks = llvm.call_intrinsic "llvm.amdgcn.s.memrealtime"() : () -> i64
  %now = arith.muli %ticks, %period : i64
  return %now : i64
}

// Every warp waits for its own stores. A barrier promises only that its CTA sees
// them, and the leader's release waits for the leader's warp alone.
func.func private @ark_gather() {
  rocdl.s.waitcnt 3952
  gpu.barrier
  return
}

// In a scalar register: what depends on it are scalars and branches, instead of
// masks of threads.
func.func private @ark_uniform(%number: i32) -> i32 {
  %result = rocdl.readfirstlane %number : i32
  return %result : i32
}

// The address of a buffer, which ark-build-kernel hands to bodies by way of this:
// the same for all threads, and in global memory, so that a load has it in
// scalar registers and need not find out what kind of memory it is.
func.func private @ark_mark_global(%address: !llvm.ptr) -> !llvm.ptr {
  // As a number: LLVM would see through a cast there and back.
  %number = llvm.ptrtoint %address : !llvm.ptr to i64
  %uniform = rocdl.readfirstlane %number : i64
  %global = llvm.inttoptr %uniform : i64 to !llvm.ptr<1>
  %result = llvm.addrspacecast %global : !llvm.ptr<1> to !llvm.ptr
  return %result : !llvm.ptr
}

// 64 clocks in which others have the CU's ports to memory.
func.func private @ark_back_off() {
  rocdl.s.sleep 1
  return
}

// In shared memory, a word for every warp; see ark-place-votes.
func.func private @ark_votes() -> !llvm.ptr<3>
func.func private @ark_warps() -> i32

// Every warp says whether there is such a thread in it, and reads what all say.
// The second barrier keeps the next vote from overwriting this one.
func.func private @ark_any(%predicate: i1) -> i1 {
  %none = arith.constant 0 : i64
  %nobody = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %size = arith.constant 64 : i32
  %votes = func.call @ark_votes() : () -> !llvm.ptr<3>
  %warps = func.call @ark_warps() : () -> i32
  %thread_index = gpu.thread_id x
  %thread = arith.index_cast %thread_index : index to i32
  %warp = arith.divui %thread, %size : i32
  %lane = arith.remui %thread, %size : i32

  %here = rocdl.ballot %predicate : i64
  %any_here = arith.cmpi ne, %here, %none : i64
  %vote = arith.extui %any_here : i1 to i32
  %own = llvm.getelementptr %votes[%warp] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  llvm.store %vote, %own : i32, !llvm.ptr<3>
  gpu.barrier
  %last = arith.subi %warps, %one : i32
  %reads = arith.minui %lane, %last : i32
  %other = llvm.getelementptr %votes[%reads] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %said = llvm.load %other : !llvm.ptr<3> -> i32
  %yes = arith.cmpi ne, %said, %nobody : i32
  %all = rocdl.ballot %yes : i64
  gpu.barrier
  %result = arith.cmpi ne, %all, %none : i64
  return %result : i1
}

func.func private @ark_lane() -> i64 {
  %block = gpu.block_id x
  %lane = arith.index_cast %block : index to i64
  return %lane : i64
}

// The number of a thread has a register of its own here.
func.func private @ark_is_leader() -> i1
func.func private @ark_is_leader_again() -> i1 {
  %leads = func.call @ark_is_leader() : () -> i1
  return %leads : i1
}
