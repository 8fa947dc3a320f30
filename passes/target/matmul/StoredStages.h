//===- StoredStages.h - Stages that threads store ---------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MATMUL_STOREDSTAGES_H
#define ARK_PASSES_TARGET_MATMUL_STOREDSTAGES_H

#include "passes/target/matmul/StoredLoops.h"

namespace mlir::ark {

/// Two stages of both operands in shared memory, which threads fill through
/// registers. The rows of the left operand come first. A row has 64 or 128
/// bytes, in chunks of 16 bytes. The order of the chunks differs between
/// neighbouring rows, so that eight threads reach all banks with one access,
/// whether they read the same chunk of eight rows or store one row.
class StoredStages {
public:
  StoredStages(ImplicitLocOpBuilder &builder, const MatmulTile &product,
               const StoredShape &shape, Value memory, Value thread);

  /// Loads this thread's chunks of a stage that begins at `k`, an index.
  SmallVector<Value> load(Value k);
  /// Stores chunks to stage 0 or 1.
  void store(ValueRange chunks, int64_t stage);

  /// Reads a chunk of a row. `row` is the index of a thread's first row and
  /// `distance` a multiple of eight rows to add to it. `chunk` is the index of
  /// a chunk in the row.
  Value read(int64_t stage, Value row, int64_t distance, Value chunk);
  /// Returns the index of the first row of the right operand.
  int64_t getFirstColumn() const { return shape.getRows(); }

private:
  /// One load of a thread for each stage: its place in global memory relative
  /// to the operand, its place in a stage, and its distance along K. Distances
  /// of near chunks have 32 bits.
  struct Chunk {
    Value pointer, offset, target, k;
    bool isNear;
  };

  void addOperand(Value buffer, int64_t rows, int64_t firstRow, Value thread);
  Value constant(int64_t number);
  Value add(Value a, Value b);
  Value multiply(Value a, int64_t b);
  Value getSwizzledBytes(Value row, Value chunk);
  Value narrow(Value distance);

  ImplicitLocOpBuilder &builder;
  const MatmulTile &product;
  const StoredShape &shape;
  Value shared;
  SmallVector<Chunk> chunks;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATMUL_STOREDSTAGES_H
