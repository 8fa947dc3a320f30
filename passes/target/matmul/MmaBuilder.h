//===- MmaBuilder.h - One thread's share of mma products --------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MATMUL_MMABUILDER_H
#define ARK_PASSES_TARGET_MATMUL_MMABUILDER_H

#include "passes/target/matmul/MmaLoops.h"
#include "passes/target/matrix_units/MatrixInstruction.h"

namespace mlir::ark {

class MmaStages;

/// Builds the code of one thread. Some threads share a row of an operand, and
/// each loads 8 elements of a slice of K. The order of these elements is not
/// the order that the instruction defines, but A and B use the same permuted K
/// order, so that the sum is unchanged.
class MmaBuilder {
public:
  MmaBuilder(ImplicitLocOpBuilder &builder, ArrayRef<MatmulTile> products,
             const MmaShape &shape, const MatrixInstruction &instruction,
             ValueRange buffers)
      : builder(builder), products(products), shape(shape),
        instruction(instruction), buffers(buffers) {}

  void build(Value thread, int64_t threads);
  /// Builds the loops with `count` stages in `memory`, which finally receives
  /// the accumulators.
  void buildStaged(Value thread, int64_t threads, Value memory, int64_t count);

private:
  /// The loads of a thread for one slice: those of every product's columns,
  /// then those of every block of rows unless `hasTemporaryRows`.
  using Slice = SmallVector<Value>;

  /// A row of a right operand, which is a column of the result.
  struct Column {
    Value buffer, row;
    /// The address of this thread's first element, if the row is read once.
    Value pointer;
  };

  Value constant(int64_t number);
  Value add(Value a, int64_t b);
  void findTile(Value thread);
  Value getFirstColumn(Value iteration);
  SmallVector<Column> findColumns(Value iteration);
  void findRows();
  Value clampRow(Value row, Value buffer, int64_t count);
  Value findAddress(Value buffer, Value row);
  Value load(Value buffer, Value row, Value k);
  Value getK(Value distance, int64_t more);
  Value load(const Column &column, Value distance, int64_t more);
  SmallVector<Value> loadRows(Value k);
  Slice loadSlice(ArrayRef<Column> columns, Value distance, int64_t more);
  Value widen(Value loaded, int64_t step, Type element);
  SmallVector<Value> getWords(Value loaded, int64_t step, Value operand);
  void createMma(ArrayRef<Value> columns, ArrayRef<Value> rows,
                 MutableArrayRef<Value> accumulators);
  void store(Value accumulator, const MatmulTile &product, Value buffer,
             Value m, Value n);
  void multiply(ArrayRef<Value> columns, ArrayRef<Value> rows,
                SmallVectorImpl<Value> &accumulators);
  void multiplySlice(const Slice &slice, Value k,
                     SmallVectorImpl<Value> &accumulators);
  SmallVector<Value> accumulate();
  void accumulateOverN();
  Slice loadStaged(MmaStages &stages, ArrayRef<Column> columns, Value stage,
                   int64_t slice);
  SmallVector<Value> accumulateStaged(MmaStages &stages, int64_t count);
  void store(ArrayRef<Value> accumulators, Value iteration = Value());

  /// Returns the number of accumulators that are summed for one element.
  int64_t getChains() const;
  /// Returns the number of instructions per load.
  int64_t getSteps() const;
  SmallVector<Value> createAccumulators();

  ImplicitLocOpBuilder &builder;
  ArrayRef<MatmulTile> products;
  const MmaShape &shape;
  const MatrixInstruction &instruction;
  ValueRange buffers;
  /// The split-K part, the first column and row of the tile, the thread's row
  /// of an operand, and the index of the thread among those that share this
  /// row.
  Value part, firstColumn, firstRow, row, number;
  Value threadOfWarp;
  /// The start of this thread's elements along K, and the end of its split-K
  /// part.
  Value begin, end;
  /// The rows of the blocks.
  SmallVector<Value> rowsOf;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATMUL_MMABUILDER_H
