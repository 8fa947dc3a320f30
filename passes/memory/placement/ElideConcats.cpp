//===- ElideConcats.cpp - Write slices to the result of a concatenation ---===//
//
// A collective ends with a concatenation of the slices of all ranks. The
// writers of the slices, which may be other ranks, write to the result itself,
// so that the copy of the whole tensor disappears.
//
//===----------------------------------------------------------------------===//

#include "dialects/ark/ArkOps.h"
#include "lib/support/ArenaAlignment.h"
#include "lib/support/BufferView.h"
#include "passes/memory/placement/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/STLExtras.h"

namespace mlir::ark {
#define GEN_PASS_DEF_ELIDECONCATSPASS
#include "passes/memory/placement/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

namespace {
/// An intermediate that holds one operand of a concatenation, and its first
/// element in the result.
struct Slice {
  memref::AllocOp buffer;
  int64_t offset = 0;

  int64_t getEnd() { return offset + buffer.getType().getNumElements(); }
};

/// A task that copies whole intermediates to disjoint slices of another
/// intermediate, and does nothing else.
class Concat {
public:
  explicit Concat(TaskOp task) : task(task) {}

  /// Returns true if the writers of all slices may write to the result.
  bool match();
  void elide();

private:
  bool matchResult();
  std::optional<Slice> matchCopy(linalg::CopyOp copy);
  bool areSlicesComplete();

  TaskOp task;
  memref::AllocOp result;
  SmallVector<Slice> slices;
};
} // namespace

/// Returns the intermediate that a memref covers completely, or null.
static memref::AllocOp getWholeBuffer(Value operand) {
  FailureOr<BufferView> view = resolveBufferView(operand);
  if (failed(view))
    return nullptr;
  auto alloc = view->root.getDefiningOp<memref::AllocOp>();
  return alloc && view->coversRoot() ? alloc : nullptr;
}

/// Returns the operands of tasks that access a buffer, or nothing if an op
/// other than a task or a `memref.reinterpret_cast` uses the buffer.
static std::optional<SmallVector<OpOperand *>> getTaskOperands(Value buffer) {
  SmallVector<OpOperand *> operands;
  for (OpOperand &use : buffer.getUses()) {
    if (isa<TaskOp>(use.getOwner())) {
      operands.push_back(&use);
      continue;
    }
    if (!isa<memref::ReinterpretCastOp>(use.getOwner()))
      return std::nullopt;
    Value view = use.getOwner()->getResult(0);
    for (OpOperand &inner : view.getUses()) {
      if (!isa<TaskOp>(inner.getOwner()))
        return std::nullopt;
      operands.push_back(&inner);
    }
  }
  return operands;
}

/// Returns the only task that writes a buffer, if the task does not read the
/// elements that it overwrites.
static TaskOp getOnlyWriter(memref::AllocOp buffer) {
  std::optional<SmallVector<OpOperand *>> operands = getTaskOperands(buffer);
  if (!operands)
    return nullptr;
  TaskOp writer;
  for (OpOperand *operand : *operands) {
    auto task = cast<TaskOp>(operand->getOwner());
    unsigned number = operand->getOperandNumber();
    unsigned inputs = task.getInputs().size();
    if (number < inputs)
      continue;
    if (writer || task.isUpdated(number - inputs))
      return nullptr;
    writer = task;
  }
  return writer;
}

//===----------------------------------------------------------------------===//
// Match
//===----------------------------------------------------------------------===//

bool Concat::matchResult() {
  if (task.getOuts().size() != 1 || task.getInputs().size() < 2 ||
      task.getInPlace())
    return false;
  result = getWholeBuffer(task.getOuts().front());
  return result && getOnlyWriter(result) == task;
}

/// Returns the slice that a copy of a whole intermediate fills, or nothing if
/// the slice is not contiguous in the result.
std::optional<Slice> Concat::matchCopy(linalg::CopyOp copy) {
  auto source = dyn_cast<BlockArgument>(copy.getInputs().front());
  auto target = copy.getOutputs().front().getDefiningOp<memref::SubViewOp>();
  unsigned grid = task.getGrid().size();
  unsigned inputs = task.getInputs().size();
  if (!source || source.getOwner() != &task.getBody().front() ||
      source.getArgNumber() < grid || source.getArgNumber() >= grid + inputs ||
      !target || target.getSource() != task.getOutTiles().front() ||
      !target.hasUnitStride() ||
      !ShapedType::isStaticShape(target.getStaticOffsets()))
    return std::nullopt;
  unsigned index = source.getArgNumber() - grid;
  // With equal offsets, all elements of the slice move by the same distance.
  if (task.getRegion(index).getOffsets() != task.getRegion(inputs).getOffsets())
    return std::nullopt;

  Slice slice{getWholeBuffer(task.getInputs()[index])};
  if (!slice.buffer || slice.buffer == result)
    return std::nullopt;
  TaskOp writer = getOnlyWriter(slice.buffer);
  if (!writer || writer == task)
    return std::nullopt;
  auto from = resolveBufferView(task.getInputs()[index]);
  auto to = resolveBufferView(task.getOuts().front());
  if (from->elementType != to->elementType)
    return std::nullopt;
  for (auto [extent, stride, outer, shift] :
       llvm::zip_equal(from->shape, from->strides, to->strides,
                       target.getStaticOffsets())) {
    if (extent > 1 && stride != outer)
      return std::nullopt;
    slice.offset += shift * outer;
  }
  if (slice.offset * to->elementBytes % kArenaAlignment != 0)
    return std::nullopt;
  return slice;
}

/// Returns true if the slices are disjoint and cover the result.
bool Concat::areSlicesComplete() {
  llvm::sort(slices, [](const Slice &a, const Slice &b) {
    return a.offset < b.offset;
  });
  int64_t end = 0;
  llvm::SmallPtrSet<Operation *, 8> buffers;
  for (Slice &slice : slices) {
    if (slice.offset != end || !buffers.insert(slice.buffer).second)
      return false;
    end = slice.getEnd();
  }
  return end == result.getType().getNumElements();
}

bool Concat::match() {
  if (!matchResult())
    return false;
  for (Operation &op : task.getBody().front().without_terminator()) {
    if (isa<memref::SubViewOp>(op))
      continue;
    auto copy = dyn_cast<linalg::CopyOp>(op);
    std::optional<Slice> slice = copy ? matchCopy(copy) : std::nullopt;
    if (!slice)
      return false;
    slices.push_back(*slice);
  }
  return areSlicesComplete();
}

//===----------------------------------------------------------------------===//
// Rewrite
//===----------------------------------------------------------------------===//

/// Creates a view of `buffer` with the shape and the strides of `type`, and
/// with the first element at `offset`.
static Value createView(OpBuilder &builder, Location loc, Value buffer,
                        MemRefType type, int64_t offset) {
  SmallVector<int64_t> strides;
  int64_t inner;
  // Cannot fail: the layouts of intermediates and their views are static.
  (void)getStridesAndOffset(type, strides, inner);
  auto layout =
      StridedLayoutAttr::get(builder.getContext(), offset + inner, strides);
  auto viewType =
      MemRefType::get(type.getShape(), type.getElementType(), layout);
  return memref::ReinterpretCastOp::create(
      builder, loc, viewType, buffer, offset + inner, type.getShape(), strides);
}

/// Replaces a slice's buffer, and the views of the buffer, by views of the
/// result.
static void moveSlice(OpBuilder &builder, Slice slice, Value result) {
  builder.setInsertionPoint(slice.buffer);
  for (Operation *user : llvm::make_early_inc_range(slice.buffer->getUsers())) {
    auto cast = dyn_cast<memref::ReinterpretCastOp>(user);
    if (!cast)
      continue;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(cast);
    cast.replaceAllUsesWith(createView(builder, cast.getLoc(), result,
                                       cast.getType(), slice.offset));
    cast.erase();
  }
  slice.buffer.replaceAllUsesWith(createView(builder, slice.buffer.getLoc(),
                                             result, slice.buffer.getType(),
                                             slice.offset));
  slice.buffer.erase();
}

void Concat::elide() {
  task.erase();
  // The buffer has to precede the tasks that write its slices.
  result->moveBefore(&result->getBlock()->front());
  OpBuilder builder(result);
  for (const Slice &slice : slices)
    moveSlice(builder, slice, result);
}

namespace {
struct ElideConcatsPass
    : public ark::impl::ElideConcatsPassBase<ElideConcatsPass> {
  using ElideConcatsPassBase::ElideConcatsPassBase;

  void runOnOperation() override {
    auto tasks = getOperation().getBody().getOps<TaskOp>();
    for (TaskOp task : llvm::make_early_inc_range(tasks)) {
      Concat concat(task);
      if (!concat.match())
        continue;
      concat.elide();
      ++numConcats;
    }
  }
};
} // namespace
