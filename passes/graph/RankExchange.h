//===- RankExchange.h - Steps that collectives are made of ------*- C++ -*-===//

#ifndef ARK_PASSES_GRAPH_RANKEXCHANGE_H
#define ARK_PASSES_GRAPH_RANKEXCHANGE_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// Bytes that a tensor takes in memory.
int64_t getBytes(RankedTensorType type);

/// Writes, in the place of one collective, what one rank does for it.
///
/// Sums of floats are taken in f32 and rounded once. In one step they are in
/// order of rank, on whichever rank; around a ring, part `r` starts at rank
/// `r + 1` and ends with that of rank `r`.
class RankExchange {
public:
  /// The type of the part that a rank has.
  using PartType = llvm::function_ref<RankedTensorType(int64_t)>;

  RankExchange(Operation *op, int64_t rank, int64_t size, int64_t packetBytes)
      : rank(rank), size(size), builder(op), op(op), packetBytes(packetBytes) {}

  const int64_t rank, size;
  int64_t numPuts = 0;

  /// All other ranks, the next one first, so that not all turn to one at once.
  SmallVector<int64_t> getPeers() const;
  /// The rank so many further around the ring.
  int64_t getNeighbour(int64_t distance) const;

  //===--- Between ranks --------------------------------------------------===//

  /// The tag of collectives; users' are not negative. All ranks go through all
  /// collectives in one order, so that one will do.
  static constexpr int64_t kOwnTag = -1;

  void send(Value value, int64_t peer, int64_t tag = kOwnTag);
  Value receive(RankedTensorType type, int64_t peer, int64_t tag = kOwnTag);
  /// Part `r` goes to rank `r`; gives what came from each rank, in order.
  SmallVector<Value> swap(ArrayRef<Value> parts);
  /// Part `rank`, reduced over all ranks.
  Value scatterReduce(ArrayRef<Value> parts, ReductionKind kind);
  Value ringReduce(ArrayRef<Value> parts, ReductionKind kind);
  /// The parts of all ranks, joined.
  Value gather(Value own, int64_t axis, PartType getPart);
  Value ringGather(Value own, int64_t axis, PartType getPart);

  //===--- Of one rank ----------------------------------------------------===//

  Value reduce(ArrayRef<Value> values, ReductionKind kind);
  /// Parts along a dimension, as equal as can be; those of lower ranks are not
  /// smaller.
  SmallVector<Value> split(Value value, int64_t axis);
  Value join(ArrayRef<Value> parts, int64_t axis);
  Value flatten(Value value);
  Value reshape(Value value, RankedTensorType type);
  Value makeEmpty(RankedTensorType type);

private:
  /// Small enough to go as packets, but there, and of elements that one holds.
  bool isPacket(RankedTensorType type) const {
    return getBytes(type) <= packetBytes && type.getNumElements() > 0 &&
           type.getElementTypeBitWidth() <= 32;
  }
  Value open(int64_t peer, int64_t tag);
  Value combine(Value left, Value right, ReductionKind kind);
  Value cast(Value value, Type elementType);
  /// In what floats of a type are summed; the type itself for all else.
  Type getSumType(Type elementType, ReductionKind kind);
  template <typename OpT, typename... Args>
  OpT create(Args &&...args);

  OpBuilder builder;
  Operation *op;
  int64_t packetBytes;
};

} // namespace mlir::ark

#endif // ARK_PASSES_GRAPH_RANKEXCHANGE_H
