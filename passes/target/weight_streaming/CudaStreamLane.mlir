// Handling of rings when a lane begins, waits and ends. CudaRing.mlir defines the rings,
// CudaStream.mlir the functions that read them.

func.func private @ark_stream_request()
func.func private @ark_stream_prefetch_beyond() -> i1
func.func private @ark_stream_can_request() -> i1
func.func private @ark_stream_depth() -> i32
func.func private @ark_stream_first_segment() -> i64
func.func private @ark_stream_get(%field: i32) -> i32
func.func private @ark_stream_lane() -> !llvm.ptr<3>
func.func private @ark_stream_is_warp_leader() -> i1
func.func private @ark_stream_request_interval() -> i32
func.func private @ark_stream_seek(%segment: i32)
func.func private @ark_stream_segments() -> !llvm.ptr<1>
func.func private @ark_stream_set(%field: i32, %value: i32)
func.func private @ark_stream_slot(%number: i32) -> (i32, !llvm.ptr<3>, i32)
func.func private @ark_stream_table() -> !llvm.ptr<3>
func.func private @ark_stream_warp() -> i32
func.func private @ark_sync_warp()

// Called by all threads when a lane begins to execute `iterations` iterations.
func.func private @ark_stream_begin(%context: !llvm.ptr, %lane: i64, %iterations: i64) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %one_i64 = arith.constant 1 : i64
  %record_words = arith.constant kSegmentRecordWords : i64
  %most = arith.constant 1000000000 : i64
  %threads = arith.constant kStreamThreads : i64
  %thread = gpu.thread_id x
  %thread_i64 = arith.index_cast %thread : index to i64
  %buffers = llvm.load %context : !llvm.ptr -> !llvm.ptr
  %all = func.call @ark_stream_segments() : () -> !llvm.ptr<1>
  %begin_field = llvm.getelementptr %all[%lane] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i64
  %begin = llvm.load %begin_field : !llvm.ptr<1> -> i64
  %end_field = llvm.getelementptr %begin_field[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i64
  %end = llvm.load %end_field : !llvm.ptr<1> -> i64
  %count = arith.subi %end, %begin : i64
  %first_segment = func.call @ark_stream_first_segment() : () -> i64
  %table = func.call @ark_stream_table() : () -> !llvm.ptr<3>
  cf.br ^copy(%thread_i64 : i64)

^copy(%segment: i64):
  %more = arith.cmpi slt, %segment, %count : i64
  cf.cond_br %more, ^segment, ^prepare

^segment:
  %number = arith.addi %begin, %segment : i64
  %words = arith.muli %number, %record_words : i64
  %word = arith.addi %words, %first_segment : i64
  %record = llvm.getelementptr %all[%word] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i64
  %slot = llvm.load %record : !llvm.ptr<1> -> i64
  %offset_field = llvm.getelementptr %record[kSegmentRecordOffset] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i64
  %offset = llvm.load %offset_field : !llvm.ptr<1> -> i64
  %packed_field = llvm.getelementptr %record[kSegmentRecordPacked] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i64
  %packed = llvm.load %packed_field : !llvm.ptr<1> -> i64
  %buffer_field = llvm.getelementptr %buffers[%slot] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %buffer = llvm.load %buffer_field : !llvm.ptr -> i64
  %address = arith.addi %buffer, %offset : i64
  %double = arith.addi %segment, %segment : i64
  %address_field = llvm.getelementptr %table[%double] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i64
  llvm.store %address, %address_field : i64, !llvm.ptr<3>
  %rest_field = llvm.getelementptr %address_field[kSegmentPacked] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
  llvm.store %packed, %rest_field : i64, !llvm.ptr<3>
  %next_segment = arith.addi %segment, %threads : i64
  cf.br ^copy(%next_segment : i64)

^prepare:
  %first = arith.constant 0 : index
  %leader = arith.cmpi eq, %thread, %first : index
  cf.cond_br %leader, ^lane, ^warp

^lane:
  %own = func.call @ark_stream_lane() : () -> !llvm.ptr<3>
  llvm.store %zero, %own : i32, !llvm.ptr<3>
  %count_field = llvm.getelementptr %own[kStreamLaneSegments] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32
  %count_i32 = arith.trunci %count : i64 to i32
  llvm.store %count_i32, %count_field : i32, !llvm.ptr<3>
  cf.br ^warp

^warp:
  gpu.barrier
  %leads = func.call @ark_stream_is_warp_leader() : () -> i1
  cf.cond_br %leads, ^clear(%zero : i32), ^finish

^clear(%field: i32):
  func.call @ark_stream_set(%field, %zero) : (i32, i32) -> ()
  %next_field = arith.addi %field, %one : i32
  %fields = arith.constant kRingWords : i32
  %clears = arith.cmpi ult, %next_field, %fields : i32
  cf.cond_br %clears, ^clear(%next_field : i32), ^slots

^slots:
  %known = arith.minui %iterations, %most : i64
  %others = arith.subi %known, %one_i64 : i64
  %left_iterations = arith.trunci %others : i64 to i32
  %iterations_field = arith.constant kRingIterations : i32
  func.call @ark_stream_set(%iterations_field, %left_iterations) : (i32, i32) -> ()
  cf.br ^barrier(%zero : i32)

^barrier(%at: i32):
  %index, %barrier, %parity = func.call @ark_stream_slot(%at) : (i32) -> (i32, !llvm.ptr<3>, i32)
  nvvm.mbarrier.init %barrier, %one : !llvm.ptr<3>, i32
  %next_at = arith.addi %at, %one : i32
  %depth = func.call @ark_stream_depth() : () -> i32
  %more_slots = arith.cmpi ult, %next_at, %depth : i32
  cf.cond_br %more_slots, ^barrier(%next_at : i32), ^seek

^seek:
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  func.call @ark_stream_seek(%zero) : (i32) -> ()
  cf.br ^finish

^finish:
  func.call @ark_sync_warp() : () -> ()
  return
}

// Called by all threads when the lane ends. Waits for the copies in flight, which must not write to
// shared memory after the CTA has ended. Shared memory exists until all threads have ended, and a
// resident kernel waits for all threads before its next launch. So no barrier is needed.
func.func private @ark_stream_end() {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %read_field = arith.constant kRingRead : i32
  %requested_field = arith.constant kRingRequested : i32
  %leads = func.call @ark_stream_is_warp_leader() : () -> i1
  cf.cond_br %leads, ^begin, ^finish

^begin:
  %read = func.call @ark_stream_get(%read_field) : (i32) -> i32
  %requested = func.call @ark_stream_get(%requested_field) : (i32) -> i32
  cf.br ^at(%read : i32)

^at(%number: i32):
  %is_open = arith.cmpi ne, %number, %requested : i32
  cf.cond_br %is_open, ^wait, ^forget(%zero : i32)

^wait:
  %index, %barrier, %parity = func.call @ark_stream_slot(%number)
      : (i32) -> (i32, !llvm.ptr<3>, i32)
  cf.br ^try

^try:
  %done = nvvm.mbarrier.try_wait %barrier, %parity : !llvm.ptr<3>, i32 -> i1
  %next = arith.addi %number, %one : i32
  cf.cond_br %done, ^at(%next : i32), ^try

^forget(%slot: i32):
  %slot_index, %slot_barrier, %slot_parity = func.call @ark_stream_slot(%slot)
      : (i32) -> (i32, !llvm.ptr<3>, i32)
  nvvm.mbarrier.inval %slot_barrier : !llvm.ptr<3>
  %next_slot = arith.addi %slot, %one : i32
  %depth = func.call @ark_stream_depth() : () -> i32
  %more = arith.cmpi ult, %next_slot, %depth : i32
  cf.cond_br %more, ^forget(%next_slot : i32), ^finish

^finish:
  return
}

// Called by all threads but the leader while the leader waits for a signal. Requests chunks of
// later work items a few at a time, because data in flight delays the signal. The polling of the
// word that the leader increments at the end of its wait is an intended race.
func.func private @ark_stream_during_wait() {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %warps = arith.constant kStreamWarps : i32
  %waits_field = arith.constant kRingWaits : i32
  %leads = func.call @ark_stream_is_warp_leader() : () -> i1
  cf.cond_br %leads, ^start, ^finish

^start:
  %begin = nvvm.read.ptx.sreg.clock : i32
  %pace = func.call @ark_stream_request_interval() : () -> i32
  %warp = func.call @ark_stream_warp() : () -> i32
  %first = arith.muli %warp, %pace : i32
  %period = arith.muli %pace, %warps : i32
  %before = func.call @ark_stream_get(%waits_field) : (i32) -> i32
  %waits = arith.addi %before, %one : i32
  func.call @ark_stream_set(%waits_field, %waits) : (i32, i32) -> ()
  %lane = func.call @ark_stream_lane() : () -> !llvm.ptr<3>
  cf.br ^look(%first : i32)

^look(%due: i32):
  %ended = llvm.load volatile %lane : !llvm.ptr<3> -> i32
  %missing = arith.subi %waits, %ended : i32
  %waiting = arith.cmpi sgt, %missing, %zero : i32
  cf.cond_br %waiting, ^time, ^finish

^time:
  %now = nvvm.read.ptx.sreg.clock : i32
  %passed = arith.subi %now, %begin : i32
  %is_due = arith.cmpi uge, %passed, %due : i32
  cf.cond_br %is_due, ^room, ^look(%due : i32)

^room:
  %can = func.call @ark_stream_can_request() : () -> i1
  cf.cond_br %can, ^request, ^look(%due : i32)

^request:
  func.call @ark_stream_request() : () -> ()
  %next_due = arith.addi %due, %period : i32
  cf.br ^look(%next_due : i32)

^finish:
  return
}

// Called by the first thread of a warp while its loads of packets are in flight. Requests chunks
// like @ark_stream_during_wait, and prefetches to the L2 if the ring is full.
func.func private @ark_stream_poll() {
  %warps = arith.constant kStreamWarps : i32
  %last_field = arith.constant kRingPollClock : i32
  %now = nvvm.read.ptx.sreg.clock : i32
  %last = func.call @ark_stream_get(%last_field) : (i32) -> i32
  %passed = arith.subi %now, %last : i32
  %pace = func.call @ark_stream_request_interval() : () -> i32
  %period = arith.muli %pace, %warps : i32
  %is_due = arith.cmpi uge, %passed, %period : i32
  cf.cond_br %is_due, ^due, ^finish

^due:
  %can = func.call @ark_stream_can_request() : () -> i1
  cf.cond_br %can, ^request, ^beyond

^request:
  func.call @ark_stream_request() : () -> ()
  cf.br ^requested

^beyond:
  %prefetches = func.call @ark_stream_prefetch_beyond() : () -> i1
  cf.cond_br %prefetches, ^requested, ^finish

^requested:
  func.call @ark_stream_set(%last_field, %now) : (i32, i32) -> ()
  cf.br ^finish

^finish:
  return
}

// Called by the leader before it waits: the leader requests no chunks during the wait.
func.func private @ark_stream_before_wait() {
  cf.br ^look

^look:
  %can = func.call @ark_stream_can_request() : () -> i1
  cf.cond_br %can, ^request, ^finish

^request:
  func.call @ark_stream_request() : () -> ()
  cf.br ^look

^finish:
  return
}

// Called by the leader after its wait.
func.func private @ark_stream_after_wait() {
  %one = arith.constant 1 : i32
  %lane = func.call @ark_stream_lane() : () -> !llvm.ptr<3>
  %ended = llvm.load volatile %lane : !llvm.ptr<3> -> i32
  %more = arith.addi %ended, %one : i32
  llvm.store volatile %more, %lane : i32, !llvm.ptr<3>
  return
}
