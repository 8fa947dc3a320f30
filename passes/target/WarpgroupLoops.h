//===- WarpgroupLoops.h - Products by the warpgroups of a CTA ---*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_WARPGROUPLOOPS_H
#define ARK_PASSES_TARGET_WARPGROUPLOOPS_H

#include "passes/target/TensorProduct.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Of the two barriers that a stage has where it is copied by itself.
inline constexpr int64_t kStageBarrierBytes = 16;
/// Of what is known of a factor that is copied like that.
inline constexpr int64_t kFactorRecordBytes = 32;

/// Where stages are copied by tensor maps.
enum class TensorMapUse { Never, WhereFaster, Always };

/// How warpgroups, which are four warps each, share products with the same left
/// side. Both factors are copied to shared memory, in stages of 64 elements of
/// the depth; a warpgroup multiplies 64 rows of the left side with its share of
/// the columns of every product.
struct WarpgroupShape {
  /// Nothing, where tiles are not whole or cannot be shared out evenly, or
  /// `room` bytes of shared memory are too few.
  static std::optional<WarpgroupShape> choose(ArrayRef<TensorProduct> products,
                                              int64_t threads, int64_t room,
                                              TensorMapUse maps);

  /// Of the left side, and of the right side of every product.
  int64_t rows, columns;
  int64_t numProducts;
  /// Warpgroups one below the other, and side by side.
  int64_t down, across;
  int64_t stages;
  /// Whether one thread asks for stages by tensor maps, instead of all that
  /// copy.
  bool hasMaps;

  int64_t getOwnColumns() const { return columns / across; }
  int64_t getStageBytes() const;
  /// Behind what stages take and, after them, the sums.
  int64_t getRecordsBegin() const;
  int64_t getBarriersBegin() const;
  int64_t getBytes() const;
};

/// Writes what the threads do at the builder's place, and gives for every
/// product a buffer of its extents, which it fills with sums. They are views of
/// one temporary.
SmallVector<Value> createWarpgroupLoops(ImplicitLocOpBuilder &builder,
                                        ArrayRef<TensorProduct> products,
                                        const WarpgroupShape &shape,
                                        int64_t threads);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_WARPGROUPLOOPS_H
