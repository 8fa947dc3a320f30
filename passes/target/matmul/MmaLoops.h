//===- MmaLoops.h - mma products by the warps of a CTA ----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MATMUL_MMALOOPS_H
#define ARK_PASSES_TARGET_MATMUL_MMALOOPS_H

#include "passes/target/matmul/MatmulTile.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// The division of products with the same left operand among the warps of a
/// CTA. A tile of each result has as many warps as there are split-K parts. If
/// the warps are too few for all tiles, they take tiles in several turns.
struct MmaShape {
  /// Chooses at most `mostParts` parts.
  MmaShape(ArrayRef<MatmulTile> products, int64_t threads,
           int64_t mostParts = std::numeric_limits<int64_t>::max());

  /// Operands of one instruction that a warp has: units of columns on the
  /// right, blocks of rows on the left.
  int64_t units, blocks;
  /// Tiles of so many units and blocks that are computed at once, across and
  /// down the result.
  int64_t acrossTiles, downTiles;
  /// Turns over the columns, each of which makes `acrossTiles` tiles of a row.
  int64_t turns = 1;
  int64_t parts;
  /// Pieces of K that a warp multiplies, and pieces whose loads it issues
  /// before it waits for the first.
  int64_t pieces, inFlight;
  /// True if some of a warp's pieces lie beyond the end of K.
  bool isRagged;

  int64_t getColumns() const { return turns * getColumnsOfTurn(); }
  int64_t getColumnsOfTurn() const { return acrossTiles * units * kMmaColumns; }
  int64_t getRows() const { return downTiles * blocks * kMmaRows; }
  int64_t getNumTiles() const { return acrossTiles * downTiles; }
  /// Returns true if there is a warp for every tile, with registers for its
  /// accumulators.
  bool fits() const;
  int64_t getBusyWarps() const { return getNumTiles() * parts; }

private:
  bool setTile(const MatmulTile &product, int64_t units, int64_t blocks);
  void chooseTile(ArrayRef<MatmulTile> products);
  void takeTurns(ArrayRef<MatmulTile> products, int64_t fitting);

  int64_t warps, mostParts;
};

/// Builds the loops of all threads at the builder's place. Returns, for every
/// product, a buffer of split-K parts by rows by columns, rounded up, which the
/// loops fill with partial sums. The buffers are temporaries of `getMmaBytes`
/// bytes. Operands are staged in the same memory if stages fit into `room`
/// bytes.
SmallVector<Value> createMmaLoops(ImplicitLocOpBuilder &builder,
                                  ArrayRef<MatmulTile> products,
                                  int64_t threads, int64_t room);

int64_t getMmaBytes(ArrayRef<MatmulTile> products, int64_t threads,
                    int64_t room);

/// Builds loops that need no temporary: K is not split, and the product is
/// added to the result.
void createDirectMmaLoops(ImplicitLocOpBuilder &builder,
                          const MatmulTile &product, int64_t threads);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATMUL_MMALOOPS_H
