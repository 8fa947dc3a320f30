//===- RankExchange.h - Building blocks of collectives ----------*- C++ -*-===//

#ifndef ARK_PASSES_GRAPH_COLLECTIVES_RANKEXCHANGE_H
#define ARK_PASSES_GRAPH_COLLECTIVES_RANKEXCHANGE_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// Returns the size of a tensor in bytes.
int64_t getBytes(RankedTensorType type);

/// Replaces one collective by the ops of one rank.
///
/// Sums of floats are accumulated in f32 and rounded once. Reductions in one or
/// two shots add in the order of ranks. In the ring algorithm, the sum of slice
/// `r` starts at rank `r + 1` and ends at rank `r`.
class RankExchange {
public:
  /// Returns the type of the slice of a rank.
  using SliceType = llvm::function_ref<RankedTensorType(int64_t)>;

  RankExchange(Operation *op, int64_t rank, int64_t size, int64_t packetBytes)
      : rank(rank), size(size), builder(op), op(op), packetBytes(packetBytes) {}

  const int64_t rank, size;
  int64_t numPuts = 0;

  /// Returns all other ranks, starting with the next one, so that not all ranks
  /// send to the same rank at once.
  SmallVector<int64_t> getPeers() const;
  /// Returns `rank + distance`, modulo the number of ranks.
  int64_t getNeighbour(int64_t distance) const;

  //===--- Between ranks --------------------------------------------------===//

  /// Tag of collectives; tags of users are not negative. One tag suffices,
  /// because all ranks execute all collectives in the same order.
  static constexpr int64_t kCollectiveTag = -1;

  void send(Value value, int64_t peer, int64_t tag = kCollectiveTag);
  Value receive(RankedTensorType type, int64_t peer,
                int64_t tag = kCollectiveTag);
  void sendToAll(Value value);
  /// Returns the tensors that the ranks have sent to this rank, in the order of
  /// ranks, with `own` for this rank.
  SmallVector<Value> receiveAll(Value own, SliceType getSlice);
  /// Sends `slices[r]` to every other rank `r`.
  void scatter(ArrayRef<Value> slices);
  /// Returns the slices of this rank that all ranks have scattered.
  SmallVector<Value> receiveSlices(ArrayRef<Value> slices);
  /// Scatters slices, and receives those of this rank.
  SmallVector<Value> swap(ArrayRef<Value> slices);
  /// Returns `slices[rank]`, reduced over all ranks.
  Value scatterReduce(ArrayRef<Value> slices, ReductionKind kind);
  Value ringReduce(ArrayRef<Value> slices, ReductionKind kind);
  /// Returns the concatenation of the slices `own` of all ranks.
  Value gather(Value own, int64_t axis, SliceType getSlice);
  Value ringGather(Value own, int64_t axis, SliceType getSlice);

  //===--- Of one rank ----------------------------------------------------===//

  Value reduce(ArrayRef<Value> values, ReductionKind kind);
  /// Splits a tensor along a dimension into `count` slices. The extents differ
  /// by at most one, and the first slices are not smaller.
  SmallVector<Value> split(Value value, int64_t axis, int64_t count);
  Value join(ArrayRef<Value> slices, int64_t axis);
  Value flatten(Value value);
  Value reshape(Value value, RankedTensorType type);
  Value makeEmpty(RankedTensorType type);

private:
  /// Returns true if a tensor is nonempty, small enough for packets, and has
  /// elements that fit into a packet.
  bool isPacket(RankedTensorType type) const {
    return getBytes(type) <= packetBytes && type.getNumElements() > 0 &&
           type.getElementTypeBitWidth() <= 32;
  }
  Value open(int64_t peer, int64_t tag);
  Value combine(Value left, Value right, ReductionKind kind);
  Value cast(Value value, Type elementType);
  /// Returns the accumulation type: f32 for sums of floats, otherwise the
  /// element type.
  Type getSumType(Type elementType, ReductionKind kind);
  template <typename OpT, typename... Args>
  OpT create(Args &&...args);

  OpBuilder builder;
  Operation *op;
  int64_t packetBytes;
};

} // namespace mlir::ark

#endif // ARK_PASSES_GRAPH_COLLECTIVES_RANKEXCHANGE_H
