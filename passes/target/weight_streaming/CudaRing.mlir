// Weight streaming through rings of shared-memory slots, from sm_90 on.
//
// Every warp has a ring of slots. The warp copies chunks of parameters to its ring in the order in
// which it will read them, across tasks: the schedule fixes at compile time what a lane reads. As
// soon as a slot has been read, the warp requests the next chunk for the slot, so that memory stays
// busy while lanes wait for each other. ark-stream-weights builds the functions that are only
// declared here and the loops that read the rings; CudaStream.mlir has the functions that those
// loops call.
//
// A chunk is the data of one bulk copy; to request a chunk is to issue its copy. A segment is the
// data that one matmul of one work item reads: consecutive chunks of equal size, which the warps
// read in round-robin order. The segments of a lane lie in shared memory. Each has an address and a
// packed word with the number of its chunks, the bytes of a chunk and the warp of its first chunk.
//
// The first thread of a warp writes the warp's state. The request cursor in it points at the next
// chunk to request. KernelAbi.def lists the fields (kRing...).

// Data of the rings in shared memory: states of the warps, one mbarrier per slot, segments of the
// lane, slots.
func.func private @ark_stream_warps() -> !llvm.ptr<3>
func.func private @ark_stream_barriers() -> !llvm.ptr<3>
func.func private @ark_stream_table() -> !llvm.ptr<3>
func.func private @ark_stream_slots() -> !llvm.ptr<3>
// Slots per warp, and bytes of a slot.
func.func private @ark_stream_depth() -> i32
func.func private @ark_stream_slot_bytes() -> i32
// Returns 1 if lanes poll for packets, 0 if they only wait for semaphores.
func.func private @ark_stream_polls() -> i32
// Clocks between two requests of an SM for chunks of later work items.
func.func private @ark_stream_request_interval() -> i32
// Chunks beyond its ring that a warp prefetches to the L2.
func.func private @ark_stream_prefetch_depth() -> i32
// Segments of all lanes, in global memory. The table begins with the index of the first segment of
// every lane, and the index after the last segment. A record per segment follows: buffer, offset,
// and the packed word.
func.func private @ark_stream_segments() -> !llvm.ptr<1>
// Index of the first word of those records.
func.func private @ark_stream_first_segment() -> i64
// Counters in shared memory: waits of the lane that have ended, and segments of the lane.
func.func private @ark_stream_lane() -> !llvm.ptr<3>

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

func.func private @ark_stream_warp() -> i32 {
  %size = arith.constant kCudaWarpSize : index
  %thread = gpu.thread_id x
  %warp = arith.divui %thread, %size : index
  %number = arith.index_cast %warp : index to i32
  return %number : i32
}

// Returns true for the first thread of each warp.
func.func private @ark_stream_is_warp_leader() -> i1 {
  %size = arith.constant kCudaWarpSize : index
  %zero = arith.constant 0 : index
  %thread = gpu.thread_id x
  %in_warp = arith.remui %thread, %size : index
  %leads = arith.cmpi eq, %in_warp, %zero : index
  return %leads : i1
}

func.func private @ark_stream_field(%field: i32) -> !llvm.ptr<3> {
  %words = arith.constant kRingWords : i32
  %warps = func.call @ark_stream_warps() : () -> !llvm.ptr<3>
  %warp = func.call @ark_stream_warp() : () -> i32
  %first = arith.muli %warp, %words : i32
  %word = arith.addi %first, %field : i32
  %pointer = llvm.getelementptr %warps[%word] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  return %pointer : !llvm.ptr<3>
}

func.func private @ark_stream_get(%field: i32) -> i32 {
  %pointer = func.call @ark_stream_field(%field) : (i32) -> !llvm.ptr<3>
  %value = llvm.load %pointer : !llvm.ptr<3> -> i32
  return %value : i32
}

func.func private @ark_stream_set(%field: i32, %value: i32) {
  %pointer = func.call @ark_stream_field(%field) : (i32) -> !llvm.ptr<3>
  llvm.store %value, %pointer : i32, !llvm.ptr<3>
  return
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

func.func private @ark_stream_count() -> i32 {
  %lane = func.call @ark_stream_lane() : () -> !llvm.ptr<3>
  %pointer = llvm.getelementptr %lane[kStreamLaneSegments] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32
  %count = llvm.load %pointer : !llvm.ptr<3> -> i32
  return %count : i32
}

// Returns the number of chunks of a segment, the first chunk of this warp, and the bytes of a
// chunk.
func.func private @ark_stream_segment(%segment: i32) -> (i32, i32, i32) {
  %last_warp = arith.constant kLastStreamWarp : i32
  %bytes_shift = arith.constant kSegmentBytesShift : i64
  %warp_shift = arith.constant kSegmentWarpShift : i64
  %mask = arith.constant kSegmentBytesMask : i32
  %words = arith.constant kSegmentWords : i32
  %packed_word = arith.constant kSegmentPacked : i32
  %table = func.call @ark_stream_table() : () -> !llvm.ptr<3>
  %first_word = arith.muli %segment, %words : i32
  %word = arith.addi %first_word, %packed_word : i32
  %pointer = llvm.getelementptr %table[%word] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
  %packed = llvm.load %pointer : !llvm.ptr<3> -> i64
  %count = arith.trunci %packed : i64 to i32
  %high = arith.shrui %packed, %bytes_shift : i64
  %high_i32 = arith.trunci %high : i64 to i32
  %bytes = arith.andi %high_i32, %mask : i32
  %top = arith.shrui %packed, %warp_shift : i64
  %start = arith.trunci %top : i64 to i32
  %warp = func.call @ark_stream_warp() : () -> i32
  %distance = arith.subi %warp, %start : i32
  %first = arith.andi %distance, %last_warp : i32
  return %count, %first, %bytes : i32, i32, i32
}

// Returns this warp's number of chunks in a segment, the bytes of a chunk, and the address of this
// warp's first chunk.
func.func private @ark_stream_share(%segment: i32) -> (i32, i32, i64) {
  %zero = arith.constant 0 : i32
  %last_warp = arith.constant kLastStreamWarp : i32
  %shift = arith.constant kStreamWarpBits : i32
  %words = arith.constant kSegmentWords : i32
  %count, %first, %bytes = func.call @ark_stream_segment(%segment) : (i32) -> (i32, i32, i32)
  %others = arith.subi %count, %first : i32
  %rounded = arith.addi %others, %last_warp : i32
  %shares = arith.shrsi %rounded, %shift : i32
  %chunks = arith.maxsi %shares, %zero : i32
  %table = func.call @ark_stream_table() : () -> !llvm.ptr<3>
  %word = arith.muli %segment, %words : i32
  %pointer = llvm.getelementptr %table[%word] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
  %base = llvm.load %pointer : !llvm.ptr<3> -> i64
  %skipped = arith.muli %first, %bytes : i32
  %skipped_i64 = arith.extui %skipped : i32 to i64
  %address = arith.addi %base, %skipped_i64 : i64
  return %chunks, %bytes, %address : i32, i32, i64
}

// Returns the slot of chunk `number` of the ring, its mbarrier, and the parity of the phase that
// ends when the chunk arrives.
func.func private @ark_stream_slot(%number: i32) -> (i32, !llvm.ptr<3>, i32) {
  %one = arith.constant 1 : i32
  %depth = func.call @ark_stream_depth() : () -> i32
  %slot = arith.remui %number, %depth : i32
  %phase = arith.divui %number, %depth : i32
  %parity = arith.andi %phase, %one : i32
  %warp = func.call @ark_stream_warp() : () -> i32
  %first = arith.muli %warp, %depth : i32
  %index = arith.addi %first, %slot : i32
  %barriers = func.call @ark_stream_barriers() : () -> !llvm.ptr<3>
  %barrier = llvm.getelementptr %barriers[%index] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
  return %index, %barrier, %parity : i32, !llvm.ptr<3>, i32
}

func.func private @ark_stream_slot_address(%index: i32) -> !llvm.ptr<3> {
  %bytes = func.call @ark_stream_slot_bytes() : () -> i32
  %offset = arith.muli %index, %bytes : i32
  %slots = func.call @ark_stream_slots() : () -> !llvm.ptr<3>
  %pointer = llvm.getelementptr %slots[%offset] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  return %pointer : !llvm.ptr<3>
}

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

// Called by the first thread of a warp. Moves the request cursor to the first segment, from
// `segment` on, that has a chunk for this warp. Sets the cursor to -1 if no iteration is left, or
// if no segment of an iteration has a chunk for this warp.
func.func private @ark_stream_seek(%segment: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant -1 : i32
  %segment_field = arith.constant kRingCursorIndex : i32
  %left_field = arith.constant kRingCursorLeft : i32
  %ahead_field = arith.constant kRingCursorSegments : i32
  %iterations_field = arith.constant kRingIterations : i32
  %bytes_field = arith.constant kRingCursorBytes : i32
  %address_field = arith.constant kRingCursorAddress : i32
  %segments = func.call @ark_stream_count() : () -> i32
  %ahead = func.call @ark_stream_get(%ahead_field) : (i32) -> i32
  %iterations = func.call @ark_stream_get(%iterations_field) : (i32) -> i32
  %inside = arith.cmpi slt, %segment, %segments : i32
  cf.cond_br %inside, ^look(%segment, %ahead, %iterations, %zero : i32, i32, i32, i32),
      ^wrap(%ahead, %iterations, %zero : i32, i32, i32)

^look(%at: i32, %passed: i32, %left_iterations: i32, %tries: i32):
  %chunks, %bytes, %address = func.call @ark_stream_share(%at) : (i32) -> (i32, i32, i64)
  %has = arith.cmpi sgt, %chunks, %zero : i32
  cf.cond_br %has, ^store, ^next

^next:
  %all_tried = arith.cmpi ugt, %tries, %segments : i32
  cf.cond_br %all_tried, ^end, ^advance

^advance:
  %following = arith.addi %at, %one : i32
  %next_passed = arith.addi %passed, %one : i32
  %next_tries = arith.addi %tries, %one : i32
  %stays = arith.cmpi slt, %following, %segments : i32
  cf.cond_br %stays,
      ^look(%following, %next_passed, %left_iterations, %next_tries : i32, i32, i32, i32),
      ^wrap(%next_passed, %left_iterations, %next_tries : i32, i32, i32)

^wrap(%wrap_passed: i32, %wrap_iterations: i32, %wrap_tries: i32):
  %fewer = arith.subi %wrap_iterations, %one : i32
  %over = arith.cmpi slt, %fewer, %zero : i32
  %empty = arith.cmpi eq, %segments, %zero : i32
  %ends = arith.ori %over, %empty : i1
  cf.cond_br %ends, ^end, ^look(%zero, %wrap_passed, %fewer, %wrap_tries : i32, i32, i32, i32)

^store:
  func.call @ark_stream_set(%segment_field, %at) : (i32, i32) -> ()
  func.call @ark_stream_set(%left_field, %chunks) : (i32, i32) -> ()
  func.call @ark_stream_set(%ahead_field, %passed) : (i32, i32) -> ()
  func.call @ark_stream_set(%iterations_field, %left_iterations) : (i32, i32) -> ()
  func.call @ark_stream_set(%bytes_field, %bytes) : (i32, i32) -> ()
  %pointer = func.call @ark_stream_field(%address_field) : (i32) -> !llvm.ptr<3>
  llvm.store %address, %pointer : i64, !llvm.ptr<3>
  return

^end:
  func.call @ark_stream_set(%segment_field, %none) : (i32, i32) -> ()
  func.call @ark_stream_set(%left_field, %zero) : (i32, i32) -> ()
  return
}

// Called by one thread. Issues the bulk copy of chunk `number` of the ring.
func.func private @ark_stream_copy(%number: i32, %address: i64, %bytes: i32) {
  %index, %barrier, %parity = func.call @ark_stream_slot(%number)
      : (i32) -> (i32, !llvm.ptr<3>, i32)
  %from = llvm.inttoptr %address : i64 to !llvm.ptr<1>
  %to = func.call @ark_stream_slot_address(%index) : (i32) -> !llvm.ptr<3>
  nvvm.mbarrier.arrive.expect_tx %barrier, %bytes : !llvm.ptr<3>, i32
  nvvm.cp.async.bulk.shared.cluster.global %to, %from, %barrier, %bytes
      : !llvm.ptr<3>, !llvm.ptr<1>
  return
}

// Called by the first thread of a warp that has a free slot. Requests the chunk at the cursor.
func.func private @ark_stream_request() {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %warps = arith.constant kStreamWarps : i32
  %requested_field = arith.constant kRingRequested : i32
  %segment_field = arith.constant kRingCursorIndex : i32
  %left_field = arith.constant kRingCursorLeft : i32
  %ahead_field = arith.constant kRingCursorSegments : i32
  %bytes_field = arith.constant kRingCursorBytes : i32
  %address_field = arith.constant kRingCursorAddress : i32
  %requested = func.call @ark_stream_get(%requested_field) : (i32) -> i32
  %left = func.call @ark_stream_get(%left_field) : (i32) -> i32
  %bytes = func.call @ark_stream_get(%bytes_field) : (i32) -> i32
  %pointer = func.call @ark_stream_field(%address_field) : (i32) -> !llvm.ptr<3>
  %address = llvm.load %pointer : !llvm.ptr<3> -> i64
  func.call @ark_stream_copy(%requested, %address, %bytes) : (i32, i64, i32) -> ()
  %more = arith.addi %requested, %one : i32
  func.call @ark_stream_set(%requested_field, %more) : (i32, i32) -> ()
  %fewer = arith.subi %left, %one : i32
  %is_last = arith.cmpi eq, %fewer, %zero : i32
  cf.cond_br %is_last, ^seek, ^step

^step:
  %distance = arith.muli %bytes, %warps : i32
  %distance_i64 = arith.extui %distance : i32 to i64
  %next = arith.addi %address, %distance_i64 : i64
  llvm.store %next, %pointer : i64, !llvm.ptr<3>
  func.call @ark_stream_set(%left_field, %fewer) : (i32, i32) -> ()
  return

^seek:
  func.call @ark_stream_next_segment() : () -> ()
  return
}

// Called by the first thread of a warp that has requested all its chunks of a segment. Moves the
// cursor to the next segment.
func.func private @ark_stream_next_segment() {
  %one = arith.constant 1 : i32
  %segment_field = arith.constant kRingCursorIndex : i32
  %ahead_field = arith.constant kRingCursorSegments : i32
  %segment = func.call @ark_stream_get(%segment_field) : (i32) -> i32
  %next_segment = arith.addi %segment, %one : i32
  %ahead = func.call @ark_stream_get(%ahead_field) : (i32) -> i32
  %next_ahead = arith.addi %ahead, %one : i32
  func.call @ark_stream_set(%ahead_field, %next_ahead) : (i32, i32) -> ()
  func.call @ark_stream_seek(%next_segment) : (i32) -> ()
  return
}

// Returns true if the warp has a free slot and a chunk to request.
func.func private @ark_stream_can_request() -> i1 {
  %zero = arith.constant 0 : i32
  %read_field = arith.constant kRingRead : i32
  %requested_field = arith.constant kRingRequested : i32
  %left_field = arith.constant kRingCursorLeft : i32
  %depth = func.call @ark_stream_depth() : () -> i32
  %read = func.call @ark_stream_get(%read_field) : (i32) -> i32
  %requested = func.call @ark_stream_get(%requested_field) : (i32) -> i32
  %left = func.call @ark_stream_get(%left_field) : (i32) -> i32
  %used = arith.subi %requested, %read : i32
  %is_free = arith.cmpi slt, %used, %depth : i32
  %is_left = arith.cmpi sgt, %left, %zero : i32
  %can = arith.andi %is_free, %is_left : i1
  return %can : i1
}

// Called by the first thread of a warp. Requests chunks of the work item that has
// begun.
func.func private @ark_stream_request_begun() {
  %zero = arith.constant 0 : i32
  %ahead_field = arith.constant kRingCursorSegments : i32
  %begun_field = arith.constant kRingBegunSegments : i32
  cf.br ^look

^look:
  %can = func.call @ark_stream_can_request() : () -> i1
  %ahead = func.call @ark_stream_get(%ahead_field) : (i32) -> i32
  %begun = func.call @ark_stream_get(%begun_field) : (i32) -> i32
  %distance = arith.subi %begun, %ahead : i32
  %is_begun = arith.cmpi sgt, %distance, %zero : i32
  %requests = arith.andi %can, %is_begun : i1
  cf.cond_br %requests, ^request, ^finish

^request:
  func.call @ark_stream_request() : () -> ()
  cf.br ^look

^finish:
  return
}

// Called by the first thread of a warp without a free slot. Prefetches into the L2 the next chunk
// of the segment that is neither requested nor prefetched. Returns true if such a chunk exists. A
// later copy of the chunk then hits in the L2.
func.func private @ark_stream_prefetch_beyond() -> i1 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %warps = arith.constant kStreamWarps : i32
  %requested_field = arith.constant kRingRequested : i32
  %left_field = arith.constant kRingCursorLeft : i32
  %bytes_field = arith.constant kRingCursorBytes : i32
  %address_field = arith.constant kRingCursorAddress : i32
  %fetched_field = arith.constant kRingPrefetched : i32
  %most = func.call @ark_stream_prefetch_depth() : () -> i32
  %requested = func.call @ark_stream_get(%requested_field) : (i32) -> i32
  %left = func.call @ark_stream_get(%left_field) : (i32) -> i32
  %fetched = func.call @ark_stream_get(%fetched_field) : (i32) -> i32
  %difference = arith.subi %fetched, %requested : i32
  %ahead = arith.maxsi %difference, %zero : i32
  %limit = arith.minsi %most, %left : i32
  %prefetches = arith.cmpi slt, %ahead, %limit : i32
  cf.cond_br %prefetches, ^prefetch, ^finish

^prefetch:
  %bytes = func.call @ark_stream_get(%bytes_field) : (i32) -> i32
  %pointer = func.call @ark_stream_field(%address_field) : (i32) -> !llvm.ptr<3>
  %next = llvm.load %pointer : !llvm.ptr<3> -> i64
  %step = arith.muli %bytes, %warps : i32
  %distance = arith.muli %step, %ahead : i32
  %distance_i64 = arith.extui %distance : i32 to i64
  %address = arith.addi %next, %distance_i64 : i64
  %from = llvm.inttoptr %address : i64 to !llvm.ptr<1>
  nvvm.cp.async.bulk.prefetch %from, %bytes : !llvm.ptr<1>
  %following = arith.addi %ahead, %one : i32
  %all = arith.addi %requested, %following : i32
  func.call @ark_stream_set(%fetched_field, %all) : (i32, i32) -> ()
  cf.br ^finish

^finish:
  return %prefetches : i1
}
