// Persistent kernel of the cpu target: the part that is the same for every program.
//
// ark-build-kernel adds this text to a module and builds the bodies of three functions that are
// only declared here: @ark_execute_work_item, @ark_pause and @ark_traced. KernelAbi.def defines the
// constants, such as kReport; docs/bundle.md describes the records.

// Executes vCTAs [begin, end) of a task.
func.func private @ark_execute_work_item(%context: !llvm.ptr, %task: i64, %begin: i64, %end: i64)
// Executes the spin-wait hint of the core.
func.func private @ark_pause()
// Waits for packets; otherwise like @ark_wait. Defined in CpuPackets.mlir.
func.func private @ark_wait_packets(%context: !llvm.ptr, %lane: i64, %instruction: i64,
                                    %semaphore: i64, %arrivals: i64, %first: i64,
                                    %epoch: i64) -> i32
// Returns true if this kernel can record the times of its instructions.
func.func private @ark_traced() -> i1
// Semaphores and time, defined in CpuSemaphores.mlir.
func.func private @ark_counter(%context: !llvm.ptr, %semaphore: i64) -> !llvm.ptr
func.func private @ark_signal(%context: !llvm.ptr, %semaphore: i64)
func.func private @ark_wait(%context: !llvm.ptr, %lane: i64, %instruction: i64, %semaphore: i64,
                            %word: !llvm.ptr, %shift: i64, %target: i64, %expected: i64,
                            %lacking: i64) -> i32
func.func private @ark_now() -> i64
func.func private @ark_back_off(%waited: i64, %most: i64)

//===----------------------------------------------------------------------===//
// Loop over runs
//===----------------------------------------------------------------------===//

// Entry of a lane. Without a doorbell in the context, executes one run. With a doorbell, executes
// one run each time the host rings, until the host requests zero iterations. Returns 0, or the code
// of the abort.
func.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %good = arith.constant 0 : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %doorbell_field = llvm.getelementptr %context[kDoorbell] : (!llvm.ptr) -> !llvm.ptr, i64
  %doorbell = llvm.load %doorbell_field : !llvm.ptr -> !llvm.ptr
  %stays = llvm.icmp "ne" %doorbell, %null : !llvm.ptr
  cf.cond_br %stays, ^await(%one : i64), ^once

^once:
  %only_code = func.call @ark_iterate(%context, %lane) : (!llvm.ptr, i64) -> i32
  cf.br ^finish(%only_code : i32)

^await(%run: i64):
  %starts_now = func.call @ark_await_doorbell(%context, %doorbell, %run)
      : (!llvm.ptr, !llvm.ptr, i64) -> i1
  cf.cond_br %starts_now, ^look, ^finish(%good : i32)

^look:
  %iterations_field = llvm.getelementptr %context[kIterations] : (!llvm.ptr) -> !llvm.ptr, i64
  %iterations = llvm.load %iterations_field : !llvm.ptr -> i64
  %closing = arith.cmpi eq, %iterations, %zero : i64
  cf.cond_br %closing, ^finish(%good : i32), ^run

^run:
  %code = func.call @ark_iterate(%context, %lane) : (!llvm.ptr, i64) -> i32
  %failed = arith.cmpi ne, %code, %good : i32
  cf.cond_br %failed, ^finish(%code : i32), ^answer

^answer:
  // After this increment the lane reads no data of this run, and the host may prepare the next run.
  %answers = llvm.getelementptr %doorbell[kDoorbellAnswers] : (!llvm.ptr) -> !llvm.ptr, i64
  %old = llvm.atomicrmw add %answers, %one release : !llvm.ptr, i64
  %next_run = arith.addi %run, %one : i64
  cf.br ^await(%next_run : i64)

^finish(%result: i32):
  return %result : i32
}

// Waits without a timeout until the host starts run number `run`. Returns true if the run starts,
// and false after an abort.
func.func private @ark_await_doorbell(%context: !llvm.ptr, %doorbell: !llvm.ptr, %run: i64) -> i1 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %spins = arith.constant 50 : i64
  %forever = arith.constant 0x7fffffffffffffff : i64
  %yes = arith.constant true
  %no = arith.constant false
  %report_field = llvm.getelementptr %context[kReport] : (!llvm.ptr) -> !llvm.ptr, i64
  %report = llvm.load %report_field : !llvm.ptr -> !llvm.ptr
  %start = func.call @ark_now() : () -> i64
  cf.br ^poll(%zero : i64)

^poll(%count: i64):
  %started = llvm.load %doorbell atomic acquire {alignment = 8 : i64} : !llvm.ptr -> i64
  %starts_now = arith.cmpi uge, %started, %run : i64
  cf.cond_br %starts_now, ^finish(%yes : i1), ^abort

^abort:
  %abort = llvm.load %report atomic monotonic {alignment = 8 : i64} : !llvm.ptr -> i64
  %aborted = arith.cmpi ne, %abort, %zero : i64
  cf.cond_br %aborted, ^finish(%no : i1), ^rest

^rest:
  %next_count = arith.addi %count, %one : i64
  %spin = arith.cmpi ult, %next_count, %spins : i64
  cf.cond_br %spin, ^pause, ^yield

^pause:
  func.call @ark_pause() : () -> ()
  cf.br ^poll(%next_count : i64)

^yield:
  %now = func.call @ark_now() : () -> i64
  %waited = arith.subi %now, %start : i64
  func.call @ark_back_off(%waited, %forever) : (i64, i64) -> ()
  cf.br ^poll(%next_count : i64)

^finish(%came: i1):
  return %came : i1
}

//===----------------------------------------------------------------------===//
// Dispatch loop
//===----------------------------------------------------------------------===//

// Executes the iterations of one run. Returns 0, or the code of the abort.
func.func private @ark_iterate(%context: !llvm.ptr, %lane: i64) -> i32 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %stamps = arith.constant kTraceWords : i64
  %lane_fields = arith.constant kLaneFields : i64
  %instruction_fields = arith.constant kInstructionFields : i64
  %good = arith.constant 0 : i32

  %instructions_field = llvm.getelementptr %context[kInstructions] : (!llvm.ptr) -> !llvm.ptr, i64
  %instructions = llvm.load %instructions_field : !llvm.ptr -> !llvm.ptr
  %lanes_field = llvm.getelementptr %context[kLanes] : (!llvm.ptr) -> !llvm.ptr, i64
  %lanes = llvm.load %lanes_field : !llvm.ptr -> !llvm.ptr
  %report_field = llvm.getelementptr %context[kReport] : (!llvm.ptr) -> !llvm.ptr, i64
  %report = llvm.load %report_field : !llvm.ptr -> !llvm.ptr
  %stop_field = llvm.getelementptr %report[kReportStop] : (!llvm.ptr) -> !llvm.ptr, i64
  %launch_epoch_field = llvm.getelementptr %context[kEpoch] : (!llvm.ptr) -> !llvm.ptr, i64
  %launch_epoch = llvm.load %launch_epoch_field : !llvm.ptr -> i64
  %iterations_field = llvm.getelementptr %context[kIterations] : (!llvm.ptr) -> !llvm.ptr, i64
  %iterations = llvm.load %iterations_field : !llvm.ptr -> i64

  %status_field = llvm.getelementptr %context[kStatus] : (!llvm.ptr) -> !llvm.ptr, i64
  %status = llvm.load %status_field : !llvm.ptr -> !llvm.ptr
  %epoch_word = llvm.getelementptr %status[kStatusEpoch] : (!llvm.ptr) -> !llvm.ptr, i64

  %lane_offset = arith.muli %lane, %lane_fields : i64
  %lane_entry = llvm.getelementptr %lanes[%lane_offset] : (!llvm.ptr, i64) -> !llvm.ptr, i32
  %first_field = llvm.getelementptr %lane_entry[kLaneBegin] : (!llvm.ptr) -> !llvm.ptr, i32
  %first_i32 = llvm.load %first_field : !llvm.ptr -> i32
  %first = arith.extsi %first_i32 : i32 to i64
  %last_field = llvm.getelementptr %lane_entry[kLaneEnd] : (!llvm.ptr) -> !llvm.ptr, i32
  %last_i32 = llvm.load %last_field : !llvm.ptr -> i32
  %last = arith.extsi %last_i32 : i32 to i64
  cf.br ^iteration(%zero : i64)

^iteration(%iteration: i64):
  %more_iterations = arith.cmpi ult, %iteration, %iterations : i64
  %next_iteration = arith.addi %iteration, %one : i64
  cf.cond_br %more_iterations, ^look, ^finish(%good : i32)

^look:
  // The word `stop` holds the number of iterations after which to end. A lane that reads the word
  // late, when another lane has already set it in this iteration, hence still executes this
  // iteration.
  %stop = llvm.load %stop_field atomic monotonic {alignment = 8 : i64} : !llvm.ptr -> i64
  %endless = arith.cmpi eq, %stop, %zero : i64
  %earlier = arith.cmpi ult, %iteration, %stop : i64
  %goes_on = arith.ori %endless, %earlier : i1
  cf.cond_br %goes_on, ^begin, ^finish(%good : i32)

^begin:
  // By the end of this iteration, a semaphore has counted its arrivals per iteration times the
  // epoch.
  %epoch = arith.addi %launch_epoch, %next_iteration : i64
  // All lanes store the same value, because the barrier between iterations keeps lanes in the same
  // iteration.
  llvm.store %epoch, %epoch_word atomic monotonic {alignment = 8 : i64} : i64, !llvm.ptr
  // Every iteration overwrites the previous record, since any iteration may be the last.
  %record = func.call @ark_traced() : () -> i1
  cf.br ^instruction(%first : i64)

^instruction(%index: i64):
  %more_instructions = arith.cmpi slt, %index, %last : i64
  cf.cond_br %more_instructions, ^check, ^iteration(%next_iteration : i64)

^check:
  %abort = llvm.load %report atomic monotonic {alignment = 8 : i64} : !llvm.ptr -> i64
  %aborted = arith.cmpi ne, %abort, %zero : i64
  %abort_code = arith.trunci %abort : i64 to i32
  cf.cond_br %aborted, ^finish(%abort_code : i32), ^fetch

^fetch:
  %entry_offset = arith.muli %index, %instruction_fields : i64
  %entry = llvm.getelementptr %instructions[%entry_offset] : (!llvm.ptr, i64) -> !llvm.ptr, i32
  %opcode = llvm.load %entry : !llvm.ptr -> i32
  %a_field = llvm.getelementptr %entry[kInstructionA] : (!llvm.ptr) -> !llvm.ptr, i32
  %a_i32 = llvm.load %a_field : !llvm.ptr -> i32
  %a = arith.extsi %a_i32 : i32 to i64
  %b_field = llvm.getelementptr %entry[kInstructionB] : (!llvm.ptr) -> !llvm.ptr, i32
  %b_i32 = llvm.load %b_field : !llvm.ptr -> i32
  %b = arith.extsi %b_i32 : i32 to i64
  %c_field = llvm.getelementptr %entry[kInstructionC] : (!llvm.ptr) -> !llvm.ptr, i32
  %c_i32 = llvm.load %c_field : !llvm.ptr -> i32
  %c = arith.extsi %c_i32 : i32 to i64
  %begin_stamp = arith.muli %index, %stamps : i64
  func.call @ark_record_time(%context, %record, %begin_stamp) : (!llvm.ptr, i1, i64) -> ()
  // Unknown opcodes are hints (prefetch, or a hint of a later version) and are skipped.
  cf.switch %opcode : i32, [
    default: ^step,
    kOpcodeRun: ^run,
    kOpcodeSignal: ^signal,
    kOpcodeWait: ^wait,
    kOpcodeBarrier: ^barrier,
    kOpcodeStop: ^stop
  ]

^run:
  func.call @ark_execute_work_item(%context, %a, %b, %c) : (!llvm.ptr, i64, i64, i64) -> ()
  cf.br ^step

^signal:
  // The packets of a semaphore of kind `packet` are the signal.
  %has_packets = arith.cmpi ne, %c, %zero : i64
  cf.cond_br %has_packets, ^step, ^count

^count:
  func.call @ark_signal(%context, %a) : (!llvm.ptr, i64) -> ()
  cf.br ^step

^stop:
  func.call @ark_stop(%context, %stop_field, %a, %next_iteration)
      : (!llvm.ptr, !llvm.ptr, i64, i64) -> ()
  cf.br ^step

^barrier:
  func.call @ark_signal(%context, %a) : (!llvm.ptr, i64) -> ()
  cf.br ^wait

^wait:
  %is_counted = arith.cmpi eq, %c, %zero : i64
  cf.cond_br %is_counted, ^wait_counter, ^wait_packets

^wait_counter:
  %target = arith.muli %epoch, %b : i64
  %counter = func.call @ark_counter(%context, %a) : (!llvm.ptr, i64) -> !llvm.ptr
  %counter_code = func.call @ark_wait(%context, %lane, %index, %a, %counter, %zero, %target,
                                      %target, %zero)
      : (!llvm.ptr, i64, i64, i64, !llvm.ptr, i64, i64, i64, i64) -> i32
  cf.br ^waited(%counter_code : i32)

^wait_packets:
  %packets_code = func.call @ark_wait_packets(%context, %lane, %index, %a, %b, %c, %epoch)
      : (!llvm.ptr, i64, i64, i64, i64, i64, i64) -> i32
  cf.br ^waited(%packets_code : i32)

^waited(%code: i32):
  %failed = arith.cmpi ne, %code, %good : i32
  cf.cond_br %failed, ^finish(%code : i32), ^step

^step:
  %end_stamp = arith.addi %begin_stamp, %one : i64
  func.call @ark_record_time(%context, %record, %end_stamp) : (!llvm.ptr, i1, i64) -> ()
  %next_index = arith.addi %index, %one : i64
  cf.br ^instruction(%next_index : i64)

^finish(%result: i32):
  return %result : i32
}

//===----------------------------------------------------------------------===//
// End of a launch
//===----------------------------------------------------------------------===//

// Makes this iteration the last iteration if the word in a buffer is not zero. The barrier at the
// end of the iteration makes the change visible to all lanes before they read the word `stop`.
func.func private @ark_stop(%context: !llvm.ptr, %stop: !llvm.ptr, %slot: i64, %iterations: i64) {
  %zero = arith.constant 0 : i32
  %buffers = llvm.load %context : !llvm.ptr -> !llvm.ptr
  %buffer_field = llvm.getelementptr %buffers[%slot] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %buffer = llvm.load %buffer_field : !llvm.ptr -> !llvm.ptr
  %flag = llvm.load %buffer : !llvm.ptr -> i32
  %set = arith.cmpi ne, %flag, %zero : i32
  cf.cond_br %set, ^claim, ^finish

^claim:
  llvm.store %iterations, %stop atomic monotonic {alignment = 8 : i64} : i64, !llvm.ptr
  cf.br ^finish

^finish:
  return
}

//===----------------------------------------------------------------------===//
// Traces and data errors
//===----------------------------------------------------------------------===//

// Writes the time to a word of the trace if `record` is set and the host provides a trace buffer.
func.func private @ark_record_time(%context: !llvm.ptr, %record: i1, %word: i64) {
  cf.cond_br %record, ^look, ^finish

^look:
  %null = llvm.mlir.zero : !llvm.ptr
  %field = llvm.getelementptr %context[kTrace] : (!llvm.ptr) -> !llvm.ptr, i64
  %trace = llvm.load %field : !llvm.ptr -> !llvm.ptr
  %present = llvm.icmp "ne" %trace, %null : !llvm.ptr
  cf.cond_br %present, ^write, ^finish

^write:
  %now = func.call @ark_now() : () -> i64
  %pointer = llvm.getelementptr %trace[%word] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  llvm.store %now, %pointer : i64, !llvm.ptr
  cf.br ^finish

^finish:
  return
}

// Records an index outside [0, bound), unless an index has been recorded before. The last operand
// has the number of the task in its lower half. The upper half has the number of the sequence that
// the index belongs to, plus one, or zero if the op has no sequences.
func.func private @ark_report_index(%status: memref<4xi64>, %index: index, %bound: index,
                                    %task_and_sequence: index) {
  %none = arith.constant kErrorNone : i64
  %out_of_range = arith.constant kErrorIndex : i64
  %index_field = arith.constant kStatusIndex : index
  %bound_field = arith.constant kStatusBound : index
  %task_field = arith.constant kStatusTask : index
  %address = memref.extract_aligned_pointer_as_index %status : memref<4xi64> -> index
  %address_i64 = arith.index_cast %address : index to i64
  %code = llvm.inttoptr %address_i64 : i64 to !llvm.ptr
  %exchange = llvm.cmpxchg %code, %none, %out_of_range acq_rel monotonic : !llvm.ptr, i64
  %first = llvm.extractvalue %exchange[1] : !llvm.struct<(i64, i1)>
  cf.cond_br %first, ^record, ^finish

^record:
  %index_i64 = arith.index_cast %index : index to i64
  memref.store %index_i64, %status[%index_field] : memref<4xi64>
  %bound_i64 = arith.index_cast %bound : index to i64
  memref.store %bound_i64, %status[%bound_field] : memref<4xi64>
  %task_i64 = arith.index_cast %task_and_sequence : index to i64
  memref.store %task_i64, %status[%task_field] : memref<4xi64>
  cf.br ^finish

^finish:
  return
}
