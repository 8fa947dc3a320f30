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

  /// Places of chunks in global memory that move along K in a loop: a pointer
  /// for each operand, which all threads have in common, and the distances of
  /// this thread's chunks, as i32.
  struct Cursor {
    SmallVector<Value> pointers, distances;
  };
  /// Returns the places of a stage that begins at `k`, or nothing if distances
  /// have more than 32 bits, or if the last stage has fewer elements.
  std::optional<Cursor> createCursor(int64_t k);
  /// Makes the distances opaque to compilers, which would otherwise add them to
  /// the pointers in each iteration. The loads of AMD GPUs add both.
  void keepDistances(Cursor &cursor);
  /// Moves the cursor by a number of elements of K.
  void advance(Cursor &cursor, int64_t elements);
  /// Loads this thread's chunks of the stage that begins `elements` of K after
  /// the cursor.
  SmallVector<Value> load(const Cursor &cursor, int64_t elements);
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
    unsigned operand;
    Value offset, target, k;
    bool isNear;
  };

  void addOperand(Value buffer, int64_t rows, int64_t firstRow, Value thread);
  Value constant(int64_t number);
  Value add(Value a, Value b);
  Value multiply(Value a, int64_t b);
  Value getSwizzledBytes(Value row, Value chunk);
  Value narrow(Value distance);
  bool isRagged() const;
  Value loadWords(Value base, Value offset);

  ImplicitLocOpBuilder &builder;
  const MatmulTile &product;
  const StoredShape &shape;
  Value shared;
  /// The left and the right operand.
  SmallVector<Value> pointers;
  SmallVector<Chunk> chunks;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATMUL_STOREDSTAGES_H
