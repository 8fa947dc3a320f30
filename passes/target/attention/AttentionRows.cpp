//===- AttentionRows.cpp - Loop that combines results of warps ------------===//

#include "passes/target/attention/AttentionBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
/// Combines the partial results of the warps. A warp processes one row and as
/// many columns as it has threads. Each thread first computes the weight of the
/// partial results of one warp, and then sums one column over all warps.
class RowBuilder : public AttentionBuilder {
public:
  using AttentionBuilder::AttentionBuilder;
  void build(Value thread);

private:
  void addWarps(Value row, Value column);

  RowValues values;
};
} // namespace

void RowBuilder::addWarps(Value row, Value column) {
  SmallVector<int64_t> distances;
  for (int64_t distance = shape.warpsPerBlock / 2; distance > 0; distance /= 2)
    distances.push_back(distance);
  Value other = rem(inWarp, shape.warpsPerBlock);
  SmallVector<Value> products;
  for (int64_t i = 0; i < shape.warpsPerBlock; ++i)
    products.push_back(memref::LoadOp::create(
        builder, buffers.products, ValueRange{index(i), row, column}));
  Value own =
      memref::LoadOp::create(builder, buffers.maxima, ValueRange{other, row});
  Value sum =
      memref::LoadOp::create(builder, buffers.sums, ValueRange{other, row});
  Value maximum = combine<arith::MaximumFOp>(own, distances);
  Value finite = getFinite(maximum);
  Value weight = getExponential(finite, own);
  sum = arith::MulFOp::create(builder, sum, weight);
  Value product;
  for (auto [i, of] : llvm::enumerate(products)) {
    Value factor = fetch(weight, index(i));
    product =
        product ? math::FmaOp::create(builder, of, factor, product).getResult()
                : arith::MulFOp::create(builder, of, factor).getResult();
  }
  values[RowValue::Maximum] = maximum;
  values[RowValue::Sum] = combine<arith::AddFOp>(sum, distances);
  values[RowValue::Product] = product;
}

void RowBuilder::build(Value thread) {
  int64_t warpSize = shape.getWarpSize();
  warp = div(thread, warpSize);
  inWarp = rem(thread, warpSize);
  int64_t across = llvm::divideCeil(attention.depth, warpSize);
  auto loop = scf::ForOp::create(builder, warp, index(shape.rows * across),
                                 index(shape.warps));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value row = div(loop.getInductionVar(), across);
  Value column =
      add(mul(rem(loop.getInductionVar(), across), warpSize), inWarp);
  // Threads beyond the last column recompute the last column and do not store
  // it.
  Value clamped =
      attention.depth % warpSize == 0
          ? column
          : arith::MinSIOp::create(builder, column, index(attention.depth - 1));
  addWarps(row, clamped);
  SmallVector<Value> rowIndices = getRowIndices(row);
  SmallVector<Value> made = buildRowOps(values, rowIndices, column);
  for (auto [rowOp, result] : llvm::zip(attention.rowOps, made))
    if (rowOp.isStored)
      storeRowOp(rowOp, result, rowIndices, column);
}

void ark::buildAttentionRows(ImplicitLocOpBuilder &builder,
                             const AttentionOps &attention,
                             const AttentionShape &shape,
                             const AttentionBuffers &buffers, Value thread) {
  RowBuilder(builder, attention, shape, buffers).build(thread);
}
