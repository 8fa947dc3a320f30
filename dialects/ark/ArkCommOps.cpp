//===- ArkCommOps.cpp - Collectives and channel primitives ----------------===//

#include "dialects/ark/ArkLimits.h"
#include "dialects/ark/ArkOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

using Loc = std::optional<Location>;
using Types = SmallVectorImpl<Type>;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

// collective_c1
static LogicalResult checkWorld(Loc loc, int64_t worldSize) {
  if (worldSize > 0 && worldSize <= kMaxRanks)
    return success();
  return emitOptionalError(loc, "world_size ", worldSize, " is not from 1 to ",
                           kMaxRanks, " (collective_c1)");
}

// collective_c2
static LogicalResult checkAxis(Loc loc, int64_t axis, RankedTensorType type) {
  if (axis >= 0 && axis < type.getRank())
    return success();
  return emitOptionalError(loc, "axis ", axis, " is not a dimension of ", type,
                           " (collective_c2)");
}

/// collective_c1 to collective_c3
static LogicalResult checkSplit(Loc loc, int64_t axis, int64_t worldSize,
                                RankedTensorType type) {
  if (failed(checkWorld(loc, worldSize)) || failed(checkAxis(loc, axis, type)))
    return failure();
  if (type.getDimSize(axis) % worldSize == 0)
    return success();
  return emitOptionalError(loc, "dimension ", axis, " of ", type,
                           " does not split into ", worldSize,
                           " parts (collective_c3)");
}

static RankedTensorType withExtent(RankedTensorType type, int64_t axis,
                                   int64_t extent) {
  SmallVector<int64_t> shape(type.getShape());
  shape[axis] = extent;
  return RankedTensorType::get(shape, type.getElementType());
}

LogicalResult AllReduceOp::inferReturnTypes(MLIRContext *, Loc loc,
                                            Adaptor adaptor, Types &types) {
  types.push_back(adaptor.getOperand().getType());
  return checkWorld(loc, adaptor.getWorldSize());
}

LogicalResult AllGatherOp::inferReturnTypes(MLIRContext *, Loc loc,
                                            Adaptor adaptor, Types &types) {
  RankedTensorType type = tensorType(adaptor.getOperand());
  int64_t axis = adaptor.getAxis(), worldSize = adaptor.getWorldSize();
  if (failed(checkWorld(loc, worldSize)) || failed(checkAxis(loc, axis, type)))
    return failure();
  int64_t extent;
  if (llvm::MulOverflow(type.getDimSize(axis), worldSize, extent))
    return emitOptionalError(loc, "gathers more than 2^63 elements of ", type,
                             " in dimension ", axis, " (collective_c2)");
  types.push_back(withExtent(type, axis, extent));
  return success();
}

LogicalResult ReduceScatterOp::inferReturnTypes(MLIRContext *, Loc loc,
                                                Adaptor adaptor, Types &types) {
  RankedTensorType type = tensorType(adaptor.getOperand());
  int64_t axis = adaptor.getAxis(), worldSize = adaptor.getWorldSize();
  if (failed(checkSplit(loc, axis, worldSize, type)))
    return failure();
  types.push_back(withExtent(type, axis, type.getDimSize(axis) / worldSize));
  return success();
}

LogicalResult AllToAllOp::inferReturnTypes(MLIRContext *, Loc loc,
                                           Adaptor adaptor, Types &types) {
  RankedTensorType type = tensorType(adaptor.getOperand());
  types.push_back(type);
  return checkSplit(loc, adaptor.getAxis(), adaptor.getWorldSize(), type);
}

LogicalResult BroadcastOp::inferReturnTypes(MLIRContext *, Loc loc,
                                            Adaptor adaptor, Types &types) {
  types.push_back(adaptor.getOperand().getType());
  if (failed(checkWorld(loc, adaptor.getWorldSize())))
    return failure();
  int64_t root = adaptor.getRoot();
  // collective_c4
  if (root >= 0 && root < static_cast<int64_t>(adaptor.getWorldSize()))
    return success();
  return emitOptionalError(loc, "root ", root, " is not a rank of a world of ",
                           adaptor.getWorldSize(), " (collective_c4)");
}

// collective_c5
static LogicalResult checkPeer(Loc loc, int64_t peer) {
  if (peer >= 0)
    return success();
  return emitOptionalError(loc, "peer ", peer, " is negative (collective_c5)");
}

/// collective_c5 and collective_c6: the expansion uses negative tags itself.
static LogicalResult checkPeerAndTag(Loc loc, int64_t peer, int64_t tag) {
  if (failed(checkPeer(loc, peer)))
    return failure();
  if (tag >= 0)
    return success();
  return emitOptionalError(loc, "tag ", tag, " is negative (collective_c6)");
}

LogicalResult SendOp::inferReturnTypes(MLIRContext *, Loc loc, Adaptor adaptor,
                                       Types &types) {
  types.push_back(adaptor.getOperand().getType());
  return checkPeerAndTag(loc, adaptor.getPeer(), adaptor.getTag());
}

LogicalResult RecvOp::verify() {
  return checkPeerAndTag(getLoc(), getPeer(), getTag());
}

LogicalResult ChannelOpenOp::verify() { return checkPeer(getLoc(), getPeer()); }

// packet_c1
static LogicalResult checkPacket(Loc loc, Type element) {
  if (element.isIntOrFloat() && element.getIntOrFloatBitWidth() <= 32)
    return success();
  return emitOptionalError(loc, "a packet cannot hold ", element,
                           ": its values have at most 32 bits (packet_c1)");
}

LogicalResult ChannelPutPacketOp::verify() {
  return checkPacket(getLoc(), tensorType(getOperand()).getElementType());
}

LogicalResult ChannelReadPacketOp::verify() {
  return checkPacket(getLoc(), tensorType(getResult()).getElementType());
}

LogicalResult PackPacketOp::inferReturnTypes(MLIRContext *context, Loc loc,
                                             Adaptor adaptor, Types &types) {
  RankedTensorType type = tensorType(adaptor.getOperand());
  types.push_back(type.clone(IntegerType::get(context, 64)));
  return checkPacket(loc, type.getElementType());
}

LogicalResult UnpackPacketOp::inferReturnTypes(MLIRContext *, Loc loc,
                                               Adaptor adaptor, Types &types) {
  RankedTensorType type = tensorType(adaptor.getOperand());
  // packet_c2
  if (!type.getElementType().isSignlessInteger(64))
    return emitOptionalError(loc, type, " holds no packets (packet_c2)");
  if (failed(checkPacket(loc, adaptor.getDtype())))
    return failure();
  types.push_back(type.clone(adaptor.getDtype()));
  return success();
}
