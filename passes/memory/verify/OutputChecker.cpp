//===- OutputChecker.cpp - Check that outputs are complete ----------------===//

#include "passes/memory/verify/OutputChecker.h"

#include "lib/analysis/Regions.h"
#include "passes/memory/verify/TaskChecker.h"

using namespace mlir;
using namespace mlir::ark;

/// Appends the bytes of the buffer that the vCTAs of a task write through an
/// operand.
static void appendWrites(TaskOp task, unsigned operand, const BufferView &view,
                         SmallVectorImpl<Interval> &bytes) {
  RegionBoxes boxes(task.getRegion(operand), task.getGrid(), view.shape);
  SmallVector<Interval> whole, intervals;
  if (boxes.getUnion(whole))
    appendByteIntervals(whole, view, intervals);
  else
    for (unsigned box = 0; box < boxes.getNumBoxes(); ++box)
      appendByteIntervals(boxes.getBox(box), view, intervals);
  for (auto [begin, end] : intervals)
    bytes.push_back({view.byteOffset + begin, view.byteOffset + end});
}

/// Returns the bytes of `output` that tasks fill, in ascending ranges.
static SmallVector<Interval> getFilledBytes(ProgramOp program, Value output) {
  SmallVector<Interval> bytes;
  for (auto task : program.getBody().getOps<TaskOp>())
    for (auto [index, out] : llvm::enumerate(task.getOuts())) {
      FailureOr<BufferView> view = resolveBufferView(out);
      if (succeeded(view) && view->root == output && !task.isUpdated(index))
        appendWrites(task, task.getInputs().size() + index, *view, bytes);
    }
  mergeRanges(bytes);
  return bytes;
}

LogicalResult ark::checkOutputs(ProgramOp program) {
  for (BlockArgument argument : program.getBody().getArguments()) {
    if (getKind(program, argument) != ArgumentKind::Output)
      continue;
    int64_t size = getBufferBytes(cast<ShapedType>(argument.getType()));
    SmallVector<Interval> filled = getFilledBytes(program, argument);
    bool begins = !filled.empty() && filled.front().first <= 0;
    int64_t gap = begins ? filled.front().second : 0;
    if (gap < size)
      return program.emitError("output '")
             << program.getArgumentName(argument.getArgNumber()) << "' has "
             << size << " bytes, and no task fills byte " << gap;
  }
  return success();
}
