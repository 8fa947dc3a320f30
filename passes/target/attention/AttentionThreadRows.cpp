//===- AttentionThreadRows.cpp - The rows of a thread ---------------------===//

#include "passes/target/attention/AttentionThreadRows.h"

#include "passes/target/support/Alignment.h"
#include "passes/target/support/Bodies.h"

#include "lib/backend/GpuInstructions.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

bool ark::isKnownMultiple(OpFoldResult number, int64_t unit) {
  if (std::optional<int64_t> constant = getConstantIntValue(number))
    return *constant % unit == 0;
  Operation *op = cast<Value>(number).getDefiningOp();
  if (auto apply = dyn_cast_if_present<affine::AffineApplyOp>(op))
    return apply.getAffineMap().getResult(0).isMultipleOf(unit);
  auto isOperand = [&](Value operand) {
    return isKnownMultiple(operand, unit);
  };
  if (isa_and_present<arith::MulIOp>(op))
    return llvm::any_of(op->getOperands(), isOperand);
  return isa_and_present<arith::AddIOp, arith::SubIOp, arith::MinSIOp>(op) &&
         llvm::all_of(op->getOperands(), isOperand);
}

bool AttentionThreadRows::isWholeStep() const {
  return isKnownMultiple(length, shape.getStepKeys());
}

void AttentionThreadRows::assignRows(Value first) {
  unclampedRows.clear();
  rows.clear();
  rowIndices.clear();
  for (int64_t threadRow = 0; threadRow < countRows(); ++threadRow) {
    unclampedRows.push_back(add(first, threadRow * getRowDistance()));
    rows.push_back(shape.rows % shape.getBlockRows() == 0
                       ? unclampedRows.back()
                       : arith::MinSIOp::create(builder, unclampedRows.back(),
                                                index(shape.rows - 1))
                             .getResult());
    rowIndices.push_back(getRowIndices(rows.back()));
  }
}

/// Returns an approximation of 2^exponent.
Value AttentionThreadRows::raiseTwo(Value exponent) {
  return getGpuInstructions(builder).createExp2(builder, builder.getLoc(),
                                                exponent);
}

/// Exponentials are powers of two of scaled scores, from which the rounded,
/// scaled maximum is subtracted. Each use rounds the maximum in the same way,
/// so that its rounding error cancels out.
SmallVector<Value>
AttentionThreadRows::updateSoftmax(MutableArrayRef<Value> maxima,
                                   MutableArrayRef<Value> sums,
                                   MutableArrayRef<SmallVector<Value>> scores) {
  Value log2e = number(llvm::numbers::log2ef);
  auto scale = [&](Value maximum) {
    return arith::MulFOp::create(builder, maximum, log2e).getResult();
  };
  // The sum of exponentials of a row with NaN is NaN, whether its maximum is
  // NaN or not.
  bool isNumber = !getGpuInstructions(builder).hasMaximum();
  auto getLarger = [&](Value a, Value b) -> Value {
    if (isNumber)
      return LLVM::MaxNumOp::create(builder, a, b);
    return arith::MaximumFOp::create(builder, a, b);
  };
  SmallVector<Value> corrections;
  for (int64_t threadRow = 0; threadRow < countRows(); ++threadRow) {
    Value largest = maxima[threadRow];
    for (Value score : scores[threadRow])
      largest = getLarger(largest, score);
    for (int64_t distance : getRowSharing())
      largest = getLarger(largest, exchange(largest, distance));
    // The maximum of zeros of both signs may have either sign, which must not
    // differ between threads: the sum of both is positive.
    if (isNumber)
      largest = arith::AddFOp::create(builder, largest, number(0));
    Value less =
        arith::NegFOp::create(builder, scale(getFinite(largest))).getResult();
    corrections.push_back(
        raiseTwo(arith::AddFOp::create(builder, scale(maxima[threadRow]), less)
                     .getResult()));
    maxima[threadRow] = largest;
    Value sum =
        arith::MulFOp::create(builder, sums[threadRow], corrections.back());
    for (Value &score : scores[threadRow]) {
      score = raiseTwo(math::FmaOp::create(builder, score, log2e, less));
      sum = arith::AddFOp::create(builder, sum, score);
    }
    sums[threadRow] = sum;
  }
  return corrections;
}

std::pair<Value, Value> AttentionThreadRows::mergeSoftmax(Value &maximum,
                                                          Value &sum,
                                                          Value otherMaximum,
                                                          Value otherSum) {
  Value log2e = number(llvm::numbers::log2ef);
  Value largest =
      arith::MaximumFOp::create(builder, maximum, otherMaximum).getResult();
  Value finite = getFinite(largest);
  auto getFactor = [&](Value own) {
    Value distance = arith::SubFOp::create(builder, own, finite);
    return raiseTwo(arith::MulFOp::create(builder, distance, log2e));
  };
  std::pair<Value, Value> factors = {getFactor(maximum),
                                     getFactor(otherMaximum)};
  Value other = arith::MulFOp::create(builder, otherSum, factors.second);
  sum = math::FmaOp::create(builder, sum, factors.first, other);
  maximum = largest;
  return factors;
}

void AttentionThreadRows::combineSums(MutableArrayRef<Value> sums) {
  for (Value &sum : sums)
    sum = combine<arith::AddFOp>(sum, getRowSharing());
}

/// Inserts a branch that is taken if the thread's row exists, and moves the
/// builder into it. The last block may be incomplete.
void AttentionThreadRows::enterRow(int64_t threadRow) {
  if (shape.rows % shape.getBlockRows() == 0)
    return;
  auto branch = scf::IfOp::create(
      builder, isLess(unclampedRows[threadRow], index(shape.rows)),
      /*withElse=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
}

/// Returns true if threads compute and store the single column of a row op,
/// such as a log-sum-exp, after all other results of all rows. Only the thread
/// with the first column needs the column, so that LLVM computes the column in
/// a branch. The products that later code reads would be scaled behind the
/// branch, with a register for each factor.
bool AttentionThreadRows::isDeferred(const RowOp &rowOp) {
  linalg::LinalgOp op = rowOp.op;
  if (!rowOp.isStored || getRowColumns(rowOp) != 1 ||
      op.getBlock()->without_terminator().empty())
    return false;
  // Results of other row ops may overwrite memory that a row op reads.
  return llvm::all_of(
      llvm::zip(op->getOpOperands(), rowOp.operands), [&](const auto &pair) {
        auto &[operand, from] = pair;
        return from.source == RowOperand::Result ||
               op.getMatchingBlockArgument(&operand).use_empty();
      });
}

bool AttentionThreadRows::hasDeferred() {
  return llvm::any_of(attention.rowOps,
                      [&](const RowOp &rowOp) { return isDeferred(rowOp); });
}

/// Clones the ops of `block` that compute `value`, which access no memory.
static Value cloneInto(OpBuilder &builder, Value value, Block &block,
                       IRMapping &mapping) {
  Operation *op = value.getDefiningOp();
  if (mapping.contains(value) || !op || op->getBlock() != &block)
    return mapping.lookupOrDefault(value);
  if (!isMemoryEffectFree(op))
    return value;
  for (Value operand : op->getOperands())
    mapping.map(operand, cloneInto(builder, operand, block, mapping));
  builder.clone(*op, mapping);
  return mapping.lookup(value);
}

void AttentionThreadRows::recomputeAddresses() {
  auto vctas = dyn_cast<scf::ForOp>(attention.op->getParentOp());
  if (!vctas || !hasDeferred())
    return;
  Value index = vctas.getInductionVar();
  Value narrow =
      arith::IndexCastOp::create(builder, builder.getI32Type(), index);
  Value opaque = getGpuInstructions(builder).createOpaqueNumber(
      builder, builder.getLoc(), narrow);
  IRMapping mapping;
  mapping.map(index, arith::IndexCastUIOp::create(
                         builder, builder.getIndexType(), opaque));
  for (const RowOp &rowOp : attention.rowOps) {
    OpOperand &out = linalg::LinalgOp(rowOp.op).getDpsInitsMutable()[0];
    if (rowOp.isStored)
      out.set(cloneInto(builder, out.get(), *vctas.getBody(), mapping));
  }
}

void AttentionThreadRows::finishRows(
    ArrayRef<Value> maxima, ArrayRef<Value> sums,
    function_ref<void(const RowValues &, int64_t)> finish) {
  for (storesDeferred = false;; storesDeferred = true) {
    for (int64_t threadRow = 0; threadRow < countRows(); ++threadRow) {
      OpBuilder::InsertionGuard guard(builder);
      enterRow(threadRow);
      RowValues values;
      values[RowValue::Maximum] = maxima[threadRow];
      values[RowValue::Sum] = sums[threadRow];
      finish(values, threadRow);
    }
    if (storesDeferred || !hasDeferred())
      return;
  }
}

/// Builds the row ops for neighbouring columns of a row and stores the results.
void AttentionThreadRows::finishColumns(RowValues values, int64_t threadRow,
                                        Value first, ArrayRef<Value> products) {
  SmallVector<SmallVector<Value>> results;
  for (auto [i, product] : llvm::enumerate(products)) {
    values[RowValue::Product] = product;
    results.push_back(
        buildRowOps(values, rowIndices[threadRow], add(first, i)));
  }
  int64_t count = products.size();
  for (auto [i, rowOp] : llvm::enumerate(attention.rowOps)) {
    if (!rowOp.isStored || isDeferred(rowOp) != storesDeferred)
      continue;
    Value out = linalg::LinalgOp(rowOp.op).getDpsInits()[0];
    Type type = getElementTypeOrSelf(out);
    // A packet needs a scalar store.
    bool isWide =
        !arePackets(out) && getRowColumns(rowOp) == attention.depth &&
        getRowAlignment(out, count) >= count * type.getIntOrFloatBitWidth() / 8;
    if (!isWide) {
      for (int64_t column = 0; column < count; ++column)
        storeRowOp(rowOp, results[column][i], rowIndices[threadRow],
                   add(first, column));
      continue;
    }
    SmallVector<Value> elements;
    for (ArrayRef<Value> result : results)
      elements.push_back(result[i]);
    Value vector = vector::FromElementsOp::create(
        builder, VectorType::get(count, type), elements);
    SmallVector<Value> indices(rowIndices[threadRow]);
    indices.push_back(first);
    vector::StoreOp::create(
        builder, vector, out, indices, /*nontemporal=*/false,
        llvm::MaybeAlign(count * type.getIntOrFloatBitWidth() / 8));
  }
}
