// Readers of the task and operand tables, for every kernel. ark-cache-tables replaces their bodies
// by code that reads shared memory.

// Returns the body of a task and the index of its first operand in the operand table.
func.func private @ark_task(%context: !llvm.ptr, %task: i64) -> vector<2xi32> {
  %size = arith.constant kTaskFields : i64
  %field = llvm.getelementptr %context[kTasks] : (!llvm.ptr) -> !llvm.ptr, i64
  %tasks = llvm.load %field : !llvm.ptr -> !llvm.ptr
  %offset = arith.muli %task, %size : i64
  %entry = llvm.getelementptr %tasks[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i32
  %fields = llvm.load %entry {alignment = 8 : i64} : !llvm.ptr -> vector<2xi32>
  return %fields : vector<2xi32>
}

// Returns the address of an operand: the address of its buffer plus a byte offset.
func.func private @ark_operand(%context: !llvm.ptr, %operand: i64) -> !llvm.ptr {
  %size = arith.constant kOperandFields : i64
  %buffers = llvm.load %context : !llvm.ptr -> !llvm.ptr
  %field = llvm.getelementptr %context[kOperands] : (!llvm.ptr) -> !llvm.ptr, i64
  %operands = llvm.load %field : !llvm.ptr -> !llvm.ptr
  %entry_offset = arith.muli %operand, %size : i64
  %entry = llvm.getelementptr %operands[%entry_offset] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %slot = llvm.load %entry : !llvm.ptr -> i64
  %offset_field = llvm.getelementptr %entry[kOperandOffset] : (!llvm.ptr) -> !llvm.ptr, i64
  %offset = llvm.load %offset_field : !llvm.ptr -> i64
  %buffer_field = llvm.getelementptr %buffers[%slot] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %buffer = llvm.load %buffer_field : !llvm.ptr -> !llvm.ptr
  %pointer = llvm.getelementptr %buffer[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  return %pointer : !llvm.ptr
}
