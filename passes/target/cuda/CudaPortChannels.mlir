// Copies and signals to GPUs of other NVLink domains by port channels of MSCCL++. CudaDomains.mlir
// calls these functions.
//
// A lane adds a trigger of two words to a FIFO in memory of the host. One thread of the host, the
// proxy of MSCCL++, executes the triggers of this GPU in their order: it copies from the window of
// this rank to the window of another rank, or adds one to a semaphore, whose token lies on the GPU
// of the other rank. A signal arrives after all earlier copies of its connection.
//
// The host writes the record of the ports (kPorts...), which has the layout of the FIFO. The layout
// depends on the version of MSCCL++.

func.func private @ark_network(%context: !llvm.ptr) -> !llvm.ptr
func.func private @ark_load_relaxed(%word: !llvm.ptr) -> i64

// Returns the record of the ports.
func.func private @ark_ports(%context: !llvm.ptr) -> !llvm.ptr {
  %network = func.call @ark_network(%context) : (!llvm.ptr) -> !llvm.ptr
  %ports = llvm.load %network : !llvm.ptr -> !llvm.ptr
  return %ports : !llvm.ptr
}

// Adds a trigger to the FIFO, and waits for a slot if the FIFO is full.
//
// A lane takes a position only if the slot is free, and writes the slot without further waits. So an
// abort leaves no gap in the FIFO, behind which the proxy would wait forever. Lanes share the last
// tail that one of them has read from the host. The acquiring load of the tail orders
// the stores of the lane after the proxy's loads of the same slot.
func.func private @ark_push_trigger(%context: !llvm.ptr, %first: i64, %second: i64)
    attributes {passthrough = ["noinline"]} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %ports = func.call @ark_ports(%context) : (!llvm.ptr) -> !llvm.ptr
  %head_field = llvm.getelementptr %ports[kPortsHead] : (!llvm.ptr) -> !llvm.ptr, i64
  %head = llvm.load %head_field : !llvm.ptr -> !llvm.ptr
  %tail_field = llvm.getelementptr %ports[kPortsTail] : (!llvm.ptr) -> !llvm.ptr, i64
  %tail_word = llvm.load %tail_field : !llvm.ptr -> !llvm.ptr
  %cache_field = llvm.getelementptr %ports[kPortsTailCache] : (!llvm.ptr) -> !llvm.ptr, i64
  %cache = llvm.load %cache_field : !llvm.ptr -> !llvm.ptr
  %size_field = llvm.getelementptr %ports[kPortsSize] : (!llvm.ptr) -> !llvm.ptr, i64
  %size = llvm.load %size_field : !llvm.ptr -> i64
  %report_field = llvm.getelementptr %context[kReport] : (!llvm.ptr) -> !llvm.ptr, i64
  %report = llvm.load %report_field : !llvm.ptr -> !llvm.ptr
  cf.br ^look

^look:
  %position = func.call @ark_load_relaxed(%head) : (!llvm.ptr) -> i64
  %known_tail = llvm.inline_asm has_side_effects "ld.acquire.<device>.u64 $0, [$1];",
      "=l,l,~{memory}" %cache : (!llvm.ptr) -> i64
  %known_end = arith.addi %known_tail, %size : i64
  %has_room = arith.cmpi ult, %position, %known_end : i64
  cf.cond_br %has_room, ^take, ^refresh

^refresh:
  %tail = llvm.inline_asm has_side_effects "ld.acquire.<system>.u64 $0, [$1];", "=l,l,~{memory}"
      %tail_word : (!llvm.ptr) -> i64
  %has_changed = arith.cmpi ne, %tail, %known_tail : i64
  cf.cond_br %has_changed, ^share, ^full

^share:
  llvm.inline_asm has_side_effects "st.release.<device>.u64 [$0], $1;", "l,l,~{memory}" %cache, %tail
      : (!llvm.ptr, i64) -> ()
  %end = arith.addi %tail, %size : i64
  %has_room_now = arith.cmpi ult, %position, %end : i64
  cf.cond_br %has_room_now, ^take, ^full

^full:
  %abort = func.call @ark_load_relaxed(%report) : (!llvm.ptr) -> i64
  %aborted = arith.cmpi ne, %abort, %zero : i64
  cf.cond_br %aborted, ^finish, ^look

^take:
  %next = arith.addi %position, %one : i64
  %old = llvm.inline_asm has_side_effects "atom.relaxed.<device>.cas.b64 $0, [$1], $2, $3;",
      "=l,l,l,l,~{memory}" %head, %position, %next : (!llvm.ptr, i64, i64) -> i64
  %is_own = arith.cmpi eq, %old, %position : i64
  cf.cond_br %is_own, ^write, ^look

^write:
  func.call @ark_write_trigger(%ports, %position, %size, %first, %second)
      : (!llvm.ptr, i64, i64, i64, i64) -> ()
  cf.br ^finish

^finish:
  return
}

// Writes a trigger to the slot of a position. The proxy polls one of the words, which is written last.
// The release covers what the lane has seen, such as the results of other SMs.
func.func private @ark_write_trigger(%ports: !llvm.ptr, %position: i64, %size: i64, %first: i64,
                                     %second: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %word_bytes = arith.constant 8 : i64
  %mark_bit = arith.constant 63 : i64
  %triggers = llvm.load %ports : !llvm.ptr -> !llvm.ptr
  %shift_field = llvm.getelementptr %ports[kPortsShift] : (!llvm.ptr) -> !llvm.ptr, i64
  %shift = llvm.load %shift_field : !llvm.ptr -> i64
  %laps_field = llvm.getelementptr %ports[kPortsLaps] : (!llvm.ptr) -> !llvm.ptr, i64
  %laps = llvm.load %laps_field : !llvm.ptr -> i64
  %stride_field = llvm.getelementptr %ports[kPortsStride] : (!llvm.ptr) -> !llvm.ptr, i64
  %stride = llvm.load %stride_field : !llvm.ptr -> i64
  %polled_field = llvm.getelementptr %ports[kPortsPolled] : (!llvm.ptr) -> !llvm.ptr, i64
  %polled = llvm.load %polled_field : !llvm.ptr -> i64
  %mask = arith.subi %size, %one : i64
  %index = arith.andi %position, %mask : i64
  %begin = arith.muli %index, %stride : i64
  %slot = llvm.getelementptr %triggers[%begin] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  // The mark of a slot is one, or in later versions changes with each lap.
  %lap = arith.shrui %position, %shift : i64
  %parity = arith.andi %lap, %laps : i64
  %mark = arith.xori %parity, %one : i64
  %upper = arith.shli %mark, %mark_bit : i64
  %marked = arith.ori %second, %upper : i64
  %polls_first = arith.cmpi eq, %polled, %zero : i64
  %last_value = arith.select %polls_first, %first, %marked : i64
  %other_value = arith.select %polls_first, %marked, %first : i64
  %other = arith.xori %polled, %word_bytes : i64
  %last_word = llvm.getelementptr %slot[%polled] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %other_word = llvm.getelementptr %slot[%other] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  llvm.store %other_value, %other_word : i64, !llvm.ptr
  llvm.inline_asm has_side_effects "st.release.<system>.u64 [$0], $1;", "l,l,~{memory}"
      %last_word, %last_value : (!llvm.ptr, i64) -> ()
  return
}

// Copies bytes between offsets in the windows of this rank and another rank.
func.func private @ark_put(%context: !llvm.ptr, %rank: i32, %offset: i64, %source_offset: i64,
                           %bytes: i64) {
  %half = arith.constant 32 : i64
  %ports = func.call @ark_ports(%context) : (!llvm.ptr) -> !llvm.ptr
  %words = llvm.getelementptr %ports[kPortsRanks] : (!llvm.ptr) -> !llvm.ptr, i64
  %word = llvm.getelementptr %words[%rank] : (!llvm.ptr, i32) -> !llvm.ptr, i64
  %connection = llvm.load %word : !llvm.ptr -> i64
  %upper = arith.shli %source_offset, %half : i64
  %first = arith.ori %upper, %bytes : i64
  %second = arith.ori %connection, %offset : i64
  func.call @ark_push_trigger(%context, %first, %second) : (!llvm.ptr, i64, i64) -> ()
  return
}

// The number is that of a semaphore, which has one receiver.
func.func private @ark_signal_rank(%context: !llvm.ptr, %rank: i32, %number: i64) {
  %kind = arith.constant kTriggerSignal : i64
  %kind_bits = arith.constant kTriggerKindShift : i64
  %bits = arith.constant kTriggerSemaphoreShift : i64
  %ports = func.call @ark_ports(%context) : (!llvm.ptr) -> !llvm.ptr
  %field = llvm.getelementptr %ports[kPortsSignal] : (!llvm.ptr) -> !llvm.ptr, i64
  %first = llvm.load %field : !llvm.ptr -> i64
  %semaphore = arith.shli %number, %bits : i64
  %signal = arith.shli %kind, %kind_bits : i64
  %second = arith.ori %semaphore, %signal : i64
  func.call @ark_push_trigger(%context, %first, %second) : (!llvm.ptr, i64, i64) -> ()
  return
}

// A copy reads memory, so the word is stored at the same offset in the own window first. Only this
// rank changes the word there.
func.func private @ark_store_to_rank(%context: !llvm.ptr, %rank: i32, %offset: i64, %value: i64) {
  %bytes = arith.constant 8 : i64
  %network = func.call @ark_network(%context) : (!llvm.ptr) -> !llvm.ptr
  %begin_field = llvm.getelementptr %network[kNetworkBegin] : (!llvm.ptr) -> !llvm.ptr, i64
  %begin = llvm.load %begin_field : !llvm.ptr -> !llvm.ptr
  %word = llvm.getelementptr %begin[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  llvm.inline_asm has_side_effects "st.relaxed.<device>.u64 [$0], $1;", "l,l,~{memory}" %word, %value
      : (!llvm.ptr, i64) -> ()
  func.call @ark_put(%context, %rank, %offset, %offset, %bytes)
      : (!llvm.ptr, i32, i64, i64, i64) -> ()
  return
}

func.func private @ark_copy_to_rank(%context: !llvm.ptr, %rank: i32, %offset: i64,
                                    %source: !llvm.ptr, %bytes: i64) {
  %network = func.call @ark_network(%context) : (!llvm.ptr) -> !llvm.ptr
  %begin_field = llvm.getelementptr %network[kNetworkBegin] : (!llvm.ptr) -> !llvm.ptr, i64
  %begin = llvm.load %begin_field : !llvm.ptr -> i64
  %address = llvm.ptrtoint %source : !llvm.ptr to i64
  %source_offset = arith.subi %address, %begin : i64
  func.call @ark_put(%context, %rank, %offset, %source_offset, %bytes)
      : (!llvm.ptr, i32, i64, i64, i64) -> ()
  return
}

// Returns the signals of a counter. The host writes the address of a list to each counter of signals
// from other domains: for each rank that signals, the address of the token and its value when the
// counters were zeroed. A list ends with an address of zero. Nothing ever zeroes a token.
func.func private @ark_load_arrivals(%counter: !llvm.ptr) -> i64 {
  %zero = arith.constant 0 : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %field = llvm.getelementptr %counter[kCounterTokens] : (!llvm.ptr) -> !llvm.ptr, i64
  %tokens = llvm.load %field : !llvm.ptr -> !llvm.ptr
  %has_tokens = llvm.icmp "ne" %tokens, %null : !llvm.ptr
  cf.cond_br %has_tokens, ^look(%tokens, %zero : !llvm.ptr, i64), ^counter

^counter:
  %arrivals = llvm.inline_asm has_side_effects "ld.acquire.<system>.u64 $0, [$1];", "=l,l,~{memory}"
      %counter : (!llvm.ptr) -> i64
  return %arrivals : i64

^look(%entry: !llvm.ptr, %sum: i64):
  %token = llvm.load %entry : !llvm.ptr -> !llvm.ptr
  %is_token = llvm.icmp "ne" %token, %null : !llvm.ptr
  cf.cond_br %is_token, ^add, ^finish

^add:
  %base_field = llvm.getelementptr %entry[kTokenBase] : (!llvm.ptr) -> !llvm.ptr, i64
  %base = llvm.load %base_field : !llvm.ptr -> i64
  %seen = llvm.inline_asm has_side_effects "ld.acquire.<system>.u64 $0, [$1];", "=l,l,~{memory}"
      %token : (!llvm.ptr) -> i64
  %new = arith.subi %seen, %base : i64
  %next_sum = arith.addi %sum, %new : i64
  %next = llvm.getelementptr %entry[kTokenWords] : (!llvm.ptr) -> !llvm.ptr, i64
  cf.br ^look(%next, %next_sum : !llvm.ptr, i64)

^finish:
  return %sum : i64
}
