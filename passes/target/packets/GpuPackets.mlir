// Task packets: words that hold a value and, in their upper half, a tag of the epoch. A packet has
// 32 bits; a wide packet has 64 bits and the same tag in its upper 16 bits. The receiver polls the
// word itself, so a hand-off takes one store and one load.

// State of the dispatch loop that bodies read, in shared memory; the leader writes it. The words
// are the epoch, the number of instructions left in the lane, and the address of the context.
func.func private @ark_packet_state() -> !llvm.ptr<3>
func.func private @ark_is_leader() -> i1
func.func private @ark_lane() -> i64
func.func private @ark_load_relaxed(%word: !llvm.ptr) -> i64
func.func private @ark_now() -> i64
func.func private @ark_report_hang(%context: !llvm.ptr, %lane: i64, %left: i64,
                                   %semaphore: i64, %seen: i64, %expected: i64) -> i32

// Primitives of the backend. All threads of a warp call @ark_any_of_warp, which returns true if the
// predicate holds in any of them.
func.func private @ark_any_of_warp(%predicate: i1) -> i1
func.func private @ark_warp_size() -> index

// Returns true in the first thread of each warp.
func.func private @ark_leads_warp() -> i1 {
  %size = func.call @ark_warp_size() : () -> index
  %zero = arith.constant 0 : index
  %thread = gpu.thread_id x
  %rank = arith.remui %thread, %size : index
  %leads = arith.cmpi eq, %rank, %zero : index
  return %leads : i1
}

func.func private @ark_packet_field(%field: i32) -> !llvm.ptr<3> {
  %state = func.call @ark_packet_state() : () -> !llvm.ptr<3>
  %pointer = llvm.getelementptr %state[%field] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  return %pointer : !llvm.ptr<3>
}

// Called by all threads before a barrier, when a lane begins.
func.func private @ark_packets_begin(%context: !llvm.ptr, %lane: i64, %iterations: i64) {
  %leads = func.call @ark_is_leader() : () -> i1
  cf.cond_br %leads, ^store, ^finish

^store:
  %context_field = arith.constant kPacketStateContext : i32
  %pointer = func.call @ark_packet_field(%context_field) : (i32) -> !llvm.ptr<3>
  llvm.store %context, %pointer : !llvm.ptr, !llvm.ptr<3>
  cf.br ^finish

^finish:
  return
}

// Called by all threads before a barrier, when an iteration begins. Zeroed words carry tag 0, and
// no epoch near the first one has this tag. A tag holds 16 bits of the epoch; every word is
// rewritten before a tag recurs.
func.func private @ark_packets_iteration(%epoch: i32) {
  %leads = func.call @ark_is_leader() : () -> i1
  cf.cond_br %leads, ^store, ^finish

^store:
  %epoch_field = arith.constant kPacketStateEpoch : i32
  %pointer = func.call @ark_packet_field(%epoch_field) : (i32) -> !llvm.ptr<3>
  llvm.store %epoch, %pointer : i32, !llvm.ptr<3>
  cf.br ^finish

^finish:
  return
}

// Called by all threads when a work item begins.
func.func private @ark_packets_begin_work_item(%left: i64) {
  %leads = func.call @ark_is_leader() : () -> i1
  cf.cond_br %leads, ^store, ^finish

^store:
  %left_field = arith.constant kPacketStateLeft : i32
  %pointer = func.call @ark_packet_field(%left_field) : (i32) -> !llvm.ptr<3>
  %number = arith.trunci %left : i64 to i32
  llvm.store %number, %pointer : i32, !llvm.ptr<3>
  cf.br ^finish

^finish:
  return
}

func.func private @ark_packet_epoch() -> i32 {
  %epoch_field = arith.constant kPacketStateEpoch : i32
  %pointer = func.call @ark_packet_field(%epoch_field) : (i32) -> !llvm.ptr<3>
  %epoch = llvm.load %pointer : !llvm.ptr<3> -> i32
  return %epoch : i32
}

// Returns the upper half of a packet of this epoch, shifted into place; the lower 16 bits are zero.
func.func private @ark_packet_tag() -> i32 {
  %half = arith.constant kPacketTagShift : i32
  %epoch = func.call @ark_packet_epoch() : () -> i32
  %tag = arith.shli %epoch, %half : i32
  return %tag : i32
}

// Returns true if a wide packet carries a tag other than `tag`.
func.func private @ark_is_wide_packet_stale(%a: i64, %tag: i32) -> i1 {
  %half = arith.constant kWidePacketTagShift : i64
  %upper = arith.shrui %a, %half : i64
  %own = arith.trunci %upper : i64 to i32
  %other = arith.cmpi ne, %own, %tag : i32
  return %other : i1
}

// Returns true if one of two wide packets carries a tag other than `tag`.
func.func private @ark_are_wide_packets_stale(%a: i64, %b: i64, %tag: i32) -> i1 {
  %half = arith.constant kWidePacketTagShift : i64
  %upper_a = arith.shrui %a, %half : i64
  %upper_b = arith.shrui %b, %half : i64
  %tag_a = arith.trunci %upper_a : i64 to i32
  %tag_b = arith.trunci %upper_b : i64 to i32
  %other_a = arith.cmpi ne, %tag_a, %tag : i32
  %other_b = arith.cmpi ne, %tag_b, %tag : i32
  %other = arith.ori %other_a, %other_b : i1
  return %other : i1
}

// Returns true if a packet carries a tag other than `tag`.
func.func private @ark_is_packet_stale(%a: i32, %tag: i32) -> i1 {
  %unit = arith.constant kPacketTagUnit : i32
  %any = arith.xori %a, %tag : i32
  %other = arith.cmpi uge, %any, %unit : i32
  return %other : i1
}

// Returns true if one of two packets carries a tag other than `tag`.
func.func private @ark_are_two_packets_stale(%a: i32, %b: i32, %tag: i32) -> i1 {
  %unit = arith.constant kPacketTagUnit : i32
  %xa = arith.xori %a, %tag : i32
  %xb = arith.xori %b, %tag : i32
  %any = arith.ori %xa, %xb : i32
  %other = arith.cmpi uge, %any, %unit : i32
  return %other : i1
}

// Returns true if one of four packets carries a tag other than `tag`.
func.func private @ark_are_packets_stale(%a: i32, %b: i32, %c: i32, %d: i32, %tag: i32) -> i1 {
  %unit = arith.constant kPacketTagUnit : i32
  %xa = arith.xori %a, %tag : i32
  %xb = arith.xori %b, %tag : i32
  %xc = arith.xori %c, %tag : i32
  %xd = arith.xori %d, %tag : i32
  %ab = arith.ori %xa, %xb : i32
  %cd = arith.ori %xc, %xd : i32
  %any = arith.ori %ab, %cd : i32
  %other = arith.cmpi uge, %any, %unit : i32
  return %other : i1
}

// Called by all threads of a warp while their loads of packets are in flight. The first thread uses
// the latency for other work (@ark_poll).
func.func private @ark_packets_poll() {
  %leads = func.call @ark_leads_warp() : () -> i1
  cf.cond_br %leads, ^poll, ^finish

^poll:
  func.call @ark_poll() : () -> ()
  cf.br ^finish

^finish:
  return
}

// Called by the first thread of a warp that has polled `tries` times. Checks every 32nd time if the
// warp must stop, because another lane has aborted or the timeout has passed since `begin`.
func.func private @ark_packets_check_abort(%tries: i32, %begin: i64, %seen: i32) -> i1 {
  %no = arith.constant false
  %yes = arith.constant true
  %often = arith.constant 31 : i32
  %zero_i32 = arith.constant 0 : i32
  %rest = arith.andi %tries, %often : i32
  %looks = arith.cmpi eq, %rest, %often : i32
  cf.cond_br %looks, ^look, ^finish(%no : i1)

^look:
  %zero = arith.constant 0 : i64
  %context_field = arith.constant kPacketStateContext : i32
  %context_pointer = func.call @ark_packet_field(%context_field) : (i32) -> !llvm.ptr<3>
  %context = llvm.load %context_pointer : !llvm.ptr<3> -> !llvm.ptr
  %report_field = llvm.getelementptr %context[kReport] : (!llvm.ptr) -> !llvm.ptr, i64
  %report = llvm.load %report_field : !llvm.ptr -> !llvm.ptr
  %abort = func.call @ark_load_relaxed(%report) : (!llvm.ptr) -> i64
  %aborted = arith.cmpi ne, %abort, %zero : i64
  cf.cond_br %aborted, ^finish(%yes : i1), ^deadline

^deadline:
  %timeout_field = llvm.getelementptr %context[kTimeout] : (!llvm.ptr) -> !llvm.ptr, i64
  %timeout = llvm.load %timeout_field : !llvm.ptr -> i64
  %now = func.call @ark_now() : () -> i64
  %waited = arith.subi %now, %begin : i64
  %late = arith.cmpi ugt, %waited, %timeout : i64
  cf.cond_br %late, ^hang, ^finish(%no : i1)

^hang:
  %left_field = arith.constant kPacketStateLeft : i32
  %none = arith.constant -1 : i64
  %lane = func.call @ark_lane() : () -> i64
  %left_pointer = func.call @ark_packet_field(%left_field) : (i32) -> !llvm.ptr<3>
  %left_i32 = llvm.load %left_pointer : !llvm.ptr<3> -> i32
  %left = arith.extui %left_i32 : i32 to i64
  %tag = func.call @ark_packet_tag() : () -> i32
  %half = arith.constant kPacketTagShift : i32
  %expected_i32 = arith.shrui %tag, %half : i32
  %seen_i32 = arith.shrui %seen, %half : i32
  %expected = arith.extui %expected_i32 : i32 to i64
  %seen_i64 = arith.extui %seen_i32 : i32 to i64
  %code = func.call @ark_report_hang(%context, %lane, %left, %none, %seen_i64, %expected)
      : (!llvm.ptr, i64, i64, i64, i64, i64) -> i32
  cf.br ^finish(%yes : i1)

^finish(%gives_up: i1):
  return %gives_up : i1
}

// Callback, called by the first thread of a warp whenever the warp polls.
func.func private @ark_poll() {
  return
}

// Called by all threads of a warp. Returns true if the warp must poll again because a thread still
// misses packets, and false if all packets have arrived or the warp must stop.
func.func private @ark_packets_wait(%missing: i1, %tries: i32, %begin: i64, %seen: i32) -> i1 {
  %no = arith.constant false
  %any = func.call @ark_any_of_warp(%missing) : (i1) -> i1
  cf.cond_br %any, ^wait, ^finish(%no : i1)

^wait:
  %leads = func.call @ark_leads_warp() : () -> i1
  cf.cond_br %leads, ^look, ^agree(%no : i1)

^look:
  %gives_up = func.call @ark_packets_check_abort(%tries, %begin, %seen) : (i32, i64, i32) -> i1
  cf.br ^agree(%gives_up : i1)

^agree(%wants: i1):
  %ends = func.call @ark_any_of_warp(%wants) : (i1) -> i1
  %yes = arith.constant true
  %again = arith.xori %ends, %yes : i1
  cf.br ^finish(%again : i1)

^finish(%result: i1):
  return %result : i1
}
