//===- MmaLoops.h - Products by the warps of a CTA --------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MMALOOPS_H
#define ARK_PASSES_TARGET_MMALOOPS_H

#include "passes/target/TensorProduct.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// How the warps of a CTA share products with the same left side: a tile of
/// each result has as many warps as there are parts of the depth. Where these
/// are not enough for all tiles, they take turns.
struct MmaShape {
  /// For no more parts than `mostParts`.
  MmaShape(ArrayRef<TensorProduct> products, int64_t threads,
           int64_t mostParts = std::numeric_limits<int64_t>::max());

  /// Operands of one instruction that a warp has of the right and the left
  /// side: units of columns, blocks of rows.
  int64_t units, blocks;
  /// Tiles of so many of them that are made at once, in a row and in a column
  /// of the result.
  int64_t acrossTiles, downTiles;
  /// How often a row has as many tiles.
  int64_t turns = 1;
  int64_t parts;
  /// Pieces of the depth that a warp adds up, and how many of them it has asked
  /// for before it waits for the first.
  int64_t pieces, inFlight;
  /// Whether some of a warp's pieces lie beyond the depth.
  bool isRagged;

  int64_t getColumns() const { return turns * getColumnsOfTurn(); }
  int64_t getColumnsOfTurn() const { return acrossTiles * units * kMmaColumns; }
  int64_t getRows() const { return downTiles * blocks * kMmaRows; }
  int64_t getNumTiles() const { return acrossTiles * downTiles; }
  /// Whether there is a warp for every tile, with registers for its sums.
  bool fits() const;
  int64_t getBusyWarps() const { return getNumTiles() * parts; }

private:
  bool setTile(const TensorProduct &product, int64_t units, int64_t blocks);
  void chooseTile(ArrayRef<TensorProduct> products);
  void takeTurns(ArrayRef<TensorProduct> products, int64_t fitting);

  int64_t warps, mostParts;
};

/// Writes what the threads do at the builder's place, and gives for every
/// product a buffer of parts by rows by columns, rounded up, which it fills
/// with sums. They are temporaries of a size that `getMmaBytes` tells; factors
/// go through the same memory, if there is as much as `room`.
SmallVector<Value> createMmaLoops(ImplicitLocOpBuilder &builder,
                                  ArrayRef<TensorProduct> products,
                                  int64_t threads, int64_t room);

int64_t getMmaBytes(ArrayRef<TensorProduct> products, int64_t threads,
                    int64_t room);

/// Needs no temporary: there is one part, which is added to the result.
void createDirectMmaLoops(ImplicitLocOpBuilder &builder,
                          const TensorProduct &product, int64_t threads);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MMALOOPS_H
