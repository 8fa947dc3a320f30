// Accesses to memory of other GPUs, some of which are in other NVLink domains.
//
// GPUs of one domain store to each other's memory. For a GPU of another domain, a lane starts a copy
// or a signal by a network. The memory of a rank is one window, with the same layout on all ranks.
//
// Copies and signals of a lane are started by its leader, so that a signal covers all earlier copies
// of the lane to the same rank.

func.func private @ark_stop_word(%context: !llvm.ptr, %distance: i64) -> !llvm.ptr
func.func private @ark_is_leader_again() -> i1

// Functions of CudaNetwork.mlir or CudaPortChannels.mlir.
//
// Adds one to a counter of a rank. The number stands for the counter.
func.func private @ark_signal_rank(%context: !llvm.ptr, %rank: i32, %number: i64)
// Stores a word at an offset in the window of a rank.
func.func private @ark_store_to_rank(%context: !llvm.ptr, %rank: i32, %offset: i64, %value: i64)
// Copies bytes from the window of this rank to an offset in the window of another rank.
func.func private @ark_copy_to_rank(%context: !llvm.ptr, %rank: i32, %offset: i64,
                                    %source: !llvm.ptr, %bytes: i64)

// Returns the record of the network.
func.func private @ark_network(%context: !llvm.ptr) -> !llvm.ptr {
  %field = llvm.getelementptr %context[kNetwork] : (!llvm.ptr) -> !llvm.ptr, i64
  %network = llvm.load %field : !llvm.ptr -> !llvm.ptr
  return %network : !llvm.ptr
}

// Returns the rank of another domain in an address, or -1, and the rest of the address.
func.func private @ark_split_address(%address: i64) -> (i32, i64) {
  %one = arith.constant 1 : i64
  %bits = arith.constant kDomainShift : i64
  %number = arith.shrui %address, %bits : i64
  %rank = arith.subi %number, %one : i64
  %upper = arith.shli %number, %bits : i64
  %offset = arith.xori %address, %upper : i64
  %rank_i32 = arith.trunci %rank : i64 to i32
  return %rank_i32, %offset : i32, i64
}

// Returns the rank of another domain in an index of a counter, or -1, and the index on that rank.
func.func private @ark_split_index(%index: i64) -> (i32, i64) {
  %first = arith.constant kDomainDistance : i64
  %end = arith.constant kDomainDistanceEnd : i64
  %none = arith.constant -1 : i64
  %bits = arith.constant kUpperShift : i64
  %distance = arith.shrsi %index, %bits : i64
  %rank = arith.subi %distance, %first : i64
  %upper = arith.shli %distance, %bits : i64
  %number = arith.subi %index, %upper : i64
  %is_apart = arith.cmpi slt, %distance, %end : i64
  %chosen = arith.select %is_apart, %rank, %none : i64
  %rank_i32 = arith.trunci %chosen : i64 to i32
  return %rank_i32, %number : i32, i64
}

func.func private @ark_add_remote_arrival(%context: !llvm.ptr, %counter: !llvm.ptr,
                                          %semaphore: i64) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i64
  %rank, %number = func.call @ark_split_index(%semaphore) : (i64) -> (i32, i64)
  %is_peer = arith.cmpi slt, %rank, %zero : i32
  cf.cond_br %is_peer, ^peer, ^network

^peer:
  llvm.inline_asm has_side_effects "red.release.<system>.add.u64 [$0], $1;", "l,l,~{memory}"
      %counter, %one : (!llvm.ptr, i64) -> ()
  cf.br ^finish

^network:
  func.call @ark_signal_rank(%context, %rank, %number) : (!llvm.ptr, i32, i64) -> ()
  cf.br ^finish

^finish:
  return
}

func.func private @ark_store_remote(%context: !llvm.ptr, %word: !llvm.ptr, %value: i64) {
  %zero = arith.constant 0 : i32
  %address = llvm.ptrtoint %word : !llvm.ptr to i64
  %rank, %offset = func.call @ark_split_address(%address) : (i64) -> (i32, i64)
  %is_peer = arith.cmpi slt, %rank, %zero : i32
  cf.cond_br %is_peer, ^peer, ^network

^peer:
  llvm.inline_asm has_side_effects "st.relaxed.<system>.u64 [$0], $1;", "l,l,~{memory}" %word, %value
      : (!llvm.ptr, i64) -> ()
  cf.br ^finish

^network:
  func.call @ark_store_to_rank(%context, %rank, %offset, %value) : (!llvm.ptr, i32, i64, i64) -> ()
  cf.br ^finish

^finish:
  return
}

func.func private @ark_remote_stop_word(%context: !llvm.ptr, %distance: i64) -> !llvm.ptr {
  %zero = arith.constant 0 : i32
  %first = arith.constant kDomainDistance : i64
  %ranks = arith.constant kMostRanks : i64
  %rank = arith.subi %distance, %first : i64
  %is_apart = arith.cmpi ult, %rank, %ranks : i64
  cf.cond_br %is_apart, ^network, ^peer

^peer:
  %peer_word = func.call @ark_stop_word(%context, %distance) : (!llvm.ptr, i64) -> !llvm.ptr
  return %peer_word : !llvm.ptr

^network:
  %one = arith.constant 1 : i64
  %bits = arith.constant kDomainShift : i64
  %stop_offset = arith.constant kStopCounterOffset : i64
  %network = func.call @ark_network(%context) : (!llvm.ptr) -> !llvm.ptr
  %counters_field = llvm.getelementptr %network[kNetworkCounters] : (!llvm.ptr) -> !llvm.ptr, i64
  %counters = llvm.load %counters_field : !llvm.ptr -> i64
  %offset = arith.addi %counters, %stop_offset : i64
  %number = arith.addi %rank, %one : i64
  %upper = arith.shli %number, %bits : i64
  %address = arith.addi %upper, %offset : i64
  %word = llvm.inttoptr %address : i64 to !llvm.ptr
  return %word : !llvm.ptr
}

// Starts a copy of `bytes` from the arena of this rank, if the destination is in another domain.
// Returns true if so, and false if the SM has to copy. All threads call this function.
func.func private @ark_copy_to_domain(%context: !llvm.ptr, %source: !llvm.ptr,
                                      %destination: !llvm.ptr, %bytes: i64) -> i1 {
  %zero = arith.constant 0 : i32
  %yes = arith.constant true
  %no = arith.constant false
  %address = llvm.ptrtoint %destination : !llvm.ptr to i64
  %rank, %offset = func.call @ark_split_address(%address) : (i64) -> (i32, i64)
  %is_peer = arith.cmpi slt, %rank, %zero : i32
  cf.cond_br %is_peer, ^finish(%no : i1), ^choose

^choose:
  %leads = func.call @ark_is_leader_again() : () -> i1
  cf.cond_br %leads, ^start, ^finish(%yes : i1)

^start:
  func.call @ark_copy_to_rank(%context, %rank, %offset, %source, %bytes)
      : (!llvm.ptr, i32, i64, !llvm.ptr, i64) -> ()
  cf.br ^finish(%yes : i1)

^finish(%result: i1):
  return %result : i1
}

func.func private @ark_load_from_peers(%word: !llvm.ptr) -> i64 {
  %value = llvm.inline_asm has_side_effects "ld.relaxed.<system>.u64 $0, [$1];", "=l,l,~{memory}" %word
      : (!llvm.ptr) -> i64
  return %value : i64
}
