//===- ContractionLoops.cpp - Vector loops of matrix products -------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/target/cpu/Contraction.h"

using namespace mlir;
using namespace mlir::ark;

/// Vectors of columns per row that a block keeps in registers.
static constexpr int64_t kColumnVectors = 2;

namespace {
/// Emits accesses to the operands of one contraction at given m, n and k.
class Emitter {
public:
  Emitter(ImplicitLocOpBuilder &builder, const Contraction &contraction,
          MutableArrayRef<Value> ivs, ArrayRef<Value> extents,
          int64_t vectorElements)
      : builder(builder), contraction(contraction), ivs(ivs), extents(extents),
        vectorElements(vectorElements), f32(builder.getF32Type()),
        vector(VectorType::get({vectorElements}, f32)) {}

  void emitBlocks();
  void emitDots();

private:
  using Body = function_ref<void(Value)>;

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, value);
  }
  Value add(Value a, int64_t b) {
    return b == 0 ? a : arith::AddIOp::create(builder, a, index(b));
  }
  Value extentOf(const ContractionDim &dim) {
    return dim.dim ? extents[*dim.dim] : index(1);
  }

  /// Builds `for iv in [begin, end) step`, and moves the insertion point behind
  /// it.
  void loop(Value begin, Value end, int64_t step, Body body) {
    auto forOp = scf::ForOp::create(builder, begin, end, index(step));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(forOp.getBody());
    body(forOp.getInductionVar());
  }

  /// Returns the largest multiple of `step` up to the extent of `dim`.
  Value floorTo(const ContractionDim &dim, int64_t step) {
    if (dim.extent)
      return index(*dim.extent / step * step);
    Value remainder =
        arith::RemUIOp::create(builder, extentOf(dim), index(step));
    return arith::SubIOp::create(builder, extentOf(dim), remainder);
  }

  /// Returns the number of rows of a register block. With AVX-512, accumulators
  /// use 16 of 32 registers. Other instruction sets have 16 registers in total.
  int64_t getRowsOfBlock() const { return vectorElements == 16 ? 8 : 4; }

  SmallVector<Value> subscript(unsigned operand, Value m, Value n, Value k) {
    if (contraction.m.dim)
      ivs[*contraction.m.dim] = m;
    ivs[*contraction.n.dim] = n;
    ivs[*contraction.k.dim] = k;
    SmallVector<Value> subscript;
    for (AffineExpr expr : contraction.maps[operand].getResults())
      subscript.push_back(ivs[cast<AffineDimExpr>(expr).getPosition()]);
    return subscript;
  }

  Value toF32(Value value) {
    if (getElementTypeOrSelf(value).isF32())
      return value;
    Type type = f32;
    if (auto vectorType = dyn_cast<VectorType>(value.getType()))
      type = VectorType::get(vectorType.getShape(), f32);
    return arith::ExtFOp::create(builder, type, value);
  }

  /// Loads `vectorElements` elements of an operand as f32, beginning at a
  /// subscript. Masked-off elements read as zero and access no memory.
  Value load(unsigned operand, Value m, Value n, Value k, Value mask) {
    Value buffer = contraction.buffers[operand];
    auto type = VectorType::get({vectorElements},
                                contraction.getType(operand).getElementType());
    SmallVector<Value> at = subscript(operand, m, n, k);
    if (!mask)
      return toF32(vector::LoadOp::create(builder, type, buffer, at));
    Value zero = arith::ConstantOp::create(builder, builder.getZeroAttr(type));
    return toF32(
        vector::MaskedLoadOp::create(builder, type, buffer, at, mask, zero));
  }

  Value loadScalar(unsigned operand, Value m, Value n, Value k) {
    Value buffer = contraction.buffers[operand];
    return toF32(
        memref::LoadOp::create(builder, buffer, subscript(operand, m, n, k)));
  }

  void store(Value value, Value m, Value n, Value mask) {
    Value buffer = contraction.buffers[2];
    SmallVector<Value> at = subscript(2, m, n, Value());
    if (mask)
      vector::MaskedStoreOp::create(builder, buffer, at, mask, value);
    else
      vector::StoreOp::create(builder, value, buffer, at);
  }

  Value createTemporary(int64_t rows);
  void fillPanel(Value panel, Value n, Value columns);
  Value createMask(Value count);
  void addTransposed(Value m, Value n, Value rows, Value columns);
  void emitTransposedRows(Value m, Value n, Value rows, Value columns,
                          ArrayRef<Value> masks);
  void emitColumns(Value n, Value columns);
  void emitRows(Value m, Value n, int64_t rows, ArrayRef<Value> masks,
                Value sumsRow = {});
  void emitDotColumns(Value n, int64_t columns);

  ImplicitLocOpBuilder &builder;
  const Contraction &contraction;
  MutableArrayRef<Value> ivs;
  ArrayRef<Value> extents;
  int64_t vectorElements;
  Type f32;
  VectorType vector;
  /// Transposed columns of B, if B is transposed.
  Value panel;
  /// `vectorElements` rows of sums, if C is transposed.
  Value sums;
};
} // namespace

//===----------------------------------------------------------------------===//
// Register blocks
//===----------------------------------------------------------------------===//

/// Allocates rows of a block's columns in the function's entry block, so that
/// loops do not grow the stack.
Value Emitter::createTemporary(int64_t rows) {
  OpBuilder::InsertionGuard guard(builder);
  auto function = contraction.op->getParentOfType<func::FuncOp>();
  builder.setInsertionPointToStart(&function.getBody().front());
  auto type = MemRefType::get({rows, vectorElements * kColumnVectors}, f32);
  return memref::AllocaOp::create(builder, type, builder.getI64IntegerAttr(64));
}

/// Fills panel[k, j] = B[n + j, k]. Blocks of `vectorElements` by
/// `vectorElements` elements are transposed in registers, and the remaining
/// elements are copied one by one.
void Emitter::fillPanel(Value panel, Value n, Value columns) {
  Value zero = index(0);
  Value wholeK = floorTo(contraction.k, vectorElements);
  auto square = VectorType::get({vectorElements, vectorElements}, f32);
  Value wholeColumns = arith::SubIOp::create(
      builder, columns,
      arith::RemUIOp::create(builder, columns, index(vectorElements)));
  auto copyElements = [&](Value j, Value fromK) {
    loop(fromK, extentOf(contraction.k), 1, [&](Value k) {
      Value column = arith::AddIOp::create(builder, n, j);
      Value element = loadScalar(contraction.rhs, zero, column, k);
      memref::StoreOp::create(builder, element, panel, ValueRange{k, j});
    });
  };
  loop(zero, wholeColumns, vectorElements, [&](Value j) {
    Value column = arith::AddIOp::create(builder, n, j);
    loop(zero, wholeK, vectorElements, [&](Value k) {
      Value block =
          arith::ConstantOp::create(builder, builder.getZeroAttr(square));
      for (int64_t i = 0; i < vectorElements; ++i) {
        Value row = load(contraction.rhs, zero, add(column, i), k, Value());
        block = vector::InsertOp::create(builder, row, block, i);
      }
      block =
          vector::TransposeOp::create(builder, block, ArrayRef<int64_t>{1, 0});
      for (int64_t i = 0; i < vectorElements; ++i) {
        Value row = vector::ExtractOp::create(builder, block, i);
        vector::StoreOp::create(builder, row, panel, ValueRange{add(k, i), j});
      }
    });
    loop(zero, index(vectorElements), 1, [&](Value i) {
      copyElements(arith::AddIOp::create(builder, j, i), wholeK);
    });
  });
  loop(wholeColumns, columns, 1, [&](Value j) { copyElements(j, zero); });
}

/// Returns a mask of the first elements of a vector. The count may be negative.
Value Emitter::createMask(Value count) {
  Value positive = arith::MaxSIOp::create(builder, count, index(0));
  return vector::CreateMaskOp::create(
      builder, VectorType::get({vectorElements}, builder.getI1Type()),
      positive);
}

/// Computes C[m.., n..] += A[m.., k] * B[k, n..] for all k, with `rows` by two
/// vectors of accumulators. `masks` is empty if all columns exist. If C is
/// transposed, the result goes to `sums`, beginning at `sumsRow`.
void Emitter::emitRows(Value m, Value n, int64_t rows, ArrayRef<Value> masks,
                       Value sumsRow) {
  auto mask = [&](int64_t column) {
    return masks.empty() ? Value() : masks[column];
  };
  SmallVector<Value> accumulators;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < kColumnVectors; ++column)
      accumulators.push_back(
          sums ? arith::ConstantOp::create(builder, builder.getZeroAttr(vector))
                     .getResult()
               : load(2, add(m, row), add(n, column * vectorElements), Value(),
                      mask(column)));
  auto forOp = scf::ForOp::create(builder, index(0), extentOf(contraction.k),
                                  index(1), accumulators);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(forOp.getBody());
    Value k = forOp.getInductionVar();
    SmallVector<Value> right, next;
    for (int64_t column = 0; column < kColumnVectors; ++column)
      right.push_back(panel ? vector::LoadOp::create(
                                  builder, vector, panel,
                                  ValueRange{k, index(column * vectorElements)})
                                  .getResult()
                            : load(contraction.rhs, index(0),
                                   add(n, column * vectorElements), k,
                                   mask(column)));
    for (int64_t row = 0; row < rows; ++row) {
      Value left = vector::BroadcastOp::create(
          builder, vector,
          loadScalar(contraction.lhs, add(m, row), index(0), k));
      for (int64_t column = 0; column < kColumnVectors; ++column)
        next.push_back(vector::FMAOp::create(
            builder, left, right[column],
            forOp.getRegionIterArg(row * kColumnVectors + column)));
    }
    scf::YieldOp::create(builder, next);
  }
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < kColumnVectors; ++column) {
      Value result = forOp.getResult(row * kColumnVectors + column);
      if (sums)
        vector::StoreOp::create(
            builder, result, sums,
            ValueRange{add(sumsRow, row), index(column * vectorElements)});
      else
        store(result, add(m, row), add(n, column * vectorElements),
              mask(column));
    }
}

/// Computes C[m + i, n + j] += sums[i, j] for a C that is contiguous in m, with
/// squares that are transposed in registers. `rows` and `columns` are null if
/// all of the block exist.
void Emitter::addTransposed(Value m, Value n, Value rows, Value columns) {
  auto square = VectorType::get({vectorElements, vectorElements}, f32);
  auto maskType =
      VectorType::get({vectorElements, vectorElements}, builder.getI1Type());
  for (int64_t first = 0; first < kColumnVectors * vectorElements;
       first += vectorElements) {
    Value block =
        arith::ConstantOp::create(builder, builder.getZeroAttr(square));
    for (int64_t i = 0; i < vectorElements; ++i) {
      Value row = vector::LoadOp::create(builder, vector, sums,
                                         ValueRange{index(i), index(first)});
      block = vector::InsertOp::create(builder, row, block, i);
    }
    block =
        vector::TransposeOp::create(builder, block, ArrayRef<int64_t>{1, 0});
    Value masks;
    if (rows || columns) {
      Value all = index(vectorElements), rest = all;
      if (columns)
        rest = arith::MaxSIOp::create(
            builder, arith::SubIOp::create(builder, columns, index(first)),
            index(0));
      masks = vector::CreateMaskOp::create(builder, maskType,
                                           ValueRange{rest, rows ? rows : all});
    }
    for (int64_t j = 0; j < vectorElements; ++j) {
      Value column = add(n, first + j), mask;
      if (masks)
        mask = vector::ExtractOp::create(builder, masks, j);
      Value sum =
          arith::AddFOp::create(builder, load(2, m, column, Value(), mask),
                                vector::ExtractOp::create(builder, block, j));
      store(sum, m, column, mask);
    }
  }
}

/// Computes up to `vectorElements` rows of one block of columns of a transposed
/// C. `rows` is null if all of them exist.
void Emitter::emitTransposedRows(Value m, Value n, Value rows, Value columns,
                                 ArrayRef<Value> masks) {
  int64_t block = getRowsOfBlock();
  auto emit = [&](int64_t count) {
    return [&, count](Value row) {
      emitRows(arith::AddIOp::create(builder, m, row), n, count, masks, row);
    };
  };
  Value whole = index(vectorElements);
  if (rows)
    whole = arith::SubIOp::create(
        builder, rows, arith::RemUIOp::create(builder, rows, index(block)));
  loop(index(0), whole, block, emit(block));
  if (rows)
    loop(whole, rows, 1, emit(1));
  addTransposed(m, n, rows, columns);
}

/// Computes all rows of one block of columns. `columns` is null for a full
/// block.
void Emitter::emitColumns(Value n, Value columns) {
  int64_t width = vectorElements * kColumnVectors;
  if (panel)
    fillPanel(panel, n, columns ? columns : index(width));
  SmallVector<Value> masks;
  for (int64_t column = 0; columns && column < kColumnVectors; ++column)
    masks.push_back(createMask(arith::SubIOp::create(
        builder, columns, index(column * vectorElements))));
  int64_t block = sums ? vectorElements : getRowsOfBlock();
  Value wholeRows = floorTo(contraction.m, block);
  Value endRows = extentOf(contraction.m);
  if (!sums) {
    loop(index(0), wholeRows, block,
         [&](Value m) { emitRows(m, n, block, masks); });
    loop(wholeRows, endRows, 1, [&](Value m) { emitRows(m, n, 1, masks); });
    return;
  }
  loop(index(0), wholeRows, block,
       [&](Value m) { emitTransposedRows(m, n, Value(), columns, masks); });
  if (contraction.m.extent && *contraction.m.extent % block == 0)
    return;
  // The loop has at most one iteration.
  loop(wholeRows, endRows, block, [&](Value m) {
    emitTransposedRows(m, n, arith::SubIOp::create(builder, endRows, m),
                       columns, masks);
  });
}

void Emitter::emitBlocks() {
  int64_t width = vectorElements * kColumnVectors;
  if (contraction.rhsTransposed)
    panel = createTemporary(*contraction.k.extent);
  if (contraction.resultTransposed)
    sums = createTemporary(vectorElements);
  Value wholeColumns = floorTo(contraction.n, width);
  loop(index(0), wholeColumns, width,
       [&](Value n) { emitColumns(n, Value()); });
  if (contraction.n.extent && *contraction.n.extent % width == 0)
    return;
  // The loop has at most one iteration.
  loop(wholeColumns, extentOf(contraction.n), width, [&](Value n) {
    emitColumns(n, arith::SubIOp::create(builder, extentOf(contraction.n), n));
  });
}

//===----------------------------------------------------------------------===//
// Dot products
//===----------------------------------------------------------------------===//

/// Computes C[m, n..] += sum over k of A[m, k] * B[n.., k] for all rows at
/// once, so that every element of B is read once.
void Emitter::emitDotColumns(Value n, int64_t columns) {
  int64_t rows = *contraction.m.extent;
  Value zero = index(0);
  auto step = [&](Value k, Value mask, ValueRange accumulators) {
    SmallVector<Value> left, next;
    for (int64_t row = 0; row < rows; ++row)
      left.push_back(load(contraction.lhs, index(row), zero, k, mask));
    for (int64_t column = 0; column < columns; ++column) {
      Value right = load(contraction.rhs, zero, add(n, column), k, mask);
      for (int64_t row = 0; row < rows; ++row)
        next.push_back(vector::FMAOp::create(
            builder, left[row], right, accumulators[column * rows + row]));
    }
    return next;
  };
  Value start = arith::ConstantOp::create(builder, builder.getZeroAttr(vector));
  Value wholeK = floorTo(contraction.k, vectorElements);
  auto forOp = scf::ForOp::create(builder, zero, wholeK, index(vectorElements),
                                  SmallVector<Value>(rows * columns, start));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(forOp.getBody());
    scf::YieldOp::create(builder, step(forOp.getInductionVar(), Value(),
                                       forOp.getRegionIterArgs()));
  }
  SmallVector<Value> accumulators = forOp.getResults();
  if (int64_t rest = *contraction.k.extent % vectorElements) {
    Value mask = vector::CreateMaskOp::create(
        builder, VectorType::get({vectorElements}, builder.getI1Type()),
        index(rest));
    accumulators = step(wholeK, mask, accumulators);
  }
  for (int64_t column = 0; column < columns; ++column)
    for (int64_t row = 0; row < rows; ++row) {
      // The order of the sum is free, so that LLVM may reduce it as a tree.
      Value sum = vector::ReductionOp::create(
          builder, vector::CombiningKind::ADD,
          accumulators[column * rows + row], arith::FastMathFlags::reassoc);
      Value before = loadScalar(2, index(row), add(n, column), Value());
      memref::StoreOp::create(
          builder, arith::AddFOp::create(builder, before, sum),
          contraction.buffers[2],
          subscript(2, index(row), add(n, column), Value()));
    }
}

void Emitter::emitDots() {
  constexpr int64_t kColumns = 4;
  Value wholeColumns = floorTo(contraction.n, kColumns);
  loop(index(0), wholeColumns, kColumns,
       [&](Value n) { emitDotColumns(n, kColumns); });
  loop(wholeColumns, extentOf(contraction.n), 1,
       [&](Value n) { emitDotColumns(n, 1); });
}

void ark::emitBlocks(ImplicitLocOpBuilder &builder,
                     const Contraction &contraction, MutableArrayRef<Value> ivs,
                     ArrayRef<Value> extents, int64_t vectorElements) {
  Emitter(builder, contraction, ivs, extents, vectorElements).emitBlocks();
}

void ark::emitDots(ImplicitLocOpBuilder &builder,
                   const Contraction &contraction, MutableArrayRef<Value> ivs,
                   ArrayRef<Value> extents, int64_t vectorElements) {
  Emitter(builder, contraction, ivs, extents, vectorElements).emitDots();
}
