//===- KernelTables.h - Readers of the kernel's tables ----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_TABLES_KERNELTABLES_H
#define ARK_PASSES_TARGET_TABLES_KERNELTABLES_H

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::ark {

/// The address of an operand: the slot of its buffer, and an offset in bytes.
struct OperandAddress {
  int64_t slot, offset;
};

/// A work item in the instructions of a lane.
struct LaneWorkItem {
  int32_t body;
  int64_t firstOperand, begin, end;
};

/// Returns the work items of every lane in program order.
SmallVector<SmallVector<LaneWorkItem>> getLaneWorkItems(KernelOp kernel);
/// Returns the largest number of vCTAs in a work item of a body, or 0 if no
/// lane runs the body.
int64_t getLongestWorkItem(KernelOp kernel, func::FuncOp body);
/// Returns the address of an operand in the operand table, or slot -1 if the
/// table has no entry with this index.
OperandAddress getOperandAddress(KernelOp kernel, int64_t index);
/// Returns true if an argument is a parameter or a constant in all tasks of a
/// body, at an address that bulk copies support.
bool isParameter(KernelOp kernel, func::FuncOp body, BlockArgument argument);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_TABLES_KERNELTABLES_H
