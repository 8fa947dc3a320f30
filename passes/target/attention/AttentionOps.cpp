//===- AttentionOps.cpp - An attention and the ops on its rows ------------===//

#include "passes/target/attention/AttentionOps.h"

#include "passes/target/support/Aliasing.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::ark;

static Value getOut(linalg::LinalgOp op) { return op.getDpsInits()[0]; }

static bool isBuffer(Value value) { return isa<MemRefType>(value.getType()); }

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Returns true if a map selects the loops `loops`.
static bool selects(AffineMap map, ArrayRef<unsigned> loops) {
  return map.getNumResults() == loops.size() &&
         llvm::all_of(llvm::zip(map.getResults(), loops), [&](auto pair) {
           return std::get<0>(pair) ==
                  getAffineDimExpr(std::get<1>(pair), map.getContext());
         });
}

std::optional<AttentionOps> AttentionOps::get(OnlineAttentionOp op) {
  SmallVector<unsigned> ofQuery =
      llvm::to_vector(llvm::seq(0u, op.getNumRowLoops()));
  ofQuery.push_back(op.getDepthLoop());
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  ArrayRef<int64_t> rows = ArrayRef(extents).take_front(op.getNumRowLoops());
  if (!selects(op.getMap(op.getQueryMutable()), ofQuery) ||
      !selects(op.getMap(op.getKeyMutable()),
               {op.getKeyLoop(), op.getDepthLoop()}) ||
      !selects(op.getMap(op.getValueMutable()),
               {op.getKeyLoop(), op.getColumnLoop()}) ||
      ShapedType::isDynamicShape(rows) ||
      ShapedType::isDynamic(extents[op.getDepthLoop()]) ||
      extents[op.getDepthLoop()] != extents[op.getColumnLoop()])
    return std::nullopt;
  AttentionOps attention;
  attention.op = op;
  attention.query = op.getQuery();
  attention.key = op.getKey();
  attention.value = op.getValue();
  attention.rowShape.assign(rows.begin(), rows.end());
  attention.depth = extents[op.getDepthLoop()];
  attention.addRowOps();
  return attention;
}

SmallVector<Operation *> AttentionOps::getOps() const {
  SmallVector<Operation *> ops = {op};
  for (const RowOp &rowOp : rowOps)
    ops.push_back(rowOp.op);
  return ops;
}

bool AttentionOps::contains(Operation *other) const {
  return llvm::is_contained(getOps(), other);
}

//===----------------------------------------------------------------------===//
// Row ops
//===----------------------------------------------------------------------===//

/// Returns true if an op has only parallel loops, and if each iteration
/// computes one element of the output and accesses no memory except its
/// operands.
static bool isElementwise(linalg::LinalgOp op) {
  return op.hasPureBufferSemantics() && op.getNumDpsInits() == 1 &&
         op.getNumReductionLoops() == 0 &&
         llvm::all_of(
             op.getBlock()->without_terminator(), [](Operation &inner) {
               return isMemoryEffectFree(&inner) && inner.getNumRegions() == 0;
             });
}

/// Returns true if the results of a map are exactly the row dimensions.
bool AttentionOps::isRowMap(AffineMap map) const {
  return selects(map, llvm::to_vector(llvm::seq<unsigned>(rowShape.size())));
}

/// Returns true if the loops of an op are the rows, optionally with a further
/// loop over the depth or over one column.
bool AttentionOps::hasRowLoops(linalg::LinalgOp rowOp) const {
  SmallVector<int64_t> extents = rowOp.getStaticLoopRanges();
  if (extents.size() < rowShape.size() ||
      extents.size() > rowShape.size() + 1 ||
      !llvm::equal(ArrayRef(extents).take_front(rowShape.size()), rowShape))
    return false;
  return extents.size() == rowShape.size() || extents.back() == 1 ||
         extents.back() == depth;
}

/// Returns true if each iteration of an op reads from a buffer only the element
/// of the same row and column, or a scalar of the same row. The buffer must
/// have as many columns as the op.
bool AttentionOps::readsSameIteration(linalg::LinalgOp rowOp,
                                      OpOperand &operand) const {
  AffineMap map = rowOp.getMatchingIndexingMap(&operand);
  int64_t columns = rowOp.getNumLoops() > rowShape.size()
                        ? rowOp.getStaticLoopRanges().back()
                        : 1;
  return (map.isIdentity() || isRowMap(map)) &&
         cast<MemRefType>(operand.get().getType()).getNumElements() ==
             getNumRows() * (map.isIdentity() ? columns : 1);
}

/// Returns true if `out` overlaps neither memory that the attention, a row op
/// or `opReads` reads, nor a result. Results are stored last.
bool AttentionOps::mayWrite(Value out, ArrayRef<Value> opReads) const {
  auto isTouched = [&](Value other) { return mayAlias(other, out); };
  return llvm::none_of(reads, isTouched) && llvm::none_of(opReads, isTouched) &&
         llvm::none_of(contents, [&](const auto &entry) {
           return entry.first != out && isTouched(entry.first);
         });
}

/// Adds an op to the row ops, and returns true, if the op is elementwise and
/// each iteration reads only the elements of the same iteration from the
/// attention's results and from other row ops.
bool AttentionOps::addRowOp(linalg::LinalgOp linalgOp) {
  if (!isElementwise(linalgOp) || !hasRowLoops(linalgOp) ||
      !linalgOp.getIndexingMapsArray().back().isIdentity())
    return false;
  RowOp rowOp{linalgOp, {}, true};
  SmallVector<Value> opReads;
  for (OpOperand &operand : linalgOp->getOpOperands()) {
    rowOp.operands.push_back({});
    Value buffer = operand.get();
    if (!isBuffer(buffer) ||
        linalgOp.getMatchingBlockArgument(&operand).use_empty())
      continue;
    auto content = contents.find(buffer);
    if (content != contents.end()) {
      if (!readsSameIteration(linalgOp, operand))
        return false;
      rowOp.operands.back() = content->second;
      continue;
    }
    if (llvm::any_of(contents, [&](const auto &entry) {
          return mayAlias(entry.first, buffer);
        }))
      return false;
    if (linalgOp.isDpsInput(&operand))
      opReads.push_back(buffer);
  }
  if (!mayWrite(getOut(linalgOp), opReads))
    return false;
  llvm::append_range(reads, opReads);
  contents[getOut(linalgOp)] = {
      RowOperand::Earlier, {}, static_cast<unsigned>(rowOps.size())};
  rowOps.push_back(std::move(rowOp));
  return true;
}

/// Returns true if all ops that access a buffer, directly or through views, are
/// in `ops` or precede them. A preceding access is harmless, because `ops`
/// write the buffer before they read it.
static bool hasOnlyUsersIn(Value buffer, ArrayRef<Operation *> ops) {
  return llvm::all_of(buffer.getUsers(), [&](Operation *user) {
    if (isa<ViewLikeOpInterface>(user))
      return hasOnlyUsersIn(user->getResult(0), ops);
    if (llvm::is_contained(ops, user))
      return true;
    Block *block = ops.front()->getBlock();
    Operation *before = block->findAncestorOpInBlock(*user);
    return before && before->isBeforeInBlock(ops.front());
  });
}

/// Returns true if only `ops` use the memory of a buffer.
static bool isUsedOnlyBy(Value buffer, ArrayRef<Operation *> ops) {
  Value root = getRoot(buffer);
  return root.getDefiningOp<memref::AllocaOp>() && hasOnlyUsersIn(root, ops);
}

void AttentionOps::addRowOps() {
  for (OpOperand *operand : op.getDpsInputOperands())
    reads.push_back(operand->get());
  contents[op.getProduct()] = {RowOperand::Result, RowValue::Product, 0};
  contents[op.getMaximum()] = {RowOperand::Result, RowValue::Maximum, 0};
  contents[op.getSum()] = {RowOperand::Result, RowValue::Sum, 0};
  for (Operation *next = op->getNextNode(); next; next = next->getNextNode()) {
    auto structured = dyn_cast<linalg::LinalgOp>(next);
    if (structured ? !addRowOp(structured) : !isMemoryEffectFree(next))
      break;
  }
  SmallVector<Operation *> ops = getOps();
  for (RowOp &rowOp : rowOps)
    rowOp.isStored = !isUsedOnlyBy(getOut(rowOp.op), ops);
}

SmallVector<OpOperand *> AttentionOps::getExposedResults() const {
  SmallVector<OpOperand *> exposed;
  for (OpOperand *out :
       {&op.getProductMutable(), &op.getMaximumMutable(), &op.getSumMutable()})
    if (contents.lookup(out->get()).source == RowOperand::Result &&
        !isUsedOnlyBy(out->get(), getOps()))
      exposed.push_back(out);
  return exposed;
}
