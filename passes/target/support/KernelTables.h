//===- KernelTables.h - Readers of the kernel's tables ----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_SUPPORT_KERNELTABLES_H
#define ARK_PASSES_TARGET_SUPPORT_KERNELTABLES_H

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::ark {

/// A row of the kernel's table of operands.
struct OperandPlace {
  int64_t slot, offset;
};

/// A run of vCTAs in the instructions of a lane.
struct LaneRun {
  int32_t body;
  int64_t firstOperand, begin, end;
};

/// Returns the runs of every lane, in their order.
SmallVector<SmallVector<LaneRun>> getLaneRuns(KernelOp kernel);
/// Returns the most vCTAs that a run of a body has; 0 if no lane runs the body.
int64_t getLongestRun(KernelOp kernel, func::FuncOp body);
OperandPlace getOperandPlace(KernelOp kernel, int64_t row);
/// Returns true if an argument of a body is a parameter or a constant in all
/// tasks with that body, at an address where bulk copies may begin.
bool isParameter(KernelOp kernel, func::FuncOp body, BlockArgument argument);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_SUPPORT_KERNELTABLES_H
