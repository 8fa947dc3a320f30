// Functions of the loops that read rings. CudaRing.mlir defines the rings; CudaStreamLane.mlir
// handles rings when a lane begins, waits and ends.

func.func private @ark_stream_request()
func.func private @ark_stream_request_begun()
func.func private @ark_stream_can_request() -> i1
func.func private @ark_stream_copy(%number: i32, %address: i64, %bytes: i32)
func.func private @ark_stream_count() -> i32
func.func private @ark_stream_field(%field: i32) -> !llvm.ptr<3>
func.func private @ark_stream_get(%field: i32) -> i32
func.func private @ark_stream_is_warp_leader() -> i1
func.func private @ark_stream_next_segment()
func.func private @ark_stream_slot_address(%index: i32) -> !llvm.ptr<3>
func.func private @ark_stream_polls() -> i32
func.func private @ark_stream_segment(%segment: i32) -> (i32, i32, i32)
func.func private @ark_stream_set(%field: i32, %value: i32)
func.func private @ark_stream_share(%segment: i32) -> (i32, i32, i64)
func.func private @ark_stream_slot(%number: i32) -> (i32, !llvm.ptr<3>, i32)
func.func private @ark_sync_warp()

// Called by all threads at the start of a work item that reads `segments` segments.
func.func private @ark_stream_begin_work_item(%segments: i32) {
  %reading_field = arith.constant kRingReadSegments : i32
  %begun_field = arith.constant kRingBegunSegments : i32
  %leads = func.call @ark_stream_is_warp_leader() : () -> i1
  cf.cond_br %leads, ^begin, ^finish

^begin:
  %reading = func.call @ark_stream_get(%reading_field) : (i32) -> i32
  %begun = arith.addi %reading, %segments : i32
  func.call @ark_stream_set(%begun_field, %begun) : (i32, i32) -> ()
  func.call @ark_stream_request_begun() : () -> ()
  cf.br ^finish

^finish:
  return
}

// Called by all threads before they read a segment. Returns the first chunk of this warp in the
// segment and the segment's number of chunks; the chunks that the ring has read and requested; and
// the request cursor: index of its segment, segments before it, chunks left, bytes of a chunk,
// address. All threads keep these values in registers while they read.
func.func private @ark_stream_open() -> (index, index, i32, i32, i32, i32, i32, i32, i64) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %read_field = arith.constant kRingRead : i32
  %requested_field = arith.constant kRingRequested : i32
  %cursor_field = arith.constant kRingCursorIndex : i32
  %left_field = arith.constant kRingCursorLeft : i32
  %ahead_field = arith.constant kRingCursorSegments : i32
  %bytes_field = arith.constant kRingCursorBytes : i32
  %address_field = arith.constant kRingCursorAddress : i32
  %segment_field = arith.constant kRingReadIndex : i32
  %reading_field = arith.constant kRingReadSegments : i32
  // The first thread may have stored the state just before.
  func.call @ark_sync_warp() : () -> ()
  %segment = func.call @ark_stream_get(%segment_field) : (i32) -> i32
  %reading = func.call @ark_stream_get(%reading_field) : (i32) -> i32
  %segments = func.call @ark_stream_count() : () -> i32
  %count, %first, %own_bytes = func.call @ark_stream_segment(%segment) : (i32) -> (i32, i32, i32)
  %first_index = arith.index_cast %first : i32 to index
  %count_index = arith.index_cast %count : i32 to index
  %read = func.call @ark_stream_get(%read_field) : (i32) -> i32
  %requested = func.call @ark_stream_get(%requested_field) : (i32) -> i32
  %cursor = func.call @ark_stream_get(%cursor_field) : (i32) -> i32
  %left = func.call @ark_stream_get(%left_field) : (i32) -> i32
  %ahead = func.call @ark_stream_get(%ahead_field) : (i32) -> i32
  %bytes = func.call @ark_stream_get(%bytes_field) : (i32) -> i32
  %pointer = func.call @ark_stream_field(%address_field) : (i32) -> !llvm.ptr<3>
  %address = llvm.load %pointer : !llvm.ptr<3> -> i64
  // The first thread stores the state again, below and when it closes the segment.
  func.call @ark_sync_warp() : () -> ()
  %leads = func.call @ark_stream_is_warp_leader() : () -> i1
  cf.cond_br %leads, ^advance, ^finish

// The read cursor advances here, since work at the end of a segment would delay the results.
^advance:
  %following = arith.addi %segment, %one : i32
  %wraps = arith.cmpi eq, %following, %segments : i32
  %next = arith.select %wraps, %zero, %following : i32
  func.call @ark_stream_set(%segment_field, %next) : (i32, i32) -> ()
  %more = arith.addi %reading, %one : i32
  func.call @ark_stream_set(%reading_field, %more) : (i32, i32) -> ()
  cf.br ^finish

^finish:
  return %first_index, %count_index, %read, %requested, %cursor, %ahead, %left, %bytes, %address
      : index, index, i32, i32, i32, i32, i32, i32, i64
}

// Called by all threads before they read the next `number` segments of their work item. Returns the
// chunks that the ring has read and requested, and the request cursor, like @ark_stream_open.
func.func private @ark_stream_open_all(%number: i32) -> (i32, i32, i32, i32, i32, i32, i64) {
  %zero = arith.constant 0 : i32
  %read_field = arith.constant kRingRead : i32
  %requested_field = arith.constant kRingRequested : i32
  %cursor_field = arith.constant kRingCursorIndex : i32
  %left_field = arith.constant kRingCursorLeft : i32
  %ahead_field = arith.constant kRingCursorSegments : i32
  %bytes_field = arith.constant kRingCursorBytes : i32
  %address_field = arith.constant kRingCursorAddress : i32
  %segment_field = arith.constant kRingReadIndex : i32
  %reading_field = arith.constant kRingReadSegments : i32
  // The first thread may have stored the state just before.
  func.call @ark_sync_warp() : () -> ()
  %read = func.call @ark_stream_get(%read_field) : (i32) -> i32
  %requested = func.call @ark_stream_get(%requested_field) : (i32) -> i32
  %cursor = func.call @ark_stream_get(%cursor_field) : (i32) -> i32
  %left = func.call @ark_stream_get(%left_field) : (i32) -> i32
  %ahead = func.call @ark_stream_get(%ahead_field) : (i32) -> i32
  %bytes = func.call @ark_stream_get(%bytes_field) : (i32) -> i32
  %pointer = func.call @ark_stream_field(%address_field) : (i32) -> !llvm.ptr<3>
  %address = llvm.load %pointer : !llvm.ptr<3> -> i64
  // The first thread stores the state again when it closes the segments.
  func.call @ark_sync_warp() : () -> ()
  %leads = func.call @ark_stream_is_warp_leader() : () -> i1
  cf.cond_br %leads, ^advance, ^finish

^advance:
  %segment = func.call @ark_stream_get(%segment_field) : (i32) -> i32
  %reading = func.call @ark_stream_get(%reading_field) : (i32) -> i32
  %segments = func.call @ark_stream_count() : () -> i32
  %following = arith.addi %segment, %number : i32
  %wraps = arith.cmpi eq, %following, %segments : i32
  %next = arith.select %wraps, %zero, %following : i32
  func.call @ark_stream_set(%segment_field, %next) : (i32, i32) -> ()
  %more = arith.addi %reading, %number : i32
  func.call @ark_stream_set(%reading_field, %more) : (i32, i32) -> ()
  cf.br ^finish

^finish:
  return %read, %requested, %cursor, %ahead, %left, %bytes, %address
      : i32, i32, i32, i32, i32, i32, i64
}

// Called by all threads of a warp. Waits for chunk `number` of the ring, and returns its address.
func.func private @ark_stream_consumer_wait(%number: i32) -> !llvm.ptr<3> {
  %index, %barrier, %parity = func.call @ark_stream_slot(%number)
      : (i32) -> (i32, !llvm.ptr<3>, i32)
  cf.br ^try

^try:
  %done = nvvm.mbarrier.try_wait %barrier, %parity : !llvm.ptr<3>, i32 -> i1
  cf.cond_br %done, ^finish, ^try

^finish:
  %pointer = func.call @ark_stream_slot_address(%index) : (i32) -> !llvm.ptr<3>
  return %pointer : !llvm.ptr<3>
}

// Called by all threads of a warp that have read a chunk. Requests a chunk of the work item that
// has begun. The number of requested chunks and the request cursor are passed in and returned.
func.func private @ark_stream_consumer_release(%requested: i32, %segment: i32, %ahead: i32,
                                               %left: i32, %bytes: i32, %address: i64)
    -> (i32, i32, i32, i32, i32, i64) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %warps = arith.constant kStreamWarps : i32
  %begun_field = arith.constant kRingBegunSegments : i32
  func.call @ark_sync_warp() : () -> ()
  %begun = func.call @ark_stream_get(%begun_field) : (i32) -> i32
  %distance = arith.subi %begun, %ahead : i32
  %is_begun = arith.cmpi sgt, %distance, %zero : i32
  %is_left = arith.cmpi sgt, %left, %zero : i32
  %requests = arith.andi %is_begun, %is_left : i1
  cf.cond_br %requests, ^request, ^keep

^keep:
  cf.br ^finish(%requested, %segment, %ahead, %left, %bytes, %address
      : i32, i32, i32, i32, i32, i64)

^request:
  %leads = func.call @ark_stream_is_warp_leader() : () -> i1
  cf.cond_br %leads, ^copy, ^step

^copy:
  func.call @ark_stream_copy(%requested, %address, %bytes) : (i32, i64, i32) -> ()
  cf.br ^step

^step:
  %more = arith.addi %requested, %one : i32
  %fewer = arith.subi %left, %one : i32
  %stride = arith.muli %bytes, %warps : i32
  %stride_i64 = arith.extui %stride : i32 to i64
  %next = arith.addi %address, %stride_i64 : i64
  %is_last = arith.cmpi eq, %fewer, %zero : i32
  // The cursor leaves the last segment of a work item only after the segment is closed.
  %goes_on = arith.cmpi sgt, %distance, %one : i32
  %leaves = arith.andi %is_last, %goes_on : i1
  cf.cond_br %leaves, ^leave(%segment, %ahead : i32, i32),
      ^finish(%more, %segment, %ahead, %fewer, %bytes, %next : i32, i32, i32, i32, i32, i64)

^leave(%old_segment: i32, %old_ahead: i32):
  %next_segment = arith.addi %old_segment, %one : i32
  %next_ahead = arith.addi %old_ahead, %one : i32
  %next_left, %next_bytes, %next_address = func.call @ark_stream_share(%next_segment)
      : (i32) -> (i32, i32, i64)
  %has = arith.cmpi sgt, %next_left, %zero : i32
  %rest = arith.subi %begun, %next_ahead : i32
  %is_final = arith.cmpi sle, %rest, %one : i32
  %stops = arith.ori %has, %is_final : i1
  cf.cond_br %stops,
      ^finish(%more, %next_segment, %next_ahead, %next_left, %next_bytes, %next_address
      : i32, i32, i32, i32, i32, i64), ^leave(%next_segment, %next_ahead : i32, i32)

^finish(%new_requested: i32, %new_segment: i32, %new_ahead: i32, %new_left: i32, %new_bytes: i32,
        %new_address: i64):
  return %new_requested, %new_segment, %new_ahead, %new_left, %new_bytes, %new_address
      : i32, i32, i32, i32, i32, i64
}

// Called by all threads of a warp that have read their chunks of a segment. The first thread stores
// the state, which the other threads read when they open the next segment.
func.func private @ark_stream_close(%read: i32, %requested: i32, %cursor: i32, %ahead: i32,
                                    %left: i32, %bytes: i32, %address: i64) {
  %zero = arith.constant 0 : i32
  %read_field = arith.constant kRingRead : i32
  %requested_field = arith.constant kRingRequested : i32
  %cursor_field = arith.constant kRingCursorIndex : i32
  %left_field = arith.constant kRingCursorLeft : i32
  %ahead_field = arith.constant kRingCursorSegments : i32
  %bytes_field = arith.constant kRingCursorBytes : i32
  %address_field = arith.constant kRingCursorAddress : i32
  %leads = func.call @ark_stream_is_warp_leader() : () -> i1
  cf.cond_br %leads, ^store, ^finish

^store:
  func.call @ark_stream_set(%read_field, %read) : (i32, i32) -> ()
  func.call @ark_stream_set(%requested_field, %requested) : (i32, i32) -> ()
  func.call @ark_stream_set(%cursor_field, %cursor) : (i32, i32) -> ()
  func.call @ark_stream_set(%left_field, %left) : (i32, i32) -> ()
  func.call @ark_stream_set(%ahead_field, %ahead) : (i32, i32) -> ()
  func.call @ark_stream_set(%bytes_field, %bytes) : (i32, i32) -> ()
  %pointer = func.call @ark_stream_field(%address_field) : (i32) -> !llvm.ptr<3>
  llvm.store %address, %pointer : i64, !llvm.ptr<3>
  %polls = func.call @ark_stream_polls() : () -> i32
  %waits = arith.cmpi eq, %polls, %zero : i32
  cf.cond_br %waits, ^proceed, ^finish

// No barrier is needed: a signal waits for all warps of the lane.
^proceed:
  func.call @ark_stream_request_later() : () -> ()
  cf.br ^finish

^finish:
  return
}

// Called by the first thread of a warp that has read its chunks of a work item. If the warp has
// requested all of them, requests two chunks of later work items: memory would otherwise be idle
// until the lane polls or waits.
func.func private @ark_stream_request_later() {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %early = arith.constant 2 : i32
  %segment_field = arith.constant kRingCursorIndex : i32
  %left_field = arith.constant kRingCursorLeft : i32
  %segment = func.call @ark_stream_get(%segment_field) : (i32) -> i32
  %left = func.call @ark_stream_get(%left_field) : (i32) -> i32
  %is_spent = arith.cmpi eq, %left, %zero : i32
  %is_live = arith.cmpi sge, %segment, %zero : i32
  %leaves = arith.andi %is_spent, %is_live : i1
  cf.cond_br %leaves, ^leave, ^finish

^leave:
  func.call @ark_stream_next_segment() : () -> ()
  cf.br ^more(%zero : i32)

^more(%number: i32):
  %can = func.call @ark_stream_can_request() : () -> i1
  %few = arith.cmpi slt, %number, %early : i32
  %requests = arith.andi %can, %few : i1
  cf.cond_br %requests, ^request(%number : i32), ^finish

^request(%done: i32):
  func.call @ark_stream_request() : () -> ()
  %next_number = arith.addi %done, %one : i32
  cf.br ^more(%next_number : i32)

^finish:
  return
}

// Called by all threads at the end of a work item, if lanes poll. The work item has sent its
// packets, which earlier requests would have delayed.
func.func private @ark_stream_end_work_item() {
  %leads = func.call @ark_stream_is_warp_leader() : () -> i1
  cf.cond_br %leads, ^proceed, ^finish

^proceed:
  func.call @ark_stream_request_later() : () -> ()
  cf.br ^finish

^finish:
  return
}
