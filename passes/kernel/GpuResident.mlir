// Resident kernel: stays on the GPU between runs.
//
// All threads of a CTA wait at the doorbell together, and then execute a run (@ark_kernel of
// GpuKernel.mlir). docs/bundle.md describes the doorbell.

func.func private @ark_add_release(%word: !llvm.ptr)
func.func private @ark_any(%predicate: i1) -> i1
func.func private @ark_back_off()
func.func private @ark_cta_barrier()
func.func private @ark_is_leader_again() -> i1
func.func private @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32
func.func private @ark_lane() -> i64
func.func private @ark_load_acquire(%word: !llvm.ptr) -> i64
func.func private @ark_load_relaxed(%word: !llvm.ptr) -> i64
func.func private @ark_now() -> i64

// Accesses to words in host memory, and the store that passes a value from one lane to all other
// lanes.
func.func private @ark_load_host(%word: !llvm.ptr) -> i64
func.func private @ark_store_host(%word: !llvm.ptr, %value: i64)
func.func private @ark_store_release(%word: !llvm.ptr, %value: i64)

// Entry of a CTA. Without a doorbell in the context, executes one run. With a doorbell, executes
// one run each time the host rings. Returns 0, or the code of the abort.
func.func private @ark_resident_loop(%context: !llvm.ptr, %lane: i64) -> i32 {
  %one = arith.constant 1 : i64
  %zero = arith.constant 0 : i64
  %good = arith.constant 0 : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %doorbell_field = llvm.getelementptr %context[kDoorbell] : (!llvm.ptr) -> !llvm.ptr, i64
  %doorbell = llvm.load %doorbell_field : !llvm.ptr -> !llvm.ptr
  func.call @ark_notify_start(%context, %lane) : (!llvm.ptr, i64) -> ()
  %stays = llvm.icmp "ne" %doorbell, %null : !llvm.ptr
  cf.cond_br %stays, ^await(%doorbell, %one : !llvm.ptr, i64), ^run

^await(%same_doorbell: !llvm.ptr, %run: i64):
  %starts_now = func.call @ark_await_doorbell(%context, %same_doorbell, %run)
      : (!llvm.ptr, !llvm.ptr, i64) -> i1
  cf.cond_br %starts_now, ^look, ^finish(%good : i32)

^look:
  %iterations_field = llvm.getelementptr %context[kIterations] : (!llvm.ptr) -> !llvm.ptr, i64
  %iterations = llvm.load %iterations_field : !llvm.ptr -> i64
  %closing = arith.cmpi eq, %iterations, %zero : i64
  cf.cond_br %closing, ^finish(%good : i32), ^run

// The only call of the dispatch loop, so that the loop is inlined here. Values needed after the
// call are read again, because registers are scarce in the loop.
^run:
  %same_lane = func.call @ark_lane() : () -> i64
  %code = func.call @ark_kernel(%context, %same_lane) : (!llvm.ptr, i64) -> i32
  %doorbell_again = llvm.load %doorbell_field : !llvm.ptr -> !llvm.ptr
  %still_stays = llvm.icmp "ne" %doorbell_again, %null : !llvm.ptr
  cf.cond_br %still_stays, ^agree, ^finish(%code : i32)

^agree:
  // Some threads may not know yet whether the run has failed.
  %failed = arith.cmpi ne, %code, %good : i32
  %any_failed = func.call @ark_any(%failed) : (i1) -> i1
  cf.cond_br %any_failed, ^finish(%code : i32), ^acknowledge

^acknowledge:
  // No lane begins the next run before all lanes have acknowledged this run.
  %number = func.call @ark_load_relaxed(%doorbell_again) : (!llvm.ptr) -> i64
  func.call @ark_acknowledge_run(%context, %doorbell_again, %number)
      : (!llvm.ptr, !llvm.ptr, i64) -> ()
  %next = arith.addi %number, %one : i64
  cf.br ^await(%doorbell_again, %next : !llvm.ptr, i64)

^finish(%result: i32):
  return %result : i32
}

// One thread of the grid tells the host that the kernel is running. Without this message, the host
// could not distinguish a running kernel from a kernel that is queued behind one that never ends,
// and would wait forever. No thread waits for the completion of this store.
func.func private @ark_notify_start(%context: !llvm.ptr, %lane: i64) {
  %zero = arith.constant 0 : i64
  %report_field = llvm.getelementptr %context[kReport] : (!llvm.ptr) -> !llvm.ptr, i64
  %report = llvm.load %report_field : !llvm.ptr -> !llvm.ptr
  %leads = func.call @ark_is_leader_again() : () -> i1
  %is_first = arith.cmpi eq, %lane, %zero : i64
  %tells = arith.andi %leads, %is_first : i1
  cf.cond_br %tells, ^tell, ^finish

^tell:
  %queued = llvm.getelementptr %report[kReportQueued] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store volatile %zero, %queued : i64, !llvm.ptr
  cf.br ^finish

^finish:
  return
}

// Waits until the host starts run number `run`. Returns true in all threads if the run starts. Only
// lane 0 polls the host's memory, and it passes the result to the other lanes. After the timeout of
// a wait, lane 0 tells all lanes to leave, so that other work on the GPU does not wait forever for
// a host that does not ring. One lane decides this for all lanes.
func.func private @ark_await_doorbell(%context: !llvm.ptr, %doorbell: !llvm.ptr,
                                  %run: i64) -> i1 {
  %zero = arith.constant 0 : i64
  %leave = arith.constant kDoorbellLeave : i64
  %yes = arith.constant true
  %no = arith.constant false
  %report_field = llvm.getelementptr %context[kReport] : (!llvm.ptr) -> !llvm.ptr, i64
  %report = llvm.load %report_field : !llvm.ptr -> !llvm.ptr
  %leads = func.call @ark_is_leader_again() : () -> i1
  cf.cond_br %leads, ^choose, ^join(%no : i1)

^choose:
  %lane = func.call @ark_lane() : () -> i64
  %relays = arith.cmpi eq, %lane, %zero : i64
  cf.cond_br %relays, ^start, ^poll

^start:
  %host_field = llvm.getelementptr %doorbell[kDoorbellHost] : (!llvm.ptr) -> !llvm.ptr, i64
  %host = llvm.load %host_field : !llvm.ptr -> !llvm.ptr
  %timeout_field = llvm.getelementptr %context[kTimeout] : (!llvm.ptr) -> !llvm.ptr, i64
  %timeout = llvm.load %timeout_field : !llvm.ptr -> i64
  %begin = func.call @ark_now() : () -> i64
  cf.br ^poll_host

^poll_host:
  %started = func.call @ark_load_host(%host) : (!llvm.ptr) -> i64
  %starts_now = arith.cmpi uge, %started, %run : i64
  cf.cond_br %starts_now, ^pass(%run, %yes : i64, i1), ^look

^look:
  func.call @ark_back_off() : () -> ()
  %abort = func.call @ark_load_relaxed(%report) : (!llvm.ptr) -> i64
  %aborted = arith.cmpi ne, %abort, %zero : i64
  cf.cond_br %aborted, ^pass(%leave, %no : i64, i1), ^deadline

^deadline:
  %now = func.call @ark_now() : () -> i64
  %waited = arith.subi %now, %begin : i64
  %late = arith.cmpi ugt, %waited, %timeout : i64
  cf.cond_br %late, ^pass(%leave, %no : i64, i1), ^poll_host

^pass(%word: i64, %starts: i1):
  func.call @ark_store_release(%doorbell, %word) : (!llvm.ptr, i64) -> ()
  cf.br ^join(%starts : i1)

^poll:
  %passed = func.call @ark_load_acquire(%doorbell) : (!llvm.ptr) -> i64
  %leaves = arith.cmpi eq, %passed, %leave : i64
  cf.cond_br %leaves, ^join(%no : i1), ^compare

^compare:
  %came = arith.cmpi uge, %passed, %run : i64
  cf.cond_br %came, ^join(%yes : i1), ^again

^again:
  func.call @ark_back_off() : () -> ()
  cf.br ^poll

^join(%mine: i1):
  %result = func.call @ark_any(%mine) : (i1) -> i1
  return %result : i1
}

// Announces that the lane reads no more data of a run. When all lanes have announced this, lane 0
// tells the host.
func.func private @ark_acknowledge_run(%context: !llvm.ptr, %doorbell: !llvm.ptr, %run: i64) {
  %zero = arith.constant 0 : i64
  func.call @ark_cta_barrier() : () -> ()
  %leads = func.call @ark_is_leader_again() : () -> i1
  cf.cond_br %leads, ^add, ^finish

^add:
  %answers = llvm.getelementptr %doorbell[kDoorbellAnswers] : (!llvm.ptr) -> !llvm.ptr, i64
  func.call @ark_add_release(%answers) : (!llvm.ptr) -> ()
  %lane = func.call @ark_lane() : () -> i64
  %relays = arith.cmpi eq, %lane, %zero : i64
  cf.cond_br %relays, ^start, ^finish

^start:
  %report_field = llvm.getelementptr %context[kReport] : (!llvm.ptr) -> !llvm.ptr, i64
  %report = llvm.load %report_field : !llvm.ptr -> !llvm.ptr
  %host_field = llvm.getelementptr %doorbell[kDoorbellHost] : (!llvm.ptr) -> !llvm.ptr, i64
  %host = llvm.load %host_field : !llvm.ptr -> !llvm.ptr
  %lanes_field = llvm.getelementptr %doorbell[kDoorbellLanes] : (!llvm.ptr) -> !llvm.ptr, i64
  %lanes = llvm.load %lanes_field : !llvm.ptr -> i64
  %wanted = arith.muli %run, %lanes : i64
  cf.br ^poll

^poll:
  %seen = func.call @ark_load_acquire(%answers) : (!llvm.ptr) -> i64
  %all = arith.cmpi uge, %seen, %wanted : i64
  cf.cond_br %all, ^tell, ^look

// A lane that has aborted acknowledges no run.
^look:
  func.call @ark_back_off() : () -> ()
  %abort = func.call @ark_load_relaxed(%report) : (!llvm.ptr) -> i64
  %aborted = arith.cmpi ne, %abort, %zero : i64
  cf.cond_br %aborted, ^finish, ^poll

^tell:
  %host_answers = llvm.getelementptr %host[kDoorbellAnswers] : (!llvm.ptr) -> !llvm.ptr, i64
  func.call @ark_store_host(%host_answers, %run) : (!llvm.ptr, i64) -> ()
  cf.br ^finish

^finish:
  return
}
