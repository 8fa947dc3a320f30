//===- AttentionBuilder.cpp - Base class of the attention loops -----------===//

#include "passes/target/attention/AttentionBuilder.h"

#include "lib/support/Softmax.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value AttentionBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, value);
}

Value AttentionBuilder::add(Value a, Value b) {
  return arith::AddIOp::create(builder, a, b);
}

Value AttentionBuilder::add(Value a, int64_t b) {
  return b == 0 ? a : add(a, index(b));
}

Value AttentionBuilder::mul(Value a, int64_t b) {
  return b == 1 ? a : arith::MulIOp::create(builder, a, index(b)).getResult();
}

Value AttentionBuilder::div(Value a, int64_t b) {
  return b == 1 ? a : arith::DivUIOp::create(builder, a, index(b)).getResult();
}

Value AttentionBuilder::rem(Value a, int64_t b) {
  return b == 1 ? index(0)
                : arith::RemUIOp::create(builder, a, index(b)).getResult();
}

Value AttentionBuilder::isLess(Value a, Value b) {
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, a, b);
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

Value AttentionBuilder::exchange(Value value, int64_t distance) {
  return gpu::ShuffleOp::create(builder, value, static_cast<int32_t>(distance),
                                static_cast<int32_t>(shape.getWarpSize()),
                                gpu::ShuffleMode::XOR)
      .getShuffleResult();
}

Value AttentionBuilder::fetch(Value value, Value inWarp) {
  Value sourceThread =
      arith::IndexCastOp::create(builder, builder.getI32Type(), inWarp);
  Value width = arith::ConstantIntOp::create(builder, shape.getWarpSize(), 32);
  return gpu::ShuffleOp::create(builder, value, sourceThread, width,
                                gpu::ShuffleMode::IDX)
      .getShuffleResult();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

SmallVector<Value> AttentionBuilder::getRowIndices(Value row) {
  ArrayRef<int64_t> rowShape = attention.rowShape;
  if (rowShape.size() == 1)
    return {row};
  SmallVector<OpFoldResult> extents =
      getAsIndexOpFoldResult(builder.getContext(), rowShape);
  auto split = affine::AffineDelinearizeIndexOp::create(builder, row, extents,
                                                        /*hasOuterBound=*/true);
  return llvm::to_vector_of<Value>(split.getResults());
}

Value AttentionBuilder::inlineBody(linalg::LinalgOp op, ValueRange values,
                                   ValueRange indices) {
  IRMapping mapping;
  Block *block = op.getBlock();
  mapping.map(block->getArguments(), values);
  for (Operation &inner : block->without_terminator()) {
    if (auto indexOp = dyn_cast<linalg::IndexOp>(inner))
      mapping.map(indexOp.getResult(), indices[indexOp.getDim()]);
    else
      builder.clone(inner, mapping);
  }
  return mapping.lookupOrDefault(block->getTerminator()->getOperand(0));
}

Value AttentionBuilder::load(Value buffer, AffineMap map, ValueRange indices) {
  if (!isa<MemRefType>(buffer.getType()))
    return buffer;
  SmallVector<Value> rowIndices;
  for (unsigned dim = 0; dim < map.getNumResults(); ++dim)
    rowIndices.push_back(getValueOrCreateConstantIndexOp(
        builder, builder.getLoc(),
        affine::makeComposedFoldedAffineApply(builder, builder.getLoc(),
                                              map.getSubMap({dim}),
                                              getAsOpFoldResult(indices))));
  return memref::LoadOp::create(builder, buffer, rowIndices);
}

Value AttentionBuilder::getFinite(Value maximum) {
  return emitFinite(builder, builder.getLoc(), maximum);
}

Value AttentionBuilder::getExponential(Value finite, Value score) {
  return emitExponential(builder, builder.getLoc(), score, finite);
}

Value AttentionBuilder::makeOpaque(Value number) {
  Type i32 = builder.getI32Type();
  Value narrow = arith::IndexCastOp::create(builder, i32, number);
  Value width = arith::ConstantIntOp::create(builder, shape.getWarpSize(), 32);
  Value own = arith::IndexCastOp::create(builder, i32, inWarp);
  auto shuffle = gpu::ShuffleOp::create(builder, narrow, own, width,
                                        gpu::ShuffleMode::IDX);
  return arith::IndexCastUIOp::create(builder, builder.getIndexType(),
                                      shuffle.getShuffleResult());
}

//===----------------------------------------------------------------------===//
// Row ops
//===----------------------------------------------------------------------===//

int64_t AttentionBuilder::getRowColumns(const RowOp &rowOp) {
  linalg::LinalgOp op = rowOp.op;
  return op.getNumLoops() > attention.rowShape.size()
             ? op.getStaticLoopRanges().back()
             : 1;
}

SmallVector<Value> AttentionBuilder::buildRowOps(const RowValues &values,
                                                 ValueRange rowIndices,
                                                 Value column) {
  SmallVector<Value> made;
  for (const RowOp &rowOp : attention.rowOps) {
    linalg::LinalgOp op = rowOp.op;
    SmallVector<Value> indices(rowIndices);
    if (op.getNumLoops() > rowIndices.size())
      indices.push_back(getRowColumns(rowOp) == 1 ? index(0) : column);
    SmallVector<Value> elements;
    for (auto [operand, from] :
         llvm::zip(op->getOpOperands(), rowOp.operands)) {
      BlockArgument argument = op.getMatchingBlockArgument(&operand);
      if (from.source == RowOperand::Result)
        elements.push_back(values.lookup(from.value));
      else if (from.source == RowOperand::Earlier)
        elements.push_back(made[from.earlier]);
      else if (!argument.use_empty())
        elements.push_back(
            load(operand.get(), op.getMatchingIndexingMap(&operand), indices));
      else
        elements.push_back(arith::ConstantOp::create(
            builder, builder.getZeroAttr(argument.getType())));
    }
    made.push_back(inlineBody(op, elements, indices));
  }
  return made;
}

void AttentionBuilder::storeRowOp(const RowOp &rowOp, Value result,
                                  ValueRange rowIndices, Value column) {
  linalg::LinalgOp op = rowOp.op;
  Value end = index(getRowColumns(rowOp));
  auto branch =
      scf::IfOp::create(builder, isLess(column, end), /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> indices(rowIndices);
  if (op.getNumLoops() > rowIndices.size())
    indices.push_back(getRowColumns(rowOp) == 1 ? index(0) : column);
  SmallVector<Value> to;
  for (AffineExpr expr : op.getIndexingMapsArray().back().getResults())
    to.push_back(indices[cast<AffineDimExpr>(expr).getPosition()]);
  memref::StoreOp::create(builder, result, op.getDpsInits()[0], to);
}
