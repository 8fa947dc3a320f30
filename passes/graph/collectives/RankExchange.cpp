//===- RankExchange.cpp - Building blocks of collectives ------------------===//

#include "passes/graph/collectives/RankExchange.h"
#include "lib/support/GraphUtils.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// A tensor of at most this many bytes fits one tile.
static constexpr int64_t kBytesOfOneTile = 32768;

int64_t ark::getBytes(RankedTensorType type) {
  return type.getNumElements() *
         llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

SmallVector<int64_t> RankExchange::getPeers() const {
  SmallVector<int64_t> peers;
  for (int64_t distance = 1; distance < size; ++distance)
    peers.push_back(getNeighbour(distance));
  return peers;
}

int64_t RankExchange::getNeighbour(int64_t distance) const {
  return (rank + distance + size) % size;
}

/// Creates an op with the location of the collective and with the user's plan.
template <typename OpT, typename... Args>
OpT RankExchange::create(Args &&...args) {
  auto made = OpT::create(builder, op->getLoc(), std::forward<Args>(args)...);
  if (Attribute plan = op->getDiscardableAttr(ArkDialect::kPlanAttr))
    made->setDiscardableAttr(ArkDialect::kPlanAttr, plan);
  return made;
}

//===----------------------------------------------------------------------===//
// Communication between ranks
//===----------------------------------------------------------------------===//

Value RankExchange::open(int64_t peer, int64_t tag) {
  return create<ChannelOpenOp>(ChannelType::get(op->getContext()), peer, tag);
}

void RankExchange::send(Value value, int64_t peer, int64_t tag) {
  ++numPuts;
  Value channel = open(peer, tag);
  if (isPacket(getTensorType(value))) {
    create<ChannelPutPacketOp>(channel, value);
    return;
  }
  create<ChannelPutOp>(channel, value);
  create<ChannelSignalOp>(channel);
}

Value RankExchange::receive(RankedTensorType type, int64_t peer, int64_t tag) {
  Value channel = open(peer, tag);
  if (isPacket(type))
    return create<ChannelReadPacketOp>(type, channel);
  create<ChannelWaitOp>(channel);
  return create<ChannelGetOp>(type, channel);
}

void RankExchange::sendToAll(Value value) {
  for (int64_t peer : getPeers())
    send(value, peer);
}

SmallVector<Value> RankExchange::receiveAll(Value own, SliceType getSlice) {
  SmallVector<Value> received;
  for (int64_t from = 0; from < size; ++from)
    received.push_back(from == rank ? own : receive(getSlice(from), from));
  return received;
}

void RankExchange::scatter(ArrayRef<Value> slices) {
  for (int64_t peer : getPeers())
    send(slices[peer], peer);
}

SmallVector<Value> RankExchange::receiveSlices(ArrayRef<Value> slices) {
  return receiveAll(slices[rank],
                    [&](int64_t) { return getTensorType(slices[rank]); });
}

SmallVector<Value> RankExchange::swap(ArrayRef<Value> slices) {
  scatter(slices);
  return receiveSlices(slices);
}

Value RankExchange::scatterReduce(ArrayRef<Value> slices, ReductionKind kind) {
  return reduce(swap(slices), kind);
}

Value RankExchange::ringReduce(ArrayRef<Value> slices, ReductionKind kind) {
  Type elementType = getTensorType(slices[rank]).getElementType();
  Type sumType = getSumType(elementType, kind);
  // The sum of slice `r` starts at rank `r + 1`, so this rank starts with the
  // slice of the previous rank. Partial sums are not rounded.
  Value partial = cast(slices[getNeighbour(-1)], sumType);
  for (int64_t step = 1; step < size; ++step) {
    send(partial, getNeighbour(1));
    Value own = cast(slices[getNeighbour(-1 - step + size)], sumType);
    Value received = receive(getTensorType(own), getNeighbour(-1));
    partial = combine(received, own, kind);
  }
  return cast(partial, elementType);
}

Value RankExchange::gather(Value own, int64_t axis, SliceType getSlice) {
  sendToAll(own);
  return join(receiveAll(own, getSlice), axis);
}

Value RankExchange::ringGather(Value own, int64_t axis, SliceType getSlice) {
  SmallVector<Value> slices(size);
  Value present = slices[rank] = own;
  for (int64_t step = 1; step < size; ++step) {
    send(present, getNeighbour(1));
    int64_t from = getNeighbour(-step);
    present = slices[from] = receive(getSlice(from), getNeighbour(-1));
  }
  return join(slices, axis);
}

//===----------------------------------------------------------------------===//
// Computation on one rank
//===----------------------------------------------------------------------===//

Type RankExchange::getSumType(Type elementType, ReductionKind kind) {
  bool widens = kind == ReductionKind::Sum && isa<FloatType>(elementType);
  return widens ? builder.getF32Type() : elementType;
}

Value RankExchange::cast(Value value, Type elementType) {
  if (getTensorType(value).getElementType() == elementType)
    return value;
  return create<CastOp>(value, elementType);
}

Value RankExchange::combine(Value left, Value right, ReductionKind kind) {
  switch (kind) {
  case ReductionKind::Sum:
    return create<AddOp>(left, right);
  case ReductionKind::Max:
    return create<MaximumOp>(left, right);
  case ReductionKind::Min:
    return create<MinimumOp>(left, right);
  }
  llvm_unreachable("all kinds are handled");
}

Value RankExchange::reduce(ArrayRef<Value> values, ReductionKind kind) {
  Type elementType = getTensorType(values.front()).getElementType();
  Type sumType = getSumType(elementType, kind);
  Value result = cast(values.front(), sumType);
  for (Value value : values.drop_front())
    result = combine(result, cast(value, sumType), kind);
  return cast(result, elementType);
}

SmallVector<Value> RankExchange::split(Value value, int64_t axis,
                                       int64_t count) {
  if (count == 1)
    return {value};
  SmallVector<int64_t> starts(getTensorType(value).getRank(), 0),
      stops(getTensorType(value).getShape()), steps(starts.size(), 1);
  int64_t extent = stops[axis];
  SmallVector<Value> slices;
  for (int64_t slice = 0; slice < count; ++slice) {
    starts[axis] = slice == 0 ? 0 : stops[axis];
    stops[axis] = starts[axis] + extent / count + (slice < extent % count);
    slices.push_back(create<SliceOp>(value, starts, stops, steps));
  }
  return slices;
}

Value RankExchange::join(ArrayRef<Value> slices, int64_t axis) {
  RankedTensorType type = getTensorType(slices.front());
  bool areEqual = llvm::all_equal(
      llvm::map_range(slices, [](Value slice) { return slice.getType(); }));
  if (!areEqual || getBytes(type) * int64_t(slices.size()) <= kBytesOfOneTile)
    return create<ConcatOp>(slices, axis);
  // A tile contains the axis of a concatenation completely. Slices of equal
  // shape are joined along a new axis, so that tiles divide `axis`.
  SmallVector<int64_t> row(type.getShape()), whole(type.getShape());
  row.insert(row.begin() + axis, 1);
  whole[axis] *= slices.size();
  SmallVector<Value> rows;
  for (Value slice : slices)
    rows.push_back(create<ReshapeOp>(slice, row));
  return create<ReshapeOp>(create<ConcatOp>(rows, axis), whole);
}

Value RankExchange::reshape(Value value, RankedTensorType type) {
  if (value.getType() == type)
    return value;
  return create<ReshapeOp>(value, type.getShape());
}

Value RankExchange::flatten(Value value) {
  RankedTensorType type = getTensorType(value);
  return reshape(value, RankedTensorType::get({type.getNumElements()},
                                              type.getElementType()));
}

Value RankExchange::makeEmpty(RankedTensorType type) {
  return create<ConstantOp>(
      DenseElementsAttr::get(type, ArrayRef<Attribute>()));
}
