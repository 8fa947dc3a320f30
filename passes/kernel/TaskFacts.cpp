//===- TaskFacts.cpp - What reports say of a task -------------------------===//

#include "passes/kernel/TaskFacts.h"

#include "lib/support/BufferView.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Location.h"

using namespace mlir;
using namespace mlir::ark;

std::string ark::describeLocation(Location loc) {
  if (auto file = dyn_cast<FileLineColRange>(loc))
    return (file.getFilename().getValue() + ":" + Twine(file.getStartLine()))
        .str();
  if (auto name = dyn_cast<NameLoc>(loc))
    return describeLocation(name.getChildLoc());
  if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    std::string callee = describeLocation(call.getCallee());
    return callee.empty() ? describeLocation(call.getCaller()) : callee;
  }
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (std::string text = describeLocation(part); !text.empty())
        return text;
  return "";
}

/// Operations of one vCTA: those of every linalg op times its iterations.
static int64_t countFlops(TaskOp task) {
  int64_t flops = 0;
  task.getBody().walk([&](linalg::LinalgOp op) {
    int64_t iterations = 1;
    for (int64_t extent : op.getStaticLoopRanges())
      if (ShapedType::isStatic(extent))
        iterations *= extent;
    for (Operation &scalar : op.getBlock()->without_terminator())
      if (llvm::any_of(scalar.getResultTypes(), llvm::IsaPred<FloatType>))
        flops += iterations;
  });
  return flops;
}

TaskFacts ark::getTaskFacts(TaskOp task) {
  TaskFacts facts;
  facts.location = describeLocation(task.getLoc());
  for (auto [index, operand] : llvm::enumerate(task.getOperands())) {
    int64_t elements = 1;
    for (int64_t size : task.getRegion(index).getSizes())
      elements *= size;
    auto type = cast<ShapedType>(operand.getType());
    facts.bytes +=
        elements * getElementBytes(type.getElementType()) * task.getNumVCTAs();
  }
  facts.flops = countFlops(task) * task.getNumVCTAs();
  return facts;
}
