//===- GradientTiles.h - Operands of gradients of attention -----*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ATTENTION_GRADIENTTILES_H
#define ARK_PASSES_TARGET_ATTENTION_GRADIENTTILES_H

#include "passes/target/attention/AttentionGradientShape.h"
#include "passes/target/matrix_units/MatrixInstruction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::ark {

/// Base class of the loops of gradients: loads operands in words of two
/// elements, and multiplies rows by others. The others are keys if the rows are
/// queries, and queries if the rows are keys.
///
/// As in an attention, left and right operands use the permuted order of the
/// depth in which threads load it. A quad loads neighbouring columns of a
/// factor, each of which belongs to another instruction.
class GradientTiles {
public:
  GradientTiles(ImplicitLocOpBuilder &builder, BlockedAttentionGradientOp op,
                const AttentionGradientShape &shape)
      : builder(builder), op(op), shape(shape),
        element(getElementTypeOrSelf(op.getLeft())) {}

protected:
  using Words = SmallVector<Value, 4>;
  /// Numbers of the thread's rows, one for each of the thread's others.
  using Pairs = SmallVector<SmallVector<Value>>;

  /// A load of a row of a factor: the first column of the first quad, and the
  /// number of columns of a quad.
  struct ColumnLoad {
    int64_t begin, columns;
  };
  /// The others of a step that belong to a thread. `exists` has null values if
  /// all others of the step exist.
  struct Step {
    Value group, first;
    SmallVector<Value> others, exists;
    /// False if all rows of the tile see all others of the step.
    bool isMasked = true;
  };

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, value);
  }
  Value add(Value a, Value b) { return arith::AddIOp::create(builder, a, b); }
  Value add(Value a, int64_t b) { return b == 0 ? a : add(a, index(b)); }
  Value mul(Value a, int64_t b) {
    return b == 1 ? a : arith::MulIOp::create(builder, a, index(b)).getResult();
  }
  Value isLess(Value a, Value b) {
    return arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, a, b);
  }
  Value getLesser(Value a, Value b) {
    return arith::MinSIOp::create(builder, a, b);
  }
  Value number(float value) {
    return arith::ConstantOp::create(builder, builder.getF32FloatAttr(value));
  }
  int64_t getRowsPerThread() const {
    return instruction->getAcc().getExtentPerThread(0);
  }
  int64_t getColumnsPerThread() const {
    return instruction->getAcc().getExtentPerThread(1);
  }
  int64_t getNumQuads() const {
    return instruction->getLhs().getThreadsSharing(1);
  }
  int64_t getQuadThreads() const {
    return instruction->getLhs().getThreadsSharing(0);
  }
  /// Returns the number of products of rows and others per step.
  int64_t countTiles() const {
    return shape.getStepOthers() / instruction->getColumns();
  }
  /// Returns the number of 16-byte loads per thread for a row.
  int64_t countLoads() const;

  /// Finds the rows of the thread, and its share of each row, from the index of
  /// the thread. The index is read again here, so that no register holds values
  /// of the index before this point.
  void assignThreads();
  void findColumnLoads();
  void findExtents();
  /// Finds the thread's others of a step: the columns of its accumulators.
  /// An index beyond the last of the others becomes the index of the last.
  void findOthers(Step &step);
  Value loadScalar(OpOperand &operand, Value row, const Step &step,
                   Value other);
  /// Loads one share of each of the rows of a left operand.
  SmallVector<Words> loadLeft(OpOperand &operand, ArrayRef<Value> ofRows,
                              int64_t loadIndex, const Step &step);
  /// Makes an index opaque, so that compilers compute values that depend on the
  /// result after this point.
  Value makeOpaque(Value number);
  void fenceLoads();
  /// Loads the columns of a quad of the rows of a factor, for each of the
  /// thread's others.
  SmallVector<Words> loadFactor(OpOperand &factor, const Step &step,
                                const ColumnLoad &columns);
  SmallVector<Value> multiply(ArrayRef<Words> rowWords, ArrayRef<Value> column,
                              ArrayRef<Value> accumulators);
  /// Returns the products of the thread's rows and others. The product advances
  /// by one load along the depth at a time. `kept` are the left operands by
  /// load and row, or empty if registers do not hold them.
  Pairs compare(OpOperand &leftOperand, OpOperand &rightOperand,
                ArrayRef<SmallVector<Words>> kept, const Step &step);
  /// Rounds pairs of numbers to words of the operands' type.
  Words round(ArrayRef<Value> numbers);

  ImplicitLocOpBuilder &builder;
  BlockedAttentionGradientOp op;
  const AttentionGradientShape &shape;
  Type element;
  std::unique_ptr<MatrixInstruction> instruction =
      MatrixInstruction::create(shape.mma);
  Value quad, inQuad, warpInBlock;
  /// The thread's rows, and the same rows clamped to the last row.
  SmallVector<Value> unclampedRows, rows;
  SmallVector<ColumnLoad> columnLoads;
  /// The numbers of rows, of heads, or null, and of others.
  Value rowCount, groups, others;

private:
  SmallVector<Value> getIndices(OpOperand &operand, Value row, const Step &step,
                                Value other, Value last);
  Words loadWords(Value buffer, ValueRange indices, int64_t elements);
  Words loadDepth(OpOperand &operand, Value row, const Step &step, Value other,
                  int64_t loadIndex);
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ATTENTION_GRADIENTTILES_H
