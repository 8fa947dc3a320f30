// Exchange between ranks in a program of several ranks. The ranks may share one GPU, or have a GPU
// each.
//
// A GPU holds the counters of the semaphores for which its own lanes wait. The counters of
// consecutive GPUs lie kRankCounterWords apart. The index of a semaphore in a signal is therefore
// relative to the signalling GPU: its upper bits, from bit kRankShift on, are the distance to the
// GPU of the counter. If another library or legacy IPC has chosen the addresses of the counters, the
// distance can have more bits than field A of a signal. The index is the signed field A plus 2^32
// times field B.
//
// The last of the counters of a GPU holds the epoch of the iteration that ends a launch. Values
// from earlier launches are smaller than the current epoch, so nothing resets the word. Before the
// last counter, each rank has a word with the first epoch of the last launch that has begun on its
// GPU.

// Functions of CudaPeerStores.mlir or HipPeerStores.mlir, or of CudaDomains.mlir for GPUs of several
// domains.
func.func private @ark_add_remote_arrival(%context: !llvm.ptr, %counter: !llvm.ptr,
                                          %semaphore: i64)
func.func private @ark_store_remote(%context: !llvm.ptr, %word: !llvm.ptr, %value: i64)
func.func private @ark_remote_stop_word(%context: !llvm.ptr, %distance: i64) -> !llvm.ptr
// Returns a word of this GPU that other GPUs write, without ordering other accesses.
func.func private @ark_load_from_peers(%word: !llvm.ptr) -> i64

func.func private @ark_add_release(%word: !llvm.ptr)
func.func private @ark_set_if_zero(%word: !llvm.ptr, %code: i64) -> i1
func.func private @ark_cta_barrier()
func.func private @ark_is_leader_again() -> i1
func.func private @ark_load_relaxed(%word: !llvm.ptr) -> i64
func.func private @ark_now() -> i64

// Returns the index of a lane among the lanes of all ranks. A GPU numbers its own lanes from zero,
// while tables in the code have the lanes of all ranks. The host writes the index to the field of
// the SM in a lane's entry.
//
// Every lane requests its index once, before its first instruction, and gets it when the kernels of
// all ranks have begun. For this reason the dispatch loop has no call that waits for the other
// kernels, and programs of one rank have no such code.
func.func private @ark_lane_number(%context: !llvm.ptr, %lane: i64) -> i64 {
  func.call @ark_sync_ranks(%context, %lane) : (!llvm.ptr, i64) -> ()
  %fields = arith.constant kLaneFields : i64
  %field = llvm.getelementptr %context[kLanes] : (!llvm.ptr) -> !llvm.ptr, i64
  %lanes = llvm.load %field : !llvm.ptr -> !llvm.ptr
  %offset = arith.muli %lane, %fields : i64
  %entry = llvm.getelementptr %lanes[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i32
  %number = llvm.load %entry : !llvm.ptr -> i32
  %number_i64 = arith.extui %number : i32 to i64
  return %number_i64 : i64
}

func.func private @ark_signal_index(%a: i64, %b: i32) -> i64 {
  %bits = arith.constant kUpperShift : i64
  %b_i64 = arith.extsi %b : i32 to i64
  %upper = arith.shli %b_i64, %bits : i64
  %index = arith.addi %a, %upper : i64
  return %index : i64
}

// A release with the scope of the system takes about twice as long as a release with the scope of a
// GPU, so only signals to other GPUs have that scope.
func.func private @ark_add_arrival(%context: !llvm.ptr, %counter: !llvm.ptr, %semaphore: i64) {
  %zero = arith.constant 0 : i64
  %bits = arith.constant kRankShift : i64
  %distance = arith.shrsi %semaphore, %bits : i64
  %is_local = arith.cmpi eq, %distance, %zero : i64
  cf.cond_br %is_local, ^local, ^peer

^local:
  func.call @ark_add_release(%counter) : (!llvm.ptr) -> ()
  cf.br ^finish

^peer:
  func.call @ark_add_remote_arrival(%context, %counter, %semaphore)
      : (!llvm.ptr, !llvm.ptr, i64) -> ()
  cf.br ^finish

^finish:
  return
}

// Returns the word with the last iteration on the GPU at a distance from this GPU.
func.func private @ark_stop_word(%context: !llvm.ptr, %distance: i64) -> !llvm.ptr {
  %words = arith.constant kRankCounterWords : i64
  %before = arith.constant kStopCounterWord : i64
  %field = llvm.getelementptr %context[kSemaphores] : (!llvm.ptr) -> !llvm.ptr, i64
  %counters = llvm.load %field : !llvm.ptr -> !llvm.ptr
  %skipped = arith.muli %distance, %words : i64
  %offset = arith.addi %skipped, %before : i64
  %word = llvm.getelementptr %counters[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  return %word : !llvm.ptr
}

func.func private @ark_launch_epoch(%context: !llvm.ptr) -> i64 {
  %field = llvm.getelementptr %context[kEpoch] : (!llvm.ptr) -> !llvm.ptr, i64
  %epoch = llvm.load %field : !llvm.ptr -> i64
  return %epoch : i64
}

// Returns the word of this GPU that records the first epoch of a rank's last launch that has begun.
func.func private @ark_begun_word(%context: !llvm.ptr, %rank: i64) -> !llvm.ptr {
  %before = arith.constant kBegunWord : i64
  %field = llvm.getelementptr %context[kSemaphores] : (!llvm.ptr) -> !llvm.ptr, i64
  %counters = llvm.load %field : !llvm.ptr -> !llvm.ptr
  %offset = arith.addi %before, %rank : i64
  %word = llvm.getelementptr %counters[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  return %word : !llvm.ptr
}

// Tells all GPUs that this kernel has begun, and waits until all others have begun. A table has the
// address of the word of this rank on each GPU. Until all kernels have begun, no lane executes an
// instruction: a wait of a lane would time out while another kernel is queued, and a state would
// change in a run that the host abandons. After an abort, the lanes end before the first iteration.
// If one launch contains all ranks, there are no other kernels to wait for.
func.func private @ark_sync_ranks(%context: !llvm.ptr, %lane: i64) {
  %one = arith.constant 1 : i64
  %ranks_field = llvm.getelementptr %context[kRanks] : (!llvm.ptr) -> !llvm.ptr, i64
  %ranks = llvm.load %ranks_field : !llvm.ptr -> i64
  %alone = arith.cmpi ule, %ranks, %one : i64
  cf.cond_br %alone, ^finish, ^sync

^sync:
  %leads = func.call @ark_is_leader_again() : () -> i1
  cf.cond_br %leads, ^lead, ^join

^lead:
  func.call @ark_sync_ranks_as_leader(%context, %lane, %ranks) : (!llvm.ptr, i64, i64) -> ()
  cf.br ^join

^join:
  func.call @ark_cta_barrier() : () -> ()
  cf.br ^finish

^finish:
  return
}

func.func private @ark_sync_ranks_as_leader(%context: !llvm.ptr, %lane: i64, %ranks: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %limit_factor = arith.constant kBeginLimitFactor : i64
  %missing_rank = arith.constant kAbortPeers : i64
  %table_field = llvm.getelementptr %context[kBegun] : (!llvm.ptr) -> !llvm.ptr, i64
  %table = llvm.load %table_field : !llvm.ptr -> !llvm.ptr
  %report_field = llvm.getelementptr %context[kReport] : (!llvm.ptr) -> !llvm.ptr, i64
  %report = llvm.load %report_field : !llvm.ptr -> !llvm.ptr
  %timeout_field = llvm.getelementptr %context[kTimeout] : (!llvm.ptr) -> !llvm.ptr, i64
  %timeout = llvm.load %timeout_field : !llvm.ptr -> i64
  %limit = arith.muli %timeout, %limit_factor : i64
  %epoch = func.call @ark_launch_epoch(%context) : (!llvm.ptr) -> i64
  %iteration = arith.addi %epoch, %one : i64
  %begin = func.call @ark_now() : () -> i64
  %is_first = arith.cmpi eq, %lane, %zero : i64
  cf.cond_br %is_first, ^tell(%zero : i64), ^await(%zero : i64)

^tell(%told: i64):
  %entry = llvm.getelementptr %table[%told] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %remote = llvm.load %entry : !llvm.ptr -> !llvm.ptr
  func.call @ark_store_remote(%context, %remote, %iteration) : (!llvm.ptr, !llvm.ptr, i64) -> ()
  %next_told = arith.addi %told, %one : i64
  %more_to_tell = arith.cmpi ult, %next_told, %ranks : i64
  cf.cond_br %more_to_tell, ^tell(%next_told : i64), ^await(%zero : i64)

^await(%rank: i64):
  %word = func.call @ark_begun_word(%context, %rank) : (!llvm.ptr, i64) -> !llvm.ptr
  %seen = func.call @ark_load_from_peers(%word) : (!llvm.ptr) -> i64
  %begun = arith.cmpi uge, %seen, %iteration : i64
  cf.cond_br %begun, ^pass, ^look

^pass:
  %next = arith.addi %rank, %one : i64
  %more = arith.cmpi ult, %next, %ranks : i64
  cf.cond_br %more, ^await(%next : i64), ^finish

^look:
  %abort = func.call @ark_load_relaxed(%report) : (!llvm.ptr) -> i64
  %aborted = arith.cmpi ne, %abort, %zero : i64
  cf.cond_br %aborted, ^finish, ^deadline

^deadline:
  %now = func.call @ark_now() : () -> i64
  %waited = arith.subi %now, %begin : i64
  %late = arith.cmpi ugt, %waited, %limit : i64
  cf.cond_br %late, ^give_up, ^await(%rank : i64)

^give_up:
  %is_reporter = func.call @ark_set_if_zero(%report, %missing_rank) : (!llvm.ptr, i64) -> i1
  cf.cond_br %is_reporter, ^report, ^finish

^report:
  %seen_field = llvm.getelementptr %report[kReportSeen] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %rank, %seen_field : i64, !llvm.ptr
  cf.br ^finish

^finish:
  return
}

func.func private @ark_load_stop(%context: !llvm.ptr, %report: !llvm.ptr) -> i64 {
  %zero = arith.constant 0 : i64
  %word = func.call @ark_stop_word(%context, %zero) : (!llvm.ptr, i64) -> !llvm.ptr
  %last = func.call @ark_load_from_peers(%word) : (!llvm.ptr) -> i64
  %epoch = func.call @ark_launch_epoch(%context) : (!llvm.ptr) -> i64
  %iterations = arith.subi %last, %epoch : i64
  %is_of_this_launch = arith.cmpi ugt, %last, %epoch : i64
  %stop = arith.select %is_of_this_launch, %iterations, %zero : i64
  return %stop : i64
}

// The host reads the number in the report of this GPU.
func.func private @ark_store_stop(%context: !llvm.ptr, %distance: i32, %iterations: i64) {
  %distance_i64 = arith.extsi %distance : i32 to i64
  %word = func.call @ark_remote_stop_word(%context, %distance_i64) : (!llvm.ptr, i64) -> !llvm.ptr
  %epoch = func.call @ark_launch_epoch(%context) : (!llvm.ptr) -> i64
  %last = arith.addi %epoch, %iterations : i64
  func.call @ark_store_remote(%context, %word, %last) : (!llvm.ptr, !llvm.ptr, i64) -> ()
  %report_field = llvm.getelementptr %context[kReport] : (!llvm.ptr) -> !llvm.ptr, i64
  %report = llvm.load %report_field : !llvm.ptr -> !llvm.ptr
  %stop = llvm.getelementptr %report[kReportStop] : (!llvm.ptr) -> !llvm.ptr, i64
  %first = func.call @ark_set_if_zero(%stop, %iterations) : (!llvm.ptr, i64) -> i1
  return
}
