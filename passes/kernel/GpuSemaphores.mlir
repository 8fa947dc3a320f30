// Semaphores of a lane on a GPU, and the report of hangs. The dispatch loop in GpuKernel.mlir calls
// these functions; GpuKernel.mlir also describes the callbacks around waits.

func.func private @ark_begin_wait()
func.func private @ark_end_wait()
func.func private @ark_idle()

// Adds an arrival to a counter, and reads the arrivals of a counter. The texts LocalRanks.mlir and
// GpuPeerRanks.mlir define both functions, with the scopes that the ranks of a program need.
func.func private @ark_add_arrival(%context: !llvm.ptr, %counter: !llvm.ptr, %semaphore: i64)
func.func private @ark_load_arrivals(%counter: !llvm.ptr) -> i64

// Primitives of the backend, some of which the dispatch loop needs as well.
func.func private @ark_load_relaxed(%word: !llvm.ptr) -> i64
func.func private @ark_set_if_zero(%word: !llvm.ptr, %code: i64) -> i1
func.func private @ark_now() -> i64
func.func private @ark_lane() -> i64
func.func private @ark_is_leader() -> i1
func.func private @ark_any(%predicate: i1) -> i1
// Barrier of the CTA. After it, a release by the leader covers the writes of all threads.
func.func private @ark_cta_barrier()
// Called by the leader after a poll without success.
func.func private @ark_back_off()

// Returns the address of a counter. Counters lie 64 bytes apart.
func.func private @ark_counter(%context: !llvm.ptr, %semaphore: i64) -> !llvm.ptr {
  %words = arith.constant kCounterWords : i64
  %field = llvm.getelementptr %context[kSemaphores] : (!llvm.ptr) -> !llvm.ptr, i64
  %counters = llvm.load %field : !llvm.ptr -> !llvm.ptr
  %offset = arith.muli %semaphore, %words : i64
  %counter = llvm.getelementptr %counters[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  return %counter : !llvm.ptr
}

// The barrier orders the writes of the other threads before the leader's release, which makes them
// visible to any lane that acquires the counter.
func.func private @ark_signal(%context: !llvm.ptr, %semaphore: i64) {
  func.call @ark_cta_barrier() : () -> ()
  %leads = func.call @ark_is_leader() : () -> i1
  cf.cond_br %leads, ^add, ^finish

^add:
  %counter = func.call @ark_counter(%context, %semaphore) : (!llvm.ptr, i64) -> !llvm.ptr
  func.call @ark_add_arrival(%context, %counter, %semaphore) : (!llvm.ptr, !llvm.ptr, i64) -> ()
  cf.br ^finish

^finish:
  return
}

// Waits until the lower half of a counter reaches the target. Returns 0 in all threads; after an
// abort, returns the code to the leader and another nonzero value to the other threads.
func.func private @ark_wait(%context: !llvm.ptr, %left: i64, %semaphore: i64,
                            %target: i32) -> i32 {
  %zero = arith.constant 0 : i64
  %good = arith.constant 0 : i32
  %bad = arith.constant 1 : i32
  %one = arith.constant 1 : i64
  %many = arith.constant 32 : i64
  %leads = func.call @ark_is_leader() : () -> i1
  cf.cond_br %leads, ^start, ^idle

^idle:
  func.call @ark_idle() : () -> ()
  cf.br ^join(%good : i32)

^start:
  func.call @ark_begin_wait() : () -> ()
  %counter = func.call @ark_counter(%context, %semaphore) : (!llvm.ptr, i64) -> !llvm.ptr
  %report_field = llvm.getelementptr %context[kReport] : (!llvm.ptr) -> !llvm.ptr, i64
  %report = llvm.load %report_field : !llvm.ptr -> !llvm.ptr
  %timeout_field = llvm.getelementptr %context[kTimeout] : (!llvm.ptr) -> !llvm.ptr, i64
  %timeout = llvm.load %timeout_field : !llvm.ptr -> i64
  %begin = func.call @ark_now() : () -> i64
  cf.br ^poll

^poll:
  cf.br ^try(%zero : i64)

// The check of the abort word and of the timeout costs as much as a poll, so it follows every 32nd
// poll.
^try(%tries: i64):
  %seen = func.call @ark_load_arrivals(%counter) : (!llvm.ptr) -> i64
  // The difference is correct even after the lower half of the counter has wrapped.
  %seen_i32 = arith.trunci %seen : i64 to i32
  %missing = arith.subi %target, %seen_i32 : i32
  %arrived = arith.cmpi sle, %missing, %good : i32
  cf.cond_br %arrived, ^ended(%good : i32), ^again

^again:
  func.call @ark_back_off() : () -> ()
  %more = arith.addi %tries, %one : i64
  %tired = arith.cmpi uge, %more, %many : i64
  cf.cond_br %tired, ^look, ^try(%more : i64)

^look:
  %abort = func.call @ark_load_relaxed(%report) : (!llvm.ptr) -> i64
  %aborted = arith.cmpi ne, %abort, %zero : i64
  %abort_code = arith.trunci %abort : i64 to i32
  cf.cond_br %aborted, ^ended(%abort_code : i32), ^deadline

^deadline:
  %now = func.call @ark_now() : () -> i64
  %waited = arith.subi %now, %begin : i64
  %late = arith.cmpi ugt, %waited, %timeout : i64
  cf.cond_br %late, ^hang, ^poll

^hang:
  %lane = func.call @ark_lane() : () -> i64
  %missing_i64 = arith.extsi %missing : i32 to i64
  %expected = arith.addi %seen, %missing_i64 : i64
  %hang_code = func.call @ark_report_hang(%context, %lane, %left, %semaphore, %seen, %expected)
      : (!llvm.ptr, i64, i64, i64, i64, i64) -> i32
  cf.br ^ended(%hang_code : i32)

^ended(%seen_code: i32):
  func.call @ark_end_wait() : () -> ()
  cf.br ^join(%seen_code : i32)

^join(%code: i32):
  %failed = arith.cmpi ne, %code, %good : i32
  %any_failed = func.call @ark_any(%failed) : (i1) -> i1
  %others = arith.select %any_failed, %bad, %good : i32
  %result = arith.select %failed, %code, %others : i32
  return %result : i32
}

// Records the wait that timed out and its position in the lane, unless another lane has recorded a
// wait before. Returns the code that ends the run.
func.func private @ark_report_hang(%context: !llvm.ptr, %lane: i64, %left: i64,
                                   %semaphore: i64, %seen: i64, %expected: i64) -> i32 {
  %report_field = llvm.getelementptr %context[kReport] : (!llvm.ptr) -> !llvm.ptr, i64
  %report = llvm.load %report_field : !llvm.ptr -> !llvm.ptr
  %hang = arith.constant kAbortHang : i64
  %is_first = func.call @ark_set_if_zero(%report, %hang) : (!llvm.ptr, i64) -> i1
  cf.cond_br %is_first, ^record, ^finish

^record:
  %lane_fields = arith.constant kLaneFields : i64
  %lanes_field = llvm.getelementptr %context[kLanes] : (!llvm.ptr) -> !llvm.ptr, i64
  %lanes = llvm.load %lanes_field : !llvm.ptr -> !llvm.ptr
  %lane_offset = arith.muli %lane, %lane_fields : i64
  %lane_entry = llvm.getelementptr %lanes[%lane_offset] : (!llvm.ptr, i64) -> !llvm.ptr, i32
  %last_field = llvm.getelementptr %lane_entry[kLaneEnd] : (!llvm.ptr) -> !llvm.ptr, i32
  %last_i32 = llvm.load %last_field : !llvm.ptr -> i32
  %last = arith.extui %last_i32 : i32 to i64
  %instruction = arith.subi %last, %left : i64
  %lane_field = llvm.getelementptr %report[kReportLane] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %lane, %lane_field : i64, !llvm.ptr
  %instruction_field = llvm.getelementptr %report[kReportInstruction] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %instruction, %instruction_field : i64, !llvm.ptr
  %semaphore_field = llvm.getelementptr %report[kReportSemaphore] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %semaphore, %semaphore_field : i64, !llvm.ptr
  %seen_field = llvm.getelementptr %report[kReportSeen] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %seen, %seen_field : i64, !llvm.ptr
  %expected_field = llvm.getelementptr %report[kReportExpected] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %expected, %expected_field : i64, !llvm.ptr
  cf.br ^finish

^finish:
  %code = func.call @ark_load_relaxed(%report) : (!llvm.ptr) -> i64
  %result = arith.trunci %code : i64 to i32
  return %result : i32
}
