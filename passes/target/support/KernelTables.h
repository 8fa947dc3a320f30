//===- KernelTables.h - Readers of the kernel's tables ----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_SUPPORT_KERNELTABLES_H
#define ARK_PASSES_TARGET_SUPPORT_KERNELTABLES_H

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::ark {

/// A row of the kernel's operand table.
struct OperandPlace {
  int64_t slot, offset;
};

/// A run in the instructions of a lane.
struct LaneRun {
  int32_t body;
  int64_t firstOperand, begin, end;
};

/// Returns the runs of every lane in program order.
SmallVector<SmallVector<LaneRun>> getLaneRuns(KernelOp kernel);
/// Returns the largest number of vCTAs in a run of a body, or 0 if no lane runs
/// the body.
int64_t getLongestRun(KernelOp kernel, func::FuncOp body);
OperandPlace getOperandPlace(KernelOp kernel, int64_t row);
/// Returns true if an argument is a parameter or a constant in all tasks of a
/// body, at an address that bulk copies support.
bool isParameter(KernelOp kernel, func::FuncOp body, BlockArgument argument);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_SUPPORT_KERNELTABLES_H
