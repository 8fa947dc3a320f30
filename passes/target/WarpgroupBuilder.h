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

/// Writes the loops of one thread. It copies its part of each stage and starts
/// the instructions of its warpgroup, which read what all threads have copied.
/// Within a block, the eight 16-byte parts of row `r` are exchanged, `i` for
/// `i xor r`: parts of one number, which an instruction reads together, lie in
/// different banks.
class WarpgroupBuilder {
public:
  WarpgroupBuilder(ImplicitLocOpBuilder &builder,
                   ArrayRef<TensorProduct> products,
                   const WarpgroupShape &shape, Value memory, Value thread,
                   int64_t threads);

  void build(ValueRange sums);

private:
  /// A factor: where this thread begins to copy, the bytes from one of its rows
  /// to the next, and how many rows there are.
  struct Source {
    Value pointer, stride;
    int64_t rows;
  };

  Value constant(int64_t number);
  Value number(int64_t value);
  Value add(Value a, Value b);
  Value multiply(Value a, int64_t b);
  Value divide(Value a, int64_t b);
  Value remainder(Value a, int64_t b);
  void findPlace(Value thread);
  void addSource(Value buffer, int64_t rows);
  Value createDescriptor(Value firstRow);
  void copy(Value k, Value stage);
  void wait(int64_t count);
  void startStage(Value stage, MutableArrayRef<Value> sums);
  SmallVector<Value> addUp();
  void store(Value own, Value buffer);

  ImplicitLocOpBuilder &builder;
  ArrayRef<TensorProduct> products;
  const WarpgroupShape &shape;
  int64_t threads;
  Value thread, shared;
  /// This thread's row and part of it in a copy.
  Value copiedRow, copiedPart;
  /// Where its warpgroup's share of the results begins.
  Value firstRow, firstColumn;
  SmallVector<Source> sources;
  /// Of the left side, and of the right side of every product, in a stage that
  /// begins where the memory does.
  Value left;
  SmallVector<Value> rights;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_WARPGROUPBUILDER_H
