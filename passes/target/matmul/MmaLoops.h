//===- MmaLoops.h - mma products by the warps of a CTA ----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MATMUL_MMALOOPS_H
#define ARK_PASSES_TARGET_MATMUL_MMALOOPS_H

#include "passes/target/matrix_units/MatmulTile.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// The division of products with the same operand A among the warps of a CTA.
/// Each split-K part of a result tile belongs to one warp. If there are fewer
/// warps than tiles, the warps iterate over N.
struct MmaShape {
  /// Chooses at most `maxParts` split-K parts.
  MmaShape(ArrayRef<MatmulTile> products, int64_t threads,
           int64_t maxParts = std::numeric_limits<int64_t>::max());

  /// The sizes of the instruction, which all products share.
  int64_t unitColumns, unitRows, sliceElements, elementBytes, warpSize;
  /// Operands per warp: units of columns of the right operand, blocks of rows
  /// of the left operand.
  int64_t units, blocks;
  /// Tiles of this size that are computed at once, across and down the result.
  int64_t acrossTiles, downTiles;
  /// Iterations over N; each computes `acrossTiles` tiles of a row.
  int64_t nIterations = 1;
  /// Split-K parts of a tile: each warp multiplies one part of K.
  int64_t parts;
  /// Slices of K per warp, and slices whose loads a warp issues before it waits
  /// for the first one.
  int64_t slices, inFlight;
  /// True if some slices of a warp may lie beyond the end of K.
  bool isRagged;

  int64_t getColumns() const { return nIterations * getColumnsPerIteration(); }
  int64_t getColumnsPerIteration() const {
    return acrossTiles * units * unitColumns;
  }
  int64_t getRows() const { return downTiles * blocks * unitRows; }
  int64_t getNumTiles() const { return acrossTiles * downTiles; }
  /// Returns true if there is a warp for every tile, and if its registers hold
  /// the accumulators.
  bool fits() const;
  int64_t getBusyWarps() const { return getNumTiles() * parts; }

private:
  bool setTile(const MatmulTile &product, int64_t units, int64_t blocks);
  void chooseTile(ArrayRef<MatmulTile> products);
  void iterateOverN(ArrayRef<MatmulTile> products, int64_t fitting);

  int64_t warps, maxParts;
};

/// Builds the loops of all threads at the insertion point. Returns one buffer
/// per product, of split-K parts by padded rows by padded columns, which the
/// loops fill with partial sums. The buffers are temporaries of `getMmaBytes`
/// bytes. Operands are staged in the same memory if the stages fit into `room`
/// bytes.
SmallVector<Value> createMmaLoops(ImplicitLocOpBuilder &builder,
                                  ArrayRef<MatmulTile> products,
                                  int64_t threads, int64_t room);

int64_t getMmaBytes(ArrayRef<MatmulTile> products, int64_t threads,
                    int64_t room);

/// Returns true if stages of the operands fit into `room` bytes.
bool canStageOperands(ArrayRef<MatmulTile> products, int64_t threads,
                      int64_t room);

/// Builds loops without a temporary: K is not split, and the product is added
/// directly to the result.
void createDirectMmaLoops(ImplicitLocOpBuilder &builder,
                          const MatmulTile &product, int64_t threads);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATMUL_MMALOOPS_H
