//===- TaskChecker.cpp - Check a task on buffers --------------------------===//

#include "passes/memory/verify/TaskChecker.h"

#include "lib/support/BufferView.h"
#include "passes/memory/verify/BodyChecker.h"

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
  auto error = [&](const Twine &problem) {
    return task.emitError("operand ") << index << ' ' << problem;
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

//===----------------------------------------------------------------------===//
// Operands that share bytes
//===----------------------------------------------------------------------===//

/// Returns true if different elements of a view have different bytes: each
/// stride spans the dimensions of smaller strides.
static bool hasSeparateElements(const BufferView &view) {
  SmallVector<std::pair<int64_t, int64_t>> dims;
  for (auto [stride, extent] : llvm::zip(view.strides, view.shape))
    if (extent > 1)
      dims.push_back({stride, extent});
  llvm::sort(dims);
  int64_t span = 1;
  for (auto [stride, extent] : dims) {
    if (stride < span)
      return false;
    span = stride * extent;
  }
  return true;
}

/// Returns true if the tiles of one vCTA are disjoint in some dimension of
/// equal views.
static bool haveDisjointTiles(TaskOp task, unsigned left, unsigned right) {
  RegionAttr a = task.getRegion(left), b = task.getRegion(right);
  for (auto [dim, exprs] : llvm::enumerate(llvm::zip(
           a.getOffsets().getResults(), b.getOffsets().getResults()))) {
    auto distance =
        dyn_cast<AffineConstantExpr>(std::get<1>(exprs) - std::get<0>(exprs));
    if (distance && (distance.getValue() >= a.getSizes()[dim] ||
                     -distance.getValue() >= b.getSizes()[dim]))
      return true;
  }
  return false;
}

/// Returns true unless the bytes that a vCTA accesses through two operands are
/// proven to differ.
static bool mayShareBytes(TaskOp task, unsigned left, unsigned right) {
  FailureOr<BufferView> a = resolveBufferView(task.getOperand(left));
  FailureOr<BufferView> b = resolveBufferView(task.getOperand(right));
  if (failed(a) || failed(b))
    return true;
  if (a->root != b->root || a->byteOffset >= b->getByteEnd() ||
      b->byteOffset >= a->getByteEnd())
    return false;
  bool areEqual = a->byteOffset == b->byteOffset && a->shape == b->shape &&
                  a->strides == b->strides &&
                  a->elementBytes == b->elementBytes;
  return !areEqual || !hasSeparateElements(*a) ||
         !haveDisjointTiles(task, left, right);
}

/// Checks that a body accesses no byte both through an out and through another
/// operand. The order of two accesses follows from the tile that both name.
static LogicalResult checkSharing(TaskOp task) {
  auto isUsed = [&](unsigned operand) {
    return !task.getBody()
                .front()
                .getArgument(task.getGrid().size() + operand)
                .use_empty();
  };
  unsigned inputs = task.getInputs().size();
  for (unsigned out = inputs; out < task.getNumOperands(); ++out)
    for (unsigned other = 0; other < out; ++other)
      if (isUsed(out) && isUsed(other) && mayShareBytes(task, other, out))
        return task.emitError("accesses bytes through operand ")
               << other << " that it writes through out " << out - inputs
               << "; a body reads what it updates through the tile of the out";
  return success();
}

LogicalResult ark::checkTask(TaskOp task) {
  for (unsigned index = 0; index < task.getNumOperands(); ++index)
    if (failed(checkOperand(task, index)))
      return failure();
  return failure(failed(checkSharing(task)) || failed(verifyBody(task)));
}
