//===- BodyChecker.cpp - Prove that bodies stay in their tiles ------------===//

#include "passes/memory/BodyChecker.h"

#include "lib/support/BufferView.h"
#include "lib/support/DimIndices.h"
#include "passes/memory/BodyBounds.h"
#include "passes/memory/SafeDivisor.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Ops that a body may contain
//===----------------------------------------------------------------------===//

/// Returns true for a cast between integers of equal width. Memory types carry
/// a sign and arithmetic types do not; the cast changes the type of a scalar
/// but no bit.
static bool isSignChange(Operation *op) {
  if (!isa<UnrealizedConversionCastOp>(op) || op->getNumOperands() != 1 ||
      op->getNumResults() != 1)
    return false;
  auto from = dyn_cast<IntegerType>(op->getOperand(0).getType());
  auto to = dyn_cast<IntegerType>(op->getResult(0).getType());
  return from && to && from.getWidth() == to.getWidth();
}

/// Returns true for ops whose result is a part of the memory of their first
/// operand.
static bool isView(Operation *op) {
  return isa<memref::CastOp, memref::CollapseShapeOp, memref::ExpandShapeOp,
             memref::ReinterpretCastOp, memref::SubViewOp, memref::TransposeOp>(
      op);
}

static bool isBuffer(Type type) { return isa<BaseMemRefType>(type); }

/// Returns true for ops on buffers whose accesses the checker knows.
static bool isKnownOnBuffers(Operation *op) {
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return structured.hasPureBufferSemantics();
  return isView(op) ||
         isa<memref::DimOp, memref::ExtractStridedMetadataOp, memref::LoadOp,
             memref::StoreOp, OnlineAttentionOp, vector::LoadOp,
             vector::StoreOp, vector::TransferReadOp, vector::TransferWriteOp,
             ReceivePacketsOp>(op);
}

static bool isAllowed(Operation *op) {
  if (isa<memref::AllocaOp>(op))
    return true;
  bool isOfTask =
      isa<CheckIndexOp, EpochOp, OnlineAttentionOp, ReceivePacketsOp, YieldOp>(
          op);
  bool isOfDialect =
      isa<arith::ArithDialect, linalg::LinalgDialect, math::MathDialect,
          memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>(
          op->getDialect());
  if (!isOfTask && !isSignChange(op) && !isOfDialect)
    return false;
  bool touchesBuffers = llvm::any_of(op->getOperandTypes(), isBuffer) ||
                        llvm::any_of(op->getResultTypes(), isBuffer);
  return touchesBuffers ? isKnownOnBuffers(op)
                        : !isa<memref::MemRefDialect>(op->getDialect());
}

static LogicalResult verifyTemporary(TaskOp task, memref::AllocaOp alloca) {
  if (!alloca.getType().hasStaticShape())
    return alloca.emitError("temporary has no static size");
  if (!alloca.getType().getLayout().isIdentity())
    return alloca.emitError("temporary is not dense");
  if (alloca->getParentOp() != task)
    return alloca.emitError("temporary is not at the head of its task");
  return success();
}

static LogicalResult verifyKind(TaskOp task, Operation *op) {
  if (!isAllowed(op))
    return op->emitError("is not allowed in the body of a task on buffers");
  auto isTensor = llvm::IsaPred<TensorType>;
  if (llvm::any_of(op->getOperandTypes(), isTensor) ||
      llvm::any_of(op->getResultTypes(), isTensor))
    return op->emitError("works on tensors in a task on buffers");
  // Blocks with buffer arguments are rejected; the blocks of a structured op
  // work on elements.
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (llvm::any_of(block.getArgumentTypes(), isBuffer))
        return op->emitError("passes buffers to a block");
  if (auto alloca = dyn_cast<memref::AllocaOp>(op))
    return verifyTemporary(task, alloca);
  auto metadata = dyn_cast<memref::ExtractStridedMetadataOp>(op);
  if (metadata && !metadata.getBaseBuffer().use_empty())
    return op->emitError(
        "takes the base pointer of a tile, which reaches memory "
        "outside of the tile");
  return success();
}

/// Checks that the bytes of the temporaries fit into the task's shared memory.
static LogicalResult verifySharedMemory(TaskOp task) {
  int64_t bytes = 0;
  for (auto alloca : task.getBody().getOps<memref::AllocaOp>())
    bytes += getBufferBytes(alloca.getType());
  if (static_cast<int64_t>(task.getSharedMemory()) < bytes)
    return task.emitError("has temporaries of ")
           << bytes << " bytes and shared_memory = " << task.getSharedMemory();
  return success();
}

//===----------------------------------------------------------------------===//
// Accesses to buffers
//===----------------------------------------------------------------------===//

namespace {
class BodyChecker {
public:
  explicit BodyChecker(TaskOp task) : task(task), bounds(task) {}

  LogicalResult check(Operation *op);

private:
  LogicalResult checkEffects(Operation *op);
  LogicalResult checkRead(Operation *op, Value buffer, BlockArgument tile);
  LogicalResult checkDivision(Operation *op);
  LogicalResult checkView(Operation *op);
  LogicalResult checkCast(memref::CastOp op);
  LogicalResult checkExpand(memref::ExpandShapeOp op);
  LogicalResult checkReinterpret(memref::ReinterpretCastOp op);
  LogicalResult checkSubview(memref::SubViewOp op);
  LogicalResult checkStructured(IndexingMapOpInterface op);
  LogicalResult checkTransfer(VectorTransferOpInterface op);
  LogicalResult checkElements(Operation *op, Value buffer, ValueRange indices,
                              VectorType vector);
  bool fitsInto(memref::ReinterpretCastOp op, ArrayRef<int64_t> strides,
                int64_t offset);
  bool followsDimensions(memref::ReinterpretCastOp op);

  /// Checks that the indices `first` to `last` lie inside of a dimension.
  LogicalResult checkRange(Operation *op, Value buffer, int64_t dim,
                           const LinearForm &first, const LinearForm &last);
  bool areEqual(const LinearForm &left, const LinearForm &right,
                Operation *at) {
    return bounds.isNonNegative(left - right, at) &&
           bounds.isNonNegative(right - left, at);
  }

  TaskOp task;
  BodyBounds bounds;
};
} // namespace

LogicalResult BodyChecker::checkRange(Operation *op, Value buffer, int64_t dim,
                                      const LinearForm &first,
                                      const LinearForm &last) {
  LinearForm end = bounds.getExtent(buffer, dim) - 1;
  if (bounds.isNonNegative(first, op) && bounds.isNonNegative(end - last, op))
    return success();
  return op->emitError("may leave ")
         << buffer.getType() << " in dimension " << dim;
}

/// Checks accesses to the elements from `indices` on, as many as `vector` has.
LogicalResult BodyChecker::checkElements(Operation *op, Value buffer,
                                         ValueRange indices,
                                         VectorType vector) {
  int64_t rank = indices.size();
  int64_t vectorRank = vector ? vector.getRank() : 0;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    LinearForm first = bounds.getIndex(index);
    int64_t position = static_cast<int64_t>(dim) - (rank - vectorRank);
    int64_t extent = position < 0 ? 1 : vector.getDimSize(position);
    if (failed(checkRange(op, buffer, dim, first, first + extent - 1)))
      return failure();
  }
  return success();
}

/// Checks a transfer. Elements out of bounds touch no memory, except in
/// dimensions that the op declares to be in bounds.
LogicalResult BodyChecker::checkTransfer(VectorTransferOpInterface op) {
  SmallVector<int64_t> extents(op.getIndices().size(), 1);
  for (auto [dim, expr] : llvm::enumerate(op.getPermutationMap().getResults()))
    if (auto position = dyn_cast<AffineDimExpr>(expr))
      if (op.isDimInBounds(dim))
        extents[position.getPosition()] = op.getVectorType().getDimSize(dim);
  for (auto [dim, index] : llvm::enumerate(op.getIndices())) {
    LinearForm first = bounds.getIndex(index);
    if (failed(
            checkRange(op, op.getBase(), dim, first, first + extents[dim] - 1)))
      return failure();
  }
  return success();
}

/// Checks that each operand has an element for every iteration.
LogicalResult BodyChecker::checkStructured(IndexingMapOpInterface op) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isBuffer(operand.get().getType()))
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
      SmallVector<LinearForm> loops;
      for (unsigned loop = 0; loop < map.getNumDims(); ++loop)
        loops.push_back(bounds.getLoopIndex(op, loop));
      LinearForm index = bounds.evaluate(expr, loops);
      if (failed(checkRange(op, operand.get(), dim, index, index)))
        return failure();
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

LogicalResult BodyChecker::checkSubview(memref::SubViewOp op) {
  for (int64_t dim = 0; dim < op.getSourceType().getRank(); ++dim) {
    LinearForm offset = bounds.getIndex(op.getMixedOffsets()[dim]);
    LinearForm size = bounds.getIndex(op.getMixedSizes()[dim]);
    std::optional<int64_t> stride =
        getConstantIntValue(op.getMixedStrides()[dim]);
    if (!stride || *stride < 1 || !bounds.isNonNegative(size, op))
      return op.emitError("takes a part of ")
             << op.getSourceType() << " whose bounds are unknown in dimension "
             << dim;
    // An empty part begins inside of the buffer or at its end.
    LinearForm last = offset + (size - 1) * *stride;
    if (failed(checkRange(op, op.getSource(), dim, offset, last)))
      return failure();
  }
  return success();
}

LogicalResult BodyChecker::checkExpand(memref::ExpandShapeOp op) {
  for (auto [dim, parts] : llvm::enumerate(op.getReassociationIndices())) {
    LinearForm product = bounds.getProduct(op.getResult(), parts);
    if (failed(checkRange(op, op.getSrc(), dim, 0, product - 1)))
      return failure();
  }
  return success();
}

LogicalResult BodyChecker::checkCast(memref::CastOp op) {
  auto from = dyn_cast<MemRefType>(op.getSource().getType());
  auto to = dyn_cast<MemRefType>(op.getType());
  SmallVector<int64_t> fromStrides, toStrides;
  int64_t fromOffset, toOffset;
  if (!from || !to ||
      failed(getStridesAndOffset(from, fromStrides, fromOffset)) ||
      failed(getStridesAndOffset(to, toStrides, toOffset)))
    return op.emitError("is a cast between types without strides");
  auto mayDiffer = [](int64_t known, int64_t wanted) {
    return !ShapedType::isDynamic(wanted) && known != wanted;
  };
  if (mayDiffer(fromOffset, toOffset) ||
      llvm::any_of(llvm::zip(fromStrides, toStrides), [&](auto pair) {
        return mayDiffer(std::get<0>(pair), std::get<1>(pair));
      }))
    return op.emitError("declares strides or an offset that ")
           << from << " may not have";
  for (int64_t dim = 0; dim < to.getRank(); ++dim)
    if (!to.isDynamicDim(dim) &&
        failed(checkRange(op, op.getSource(), dim, 0, to.getDimSize(dim) - 1)))
      return failure();
  return success();
}

/// Returns true if a dense source of static shape contains all elements of the
/// result, which must have static shape and strides.
bool BodyChecker::fitsInto(memref::ReinterpretCastOp op,
                           ArrayRef<int64_t> strides, int64_t offset) {
  auto source = cast<MemRefType>(op.getSource().getType());
  MemRefType type = op.getType();
  if (!source.getLayout().isIdentity() || !source.hasStaticShape() ||
      !type.hasStaticShape() || ShapedType::isDynamic(offset) || offset < 0 ||
      llvm::any_of(
          strides,
          [](int64_t stride) {
            return ShapedType::isDynamic(stride) || stride < 0;
          }))
    return false;
  if (type.getNumElements() == 0)
    return true;
  LinearForm last(offset);
  for (auto [extent, stride] : llvm::zip(type.getShape(), strides))
    last += LinearForm(extent - 1) * stride;
  return bounds.isNonNegative(LinearForm(source.getNumElements() - 1) - last,
                              op);
}

/// Returns true if `offset` is the offset of the first element of `source`: the
/// static offset of its type, or the offset of `source` or of a subview that
/// begins at the same element.
static bool isOffsetOf(OpFoldResult offset, TypedValue<MemRefType> source) {
  SmallVector<int64_t> strides;
  int64_t known;
  if (failed(getStridesAndOffset(source.getType(), strides, known)))
    return false;
  auto value = dyn_cast<Value>(offset);
  if (!value)
    return !ShapedType::isDynamic(known) &&
           getConstantIntValue(offset) == known;
  auto metadata = value.getDefiningOp<memref::ExtractStridedMetadataOp>();
  if (!metadata || value != metadata.getOffset())
    return false;
  Value view = metadata.getSource();
  while (view != source) {
    auto part = view.getDefiningOp<memref::SubViewOp>();
    if (!part || !llvm::all_of(part.getMixedOffsets(), isZeroInteger))
      return false;
    view = part.getSource();
  }
  return true;
}

/// Returns how many elements of dimension `dim` of `source` a stride skips, or
/// 0 if the stride does not follow this dimension.
static int64_t getStep(OpFoldResult stride, Value source, int64_t dim) {
  if (auto value = dyn_cast<Value>(stride)) {
    auto metadata = value.getDefiningOp<memref::ExtractStridedMetadataOp>();
    return metadata && metadata.getSource() == source &&
           value == metadata.getStrides()[dim];
  }
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(getStridesAndOffset(cast<MemRefType>(source.getType()), strides,
                                 offset)))
    return 0;
  int64_t wanted = *getConstantIntValue(stride), known = strides[dim];
  if (ShapedType::isDynamic(known))
    return 0;
  if (wanted == known)
    return 1;
  return known > 0 && wanted > 0 && wanted % known == 0 ? wanted / known : 0;
}

/// Returns true if the result begins at the source's first element, and each of
/// its dimensions has one element or follows a distinct dimension of the
/// source.
bool BodyChecker::followsDimensions(memref::ReinterpretCastOp op) {
  auto source = cast<TypedValue<MemRefType>>(op.getSource());
  if (!isOffsetOf(op.getMixedOffsets().front(), source))
    return false;
  llvm::SmallBitVector taken(source.getType().getRank());
  auto take = [&](const LinearForm &size, OpFoldResult stride) {
    for (int64_t dim = 0; dim < source.getType().getRank(); ++dim) {
      int64_t step = taken.test(dim) ? 0 : getStep(stride, source, dim);
      LinearForm last = (size - 1) * step;
      if (step != 0 &&
          bounds.isNonNegative(bounds.getExtent(source, dim) - 1 - last, op)) {
        taken.set(dim);
        return true;
      }
    }
    return false;
  };
  for (auto [size, stride] :
       llvm::zip(op.getMixedSizes(), op.getMixedStrides()))
    if (getConstantIntValue(size) != 1 && !take(bounds.getIndex(size), stride))
      return false;
  // One element of an empty buffer is already out of bounds.
  for (int64_t dim = 0; dim < source.getType().getRank(); ++dim)
    if (!taken.test(dim) &&
        !bounds.isNonNegative(bounds.getExtent(source, dim) - 1, op))
      return false;
  return true;
}

LogicalResult BodyChecker::checkReinterpret(memref::ReinterpretCastOp op) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (isa<MemRefType>(op.getSource().getType()) &&
      succeeded(getStridesAndOffset(op.getType(), strides, offset)) &&
      (fitsInto(op, strides, offset) || followsDimensions(op)))
    return success();
  return op.emitError("may address elements that ")
         << op.getSource().getType() << " does not have";
}

/// Checks a view. Collapsed and transposed buffers need no check: their extents
/// follow from the source.
LogicalResult BodyChecker::checkView(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](memref::CastOp view) { return checkCast(view); })
      .Case([&](memref::ExpandShapeOp view) { return checkExpand(view); })
      .Case([&](memref::ReinterpretCastOp view) {
        return checkReinterpret(view);
      })
      .Case([&](memref::SubViewOp view) { return checkSubview(view); })
      .Default([](Operation *) { return success(); });
}

//===----------------------------------------------------------------------===//
// Body
//===----------------------------------------------------------------------===//

/// Checks a read of a part of a tile. The memory of an out holds old bytes
/// until the body fills it, unless the task updates the out.
LogicalResult BodyChecker::checkRead(Operation *op, Value buffer,
                                     BlockArgument tile) {
  unsigned index = tile.getArgNumber() - task.getGrid().size();
  if (index < task.getInputs().size() ||
      task.isUpdated(index - task.getInputs().size()) ||
      bounds.isFilledBefore(buffer, op))
    return success();
  return op->emitError("reads an out that no structured op has filled before");
}

/// Checks that only outs and temporaries are written, and that outs are filled
/// before they are read.
LogicalResult BodyChecker::checkEffects(Operation *op) {
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  if (!effects)
    return success();
  SmallVector<MemoryEffects::EffectInstance> instances;
  effects.getEffects(instances);
  for (const MemoryEffects::EffectInstance &instance : instances) {
    Value buffer = instance.getValue();
    if (!buffer || !isBuffer(buffer.getType()))
      continue;
    Value root = buffer;
    while (Operation *view = root.getDefiningOp()) {
      if (!isView(view))
        break;
      root = view->getOperand(0);
    }
    auto tile = dyn_cast<BlockArgument>(root);
    if (!tile || tile.getOwner()->getParentOp() != task)
      continue;
    if (isa<MemoryEffects::Read>(instance.getEffect()) &&
        failed(checkRead(op, buffer, tile)))
      return failure();
    if (isa<MemoryEffects::Write>(instance.getEffect()) &&
        llvm::is_contained(task.getInputTiles(), tile))
      return op->emitError("writes to an input of its task");
  }
  return success();
}

/// Checks that an integer division does not trap, which ends the process on the
/// host.
LogicalResult BodyChecker::checkDivision(Operation *op) {
  Value divisor = op->getOperand(1);
  bool isSigned = !isa<arith::CeilDivUIOp, arith::DivUIOp, arith::RemUIOp>(op);
  if (isSafeDivisor(divisor, isSigned) ||
      (divisor.getType().isIndex() &&
       bounds.isNonNegative(bounds.getIndex(divisor) - 1, op)))
    return success();
  return op->emitError("divides by a number that may be zero")
         << (isSigned ? " or -1" : "")
         << "; arith.maxsi with a positive constant is a safe divisor";
}

LogicalResult BodyChecker::check(Operation *op) {
  if (failed(checkEffects(op)))
    return failure();
  if (isView(op))
    return checkView(op);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](memref::LoadOp load) {
        return checkElements(load, load.getMemref(), load.getIndices(), {});
      })
      .Case([&](memref::StoreOp store) {
        return checkElements(store, store.getMemref(), store.getIndices(), {});
      })
      .Case([&](vector::LoadOp load) {
        return checkElements(load, load.getBase(), load.getIndices(),
                             load.getVectorType());
      })
      .Case([&](vector::StoreOp store) {
        return checkElements(store, store.getBase(), store.getIndices(),
                             store.getVectorType());
      })
      .Case([&](VectorTransferOpInterface op) { return checkTransfer(op); })
      .Case<arith::CeilDivSIOp, arith::CeilDivUIOp, arith::DivSIOp,
            arith::DivUIOp, arith::FloorDivSIOp, arith::RemSIOp,
            arith::RemUIOp>([&](auto) { return checkDivision(op); })
      .Case<linalg::LinalgOp, OnlineAttentionOp>([&](auto structured) {
        return checkStructured(
            cast<IndexingMapOpInterface>(structured.getOperation()));
      })
      .Default([](Operation *) { return success(); });
}

LogicalResult ark::verifyBody(TaskOp task) {
  if (failed(verifyDimIndices(task)))
    return failure();
  WalkResult kinds = task.getBody().walk<WalkOrder::PreOrder>(
      [&](Operation *op) { return WalkResult(verifyKind(task, op)); });
  if (kinds.wasInterrupted() || failed(verifySharedMemory(task)))
    return failure();
  BodyChecker checker(task);
  WalkResult accesses = task.getBody().walk(
      [&](Operation *op) { return WalkResult(checker.check(op)); });
  return failure(accesses.wasInterrupted());
}
