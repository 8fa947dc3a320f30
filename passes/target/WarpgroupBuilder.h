//===- WarpgroupBuilder.h - One thread's share of products ------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_WARPGROUPBUILDER_H
#define ARK_PASSES_TARGET_WARPGROUPBUILDER_H

#include "passes/target/WarpgroupLoops.h"

namespace mlir::ark {

inline constexpr int64_t kWarpgroupThreads = 128;
/// Rows of the left side that one instruction multiplies.
inline constexpr int64_t kWarpgroupRows = 64;
/// Elements of a row in a stage. A row is 128 bytes, eight of them are one of
/// the blocks in which instructions read shared memory.
inline constexpr int64_t kStageDepth = 64;
inline constexpr int64_t kStageRowBytes = 128;
inline constexpr int64_t kStageAlignment = 1024;
/// Rows of a block.
inline constexpr int64_t kBlockRows = 8;
/// Bytes in which descriptors of shared memory count, and what these say beside
/// the place: from bit 32 on how far blocks are apart, at bit 62 that parts of
/// a row are exchanged.
inline constexpr int64_t kDescriptorUnit = 16;
inline constexpr int64_t kDescriptorLayout =
    kBlockRows * kStageRowBytes / kDescriptorUnit << 32 | int64_t(1) << 62;

/// Writes the loops of one thread: it starts the instructions of its warpgroup,
/// which read stages that were copied to shared memory, and stores its sums.
/// Within a block, the eight 16-byte parts of row `r` are exchanged, `i` for
/// `i xor r`: parts of one number, which an instruction reads together, lie in
/// different banks.
class WarpgroupBuilder {
public:
  WarpgroupBuilder(ImplicitLocOpBuilder &builder,
                   ArrayRef<TensorProduct> products,
                   const WarpgroupShape &shape, Value memory, Value thread);
  virtual ~WarpgroupBuilder() = default;

  void build(ValueRange sums);

protected:
  /// What the warpgroup adds up of each product: copies stages, and multiplies
  /// them. In the end nobody reads them any more.
  virtual SmallVector<Value> addUp() = 0;

  Value constant(int64_t number);
  Value number(int64_t value);
  Value add(Value a, Value b);
  Value multiply(Value a, int64_t b);
  Value divide(Value a, int64_t b);
  Value remainder(Value a, int64_t b);
  /// `after`, or zero where that is `end`.
  Value wrap(Value after, int64_t end);
  /// Zeros, for every product.
  SmallVector<Value> createSums();
  int64_t getDepth() const { return products.front().depth; }
  /// The factors, with how many rows each has of a stage.
  SmallVector<std::pair<Value, int64_t>> getFactors() const;
  /// Instructions that add the products of one stage to the sums. They are
  /// under way until `wgmma.wait_group`. The stage begins so many units of
  /// descriptors behind the memory, in 64 bits.
  void startStage(Value place, MutableArrayRef<Value> sums);
  /// The descriptor of what lies so many units further on.
  virtual Value move(Value descriptor, Value place);

  ImplicitLocOpBuilder &builder;
  ArrayRef<TensorProduct> products;
  const WarpgroupShape &shape;
  Value thread, shared;

private:
  void findPlace();
  Value createDescriptor(Value firstRow);
  void store(Value own, Value buffer);

  /// Where its warpgroup's share of the results begins.
  Value firstRow, firstColumn;
  /// Of the left side, and of the right side of every product, in a stage that
  /// begins where the memory does.
  Value left;
  SmallVector<Value> rights;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_WARPGROUPBUILDER_H
