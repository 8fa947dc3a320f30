//===- AttentionOps.cpp - Ops of an attention in a body -------------------===//

#include "passes/target/attention/AttentionOps.h"

#include "passes/target/support/Aliasing.h"
#include "passes/target/support/LoopChain.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Single ops
//===----------------------------------------------------------------------===//

/// Returns true if every iteration writes one element, and the body of the op
/// does not access memory.
static bool isElementwiseWrite(linalg::LinalgOp op) {
  return op.hasPureBufferSemantics() && op.getNumDpsInits() == 1 &&
         llvm::all_of(
             op.getBlock()->without_terminator(), [](Operation &inner) {
               return isMemoryEffectFree(&inner) && inner.getNumRegions() == 0;
             });
}

static bool isElementwise(linalg::LinalgOp op) {
  return isElementwiseWrite(op) && op.getNumReductionLoops() == 0;
}

/// Returns the constant that a fill writes, or nothing for other ops.
static std::optional<APFloat> getFilling(linalg::LinalgOp op) {
  if (!isElementwise(op) || op.getNumDpsInputs() != 1)
    return std::nullopt;
  Value yielded = op.getBlock()->getTerminator()->getOperand(0);
  APFloat number(0.0f);
  if (yielded != op.getBlock()->getArgument(0) ||
      !matchPattern(op->getOperand(0), m_ConstantFloat(&number)))
    return std::nullopt;
  return number;
}

static Value getOut(linalg::LinalgOp op) { return op.getDpsInits()[0]; }

static AffineMap getOutMap(linalg::LinalgOp op) {
  return op.getIndexingMapsArray().back();
}

/// Returns the op that computes the result of a body, if it is an `OpTy`.
template <typename OpTy>
static OpTy getResult(linalg::LinalgOp op) {
  return op.getBlock()->getTerminator()->getOperand(0).getDefiningOp<OpTy>();
}

/// Returns true if a reduction combines the elements of its input with `OpTy`.
template <typename OpTy>
static bool reducesBy(linalg::LinalgOp op) {
  std::optional<Reduction> reduction = Reduction::match(op);
  return reduction && isa<OpTy>(reduction->combiner) &&
         op.getNumDpsInputs() == 1 &&
         reduction->value == op.getBlock()->getArgument(0);
}

/// Returns true for an op that sums products over its last loop in f32.
static bool isSumOfProducts(linalg::LinalgOp op) {
  if (!op.hasPureBufferSemantics() || !linalg::isaContractionOpInterface(op) ||
      op.getNumReductionLoops() != 1 || op.getNumLoops() < 3 ||
      op.getIteratorTypesArray().back() != utils::IteratorType::reduction ||
      !getElementTypeOrSelf(getOut(op)).isF32())
    return false;
  std::optional<Reduction> reduction = Reduction::match(op);
  return reduction && isa<arith::AddFOp>(reduction->combiner) &&
         reduction->value.getDefiningOp<arith::MulFOp>();
}

/// Returns the loops of a map if each of its results is a loop.
static std::optional<SmallVector<unsigned>> getLoops(AffineMap map) {
  SmallVector<unsigned> loops;
  for (AffineExpr expr : map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      return std::nullopt;
    loops.push_back(dim.getPosition());
  }
  return loops;
}

/// Returns 0, 1, ..., `count` - 1, followed by `last` if given.
static SmallVector<unsigned> getFirst(unsigned count,
                                      std::optional<unsigned> last) {
  auto loops = llvm::to_vector(llvm::seq(0u, count));
  if (last)
    loops.push_back(*last);
  return loops;
}

/// Returns true if a contraction over the last of n + 2 loops reads its left
/// operand by the first n loops and the last one, reads its right operand by
/// the loops `right`, and writes its result by the first n + 1 loops.
static bool hasMaps(linalg::LinalgOp op, ArrayRef<unsigned> right) {
  unsigned rows = op.getNumLoops() - 2;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  return getLoops(maps[0]) == getFirst(rows, rows + 1) &&
         getLoops(maps[1]) == SmallVector<unsigned>(right) &&
         getLoops(maps[2]) == getFirst(rows, rows);
}

//===----------------------------------------------------------------------===//
// Contents of buffers
//===----------------------------------------------------------------------===//

const AttentionOps::Content *AttentionOps::getContent(Value buffer) const {
  auto found = contents.find(buffer);
  return found == contents.end() ? nullptr : &found->second;
}

/// Returns true if a buffer, or the temporary that it views, was filled with
/// the initial value of `state`.
bool AttentionOps::isFilled(Value buffer, State state) const {
  const Content *content = getContent(buffer);
  if (!content)
    content = getContent(getRoot(buffer));
  return content && content->state == state;
}

bool AttentionOps::holds(Value buffer, RowValue value) const {
  const Content *content = getContent(buffer);
  return content && content->state == State::Row &&
         content->row.source == RowOperand::Number &&
         content->row.value == value;
}

/// Returns true if one of the matched ops may have written to `buffer`.
bool AttentionOps::isMade(Value buffer) const {
  return llvm::any_of(contents, [&](const auto &entry) {
    return mayAlias(entry.first, buffer);
  });
}

void AttentionOps::setRow(Value buffer, RowValue value) {
  contents[buffer] = {State::Row, {RowOperand::Number, value, 0}};
}

/// Returns true if the results of a map are exactly the row dimensions.
bool AttentionOps::isRowMap(AffineMap map) const {
  return getLoops(map) == getFirst(rowShape.size(), std::nullopt);
}

/// Returns true if the loops of an op are the rows and, with `withKeys`, then
/// the keys.
bool AttentionOps::isRowSpace(linalg::LinalgOp op, bool withKeys) const {
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  return extents.size() == rowShape.size() + withKeys &&
         llvm::equal(ArrayRef(extents).take_front(rowShape.size()), rowShape);
}

//===----------------------------------------------------------------------===//
// Matching of single ops
//===----------------------------------------------------------------------===//

bool AttentionOps::addFill(linalg::LinalgOp op) {
  std::optional<APFloat> number = getFilling(op);
  Value out = getOut(op);
  if (!number || !getRoot(out).getDefiningOp<memref::AllocaOp>() ||
      !getElementTypeOrSelf(out).isF32() ||
      (scores && getRoot(out) == getRoot(scores)))
    return false;
  bool isLeast = number->isInfinity() && number->isNegative();
  if (!isLeast && !number->isPosZero())
    return false;
  contents[out] = {isLeast ? State::Least : State::Zero, {}};
  return true;
}

bool AttentionOps::addScores(linalg::LinalgOp op) {
  if (scores || !isSumOfProducts(op) || !isFilled(getOut(op), State::Zero))
    return false;
  unsigned rows = op.getNumLoops() - 2;
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  if (!hasMaps(op, {rows, rows + 1}) || ShapedType::isDynamic(extents.back()) ||
      ShapedType::isDynamicShape(ArrayRef(extents).take_front(rows)))
    return false;
  scoresOp = op;
  scores = getOut(op);
  query = op->getOperand(0);
  key = op->getOperand(1);
  depth = extents.back();
  rowShape.assign(extents.begin(), extents.begin() + rows);
  contents[scores] = {State::Scores, {}};
  return true;
}

/// Matches score = f(score, ...), where another operand may be a mask. No
/// matched op may have reduced the scores.
bool AttentionOps::addScoreOp(linalg::LinalgOp op) {
  if (!scores || getOut(op) != scores || !isElementwise(op) ||
      getContent(scores)->state != State::Scores || !isRowSpace(op, true) ||
      !getOutMap(op).isIdentity() ||
      llvm::any_of(contents, [](const auto &entry) {
        return entry.second.state == State::Row;
      }))
    return false;
  for (Value input : op.getDpsInputs())
    if (isa<MemRefType>(input.getType()) && isMade(input))
      return false;
  scoreOps.push_back(op);
  return true;
}

/// Matches the maximum or the sum of `scores` over the keys.
bool AttentionOps::addReduction(linalg::LinalgOp op) {
  if (!scores || !isElementwiseWrite(op) || op.getNumReductionLoops() != 1 ||
      !isRowSpace(op, true) || op->getOperand(0) != scores ||
      !op.getIndexingMapsArray().front().isIdentity() ||
      !isRowMap(getOutMap(op)))
    return false;
  Value out = getOut(op);
  State state = getContent(scores)->state;
  if (state == State::Scores && !finiteOp && reducesBy<arith::MaximumFOp>(op) &&
      isFilled(out, State::Least)) {
    setRow(out, RowValue::Maximum);
    return true;
  }
  if (state == State::Powers && reducesBy<arith::AddFOp>(op) &&
      isFilled(out, State::Zero)) {
    setRow(out, RowValue::Sum);
    return true;
  }
  return false;
}

/// Matches finite = f(maximum), which may overwrite the maximum.
bool AttentionOps::addFinite(linalg::LinalgOp op) {
  if (finiteOp || !scores || !isElementwise(op) || !isRowSpace(op, false) ||
      !isRowMap(getOutMap(op)) || !holds(op->getOperand(0), RowValue::Maximum))
    return false;
  bool isInPlace = op->getNumOperands() == 1;
  bool isFromOther = op->getNumOperands() == 2 &&
                     isRowMap(op.getIndexingMapsArray().front()) &&
                     op.getBlock()->getArgument(1).use_empty();
  if (!isInPlace && !isFromOther)
    return false;
  finiteOp = op;
  setRow(getOut(op), RowValue::Finite);
  return true;
}

/// Matches exponential = exp(score - finite).
bool AttentionOps::addExponentials(linalg::LinalgOp op) {
  if (!finiteOp || exponentialOp || !isElementwise(op) ||
      getOut(op) != scores || op->getNumOperands() != 2 ||
      !isRowSpace(op, true) || !holds(op->getOperand(0), RowValue::Finite) ||
      !isRowMap(op.getIndexingMapsArray().front()) ||
      !getOutMap(op).isIdentity())
    return false;
  auto power = getResult<math::ExpOp>(op);
  auto difference =
      power ? power.getOperand().getDefiningOp<arith::SubFOp>() : nullptr;
  if (!difference || difference.getLhs() != op.getBlock()->getArgument(1) ||
      difference.getRhs() != op.getBlock()->getArgument(0))
    return false;
  exponentialOp = op;
  contents[scores] = {State::Powers, {}};
  return true;
}

bool AttentionOps::addProduct(linalg::LinalgOp op) {
  if (!exponentialOp || productOp || !isSumOfProducts(op) ||
      op->getOperand(0) != scores || !isFilled(getOut(op), State::Zero) ||
      op.getNumLoops() != rowShape.size() + 2)
    return false;
  unsigned rows = rowShape.size();
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  if (!hasMaps(op, {rows + 1, rows}) || extents[rows] != depth)
    return false;
  productOp = op;
  value = op->getOperand(1);
  setRow(getOut(op), RowValue::Product);
  return true;
}

/// Matches an elementwise op over rows, optionally with a further dimension of
/// the depth or of one column. The op may read only its own element of the
/// attention's results and of other row ops.
bool AttentionOps::addRowOp(linalg::LinalgOp op) {
  unsigned rows = rowShape.size();
  if (!exponentialOp || !isElementwise(op) || op.getNumLoops() < rows ||
      op.getNumLoops() > rows + 1 || !isRowSpace(op, op.getNumLoops() > rows))
    return false;
  bool hasColumns = op.getNumLoops() > rows;
  int64_t columns = hasColumns ? op.getStaticLoopRanges().back() : 1;
  if ((columns != 1 && columns != depth) || !getOutMap(op).isIdentity())
    return false;
  RowOp rowOp{op, {}, true};
  for (OpOperand &operand : op->getOpOperands()) {
    Value buffer = operand.get();
    AffineMap map = op.getMatchingIndexingMap(&operand);
    const Content *content = getContent(buffer);
    bool isRead = !op.getMatchingBlockArgument(&operand).use_empty();
    if (content && isRead) {
      bool isOwn =
          content->state == State::Row && (map.isIdentity() || isRowMap(map));
      // An operand must have as many columns as the op reads.
      bool hasOwnRows =
          isOwn && cast<MemRefType>(buffer.getType()).getNumElements() ==
                       getNumRows() * (map.isIdentity() ? columns : 1);
      if (!hasOwnRows)
        return false;
      rowOp.operands.push_back(content->row);
      continue;
    }
    if (isRead && isa<MemRefType>(buffer.getType()) && isMade(buffer))
      return false;
    rowOp.operands.push_back({});
  }
  contents[getOut(op)] = {
      State::Row,
      {RowOperand::Earlier, {}, static_cast<unsigned>(rowOps.size())}};
  rowOps.push_back(std::move(rowOp));
  return true;
}

bool AttentionOps::add(linalg::LinalgOp op) {
  bool added = addFill(op) || addScores(op) || addExponentials(op) ||
               addScoreOp(op) || addReduction(op) || addFinite(op) ||
               addProduct(op) || addRowOp(op);
  if (added)
    ops.push_back(op);
  return added;
}

//===----------------------------------------------------------------------===//
// Matching of the whole attention
//===----------------------------------------------------------------------===//

/// Returns true if all ops that access a buffer, directly or through views, are
/// in `ops` or precede them. A preceding access is harmless, because `ops`
/// write the buffer before they read it.
static bool hasOnlyUsersIn(Value buffer, ArrayRef<linalg::LinalgOp> ops) {
  return llvm::all_of(buffer.getUsers(), [&](Operation *user) {
    if (isa<ViewLikeOpInterface>(user))
      return hasOnlyUsersIn(user->getResult(0), ops);
    auto op = dyn_cast<linalg::LinalgOp>(user);
    if (op && llvm::is_contained(ops, op))
      return true;
    Block *block = ops.front()->getBlock();
    Operation *before = block->findAncestorOpInBlock(*user);
    return before && before->isBeforeInBlock(ops.front());
  });
}

/// Returns true if all buffers that the attention writes are its own
/// temporaries, except for the outputs of row ops. Sets `isStored` of the row
/// ops whose results other ops read.
bool AttentionOps::hasPrivateBuffers() {
  auto isOwn = [&](Value buffer) {
    Value root = getRoot(buffer);
    return root.getDefiningOp<memref::AllocaOp>() && hasOnlyUsersIn(root, ops);
  };
  for (RowOp &rowOp : rowOps)
    rowOp.isStored = !isOwn(getOut(rowOp.op));
  for (linalg::LinalgOp op : ops) {
    bool isRowOp = llvm::any_of(
        rowOps, [&](const RowOp &rowOp) { return rowOp.op == op; });
    if (!isRowOp && !isOwn(getOut(op)))
      return false;
  }
  // Results are stored last, and must not overwrite memory that the ops read.
  return llvm::none_of(rowOps, [&](const RowOp &rowOp) {
    return rowOp.isStored && llvm::any_of(ops, [&](linalg::LinalgOp op) {
             return llvm::any_of(op.getDpsInputs(), [&](Value input) {
               return isa<MemRefType>(input.getType()) &&
                      mayAlias(input, getOut(rowOp.op));
             });
           });
  });
}

std::optional<AttentionOps> AttentionOps::match(linalg::LinalgOp first) {
  AttentionOps attention;
  for (Operation *op = first; op; op = op->getNextNode()) {
    auto structured = dyn_cast<linalg::LinalgOp>(op);
    if (!structured && isMemoryEffectFree(op))
      continue;
    if (!structured || !attention.add(structured))
      break;
  }
  // Trailing fills belong to other ops.
  while (!attention.ops.empty() && getFilling(attention.ops.back()))
    attention.ops.pop_back();
  if (!attention.isComplete() || attention.scoresOp != attention.ops[1] ||
      !attention.hasPrivateBuffers())
    return std::nullopt;
  return attention;
}
