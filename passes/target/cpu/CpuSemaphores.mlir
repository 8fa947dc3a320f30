// Semaphores of a lane on a CPU, and the waiting strategy. The dispatch loop in CpuKernel.mlir
// calls these functions.

llvm.func @clock_gettime(i32, !llvm.ptr) -> i32
llvm.func @nanosleep(!llvm.ptr, !llvm.ptr) -> i32
llvm.func @sched_yield() -> i32

func.func private @ark_pause()

//===----------------------------------------------------------------------===//
// Semaphores
//===----------------------------------------------------------------------===//

// Returns the address of a counter. Every counter has a separate cache line.
func.func private @ark_counter(%context: !llvm.ptr, %semaphore: i64) -> !llvm.ptr {
  %words = arith.constant kCounterWords : i64
  %field = llvm.getelementptr %context[kSemaphores] : (!llvm.ptr) -> !llvm.ptr, i64
  %counters = llvm.load %field : !llvm.ptr -> !llvm.ptr
  %offset = arith.muli %semaphore, %words : i64
  %counter = llvm.getelementptr %counters[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  return %counter : !llvm.ptr
}

func.func private @ark_signal(%context: !llvm.ptr, %semaphore: i64) {
  %one = arith.constant 1 : i64
  %counter = func.call @ark_counter(%context, %semaphore) : (!llvm.ptr, i64) -> !llvm.ptr
  %old = llvm.atomicrmw add %counter, %one release : !llvm.ptr, i64
  return
}

// Waits until a word, shifted right by `shift` bits, reaches the target. Returns 0, or the code of
// the abort. The report of a hang states the target `expected` of the counter. `lacking` is the
// number of missing arrivals that other words count.
//
// The lane spins for a microsecond or two, which suffices for hand-offs between running cores, and
// then rests between polls.
func.func private @ark_wait(%context: !llvm.ptr, %lane: i64, %instruction: i64, %semaphore: i64,
                            %word: !llvm.ptr, %shift: i64, %target: i64, %expected: i64,
                            %lacking: i64) -> i32 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %spins = arith.constant 50 : i64
  %good = arith.constant 0 : i32

  %report_field = llvm.getelementptr %context[kReport] : (!llvm.ptr) -> !llvm.ptr, i64
  %report = llvm.load %report_field : !llvm.ptr -> !llvm.ptr
  cf.br ^spin(%zero : i64)

^spin(%spin: i64):
  %missing = func.call @ark_missing(%word, %shift, %target) : (!llvm.ptr, i64, i64) -> i64
  %arrived = arith.cmpi sle, %missing, %zero : i64
  cf.cond_br %arrived, ^finish(%good : i32), ^spin_abort

^spin_abort:
  %spin_abort = llvm.load %report atomic monotonic {alignment = 8 : i64} : !llvm.ptr -> i64
  %spin_aborted = arith.cmpi ne, %spin_abort, %zero : i64
  %spin_code = arith.trunci %spin_abort : i64 to i32
  cf.cond_br %spin_aborted, ^finish(%spin_code : i32), ^spin_pause

^spin_pause:
  func.call @ark_pause() : () -> ()
  %next_spin = arith.addi %spin, %one : i64
  %spin_again = arith.cmpi ult, %next_spin, %spins : i64
  cf.cond_br %spin_again, ^spin(%next_spin : i64), ^slow

^slow:
  %timeout_field = llvm.getelementptr %context[kTimeout] : (!llvm.ptr) -> !llvm.ptr, i64
  %timeout = llvm.load %timeout_field : !llvm.ptr -> i64
  %start = func.call @ark_now() : () -> i64
  cf.br ^poll

^poll:
  %missing_now = func.call @ark_missing(%word, %shift, %target) : (!llvm.ptr, i64, i64) -> i64
  %arrived_now = arith.cmpi sle, %missing_now, %zero : i64
  cf.cond_br %arrived_now, ^finish(%good : i32), ^poll_abort

^poll_abort:
  %abort = llvm.load %report atomic monotonic {alignment = 8 : i64} : !llvm.ptr -> i64
  %aborted = arith.cmpi ne, %abort, %zero : i64
  %abort_code = arith.trunci %abort : i64 to i32
  cf.cond_br %aborted, ^finish(%abort_code : i32), ^deadline

^deadline:
  %now = func.call @ark_now() : () -> i64
  %waited = arith.subi %now, %start : i64
  %late = arith.cmpi ugt, %waited, %timeout : i64
  cf.cond_br %late, ^hang, ^rest

^rest:
  %until_deadline = arith.subi %timeout, %waited : i64
  func.call @ark_back_off(%waited, %until_deadline) : (i64, i64) -> ()
  cf.br ^poll

^hang:
  %missing_here = arith.shrsi %missing_now, %shift : i64
  %missing_all = arith.addi %missing_here, %lacking : i64
  %seen_now = arith.subi %expected, %missing_all : i64
  %hang_code = func.call @ark_report_hang(%report, %lane, %instruction, %semaphore, %seen_now,
                                          %expected)
      : (!llvm.ptr, i64, i64, i64, i64, i64) -> i32
  cf.br ^finish(%hang_code : i32)

^finish(%code: i32):
  return %code : i32
}

// Returns the distance of a word's value from its target, scaled to the highest bits: positive
// while the lane has to wait. The difference is correct even after the value has wrapped.
func.func private @ark_missing(%word: !llvm.ptr, %shift: i64, %target: i64) -> i64 {
  %seen = llvm.load %word atomic acquire {alignment = 8 : i64} : !llvm.ptr -> i64
  %value = arith.shrui %seen, %shift : i64
  %missing = arith.subi %target, %value : i64
  %scaled = arith.shli %missing, %shift : i64
  return %scaled : i64
}

// Records the wait that timed out, unless another lane has recorded a wait before. Returns the code
// that ends the run.
func.func private @ark_report_hang(%report: !llvm.ptr, %lane: i64, %instruction: i64,
                                   %semaphore: i64, %seen: i64, %expected: i64) -> i32 {
  %none = arith.constant kAbortNone : i64
  %hang = arith.constant kAbortHang : i64
  %exchange = llvm.cmpxchg %report, %none, %hang acq_rel monotonic : !llvm.ptr, i64
  %first = llvm.extractvalue %exchange[1] : !llvm.struct<(i64, i1)>
  %other = llvm.extractvalue %exchange[0] : !llvm.struct<(i64, i1)>
  cf.cond_br %first, ^record, ^finish(%other : i64)

^record:
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
  cf.br ^finish(%hang : i64)

^finish(%code: i64):
  %result = arith.trunci %code : i64 to i32
  return %result : i32
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

// Returns the time of the monotonic clock in nanoseconds.
func.func private @ark_now() -> i64 {
  %one = arith.constant 1 : i64
  %monotonic = arith.constant 1 : i32
  %ns_per_s = arith.constant 1000000000 : i64
  %time = llvm.alloca %one x !llvm.array<2 x i64> : (i64) -> !llvm.ptr
  %status = llvm.call @clock_gettime(%monotonic, %time) : (i32, !llvm.ptr) -> i32
  %s = llvm.load %time : !llvm.ptr -> i64
  %ns_field = llvm.getelementptr %time[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %ns = llvm.load %ns_field : !llvm.ptr -> i64
  %s_in_ns = arith.muli %s, %ns_per_s : i64
  %now = arith.addi %s_in_ns, %ns : i64
  return %now : i64
}

// Rests between two polls of a word. For the first millisecond, yields to threads that share the
// core. Afterwards, sleeps for a sixteenth of the time waited so far, limited to a millisecond and
// to `most` ns.
func.func private @ark_back_off(%waited: i64, %most: i64) {
  %yield_ns = arith.constant 1000000 : i64
  %sleep_shift = arith.constant 4 : i64
  %most_sleep_ns = arith.constant 1000000 : i64
  %may_yield = arith.cmpi ult, %waited, %yield_ns : i64
  cf.cond_br %may_yield, ^yield, ^sleep

^yield:
  %yielded = llvm.call @sched_yield() : () -> i32
  cf.br ^finish

^sleep:
  %share = arith.shrui %waited, %sleep_shift : i64
  %nap = arith.minui %share, %most_sleep_ns : i64
  %nap_ns = arith.minui %nap, %most : i64
  func.call @ark_sleep(%nap_ns) : (i64) -> ()
  cf.br ^finish

^finish:
  return
}

// Sleeps for less than a second.
func.func private @ark_sleep(%ns: i64) {
  %one = arith.constant 1 : i64
  %zero = arith.constant 0 : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %time = llvm.alloca %one x !llvm.array<2 x i64> : (i64) -> !llvm.ptr
  llvm.store %zero, %time : i64, !llvm.ptr
  %ns_field = llvm.getelementptr %time[1] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %ns, %ns_field : i64, !llvm.ptr
  %status = llvm.call @nanosleep(%time, %null) : (!llvm.ptr, !llvm.ptr) -> i32
  return
}
