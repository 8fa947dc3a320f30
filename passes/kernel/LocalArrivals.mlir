// Arrivals at semaphores of a program of one rank: all lanes are on one GPU, so the scope of the
// backend's primitives, which is one GPU, suffices.

func.func private @ark_load_acquire(%word: !llvm.ptr) -> i64
func.func private @ark_add_release(%word: !llvm.ptr)

func.func private @ark_add_arrival(%counter: !llvm.ptr, %semaphore: i64) {
  func.call @ark_add_release(%counter) : (!llvm.ptr) -> ()
  return
}

func.func private @ark_load_arrivals(%counter: !llvm.ptr) -> i64 {
  %arrivals = func.call @ark_load_acquire(%counter) : (!llvm.ptr) -> i64
  return %arrivals : i64
}
