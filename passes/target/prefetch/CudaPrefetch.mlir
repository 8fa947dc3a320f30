// L2 prefetch during a wait: while a lane waits for activations, the weights of the work item
// after the wait are prefetched.

func.func private @ark_instruction(%context: !llvm.ptr, %last: i64, %left: i64) -> vector<4xi32>
func.func private @ark_uniform(%number: i32) -> i32

// Prefetches into the L2 the first data that vCTA `begin` of a task reads, if the body has a
// prefetch function. ark-prefetch-weights derives this function from @ark_execute_work_item.
func.func private @ark_prefetch_work_item(%context: !llvm.ptr, %task: i32, %begin: i32, %end: i32)

// Called by all threads before the lane waits. `left` is the number of instructions of the lane
// after the wait, which end at index `last`; `has_next` is false if `left` is zero. Prefetches if
// the next instruction is a work item.
func.func private @ark_prefetch_next_work_item(%context: !llvm.ptr, %last: i64, %left: i64,
                                               %has_next: i1) {
  %work_item = arith.constant kOpcodeRun : i32
  cf.cond_br %has_next, ^look, ^finish

^look:
  %fields = func.call @ark_instruction(%context, %last, %left)
      : (!llvm.ptr, i64, i64) -> vector<4xi32>
  %field_0 = vector.extract %fields[kInstructionOpcode] : i32 from vector<4xi32>
  %opcode = func.call @ark_uniform(%field_0) : (i32) -> i32
  %is_work_item = arith.cmpi eq, %opcode, %work_item : i32
  cf.cond_br %is_work_item, ^prefetch, ^finish

^prefetch:
  %field_1 = vector.extract %fields[kInstructionA] : i32 from vector<4xi32>
  %task_i32 = func.call @ark_uniform(%field_1) : (i32) -> i32
  %field_2 = vector.extract %fields[kInstructionB] : i32 from vector<4xi32>
  %field_3 = vector.extract %fields[kInstructionC] : i32 from vector<4xi32>
  func.call @ark_prefetch_work_item(%context, %task_i32, %field_2, %field_3)
      : (!llvm.ptr, i32, i32, i32) -> ()
  cf.br ^finish

^finish:
  return
}
