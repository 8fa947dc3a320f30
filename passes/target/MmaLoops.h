//===- MmaLoops.h - Products by the warps of a CTA --------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MMALOOPS_H
#define ARK_PASSES_TARGET_MMALOOPS_H

#include "passes/target/TensorProduct.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// How the warps of a CTA share products with the same left side: every unit of
/// columns has as many warps as there are parts of the depth.
struct MmaShape {
  MmaShape(ArrayRef<TensorProduct> products, int64_t threads);

  int64_t units, parts;
  /// Of rows, each an operand of one instruction.
  int64_t blocks;
  /// Pieces of the depth that a warp adds up, and how many of them it has asked
  /// for before it waits for the first.
  int64_t pieces, inFlight;
  /// Whether some of a warp's pieces lie beyond the depth.
  bool isRagged;
  int64_t warps;
};

/// Writes what the threads do at the builder's place, and gives for every
/// product a new temporary of parts by rows by columns, rounded up, which it
/// fills with sums.
SmallVector<Value> createMmaLoops(ImplicitLocOpBuilder &builder,
                                  ArrayRef<TensorProduct> products,
                                  int64_t threads);

/// Bytes of those temporaries.
int64_t getPartsBytes(ArrayRef<TensorProduct> products, int64_t threads);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MMALOOPS_H
