// Persistent kernel of a GPU: the part that is the same for every program.
//
// All threads of a CTA execute the instructions of one lane together. Thread 0, the leader,
// signals, waits and reports for the CTA. ark-build-kernel adds this text and the text of the
// backend, which defines the primitives that this text only declares. KernelAbi.def defines the
// constants, such as kReport; docs/bundle.md describes the records.

// Callbacks. Each is empty unless a pass of the target stage makes it call one function.
//
// Called by all threads, in this order, when a lane begins to execute `iterations` iterations.
func.func private @ark_begin_tensor_maps(%context: !llvm.ptr, %lane: i64, %iterations: i64) {
  return
}
func.func private @ark_begin_packets(%context: !llvm.ptr, %lane: i64, %iterations: i64) {
  return
}
func.func private @ark_begin_stream(%context: !llvm.ptr, %lane: i64, %iterations: i64) {
  return
}
// Called by all threads when the lane ends.
func.func private @ark_end_stream() {
  return
}
// Called by the leader before and after a wait.
func.func private @ark_begin_wait() {
  return
}
func.func private @ark_end_wait() {
  return
}
// Called by all other threads while the leader waits.
func.func private @ark_idle() {
  return
}
// Called by all threads when a work item has ended.
func.func private @ark_end_work_item() {
  return
}

// Called by all threads before the lane waits. `left` is the number of instructions of the lane
// after the wait, which end at index `last`; `has_next` is false if `left` is zero.
func.func private @ark_prefetch_ahead(%context: !llvm.ptr, %last: i64, %left: i64,
                                      %has_next: i1) {
  return
}

// Callbacks of bodies that poll for task packets. All threads call the first one before a barrier
// when an iteration begins, and the second one when a work item begins.
func.func private @ark_begin_iteration(%epoch: i32) {
  return
}
func.func private @ark_begin_work_item(%left: i64) {
  return
}

// Functions of LocalRanks.mlir or GpuPeerRanks.mlir. @ark_lane_number returns the index of a lane
// among the lanes of all ranks. @ark_load_stop returns the number of iterations after which the
// launch ends, or zero. @ark_store_stop stores this number for the GPU at `distance`.
// @ark_signal_index returns the index of a counter in fields A and B of a signal.
func.func private @ark_lane_number(%context: !llvm.ptr, %lane: i64) -> i64
func.func private @ark_signal_index(%a: i64, %b: i32) -> i64
func.func private @ark_load_stop(%context: !llvm.ptr, %report: !llvm.ptr) -> i64
func.func private @ark_store_stop(%context: !llvm.ptr, %distance: i32, %iterations: i64)

// Semaphores, defined in GpuSemaphores.mlir.
func.func private @ark_signal(%context: !llvm.ptr, %semaphore: i64)
func.func private @ark_wait(%context: !llvm.ptr, %left: i64, %semaphore: i64,
                            %target: i32) -> i32

// Executes vCTAs [begin, end) of a task. The indices have 32 bits, because they stay in registers
// throughout the bodies.
func.func private @ark_execute_work_item(%context: !llvm.ptr, %task: i32, %begin: i32, %end: i32)
// Returns true if this kernel can record the times of its instructions.
func.func private @ark_traced() -> i1

// Primitives of the backend. Loads of words that several SMs write bypass the L1.
func.func private @ark_load_relaxed(%word: !llvm.ptr) -> i64
// Changes a word from zero to `code`. Returns true if the word was zero.
func.func private @ark_set_if_zero(%word: !llvm.ptr, %code: i64) -> i1
// Returns the nanoseconds of a clock that all SMs share.
func.func private @ark_now() -> i64
// Returns the index of the lane. The index is read again: an index kept from earlier would occupy a
// register through all bodies.
func.func private @ark_lane() -> i64
// State of the dispatch loop in shared memory: the epoch. The leader writes it.
func.func private @ark_dispatch_state() -> !llvm.ptr<3>
// Returns `number`, which must be equal in all threads of a warp, in a form that the compiler
// recognises as uniform.
func.func private @ark_uniform(%number: i32) -> i32
// Barrier of the CTA. Returns true if the predicate holds in any thread.
func.func private @ark_any(%predicate: i1) -> i1

//===----------------------------------------------------------------------===//
// Dispatch loop
//===----------------------------------------------------------------------===//

// Bodies need the registers, so few values stay live across a work item: the epoch lies in shared
// memory, values needed once per iteration are loaded again, and only the number of instructions
// left stays in a register.
func.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %zero_i32 = arith.constant 0 : i32
  %one_i32 = arith.constant 1 : i32
  %stamps = arith.constant kTraceWords : i64
  %good = arith.constant 0 : i32

  %launch_epoch_field = llvm.getelementptr %context[kEpoch] : (!llvm.ptr) -> !llvm.ptr, i64
  %iterations_field = llvm.getelementptr %context[kIterations] : (!llvm.ptr) -> !llvm.ptr, i64

  %first, %end = func.call @ark_lane_instructions(%context, %lane)
      : (!llvm.ptr, i64) -> (i32, i32)
  %all_iterations = llvm.load %iterations_field : !llvm.ptr -> i64
  %number = func.call @ark_lane_number(%context, %lane) : (!llvm.ptr, i64) -> i64
  // Scratch of tensor maps may overlap the state of packets, so tensor maps come first. They belong
  // to the CTA: the kernel of each GPU has maps of its own, from its first CTA on.
  func.call @ark_begin_tensor_maps(%context, %lane, %all_iterations)
      : (!llvm.ptr, i64, i64) -> ()
  func.call @ark_begin_packets(%context, %number, %all_iterations) : (!llvm.ptr, i64, i64) -> ()
  func.call @ark_begin_stream(%context, %number, %all_iterations) : (!llvm.ptr, i64, i64) -> ()
  %launch_epoch_i64 = llvm.load %launch_epoch_field : !llvm.ptr -> i64
  %launch_epoch = arith.trunci %launch_epoch_i64 : i64 to i32
  %first_epoch = arith.addi %launch_epoch, %one_i32 : i32
  %empty = arith.cmpi eq, %first, %end : i32
  cf.cond_br %empty, ^finish(%good : i32), ^iteration(%first_epoch : i32)

// The argument is the epoch, the number of this iteration since the semaphores were zeroed: by the
// end of the iteration, a semaphore has counted its arrivals per iteration times the epoch. The
// lower 32 bits of the epoch suffice, because a launch has fewer iterations than they can count.
^iteration(%epoch: i32):
  %launch_epoch_again_i64 = llvm.load %launch_epoch_field : !llvm.ptr -> i64
  %iterations = llvm.load %iterations_field : !llvm.ptr -> i64
  %launch_epoch_again = arith.trunci %launch_epoch_again_i64 : i64 to i32
  %ended_i32 = arith.subi %epoch, %launch_epoch_again : i32
  %iteration_i32 = arith.subi %ended_i32, %one_i32 : i32
  %iteration = arith.extui %iteration_i32 : i32 to i64
  %more_iterations = arith.cmpi ult, %iteration, %iterations : i64
  cf.cond_br %more_iterations, ^look, ^finish(%good : i32)

^look:
  // The word `stop` holds the number of iterations after which to end. A lane that reads the word
  // late, when another lane has already set it in this iteration, hence still executes this
  // iteration.
  %report_field = llvm.getelementptr %context[kReport] : (!llvm.ptr) -> !llvm.ptr, i64
  %report = llvm.load %report_field : !llvm.ptr -> !llvm.ptr
  %stop = func.call @ark_load_stop(%context, %report) : (!llvm.ptr, !llvm.ptr) -> i64
  %endless = arith.cmpi eq, %stop, %zero : i64
  %earlier = arith.cmpi ult, %iteration, %stop : i64
  %goes_on = arith.ori %endless, %earlier : i1
  cf.cond_br %goes_on, ^check, ^finish(%good : i32)

^check:
  func.call @ark_begin_iteration(%epoch) : (i32) -> ()
  // Threads may read different values of this word, and must take the same branch.
  %abort = func.call @ark_load_relaxed(%report) : (!llvm.ptr) -> i64
  %sees_abort = arith.cmpi ne, %abort, %zero : i64
  // After this barrier all threads have read the previous epoch, which @ark_set_epoch may
  // overwrite.
  %aborted = func.call @ark_any(%sees_abort) : (i1) -> i1
  %abort_code = arith.trunci %abort : i64 to i32
  // A lane that finds the timeout of a wait before its first iteration has begun late: the GPU had
  // no room for it.
  %hang = arith.constant kAbortHang : i64
  %late = arith.constant kCodeLate : i32
  %hangs = arith.cmpi eq, %abort, %hang : i64
  %is_first = arith.cmpi eq, %iteration, %zero : i64
  %is_late = arith.andi %hangs, %is_first : i1
  %end_code = arith.select %is_late, %late, %abort_code : i32
  cf.cond_br %aborted, ^finish(%end_code : i32), ^begin

^begin:
  func.call @ark_set_epoch(%epoch) : (i32) -> ()
  gpu.barrier
  // Every iteration overwrites the previous record, since any iteration may be the last.
  %record = func.call @ark_traced() : () -> i1
  %same_lane = func.call @ark_lane() : () -> i64
  %own_first, %own_last = func.call @ark_lane_instructions(%context, %same_lane)
      : (!llvm.ptr, i64) -> (i32, i32)
  %own_length = arith.subi %own_last, %own_first : i32
  %last = arith.extui %own_last : i32 to i64
  cf.br ^instruction(%own_length : i32)

// The argument is the number of instructions left in the lane.
^instruction(%left_i32: i32):
  %left = arith.extui %left_i32 : i32 to i64
  %index = arith.subi %last, %left : i64
  %fields = func.call @ark_instruction(%context, %last, %left)
      : (!llvm.ptr, i64, i64) -> vector<4xi32>
  %field_0 = vector.extract %fields[kInstructionOpcode] : i32 from vector<4xi32>
  %opcode = func.call @ark_uniform(%field_0) : (i32) -> i32
  %field_1 = vector.extract %fields[kInstructionA] : i32 from vector<4xi32>
  %a_i32 = func.call @ark_uniform(%field_1) : (i32) -> i32
  %a = arith.extsi %a_i32 : i32 to i64
  %field_2 = vector.extract %fields[kInstructionB] : i32 from vector<4xi32>
  %b_i32 = func.call @ark_uniform(%field_2) : (i32) -> i32
  %field_3 = vector.extract %fields[kInstructionC] : i32 from vector<4xi32>
  %c_i32 = func.call @ark_uniform(%field_3) : (i32) -> i32
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
  func.call @ark_begin_work_item(%left) : (i64) -> ()
  func.call @ark_execute_work_item(%context, %a_i32, %b_i32, %c_i32)
      : (!llvm.ptr, i32, i32, i32) -> ()
  func.call @ark_end_work_item() : () -> ()
  cf.br ^step

^signal:
  %counter = func.call @ark_signal_index(%a, %b_i32) : (i64, i32) -> i64
  func.call @ark_signal(%context, %counter) : (!llvm.ptr, i64) -> ()
  cf.br ^step

^stop:
  %same_launch_epoch_i64 = llvm.load %launch_epoch_field : !llvm.ptr -> i64
  %same_launch_epoch = arith.trunci %same_launch_epoch_i64 : i64 to i32
  %this_epoch = func.call @ark_current_epoch() : () -> i32
  %ended_again_i32 = arith.subi %this_epoch, %same_launch_epoch : i32
  %ended_iterations = arith.extui %ended_again_i32 : i32 to i64
  func.call @ark_stop(%context, %a, %b_i32, %ended_iterations)
      : (!llvm.ptr, i64, i32, i64) -> ()
  cf.br ^step

^barrier:
  func.call @ark_signal(%context, %a) : (!llvm.ptr, i64) -> ()
  cf.br ^wait

^wait:
  %left_after = arith.subi %left, %one : i64
  %has_next = arith.cmpi ne, %left_after, %zero : i64
  func.call @ark_prefetch_ahead(%context, %last, %left_after, %has_next)
      : (!llvm.ptr, i64, i64, i1) -> ()
  %epochs = func.call @ark_current_epoch() : () -> i32
  %target = arith.muli %epochs, %b_i32 : i32
  %code = func.call @ark_wait(%context, %left, %a, %target)
      : (!llvm.ptr, i64, i64, i32) -> i32
  %failed = arith.cmpi ne, %code, %good : i32
  cf.cond_br %failed, ^finish(%code : i32), ^step

^step:
  %end_stamp = arith.addi %begin_stamp, %one : i64
  func.call @ark_record_time(%context, %record, %end_stamp) : (!llvm.ptr, i1, i64) -> ()
  %left_now = arith.subi %left_i32, %one_i32 : i32
  %more_instructions = arith.cmpi ne, %left_now, %zero_i32 : i32
  cf.cond_br %more_instructions, ^instruction(%left_now : i32), ^next

^next:
  %ended_epoch = func.call @ark_current_epoch() : () -> i32
  %next_epoch = arith.addi %ended_epoch, %one_i32 : i32
  cf.br ^iteration(%next_epoch : i32)

^finish(%result: i32):
  func.call @ark_end_stream() : () -> ()
  return %result : i32
}

func.func private @ark_is_leader() -> i1 {
  %zero = arith.constant 0 : index
  %thread = gpu.thread_id x
  %leads = arith.cmpi eq, %thread, %zero : index
  return %leads : i1
}

// Returns the index of a lane's first instruction, and the index after its last instruction.
func.func private @ark_lane_instructions(%context: !llvm.ptr, %lane: i64) -> (i32, i32) {
  %lane_fields = arith.constant kLaneFields : i64
  %lanes_field = llvm.getelementptr %context[kLanes] : (!llvm.ptr) -> !llvm.ptr, i64
  %lanes = llvm.load %lanes_field : !llvm.ptr -> !llvm.ptr
  %lane_offset = arith.muli %lane, %lane_fields : i64
  %lane_entry = llvm.getelementptr %lanes[%lane_offset] : (!llvm.ptr, i64) -> !llvm.ptr, i32
  %first_field = llvm.getelementptr %lane_entry[kLaneBegin] : (!llvm.ptr) -> !llvm.ptr, i32
  %first_loaded = llvm.load %first_field : !llvm.ptr -> i32
  %first = func.call @ark_uniform(%first_loaded) : (i32) -> i32
  %last_field = llvm.getelementptr %lane_entry[kLaneEnd] : (!llvm.ptr) -> !llvm.ptr, i32
  %last_loaded = llvm.load %last_field : !llvm.ptr -> i32
  %last = func.call @ark_uniform(%last_loaded) : (i32) -> i32
  return %first, %last : i32, i32
}

func.func private @ark_current_epoch() -> i32 {
  %pointer = func.call @ark_dispatch_state() : () -> !llvm.ptr<3>
  %epoch = llvm.load %pointer : !llvm.ptr<3> -> i32
  return %epoch : i32
}

// Called by all threads between barriers.
func.func private @ark_set_epoch(%epoch: i32) {
  %leads = func.call @ark_is_leader() : () -> i1
  cf.cond_br %leads, ^store, ^finish

^store:
  %pointer = func.call @ark_dispatch_state() : () -> !llvm.ptr<3>
  llvm.store %epoch, %pointer : i32, !llvm.ptr<3>
  cf.br ^finish

^finish:
  return
}

// Returns the instruction of a lane that is `left` before the end `last` of its instructions. Like
// the functions of KernelTables.mlir, this function gets another body if ark-cache-tables caches
// its table.
func.func private @ark_instruction(%context: !llvm.ptr, %last: i64, %left: i64) -> vector<4xi32> {
  %size = arith.constant kInstructionFields : i64
  %index = arith.subi %last, %left : i64
  %field = llvm.getelementptr %context[kInstructions] : (!llvm.ptr) -> !llvm.ptr, i64
  %instructions = llvm.load %field : !llvm.ptr -> !llvm.ptr
  %offset = arith.muli %index, %size : i64
  %entry = llvm.getelementptr %instructions[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i32
  %fields = llvm.load %entry {alignment = 16 : i64} : !llvm.ptr -> vector<4xi32>
  return %fields : vector<4xi32>
}

//===----------------------------------------------------------------------===//
// End of a launch
//===----------------------------------------------------------------------===//

// Makes this iteration the last iteration if the word in a buffer is not zero. Another thread may
// have written the word: work items and waits, which come before, end with a barrier. The barrier
// at the end of the iteration makes the change visible to all lanes before they read the word
// `stop`.
func.func private @ark_stop(%context: !llvm.ptr, %slot: i64, %distance: i32,
                            %iterations: i64) {
  %zero = arith.constant 0 : i32
  %leads = func.call @ark_is_leader() : () -> i1
  cf.cond_br %leads, ^read, ^finish

^read:
  %buffers = llvm.load %context : !llvm.ptr -> !llvm.ptr
  %buffer_field = llvm.getelementptr %buffers[%slot] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %buffer = llvm.load %buffer_field : !llvm.ptr -> !llvm.ptr
  %flag = llvm.load %buffer : !llvm.ptr -> i32
  %set = arith.cmpi ne, %flag, %zero : i32
  cf.cond_br %set, ^claim, ^finish

^claim:
  func.call @ark_store_stop(%context, %distance, %iterations) : (!llvm.ptr, i32, i64) -> ()
  cf.br ^finish

^finish:
  return
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

// Writes the time to a word of the trace if `record` is set and the host provides a trace buffer.
func.func private @ark_record_time(%context: !llvm.ptr, %record: i1, %word: i64) {
  %leads = func.call @ark_is_leader() : () -> i1
  %records = arith.andi %record, %leads : i1
  cf.cond_br %records, ^look, ^finish

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

//===----------------------------------------------------------------------===//
// Data errors
//===----------------------------------------------------------------------===//

// Records an index outside [0, bound), unless an index has been recorded before. The last operand
// has the number of the task in its lower half. The upper half has the number of the sequence that
// the index belongs to, plus one, or zero if the op has no sequences.
func.func private @ark_report_index(%status: memref<4xi64>, %index: index, %bound: index,
                                    %task_and_sequence: index) {
  %out_of_range = arith.constant kErrorIndex : i64
  %index_field = arith.constant kStatusIndex : index
  %bound_field = arith.constant kStatusBound : index
  %task_field = arith.constant kStatusTask : index
  %address = memref.extract_aligned_pointer_as_index %status : memref<4xi64> -> index
  %address_i64 = arith.index_cast %address : index to i64
  %code = llvm.inttoptr %address_i64 : i64 to !llvm.ptr
  %first = func.call @ark_set_if_zero(%code, %out_of_range) : (!llvm.ptr, i64) -> i1
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
