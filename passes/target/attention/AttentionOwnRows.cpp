//===- AttentionOwnRows.cpp - The rows of a thread ------------------------===//

#include "passes/target/attention/AttentionOwnRows.h"

#include "passes/target/support/Alignment.h"
#include "passes/target/support/Bodies.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

void AttentionOwnRows::assignRows(Value first) {
  unclampedRows.clear();
  rows.clear();
  rowIndices.clear();
  for (int64_t own = 0; own < getOwnRows(); ++own) {
    unclampedRows.push_back(add(first, own * getAcc().getBlockExtent(0)));
    rows.push_back(shape.rows % shape.getBlockRows() == 0
                       ? unclampedRows.back()
                       : arith::MinSIOp::create(builder, unclampedRows.back(),
                                                index(shape.rows - 1))
                             .getResult());
    rowIndices.push_back(getRowIndices(rows.back()));
  }
}

/// Returns an approximation of 2^exponent, with zero for denormal numbers.
Value AttentionOwnRows::raiseTwo(Value exponent) {
  return LLVM::CallIntrinsicOp::create(
             builder, exponent.getType(),
             builder.getStringAttr("llvm.nvvm.ex2.approx.ftz"), exponent)
      .getResult(0);
}

/// Exponentials are powers of two of scaled scores, from which the rounded,
/// scaled maximum is subtracted. Each use rounds the maximum in the same way,
/// so that its rounding error cancels out.
SmallVector<Value>
AttentionOwnRows::updateSoftmax(MutableArrayRef<Value> maxima,
                                MutableArrayRef<Value> sums,
                                MutableArrayRef<SmallVector<Value>> scores) {
  Value log2e = number(llvm::numbers::log2ef);
  auto scale = [&](Value maximum) {
    return arith::MulFOp::create(builder, maximum, log2e).getResult();
  };
  SmallVector<Value> corrections;
  for (int64_t own = 0; own < getOwnRows(); ++own) {
    Value largest = maxima[own];
    for (Value score : scores[own])
      largest = arith::MaximumFOp::create(builder, largest, score);
    largest =
        combine<arith::MaximumFOp>(largest, getAcc().getSharerDistances(0));
    Value less =
        arith::NegFOp::create(builder, scale(getFinite(largest))).getResult();
    corrections.push_back(raiseTwo(
        arith::AddFOp::create(builder, scale(maxima[own]), less).getResult()));
    maxima[own] = largest;
    Value sum = arith::MulFOp::create(builder, sums[own], corrections.back());
    for (Value &score : scores[own]) {
      score = raiseTwo(math::FmaOp::create(builder, score, log2e, less));
      sum = arith::AddFOp::create(builder, sum, score);
    }
    sums[own] = sum;
  }
  return corrections;
}

void AttentionOwnRows::combineSums(MutableArrayRef<Value> sums) {
  for (Value &sum : sums)
    sum = combine<arith::AddFOp>(sum, getAcc().getSharerDistances(0));
}

/// Inserts a branch that is taken if the thread's row exists, and moves the
/// builder into it. The last block may be incomplete.
void AttentionOwnRows::enterRow(int64_t own) {
  if (shape.rows % shape.getBlockRows() == 0)
    return;
  auto branch =
      scf::IfOp::create(builder, isLess(unclampedRows[own], index(shape.rows)),
                        /*withElse=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
}

void AttentionOwnRows::finishRows(
    ArrayRef<Value> maxima, ArrayRef<Value> sums,
    function_ref<void(const RowValues &, int64_t)> finish) {
  for (int64_t own = 0; own < getOwnRows(); ++own) {
    OpBuilder::InsertionGuard guard(builder);
    enterRow(own);
    RowValues values;
    values[RowValue::Maximum] = maxima[own];
    values[RowValue::Sum] = sums[own];
    finish(values, own);
  }
}

/// Builds the row ops for neighbouring columns of a row and stores the results.
void AttentionOwnRows::finishColumns(RowValues values, int64_t own, Value first,
                                     ArrayRef<Value> products) {
  SmallVector<SmallVector<Value>> results;
  for (auto [i, product] : llvm::enumerate(products)) {
    values[RowValue::Product] = product;
    results.push_back(buildRowOps(values, rowIndices[own], add(first, i)));
  }
  int64_t count = products.size();
  for (auto [i, rowOp] : llvm::enumerate(attention.rowOps)) {
    if (!rowOp.isStored)
      continue;
    Value out = linalg::LinalgOp(rowOp.op).getDpsInits()[0];
    Type type = getElementTypeOrSelf(out);
    // A packet needs a scalar store.
    bool isWide =
        !arePackets(out) && getRowColumns(rowOp) == attention.depth &&
        getRowAlignment(out, count) >= count * type.getIntOrFloatBitWidth() / 8;
    if (!isWide) {
      for (int64_t column = 0; column < count; ++column)
        storeRowOp(rowOp, results[column][i], rowIndices[own],
                   add(first, column));
      continue;
    }
    SmallVector<Value> elements;
    for (ArrayRef<Value> result : results)
      elements.push_back(result[i]);
    Value vector = vector::FromElementsOp::create(
        builder, VectorType::get(count, type), elements);
    SmallVector<Value> indices(rowIndices[own]);
    indices.push_back(first);
    vector::StoreOp::create(
        builder, vector, out, indices, /*nontemporal=*/false,
        llvm::MaybeAlign(count * type.getIntOrFloatBitWidth() / 8));
  }
}
