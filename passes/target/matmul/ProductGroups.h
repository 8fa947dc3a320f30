//===- ProductGroups.h - Products of one left operand -----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MATMUL_PRODUCTGROUPS_H
#define ARK_PASSES_TARGET_MATMUL_PRODUCTGROUPS_H

#include "passes/target/matrix_units/MatmulTile.h"
#include "passes/target/warpgroups/WarpgroupLoops.h"

namespace mlir::ark {

/// The threads, instructions and memory with which a CTA multiplies.
struct Units {
  int64_t threads;
  /// The instructions of a warp.
  ArrayRef<MmaAttr> instructions;
  /// The instruction of a warpgroup; null if the target has none.
  MmaAttr warpgroupMma;
  /// Selects the products whose operands are copied by TMA.
  TensorMapUse maps;
  /// Bytes of shared memory per SM.
  int64_t memory;

  /// Returns true if warps or warpgroups can compute the products together, not
  /// counting other temporaries.
  bool canMultiply(ArrayRef<MatmulTile> products) const {
    return canUseWarps(products) || choose(products, memory);
  }
  /// Returns true if warps can compute the products together. The threads of a
  /// warp load rows along K.
  bool canUseWarps(ArrayRef<MatmulTile> products) const;
  /// Returns the shape with which warpgroups compute the products in `room`
  /// bytes of shared memory, or nothing if they cannot.
  std::optional<WarpgroupShape> choose(ArrayRef<MatmulTile> products,
                                       int64_t room) const;
};

/// Products with a common left operand, which the threads compute together.
struct ProductGroup {
  SmallVector<MatmulTile> products;
  /// The op after which all operands have their values; null if they have them
  /// at the start of the block.
  Operation *after;
};

/// Returns the products of a block that matrix units compute, in groups.
SmallVector<ProductGroup> findGroups(Block &block, const Units &units);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATMUL_PRODUCTGROUPS_H
