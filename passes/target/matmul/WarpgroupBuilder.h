//===- WarpgroupBuilder.h - One thread's share of wgmma ---------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MATMUL_WARPGROUPBUILDER_H
#define ARK_PASSES_TARGET_MATMUL_WARPGROUPBUILDER_H

#include "passes/target/matmul/WarpgroupLoops.h"

namespace mlir::ark {

inline constexpr int64_t kWarpgroupThreads = 128;
/// Rows of the left operand that one instruction multiplies.
inline constexpr int64_t kWarpgroupRows = 64;
/// Elements of K in a stage. A row of a stage has 128 bytes. Eight rows are one
/// of the blocks in which instructions read shared memory.
inline constexpr int64_t kStageDepth = 64;
inline constexpr int64_t kStageRowBytes = 128;
inline constexpr int64_t kStageAlignment = 1024;
/// Rows of a block.
inline constexpr int64_t kBlockRows = 8;
/// The unit of descriptors of shared memory, in bytes, and the bits of a
/// descriptor beside the address: from bit 32 on the distance between blocks,
/// at bit 62 the swizzle of 128 bytes.
inline constexpr int64_t kDescriptorUnit = 16;
inline constexpr int64_t kDescriptorLayout =
    kBlockRows * kStageRowBytes / kDescriptorUnit << 32 | int64_t(1) << 62;

/// Builds the loops of one thread: it starts the `wgmma` instructions of its
/// warpgroup, which read stages in shared memory, and stores its accumulators.
/// Stages are swizzled: within a block, the 16-byte part `i` of row `r` lies at
/// `i xor r`. An instruction reads the parts of one number together, and these
/// lie in different banks.
class WarpgroupBuilder {
public:
  WarpgroupBuilder(ImplicitLocOpBuilder &builder, ArrayRef<MatmulTile> products,
                   const WarpgroupShape &shape, Value memory, Value thread);
  virtual ~WarpgroupBuilder() = default;

  void build(ValueRange sums);

protected:
  /// Copies stages and multiplies them. Returns the accumulators of each
  /// product. No thread reads a stage afterwards.
  virtual SmallVector<Value> addUp() = 0;

  Value constant(int64_t number);
  Value number(int64_t value);
  Value add(Value a, Value b);
  Value multiply(Value a, int64_t b);
  Value divide(Value a, int64_t b);
  Value remainder(Value a, int64_t b);
  /// Returns `after`, or zero if `after` equals `end`.
  Value wrap(Value after, int64_t end);
  /// Creates accumulators of zero for every product.
  SmallVector<Value> createSums();
  int64_t getDepth() const { return products.front().depth; }
  /// Returns the operands, each with the number of its rows in a stage.
  SmallVector<std::pair<Value, int64_t>> getFactors() const;
  /// Starts the instructions that add the products of one stage to the
  /// accumulators. The instructions are in flight until `wgmma.wait_group`.
  /// `place`, of 64 bits, is the distance of the stage from the begin of the
  /// memory, in units of descriptors.
  void startStage(Value place, MutableArrayRef<Value> sums);
  /// Advances a descriptor by `place` units.
  virtual Value move(Value descriptor, Value place);

  ImplicitLocOpBuilder &builder;
  ArrayRef<MatmulTile> products;
  const WarpgroupShape &shape;
  Value thread, shared;

private:
  void findPlace();
  Value createDescriptor(Value firstRow);
  void store(Value own, Value buffer);

  /// The first row and column of the warpgroup's share of the results.
  Value firstRow, firstColumn;
  /// Descriptors of the left operand, and of the right operand of every
  /// product, for a stage at the begin of the memory.
  Value left;
  SmallVector<Value> rights;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATMUL_WARPGROUPBUILDER_H
