//===- OutputChecker.cpp - Check that outputs are complete ----------------===//

#include "passes/memory/verify/OutputChecker.h"

#include "lib/analysis/Regions.h"
#include "passes/memory/verify/TaskChecker.h"

#include "llvm/ADT/DenseMap.h"

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

/// For every output, the bytes that tasks fill, in ascending ranges.
using FilledBytes = llvm::DenseMap<Value, SmallVector<Interval>>;

static bool isOutput(ProgramOp program, Value buffer) {
  auto argument = dyn_cast<BlockArgument>(buffer);
  return argument && argument.getOwner() == &program.getBody().front() &&
         getKind(program, argument) == ArgumentKind::Output;
}

static FilledBytes getFilledBytes(ProgramOp program) {
  FilledBytes filled;
  for (auto task : program.getBody().getOps<TaskOp>())
    for (auto [index, out] : llvm::enumerate(task.getOuts())) {
      if (task.isUpdated(index))
        continue;
      FailureOr<BufferView> view = resolveBufferView(out);
      if (succeeded(view) && isOutput(program, view->root))
        appendWrites(task, task.getInputs().size() + index, *view,
                     filled[view->root]);
    }
  for (auto &[output, bytes] : filled)
    mergeRanges(bytes);
  return filled;
}

LogicalResult ark::checkOutputs(ProgramOp program) {
  FilledBytes bytes = getFilledBytes(program);
  for (BlockArgument argument : program.getBody().getArguments()) {
    if (getKind(program, argument) != ArgumentKind::Output)
      continue;
    int64_t size = getBufferBytes(cast<ShapedType>(argument.getType()));
    ArrayRef<Interval> filled = bytes[argument];
    bool begins = !filled.empty() && filled.front().first <= 0;
    int64_t gap = begins ? filled.front().second : 0;
    if (gap < size)
      return program.emitError("output '")
             << program.getArgumentName(argument.getArgNumber()) << "' has "
             << size << " bytes, and no task fills byte " << gap;
  }
  return success();
}
