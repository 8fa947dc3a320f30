//===- TaskChecker.cpp - Check a task on buffers --------------------------===//

#include "passes/memory/TaskChecker.h"

#include "lib/support/BufferView.h"
#include "passes/memory/BodyChecker.h"

using namespace mlir;
using namespace mlir::ark;

std::optional<ArgumentKind> ark::getKind(ProgramOp program, Value buffer) {
  if (auto argument = dyn_cast<BlockArgument>(buffer))
    return program.getArgumentKind(argument.getArgNumber());
  return std::nullopt;
}

/// Returns true if two elements of a view have the same address.
static bool repeatsElements(const BufferView &view) {
  return view.getNumElements() != 0 &&
         llvm::any_of(llvm::zip(view.shape, view.strides), [](auto pair) {
           auto [extent, stride] = pair;
           return extent > 1 && stride == 0;
         });
}

static LogicalResult checkOperand(TaskOp task, unsigned index) {
  auto error = [&](const Twine &what) {
    return task.emitError("operand ") << index << ' ' << what;
  };
  Value operand = task.getOperand(index);
  if (!isa<MemRefType>(operand.getType()))
    return error("is a tensor");
  FailureOr<BufferView> view = resolveBufferView(operand);
  if (failed(view))
    return failure();
  FailureOr<BufferView> buffer = resolveBufferView(view->buffer);
  if (failed(buffer))
    return failure();
  if (view->byteOffset < buffer->byteOffset ||
      view->getByteEnd() > buffer->getByteEnd())
    return error("reaches outside of its buffer");

  BlockArgument tile =
      task.getBody().front().getArgument(task.getGrid().size() + index);
  SmallVector<int64_t> tileStrides;
  int64_t tileOffset;
  if (failed(getStridesAndOffset(cast<MemRefType>(tile.getType()), tileStrides,
                                 tileOffset)) ||
      tileStrides != view->strides || !ShapedType::isDynamic(tileOffset))
    return error("has a tile without its strides and a dynamic offset");

  if (index < task.getInputs().size())
    return success();
  auto program = task->getParentOfType<ProgramOp>();
  std::optional<ArgumentKind> kind = getKind(program, view->buffer);
  if (kind && *kind != ArgumentKind::Output && *kind != ArgumentKind::State)
    return error("writes to an argument that is neither output nor state");
  if (repeatsElements(*view))
    return error("writes through a view that repeats elements");
  return success();
}

LogicalResult ark::checkTask(TaskOp task) {
  for (unsigned index = 0; index < task.getNumOperands(); ++index)
    if (failed(checkOperand(task, index)))
      return failure();
  return verifyBody(task);
}
