// Primitives of GpuKernel.mlir and GpuSemaphores.mlir on the toy GPU, which is a process of the
// host. Its memory is that of the process, whose atomics have the default scope.
//
// Instructions of the toy GPU are functions of tests/support/toy/gpu.cpp: @toy_now returns the time
// in ns, @toy_pause waits for a moment, and @toy_any votes in a CTA.

func.func private @toy_now() -> i64
func.func private @toy_pause()
func.func private @toy_any(%predicate: i32) -> i32

func.func private @ark_load_relaxed(%word: !llvm.ptr) -> i64 {
  %value = llvm.load %word atomic monotonic {alignment = 8 : i64} : !llvm.ptr -> i64
  return %value : i64
}

func.func private @ark_load_acquire(%word: !llvm.ptr) -> i64 {
  %value = llvm.load %word atomic acquire {alignment = 8 : i64} : !llvm.ptr -> i64
  return %value : i64
}

func.func private @ark_add_release(%word: !llvm.ptr) {
  %one = arith.constant 1 : i64
  %old = llvm.atomicrmw add %word, %one release : !llvm.ptr, i64
  return
}

func.func private @ark_set_if_zero(%word: !llvm.ptr, %code: i64) -> i1 {
  %zero = arith.constant 0 : i64
  %pair = llvm.cmpxchg %word, %zero, %code acq_rel acquire : !llvm.ptr, i64
  %first = llvm.extractvalue %pair[1] : !llvm.struct<(i64, i1)>
  return %first : i1
}

func.func private @ark_store_release(%word: !llvm.ptr, %value: i64) {
  llvm.store %value, %word atomic release {alignment = 8 : i64} : i64, !llvm.ptr
  return
}

func.func private @ark_load_host(%word: !llvm.ptr) -> i64 {
  %value = func.call @ark_load_acquire(%word) : (!llvm.ptr) -> i64
  return %value : i64
}

func.func private @ark_store_host(%word: !llvm.ptr, %value: i64) {
  func.call @ark_store_release(%word, %value) : (!llvm.ptr, i64) -> ()
  return
}

func.func private @ark_now() -> i64 {
  %now = func.call @toy_now() : () -> i64
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
  func.call @toy_pause() : () -> ()
  return
}

func.func private @ark_any(%predicate: i1) -> i1 {
  %zero = arith.constant 0 : i32
  %vote = arith.extui %predicate : i1 to i32
  %any = func.call @toy_any(%vote) : (i32) -> i32
  %result = arith.cmpi ne, %any, %zero : i32
  return %result : i1
}

func.func private @ark_lane() -> i64 {
  %block = gpu.block_id x
  %lane = arith.index_cast %block : index to i64
  return %lane : i64
}

func.func private @ark_is_leader() -> i1
func.func private @ark_is_leader_again() -> i1 {
  %leads = func.call @ark_is_leader() : () -> i1
  return %leads : i1
}
