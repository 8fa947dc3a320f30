// Exchange between ranks in a program of one rank. All lanes are on one GPU, so the primitives of
// the backend, which have the scope of one GPU, suffice.

func.func private @ark_load_relaxed(%word: !llvm.ptr) -> i64
func.func private @ark_load_acquire(%word: !llvm.ptr) -> i64
func.func private @ark_add_release(%word: !llvm.ptr)
func.func private @ark_set_if_zero(%word: !llvm.ptr, %code: i64) -> i1

func.func private @ark_lane_number(%context: !llvm.ptr, %lane: i64) -> i64 {
  return %lane : i64
}

func.func private @ark_signal_index(%a: i64, %b: i32) -> i64 {
  return %a : i64
}

func.func private @ark_add_arrival(%context: !llvm.ptr, %counter: !llvm.ptr, %semaphore: i64) {
  func.call @ark_add_release(%counter) : (!llvm.ptr) -> ()
  return
}

func.func private @ark_load_arrivals(%counter: !llvm.ptr) -> i64 {
  %arrivals = func.call @ark_load_acquire(%counter) : (!llvm.ptr) -> i64
  return %arrivals : i64
}

func.func private @ark_load_stop(%context: !llvm.ptr, %report: !llvm.ptr) -> i64 {
  %field = llvm.getelementptr %report[kReportStop] : (!llvm.ptr) -> !llvm.ptr, i64
  %stop = func.call @ark_load_relaxed(%field) : (!llvm.ptr) -> i64
  return %stop : i64
}

func.func private @ark_store_stop(%context: !llvm.ptr, %distance: i32, %iterations: i64) {
  %report_field = llvm.getelementptr %context[kReport] : (!llvm.ptr) -> !llvm.ptr, i64
  %report = llvm.load %report_field : !llvm.ptr -> !llvm.ptr
  %stop = llvm.getelementptr %report[kReportStop] : (!llvm.ptr) -> !llvm.ptr, i64
  %first = func.call @ark_set_if_zero(%stop, %iterations) : (!llvm.ptr, i64) -> i1
  return
}
