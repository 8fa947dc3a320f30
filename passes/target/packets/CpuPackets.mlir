// Rank packets on a CPU: 64-bit words with data in the lower half and the epoch in the upper half.

func.func private @ark_missing(%word: !llvm.ptr, %shift: i64, %target: i64) -> i64
func.func private @ark_wait(%context: !llvm.ptr, %lane: i64, %instruction: i64, %semaphore: i64,
                            %word: !llvm.ptr, %shift: i64, %target: i64, %expected: i64,
                            %lacking: i64) -> i32

// Waits until all packets of a semaphore carry the epoch of this iteration. The operand table holds
// the first and the last packet of each of the `arrivals`, from entry `first` on.
func.func private @ark_wait_packets(%context: !llvm.ptr, %lane: i64, %instruction: i64,
                                    %semaphore: i64, %arrivals: i64, %first: i64,
                                    %epoch: i64) -> i32 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %rows = arith.constant kArrivalEntries : i64
  %fields = arith.constant kOperandFields : i64
  %packet_bytes = arith.constant kRankPacketBytes : i64
  %flag_shift = arith.constant kRankPacketShift : i64
  %good = arith.constant 0 : i32

  %buffers = llvm.load %context : !llvm.ptr -> !llvm.ptr
  %operands_field = llvm.getelementptr %context[kOperands] : (!llvm.ptr) -> !llvm.ptr, i64
  %operands = llvm.load %operands_field : !llvm.ptr -> !llvm.ptr
  %expected = arith.muli %epoch, %arrivals : i64
  cf.br ^arrival(%zero : i64)

^arrival(%index: i64):
  %more = arith.cmpi ult, %index, %arrivals : i64
  cf.cond_br %more, ^range, ^finish(%good : i32)

^range:
  %next_index = arith.addi %index, %one : i64
  %lacking = arith.subi %arrivals, %next_index : i64
  %pair = arith.muli %index, %rows : i64
  %row = arith.addi %first, %pair : i64
  %field = arith.muli %row, %fields : i64
  %slot_field = llvm.getelementptr %operands[%field] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %slot = llvm.load %slot_field : !llvm.ptr -> i64
  %begin_field = llvm.getelementptr %slot_field[kOperandOffset] : (!llvm.ptr) -> !llvm.ptr, i64
  %begin = llvm.load %begin_field : !llvm.ptr -> i64
  %last_field = llvm.getelementptr %slot_field[kArrivalLastOffset] : (!llvm.ptr) -> !llvm.ptr, i64
  %last = llvm.load %last_field : !llvm.ptr -> i64
  %buffer_field = llvm.getelementptr %buffers[%slot] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %buffer = llvm.load %buffer_field : !llvm.ptr -> !llvm.ptr
  cf.br ^packet(%begin : i64)

^packet(%offset: i64):
  %beyond = arith.cmpi ugt, %offset, %last : i64
  cf.cond_br %beyond, ^arrival(%next_index : i64), ^look

^look:
  %next_offset = arith.addi %offset, %packet_bytes : i64
  %word = llvm.getelementptr %buffer[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %missing = func.call @ark_missing(%word, %flag_shift, %epoch) : (!llvm.ptr, i64, i64) -> i64
  %here = arith.cmpi eq, %missing, %zero : i64
  cf.cond_br %here, ^packet(%next_offset : i64), ^await

^await:
  %code = func.call @ark_wait(%context, %lane, %instruction, %semaphore, %word, %flag_shift, %epoch,
                              %expected, %lacking)
      : (!llvm.ptr, i64, i64, i64, !llvm.ptr, i64, i64, i64, i64) -> i32
  %failed = arith.cmpi ne, %code, %good : i32
  cf.cond_br %failed, ^finish(%code : i32), ^packet(%next_offset : i64)

^finish(%result: i32):
  return %result : i32
}

// Returns the epoch as packets carry it: its lower 32 bits.
func.func private @ark_epoch(%status: memref<4xi64>) -> i32 {
  %address = memref.extract_aligned_pointer_as_index %status : memref<4xi64> -> index
  %address_i64 = arith.index_cast %address : index to i64
  %words = llvm.inttoptr %address_i64 : i64 to !llvm.ptr
  %epoch_word = llvm.getelementptr %words[kStatusEpoch] : (!llvm.ptr) -> !llvm.ptr, i64
  %epoch = llvm.load %epoch_word atomic monotonic {alignment = 8 : i64} : !llvm.ptr -> i64
  %tag = arith.trunci %epoch : i64 to i32
  return %tag : i32
}
