//===- BodyChecker.cpp - Prove that bodies stay in their tiles ------------===//

#include "passes/memory/verify/BodyChecker.h"

#include "lib/support/BufferView.h"
#include "lib/support/DimIndices.h"
#include "passes/memory/verify/BodyBounds.h"
#include "passes/memory/verify/BodyViews.h"
#include "passes/memory/verify/SafeDivisor.h"

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

static bool isBuffer(Type type) { return isa<BaseMemRefType>(type); }

/// Returns true for ops on buffers whose accesses the checker knows.
static bool isKnownOnBuffers(Operation *op) {
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return structured.hasPureBufferSemantics();
  return isBodyView(op) ||
         isa<memref::DimOp, memref::ExtractStridedMetadataOp, memref::LoadOp,
             memref::StoreOp, BodyOpInterface, vector::LoadOp, vector::StoreOp,
             vector::TransferReadOp, vector::TransferWriteOp, ReceivePacketsOp>(
             op);
}

/// Returns true if data choose an element of a vector. The element is poison if
/// the vector does not have it.
static bool hasDynamicPosition(Operation *op) {
  if (auto extract = dyn_cast<vector::ExtractOp>(op))
    return extract.hasDynamicPosition();
  if (auto insert = dyn_cast<vector::InsertOp>(op))
    return insert.hasDynamicPosition();
  return false;
}

static bool isAllowed(Operation *op) {
  if (isa<memref::AllocaOp>(op))
    return true;
  bool isOfTask =
      isa<BodyOpInterface, CheckIndexOp, EpochOp, ReceivePacketsOp, YieldOp>(
          op);
  // Other ops of scf may run without end, or run iterations in parallel.
  bool isOfDialect =
      isa<scf::ForOp, scf::IfOp, scf::YieldOp>(op) ||
      isa<arith::ArithDialect, linalg::LinalgDialect, math::MathDialect,
          memref::MemRefDialect, vector::VectorDialect>(op->getDialect());
  if (!isOfTask && !isSignChange(op) && !isOfDialect)
    return false;
  bool touchesBuffers = llvm::any_of(op->getOperandTypes(), isBuffer) ||
                        llvm::any_of(op->getResultTypes(), isBuffer);
  if (touchesBuffers)
    return isKnownOnBuffers(op);
  // Ops with other effects, such as a print, call functions of the host.
  return !isa<memref::MemRefDialect>(op->getDialect()) &&
         (isOfTask || op->getNumRegions() > 0 || isMemoryEffectFree(op)) &&
         !hasDynamicPosition(op);
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
  LogicalResult checkOuts();

private:
  LogicalResult checkEffects(Operation *op);
  LogicalResult checkRead(Operation *op, Value buffer);
  bool isFreshOut(Value root);
  LogicalResult checkDivision(Operation *op);
  LogicalResult checkLoop(scf::ForOp loop);
  LogicalResult checkIterations(linalg::LinalgOp op);
  LogicalResult checkStructured(IndexingMapOpInterface op);
  LogicalResult checkTransfer(VectorTransferOpInterface op);
  LogicalResult checkElements(Operation *op, Value buffer, ValueRange indices,
                              VectorType vector);

  TaskOp task;
  BodyBounds bounds;
};
} // namespace

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
    if (failed(checkRange(bounds, op, buffer, dim, first, first + extent - 1)))
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
    if (failed(checkRange(bounds, op, op.getBase(), dim, first,
                          first + extents[dim] - 1)))
      return failure();
  }
  return success();
}

/// Returns true if two buffers are the same view.
static bool areSame(Value left, Value right) {
  if (left == right)
    return true;
  Operation *a = left.getDefiningOp(), *b = right.getDefiningOp();
  return a && b && isBodyView(a) &&
         OperationEquivalence::isEquivalentTo(
             a, b, OperationEquivalence::IgnoreLocations);
}

/// Checks the ops inside of a structured op, which threads may run at the same
/// time: they write no buffer, and read no buffer that the op writes.
static LogicalResult verifyNestedAccesses(DestinationStyleOpInterface op) {
  SmallVector<Value> written = llvm::map_to_vector(
      op.getDpsInits(), [](Value init) { return getViewRoot(init); });
  WalkResult walk = op->walk([&](MemoryEffectOpInterface nested) {
    if (nested == op)
      return WalkResult::advance();
    SmallVector<MemoryEffects::EffectInstance> effects;
    nested.getEffects(effects);
    for (const MemoryEffects::EffectInstance &effect : effects) {
      Value buffer = effect.getValue();
      if (!buffer || !isBuffer(buffer.getType()))
        continue;
      if (isa<MemoryEffects::Write>(effect.getEffect())) {
        nested->emitError("writes a buffer inside of a structured op");
        return WalkResult::interrupt();
      }
      if (llvm::is_contained(written, getViewRoot(buffer))) {
        nested->emitError(
            "reads a buffer that the structured op around it writes");
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// Checks that an op of a body writes no memory of its other operands, unless
/// the op allows it.
static LogicalResult verifyOverwrites(BodyOpInterface op) {
  for (OpOperand &init : op.getDpsInitsMutable())
    for (OpOperand &operand : op->getOpOperands())
      if (&operand != &init &&
          getViewRoot(operand.get()) == getViewRoot(init.get()) &&
          !(areSame(operand.get(), init.get()) &&
            op.mayOverwrite(operand, init)))
        return op->emitError("writes the memory of operand ")
               << operand.getOperandNumber();
  return success();
}

/// Checks that two iterations of parallel loops never write the same element,
/// and that no iteration reads an element that another one writes: threads may
/// run them at the same time.
LogicalResult BodyChecker::checkIterations(linalg::LinalgOp op) {
  for (OpOperand &init : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
    for (auto [loop, kind] : llvm::enumerate(kinds))
      if (kind == utils::IteratorType::parallel &&
          !llvm::is_contained(map.getResults(),
                              getAffineDimExpr(loop, op.getContext())) &&
          !bounds.isNonNegative(LinearForm(1) - bounds.getLoopExtent(op, loop),
                                op))
        return op->emitError("may write an element in several iterations of "
                             "its parallel loop ")
               << loop;
    for (OpOperand &operand : op->getOpOperands())
      if (isBuffer(operand.get().getType()) &&
          getViewRoot(operand.get()) == getViewRoot(init.get()) &&
          (!areSame(operand.get(), init.get()) ||
           op.getMatchingIndexingMap(&operand) != map))
        return op->emitError("reads elements that another iteration may write");
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
      if (failed(checkRange(bounds, op, operand.get(), dim, index, index)))
        return failure();
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Body
//===----------------------------------------------------------------------===//

/// Returns true if `root` is an out that holds old bytes until the body fills
/// it: an out that the task does not update.
bool BodyChecker::isFreshOut(Value root) {
  auto tile = dyn_cast<BlockArgument>(root);
  if (!tile || tile.getOwner()->getParentOp() != task)
    return false;
  int64_t index =
      static_cast<int64_t>(tile.getArgNumber()) -
      static_cast<int64_t>(task.getGrid().size() + task.getInputs().size());
  return index >= 0 && !task.isUpdated(index);
}

/// Checks that a part of an out or of a temporary is filled before it is read.
LogicalResult BodyChecker::checkRead(Operation *op, Value buffer) {
  Value root = getViewRoot(buffer);
  bool isTemporary = root.getDefiningOp<memref::AllocaOp>() != nullptr;
  if ((!isTemporary && !isFreshOut(root)) || bounds.isFilledBefore(buffer, op))
    return success();
  return op->emitError("reads ") << (isTemporary ? "a temporary" : "an out")
                                 << " that no structured op has filled before";
}

/// Checks that only outs and temporaries are written, and that both are filled
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
    if (isa<MemoryEffects::Read>(instance.getEffect()) &&
        failed(checkRead(op, buffer)))
      return failure();
    if (isa<MemoryEffects::Write>(instance.getEffect()) &&
        llvm::is_contained(task.getInputTiles(), getViewRoot(buffer)))
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

/// Checks that a loop ends: its induction variable increases, and does not wrap
/// around after the last iteration.
LogicalResult BodyChecker::checkLoop(scf::ForOp loop) {
  if (loop.getUnsignedCmp())
    return loop.emitError("compares unsigned numbers, for which no proof shows "
                          "that the loop ends");
  LinearForm step = bounds.getIndex(loop.getStep());
  if (!bounds.isNonNegative(step - 1, loop))
    return loop.emitError("has a step that may be zero or negative: the loop "
                          "may not end");
  if (!bounds.fitsIndex(bounds.getIndex(loop.getUpperBound()) - 1 + step, loop))
    return loop.emitError("has a step that may exceed 64 bits after the last "
                          "iteration: the loop may not end");
  return success();
}

LogicalResult BodyChecker::check(Operation *op) {
  if (failed(checkEffects(op)))
    return failure();
  if (isBodyView(op))
    return checkView(bounds, op);
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
      .Case([&](scf::ForOp loop) { return checkLoop(loop); })
      .Case([&](linalg::LinalgOp structured) {
        return failure(
            failed(checkStructured(cast<IndexingMapOpInterface>(op))) ||
            failed(checkIterations(structured)) ||
            failed(
                verifyNestedAccesses(cast<DestinationStyleOpInterface>(op))));
      })
      .Case([&](BodyOpInterface bodyOp) {
        return failure(
            failed(checkStructured(cast<IndexingMapOpInterface>(op))) ||
            failed(verifyOverwrites(bodyOp)) ||
            failed(
                verifyNestedAccesses(cast<DestinationStyleOpInterface>(op))));
      })
      .Default([](Operation *) { return success(); });
}

/// Checks that the body fills every out that the task does not update.
LogicalResult BodyChecker::checkOuts() {
  Operation *end = task.getBody().front().getTerminator();
  auto isEmpty = [](Value out) {
    auto type = cast<MemRefType>(out.getType());
    return type.hasStaticShape() && type.getNumElements() == 0;
  };
  for (auto [index, tile] : llvm::enumerate(task.getOutTiles()))
    if (!task.isUpdated(index) && !isEmpty(task.getOuts()[index]) &&
        !bounds.isFilledBefore(tile, end))
      return task.emitError("does not fill its out ")
             << index << ": no structured op of the body writes every element";
  return success();
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
  return failure(accesses.wasInterrupted() || failed(checker.checkOuts()));
}
