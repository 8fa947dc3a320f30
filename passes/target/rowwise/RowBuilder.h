//===- RowBuilder.h - Code of threads that compute rows ---------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ROWWISE_ROWBUILDER_H
#define ARK_PASSES_TARGET_ROWWISE_ROWBUILDER_H

#include "passes/target/packets/PacketPolling.h"

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::ark {

/// The division of a row among warps of `warpSize` threads: a range of elements
/// for each warp, and `loads` loads of `width` elements for each thread.
/// Neighbouring threads load neighbouring elements.
struct RowShares {
  int64_t warpSize = 0, warpsPerRow = 0, loads = 0, width = 0;

  /// Returns the distance in elements between two loads of a thread.
  int64_t getStep() const;
  /// Returns the number of elements of a thread.
  int64_t getElements() const { return loads * width; }
  /// Returns the first element of thread `inWarp` in warp `warpOfRow` of a row.
  Value getFirst(ImplicitLocOpBuilder &builder, Value warpOfRow,
                 Value inWarp) const;
};

/// Returns the division of rows of `columns` elements of `bytes` bytes among
/// `warps` warps of `warpSize` threads with the fewest elements for each
/// thread, or nothing if the rows cannot be divided equally.
std::optional<RowShares> divideRows(int64_t rows, int64_t columns,
                                    int64_t bytes, int64_t warps,
                                    int64_t warpSize);

/// The row of a thread, the index of its warp among the warps of this row and
/// among the warps of the CTA, and the index of the thread in its warp.
struct ThreadIndices {
  Value row, warpOfRow, warp, inWarp;
};

/// Returns the indices of a thread among `warps` warps. Warps without a row
/// compute the share of the last warp again, so that all warps reach the
/// barriers.
ThreadIndices getThreadIndices(ImplicitLocOpBuilder &builder, Value thread,
                               int64_t rows, int64_t warps,
                               const RowShares &shares);

/// Stores the elements of a thread, one vector per load. Warps without a row
/// store nothing.
void storeRow(ImplicitLocOpBuilder &builder, const ThreadIndices &indices,
              ArrayRef<Value> vectors, Value rows, int64_t warps,
              const RowShares &shares);

/// Returns true if each iteration of an op, which may be a reduction, depends
/// on the elements of its operands and on constants only: not on other memory,
/// nor, unless `allowsIndices`, on loop indices.
bool dependsOnElementsAndConstants(linalg::GenericOp op,
                                   bool allowsIndices = false);

/// Returns the combining op of `scalar += f(row, ...)`; null for other ops.
Operation *getCombiner(linalg::GenericOp op);

/// Returns true for `scalar = f(scalar, ...)`, which does not read the row.
bool isScalarOp(linalg::GenericOp op);

/// Returns true for an op that writes each element of a row without reading
/// it. The elements depend on indices only if `allowsIndices`.
bool writesRow(linalg::GenericOp op, bool allowsIndices = false);

/// Builds a row with the threads of several warps.
class RowBuilder {
public:
  RowBuilder(ImplicitLocOpBuilder &builder, const ThreadIndices &indices,
             const RowShares &shares, int64_t warps)
      : builder(builder), indices(indices), shares(shares), warps(warps) {}

  /// Loads the thread's elements of an input.
  void load(Value input);
  /// Polls for the packets of the thread's elements of several inputs.
  void receive(ArrayRef<ReceivePacketsOp> ops);
  void buildRowScalar(linalg::GenericOp op);
  void buildReduction(linalg::GenericOp op);
  /// Returns the thread's elements of the row that an op writes, one vector per
  /// load.
  SmallVector<Value> buildRow(linalg::GenericOp op);
  /// Returns the numbers that an op computes from numbers of the row, one for
  /// each column of its result.
  SmallVector<Value> buildNumbers(linalg::GenericOp op);
  /// Keeps the elements of a row that an op writes for the ops that read it.
  void buildIntermediate(linalg::GenericOp op) {
    SmallVector<Value> row = buildRow(op);
    loaded[op.getDpsInits()[0]] = std::move(row);
  }
  /// Returns the kept elements of the rows that an op writes.
  ArrayRef<Value> getIntermediate(linalg::GenericOp op) const {
    return loaded.find(op.getDpsInits()[0])->second;
  }

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, value);
  }
  Value getElement(int64_t load);
  void addLoads(ReceivePacketsOp op, SmallVectorImpl<PacketLoad> &loads);
  void keep(Value input, ArrayRef<Value> words);
  Value import(Value constant);
  Value inlineRegion(linalg::GenericOp op, ArrayRef<Value> values,
                     ArrayRef<Value> loops = {});
  SmallVector<Value> getElements(linalg::GenericOp op, int64_t load,
                                 int64_t element);
  Value combine(Operation *combiner, Value a, Value b);
  Value combineThreads(Operation *combiner, Value value, int64_t threads);
  Value combineWarps(Operation *combiner, Value value);

  ImplicitLocOpBuilder &builder;
  ThreadIndices indices;
  RowShares shares;
  int64_t warps;
  llvm::DenseMap<Value, Value> rowScalars, constants;
  llvm::DenseMap<Value, SmallVector<Value>> loaded;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ROWWISE_ROWBUILDER_H
