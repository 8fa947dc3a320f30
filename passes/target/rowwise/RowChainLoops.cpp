//===- RowChainLoops.cpp - A warp for each row of a chain -----------------===//

#include "passes/target/rowwise/RowChainLoops.h"

#include "passes/target/support/MappedLoop.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
/// Builds the code with which a warp computes a row. Thread `i` computes
/// columns `i`, `i + warpSize`, ..., so that the reduction and the later ops
/// use the same loaded element. All loads come first, so that they are in
/// flight together.
class RowWarpBuilder {
public:
  RowWarpBuilder(ImplicitLocOpBuilder &builder, const RowChain &chain,
                 int64_t warpSize, Value row, Value inWarp);

  void build();

private:
  /// An op and the first of the columns to compute, one for each thread of the
  /// warp; the column is 0 for an op on row scalars.
  using OpAndColumn = std::pair<unsigned, int64_t>;

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, value);
  }
  int64_t getLast(int64_t begin, int64_t count) const;
  Value getColumn(int64_t begin, int64_t columns);
  Value load(const ChainOperand &operand, const ChainOp &op, int64_t begin);
  Value getOperand(const ChainOperand &operand, const ChainOp &op,
                   int64_t begin);
  IRMapping mapOperands(const ChainOp &op, int64_t begin, bool withOut);
  void cloneBody(const ChainOp &op, Operation *except, IRMapping &mapping);
  Value evaluate(unsigned opIndex, int64_t begin);
  Value reduce(const ChainOp &op);
  Value isInRow(int64_t begin, int64_t columns);
  Value combine(Operation *combiner, Value a, Value b);
  void store(unsigned opIndex);

  ImplicitLocOpBuilder &builder;
  const RowChain &chain;
  int64_t warpSize;
  Value inWarp;
  SmallVector<Value> row;
  /// Loads are inserted before this op, all other ops after it.
  Operation *endOfLoads;
  llvm::DenseMap<OpAndColumn, Value> values;
  llvm::DenseMap<std::pair<int64_t, int64_t>, Value> columns;
  /// Loaded values by buffer, indexing map, first column and number of columns.
  llvm::DenseMap<std::tuple<Value, Attribute, int64_t, int64_t>, Value> loaded;
};
} // namespace

RowWarpBuilder::RowWarpBuilder(ImplicitLocOpBuilder &builder,
                               const RowChain &chain, int64_t warpSize,
                               Value row, Value inWarp)
    : builder(builder), chain(chain), warpSize(warpSize), inWarp(inWarp) {
  if (chain.getRowShape().size() == 1)
    this->row = {row};
  else if (!chain.getRowShape().empty())
    llvm::append_range(this->row, affine::AffineDelinearizeIndexOp::create(
                                      builder, row, chain.getRowShape())
                                      .getResults());
  endOfLoads = index(0).getDefiningOp();
}

/// Returns the last column of a row if some threads have no column among those
/// of the warp from `begin` on, and -1 otherwise.
int64_t RowWarpBuilder::getLast(int64_t begin, int64_t count) const {
  return begin + warpSize > count ? count - 1 : -1;
}

/// Returns column `begin` + `inWarp`, clamped to the last column of the row.
Value RowWarpBuilder::getColumn(int64_t begin, int64_t count) {
  int64_t last = getLast(begin, count);
  Value &column = columns[{begin, last}];
  if (!column) {
    column = arith::AddIOp::create(builder, inWarp, index(begin));
    if (last >= 0)
      column = arith::MinUIOp::create(builder, column, index(last));
  }
  return column;
}

/// Loads an element. All ops that read the element share the load.
Value RowWarpBuilder::load(const ChainOperand &operand, const ChainOp &op,
                           int64_t begin) {
  int64_t last = op.columns ? getLast(begin, *op.columns) : -1;
  Value &value = loaded[std::make_tuple(
      operand.value, Attribute(AffineMapAttr::get(operand.map)), begin, last)];
  if (value)
    return value;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(endOfLoads);
  SmallVector<Value> indices;
  for (AffineExpr expr : operand.map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      indices.push_back(index(cast<AffineConstantExpr>(expr).getValue()));
    else if (dim.getPosition() < row.size())
      indices.push_back(row[dim.getPosition()]);
    else
      indices.push_back(getColumn(begin, *op.columns));
  }
  value = memref::LoadOp::create(builder, operand.value, indices);
  return value;
}

Value RowWarpBuilder::getOperand(const ChainOperand &operand, const ChainOp &op,
                                 int64_t begin) {
  switch (operand.source) {
  case ChainOperand::Scalar:
    return operand.value;
  case ChainOperand::Memory:
    return load(operand, op, begin);
  case ChainOperand::Earlier:
    break;
  }
  bool isRowScalar = chain.getOps()[operand.earlier].makesRowScalar();
  return evaluate(operand.earlier, isRowScalar ? 0 : begin + operand.shift);
}

IRMapping RowWarpBuilder::mapOperands(const ChainOp &op, int64_t begin,
                                      bool withOut) {
  IRMapping mapping;
  unsigned count = op.operands.size() - (withOut ? 0 : 1);
  for (unsigned i = 0; i < count; ++i)
    if (op.operands[i])
      mapping.map(linalg::GenericOp(op.op).getBlock()->getArgument(i),
                  getOperand(*op.operands[i], op, begin));
  return mapping;
}

void RowWarpBuilder::cloneBody(const ChainOp &op, Operation *except,
                               IRMapping &mapping) {
  for (Operation &inner :
       linalg::GenericOp(op.op).getBlock()->without_terminator())
    if (&inner != except)
      builder.clone(inner, mapping);
}

Value RowWarpBuilder::combine(Operation *combiner, Value a, Value b) {
  Operation *clone = builder.clone(*combiner);
  clone->setOperands({a, b});
  return clone->getResult(0);
}

/// Returns an i1 that is true if column `begin` + `inWarp` exists.
Value RowWarpBuilder::isInRow(int64_t begin, int64_t count) {
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, inWarp,
                               index(count - begin));
}

/// Reduces with XOR shuffles: all threads get the same result, and the order of
/// the operations is fixed.
Value RowWarpBuilder::reduce(const ChainOp &op) {
  Operation *combiner = op.reduction->combiner;
  Value neutral, sum;
  for (int64_t begin = 0; begin < *op.columns; begin += warpSize) {
    IRMapping mapping = mapOperands(op, begin, /*withOut=*/false);
    cloneBody(op, combiner, mapping);
    Value value = mapping.lookupOrDefault(op.reduction->value);
    if (begin + warpSize > *op.columns) {
      neutral = arith::ConstantOp::create(builder, op.reduction->neutral);
      value = arith::SelectOp::create(builder, isInRow(begin, *op.columns),
                                      value, neutral);
    }
    sum = sum ? combine(combiner, sum, value) : value;
  }
  for (int32_t distance = warpSize / 2; distance > 0; distance /= 2)
    sum = combine(combiner, sum,
                  gpu::ShuffleOp::create(builder, sum, distance, warpSize,
                                         gpu::ShuffleMode::XOR)
                      .getShuffleResult());
  Value before = getOperand(*op.operands.back(), op, 0);
  return combine(combiner, before, sum);
}

Value RowWarpBuilder::evaluate(unsigned opIndex, int64_t begin) {
  if (Value known = values.lookup({opIndex, begin}))
    return known;
  const ChainOp &op = chain.getOps()[opIndex];
  Value value;
  if (op.reduction) {
    value = reduce(op);
  } else {
    IRMapping mapping = mapOperands(op, begin, /*withOut=*/true);
    cloneBody(op, /*except=*/nullptr, mapping);
    value = mapping.lookupOrDefault(
        linalg::GenericOp(op.op).getBlock()->getTerminator()->getOperand(0));
  }
  values[{opIndex, begin}] = value;
  return value;
}

void RowWarpBuilder::store(unsigned opIndex) {
  const ChainOp &op = chain.getOps()[opIndex];
  Value out = linalg::GenericOp(op.op).getDpsInits()[0];
  int64_t count = op.makesRowScalar() ? 1 : *op.columns;
  for (int64_t begin = 0; begin < count; begin += warpSize) {
    Value value = evaluate(opIndex, begin);
    OpBuilder::InsertionGuard guard(builder);
    if (begin + warpSize > count) {
      auto branch = scf::IfOp::create(builder, isInRow(begin, count),
                                      /*withElseRegion=*/false);
      builder.setInsertionPoint(branch.thenBlock()->getTerminator());
    }
    SmallVector<Value> indices = row;
    if (!op.makesRowScalar())
      indices.push_back(arith::AddIOp::create(builder, inWarp, index(begin)));
    memref::StoreOp::create(builder, value, out, indices);
  }
}

void RowWarpBuilder::build() {
  ArrayRef<ChainOp> ops = chain.getOps();
  auto forAll = [&](function_ref<void(unsigned)> visit) {
    for (unsigned opIndex = 0; opIndex < ops.size(); ++opIndex)
      if (ops[opIndex].isStored)
        visit(opIndex);
  };
  // All values are computed before any of them is stored.
  forAll([&](unsigned opIndex) {
    int64_t count = ops[opIndex].makesRowScalar() ? 1 : *ops[opIndex].columns;
    for (int64_t begin = 0; begin < count; begin += warpSize)
      evaluate(opIndex, begin);
  });
  forAll([&](unsigned opIndex) { store(opIndex); });
  endOfLoads->erase();
}

void ark::createRowChainLoop(ImplicitLocOpBuilder &builder,
                             const RowChain &chain, int64_t threads,
                             int64_t warpSize, int64_t firstWarp) {
  OpBuilder::InsertionGuard guard(builder);
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, value);
  };
  Value thread = createMappedLoop(builder, threads);
  Value warp = arith::DivUIOp::create(builder, thread, constant(warpSize));
  Value inWarp = arith::RemUIOp::create(builder, thread, constant(warpSize));
  Value row = arith::SubIOp::create(builder, warp, constant(firstWarp));
  Value hasRow = arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, row,
                                       constant(chain.getNumRows()));
  auto branch = scf::IfOp::create(builder, hasRow, /*withElseRegion=*/false);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  RowWarpBuilder(builder, chain, warpSize, row, inWarp).build();
}
