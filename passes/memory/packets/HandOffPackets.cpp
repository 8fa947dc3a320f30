//===- HandOffPackets.cpp - Hand off small tensors as task packets --------===//

#include "lib/analysis/CostModel.h"
#include "lib/support/BufferView.h"
#include "lib/support/PacketRows.h"
#include "lib/support/RankParts.h"
#include "passes/memory/packets/ForwardCopies.h"
#include "passes/memory/packets/PacketMatch.h"
#include "passes/memory/packets/Passes.h"

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"
#include <vector>

namespace mlir::ark {
#define GEN_PASS_DEF_HANDOFFPACKETSPASS
#include "passes/memory/packets/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Alignment of packets: a cache line.
static constexpr int64_t kAlignment = 64;
/// Upper bits of a packet that hold the epoch.
static constexpr int64_t kEpochBits = 16;
/// Later passes need shared memory, too: 1/kReservedShare of the memory of an
/// SM is not used for the temporaries of received packets.
static constexpr int64_t kReservedShare = 4;

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// Erases a buffer that no task uses, and its views.
static void eraseUnused(Operation *buffer) {
  for (Operation *view : llvm::make_early_inc_range(buffer->getUsers()))
    if (isa<ViewLikeOpInterface>(view))
      eraseUnused(view);
  if (buffer->use_empty())
    buffer->erase();
}

namespace {
/// Turns one intermediate into packets.
class Rewriter {
public:
  Rewriter(HandOff &handOff, Value packets)
      : handOff(handOff), packets(packets),
        builder(handOff.buffer.getContext()),
        word(getPacketType(handOff.buffer.getType().getElementType())) {}

  /// Makes the writer send the packets.
  void send();
  /// Makes a reader receive them, before all ops of its body.
  void receive(const PacketReceipt &receipt);
  void eraseBuffer() { eraseUnused(handOff.buffer); }

private:
  Value viewAs(OpOperand *operand);
  MemRefType getWordType(Type type) {
    return cast<MemRefType>(
        cast<MemRefType>(type).cloneWith(std::nullopt, word));
  }
  BlockArgument addOut(Value words);
  BlockArgument replaceOut(Value words);
  Value rebuildView(Value view, BlockArgument tile, BlockArgument words);
  Value createTag(Location loc);
  void sendFrom(DestinationStyleOpInterface producer, BlockArgument tile,
                BlockArgument words);
  Block *cloneAsSender(Operation *producer, Value out);
  Block *copyAsSender(Value values, Value out, Location loc);
  void eraseProducers(BlockArgument tile);
  Value createValues(MemRefType type, Location loc);

  HandOff &handOff;
  Value packets;
  OpBuilder builder;
  /// Type of a packet.
  Type word;
  memref::ViewOp words;
};
} // namespace

/// Returns the packets with the shape of an operand.
Value Rewriter::viewAs(OpOperand *operand) {
  MemRefType type = getWordType(operand->get().getType());
  if (type == words.getType())
    return words;
  builder.setInsertionPointAfter(words);
  return memref::ReinterpretCastOp::create(builder, words.getLoc(), type, words,
                                           /*offset=*/0, type.getShape(),
                                           getDenseStrides(type.getShape()));
}

/// Adds the packets to the outs of the writer. Returns their tile.
BlockArgument Rewriter::addOut(Value out) {
  TaskOp task = handOff.writer.task;
  unsigned index = handOff.writer.index - task.getInputs().size();
  SmallVector<Attribute> regions(task.getOutRegions().begin(),
                                 task.getOutRegions().end());
  regions.push_back(regions[index]);
  task.setOutRegionsAttr(builder.getArrayAttr(regions));
  if (task.getInPlace()) {
    SmallVector<int64_t> fresh(
        task.getFreshOuts().value_or(ArrayRef<int64_t>()));
    fresh.push_back(regions.size() - 1);
    task.setFreshOutsAttr(builder.getDenseI64ArrayAttr(fresh));
  }
  Type type = getWordType(handOff.writer.getTile().getType());
  task.getOutsMutable().append(out);
  return task.getBody().front().addArgument(type, task.getLoc());
}

/// Replaces an out without other readers by the packets. Returns their tile.
BlockArgument Rewriter::replaceOut(Value out) {
  BlockArgument tile = handOff.writer.getTile();
  handOff.writer.get()->set(out);
  Block *body = tile.getOwner();
  return body->insertArgument(tile.getArgNumber() + 1,
                              getWordType(tile.getType()), tile.getLoc());
}

/// Creates a subview of `source` with the offsets, sizes and strides of
/// `subview`.
static Value createSubView(OpBuilder &builder, memref::SubViewOp subview,
                           Value source) {
  auto type = memref::SubViewOp::inferRankReducedResultType(
      subview.getType().getShape(), cast<MemRefType>(source.getType()),
      subview.getMixedOffsets(), subview.getMixedSizes(),
      subview.getMixedStrides());
  return memref::SubViewOp::create(
      builder, subview.getLoc(), cast<MemRefType>(type), source,
      subview.getMixedOffsets(), subview.getMixedSizes(),
      subview.getMixedStrides());
}

/// Returns the subview of `wordTile` that corresponds to the subview `view` of
/// `tile`.
Value Rewriter::rebuildView(Value view, BlockArgument tile,
                            BlockArgument wordTile) {
  if (view == tile)
    return wordTile;
  auto subview = view.getDefiningOp<memref::SubViewOp>();
  return createSubView(builder, subview,
                       rebuildView(subview.getSource(), tile, wordTile));
}

/// Returns the epoch in the upper bits of a packet.
Value Rewriter::createTag(Location loc) {
  int64_t bits = word.getIntOrFloatBitWidth();
  Value tag = EpochOp::create(builder, loc, builder.getI32Type());
  if (bits > 32)
    tag = arith::ExtUIOp::create(builder, loc, word, tag);
  Value below =
      arith::ConstantIntOp::create(builder, loc, word, bits - kEpochBits);
  return arith::ShLIOp::create(builder, loc, tag, below);
}

/// Clones an op that computes values. The clone writes to `out`. Returns the
/// block that yields the elements.
Block *Rewriter::cloneAsSender(Operation *producer, Value out) {
  auto sender = cast<DestinationStyleOpInterface>(builder.clone(*producer));
  OpOperand &init = sender.getDpsInitsMutable()[0];
  init.set(out);
  if (auto bodyOp = dyn_cast<BodyOpInterface>(*sender))
    return &bodyOp.getYieldingRegion(init)->front();
  Block *block = cast<linalg::GenericOp>(sender).getBlock();
  block->getArguments().back().setType(word);
  return block;
}

/// Creates an op that copies values to `out`. Returns its block.
Block *Rewriter::copyAsSender(Value values, Value out, Location loc) {
  int64_t rank = cast<MemRefType>(out.getType()).getRank();
  SmallVector<AffineMap> maps(2, builder.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  auto sender = linalg::GenericOp::create(
      builder, loc, TypeRange(), values, ValueRange{out}, maps, iterators,
      [](OpBuilder &b, Location l, ValueRange elements) {
        linalg::YieldOp::create(b, l, elements.front());
      });
  return sender.getBlock();
}

/// Adds an op that writes each value together with the epoch as a packet: a
/// clone of the op that computes the values. If the values are also stored, an
/// op that reduces rows is not repeated, and the values are copied.
void Rewriter::sendFrom(DestinationStyleOpInterface producer,
                        BlockArgument tile, BlockArgument wordTile) {
  Location loc = producer.getLoc();
  int64_t bits = word.getIntOrFloatBitWidth();
  Value values = producer.getDpsInits()[0];
  builder.setInsertionPoint(producer);
  Value tag = createTag(loc);
  Value out = rebuildView(values, tile, wordTile);
  bool copies =
      handOff.hasOtherReaders && isa<BodyOpInterface>(producer.getOperation());
  if (copies)
    builder.setInsertionPointAfter(producer);
  Block *body =
      copies ? copyAsSender(values, out, loc) : cloneAsSender(producer, out);
  Operation *yield = body->getTerminator();
  builder.setInsertionPoint(yield);
  Value value = arith::BitcastOp::create(
      builder, loc, builder.getIntegerType(bits / 2), yield->getOperand(0));
  value = arith::ExtUIOp::create(builder, loc, word, value);
  yield->setOperand(0, arith::OrIOp::create(builder, loc, value, tag));
}

/// Erases the producers and the old tile, which has no readers left.
void Rewriter::eraseProducers(BlockArgument tile) {
  for (DestinationStyleOpInterface producer : handOff.producers) {
    Value out = producer.getDpsInits()[0];
    producer.erase();
    while (auto view = out.getDefiningOp<memref::SubViewOp>()) {
      if (!view->use_empty())
        break;
      out = view.getSource();
      view.erase();
    }
  }
  // A clipped tile of packets has the same extents.
  Block *body = tile.getOwner();
  BlockArgument wordTile = body->getArgument(tile.getArgNumber() + 1);
  tile.replaceUsesWithIf(wordTile, [](OpOperand &use) {
    return isa<memref::DimOp>(use.getOwner());
  });
  body->eraseArgument(tile.getArgNumber());
}

/// Creates a dense temporary for the values of a tile. The result has the type
/// of the tile, unless the rows of the tile are apart.
Value Rewriter::createValues(MemRefType type, Location loc) {
  auto dense = MemRefType::get(type.getShape(), type.getElementType());
  if (memref::CastOp::areCastCompatible(dense, type) ||
      PacketRows::match(type)->getSpan() != type.getNumElements())
    return memref::AllocOp::create(builder, loc, dense);
  // A cast cannot change strides, not even those of unit extents.
  Value all = memref::AllocOp::create(
      builder, loc,
      MemRefType::get(type.getNumElements(), type.getElementType()));
  auto [strides, offset] = type.getStridesAndOffset();
  auto layout = StridedLayoutAttr::get(builder.getContext(), 0, strides);
  return memref::ReinterpretCastOp::create(
      builder, loc,
      MemRefType::get(type.getShape(), type.getElementType(), layout), all,
      /*offset=*/0, type.getShape(), strides);
}

static void replaceTile(Value tile, Value values, Operation *except);

/// Replaces a view of a tile by the same view of `values`. Returns false if
/// `op` is not a view.
static bool replaceView(Operation *op, Value values) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Value view;
  if (isa<memref::CastOp>(op))
    view = values;
  else if (auto subview = dyn_cast<memref::SubViewOp>(op))
    view = createSubView(builder, subview, values);
  else if (auto collapse = dyn_cast<memref::CollapseShapeOp>(op))
    view = memref::CollapseShapeOp::create(builder, loc, values,
                                           collapse.getReassociationIndices());
  else if (auto expand = dyn_cast<memref::ExpandShapeOp>(op))
    view =
        memref::ExpandShapeOp::create(builder, loc, expand.getType().getShape(),
                                      values, expand.getReassociationIndices());
  else
    return false;
  replaceTile(op->getResult(0), view, /*except=*/nullptr);
  op->erase();
  return true;
}

/// Replaces the uses of a tile in all ops but `except` by `values`, which have
/// the same shape and may have another layout. Rebuilds the views of the tile,
/// whose types depend on the layout.
static void replaceTile(Value tile, Value values, Operation *except) {
  if (tile.getType() == values.getType())
    return tile.replaceAllUsesExcept(values, except);
  for (OpOperand &use : llvm::make_early_inc_range(tile.getUses()))
    if (use.getOwner() != except && !replaceView(use.getOwner(), values))
      use.set(values);
}

/// Returns the offsets of a tile within the received region.
static SmallVector<OpFoldResult>
getOffsets(OpBuilder &builder, RegionAttr region, RegionAttr received) {
  SmallVector<OpFoldResult> offsets;
  for (auto [own, first] : llvm::zip(region.getOffsets().getResults(),
                                     received.getOffsets().getResults())) {
    AffineExpr distance =
        simplifyAffineExpr(own - first, region.getOffsets().getNumDims(), 0);
    offsets.push_back(
        builder.getIndexAttr(cast<AffineConstantExpr>(distance).getValue()));
  }
  return offsets;
}

/// Returns `per_load` of a receipt, or null if it equals the number that the
/// rows of the buffer's type imply.
static IntegerAttr getPerLoadAttr(OpBuilder &builder,
                                  const PacketReceipt &receipt,
                                  MemRefType type) {
  return PacketRows::match(type)->perLoad == receipt.perLoad
             ? nullptr
             : builder.getI64IntegerAttr(receipt.perLoad);
}

/// Receives the values of the packets into a temporary. If the receipt has
/// several operands, the first one becomes the operand for all, and the others
/// lose their uses.
void Rewriter::receive(const PacketReceipt &receipt) {
  TaskUse first = receipt.uses.front();
  auto operand = cast<MemRefType>(first.get()->get().getType());
  MemRefType type = receipt.uses.size() == 1
                        ? cast<MemRefType>(first.getTile().getType())
                        : getTileType(operand, receipt.region);
  Location loc = first.getTile().getLoc();
  builder.setInsertionPointToStart(first.getTile().getOwner());
  Value values = createValues(type, loc);
  auto received =
      ReceivePacketsOp::create(builder, loc, first.getTile(), values,
                               getPerLoadAttr(builder, receipt, type));
  builder.setInsertionPoint(received);
  for (TaskUse use : receipt.uses) {
    BlockArgument tile = use.getTile();
    RegionAttr region = use.task.getRegion(use.index);
    Value own = values;
    if (region != receipt.region)
      own = memref::SubViewOp::create(
          builder, loc, values, getOffsets(builder, region, receipt.region),
          getAsIndexOpFoldResult(builder.getContext(), region.getSizes()),
          SmallVector<OpFoldResult>(region.getSizes().size(),
                                    builder.getIndexAttr(1)));
    if (own.getType() != tile.getType() &&
        memref::CastOp::areCastCompatible(own.getType(), tile.getType()))
      own = memref::CastOp::create(builder, loc, tile.getType(), own);
    replaceTile(tile, own, received);
    Value out = viewAs(use.get());
    use.get()->set(out);
    builder.setInsertionPoint(received);
  }
  first.getTile().setType(getWordType(type));
  SmallVector<Attribute> regions(first.task.getInputRegions().begin(),
                                 first.task.getInputRegions().end());
  regions[first.index] = receipt.region;
  first.task.setInputRegionsAttr(builder.getArrayAttr(regions));
}

void Rewriter::send() {
  memref::AllocOp buffer = handOff.buffer;
  Location loc = buffer.getLoc();
  for (DestinationStyleOpInterface &producer : handOff.producers)
    if (auto copy = dyn_cast<linalg::CopyOp>(*producer)) {
      IRRewriter rewriter(producer);
      producer = cast<DestinationStyleOpInterface>(
          linalg::generalizeNamedOp(rewriter, copy)->getOperation());
    }
  builder.setInsertionPoint(buffer);
  Value offset = arith::ConstantIndexOp::create(builder, loc, handOff.offset);
  words = memref::ViewOp::create(builder, loc, getWordType(buffer.getType()),
                                 packets, offset, /*sizes=*/ValueRange());
  BlockArgument tile = handOff.writer.getTile();
  Value out = viewAs(handOff.writer.get());
  BlockArgument wordTile =
      handOff.hasOtherReaders ? addOut(out) : replaceOut(out);
  for (DestinationStyleOpInterface producer : handOff.producers)
    sendFrom(producer, tile, wordTile);
  if (!handOff.hasOtherReaders)
    eraseProducers(tile);
}

/// Rewrites writers and readers. A task receives its operands in the order of
/// the operands, not in the order of their writers, so that the tasks of all
/// ranks have equal bodies, which are compiled once.
static void rewrite(MutableArrayRef<HandOff> handOffs, Value packets) {
  std::vector<Rewriter> rewriters;
  rewriters.reserve(handOffs.size());
  SmallVector<std::pair<Rewriter *, const PacketReceipt *>> receipts;
  for (HandOff &handOff : handOffs) {
    Rewriter &rewriter = rewriters.emplace_back(handOff, packets);
    rewriter.send();
    for (const PacketReceipt &receipt : handOff.receipts)
      receipts.emplace_back(&rewriter, &receipt);
  }
  // Each receipt is inserted at the start of the body, so the first operand
  // comes last.
  llvm::stable_sort(receipts, [](const auto &a, const auto &b) {
    return a.second->uses.front().index > b.second->uses.front().index;
  });
  for (auto [rewriter, receipt] : receipts)
    rewriter->receive(*receipt);
  for (Rewriter &rewriter : rewriters)
    rewriter.eraseBuffer();
}

/// Erases operands that were joined into others. The index of each operand
/// stays valid until this call.
static void eraseJoined(ArrayRef<HandOff> handOffs) {
  SmallVector<TaskUse> joined;
  for (const HandOff &handOff : handOffs)
    for (const PacketReceipt &receipt : handOff.receipts)
      llvm::append_range(joined, ArrayRef(receipt.uses).drop_front());
  llvm::sort(joined, [](const TaskUse &a, const TaskUse &b) {
    return a.index > b.index;
  });
  for (TaskUse use : joined) {
    TaskOp task = use.task;
    SmallVector<Attribute> regions(task.getInputRegions().begin(),
                                   task.getInputRegions().end());
    regions.erase(regions.begin() + use.index);
    BlockArgument tile = use.getTile();
    tile.getOwner()->eraseArgument(tile.getArgNumber());
    task.getInputsMutable().erase(use.index);
    task.setInputRegionsAttr(ArrayAttr::get(task.getContext(), regions));
  }
}

//===----------------------------------------------------------------------===//
// Placement
//===----------------------------------------------------------------------===//

/// Chooses the offsets of the words of all hand-offs. Every rank has a part of
/// the packets, of equal size. Returns the size of all parts.
static int64_t placeWords(MutableArrayRef<HandOff> handOffs, int64_t ranks) {
  SmallVector<int64_t> used(ranks, 0);
  for (HandOff &handOff : handOffs) {
    handOff.offset = used[handOff.rank];
    int64_t size = handOff.isWide() ? 8 : 4;
    used[handOff.rank] += llvm::alignTo(
        size * handOff.buffer.getType().getNumElements(), kAlignment);
  }
  if (ranks == 1)
    return used.front();
  int64_t part = llvm::alignTo(*llvm::max_element(used), kPeerPageBytes);
  for (HandOff &handOff : handOffs)
    handOff.offset += handOff.rank * part;
  return ranks * part;
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct HandOffPacketsPass
    : public ark::impl::HandOffPacketsPassBase<HandOffPacketsPass> {
  using HandOffPacketsPassBase::HandOffPacketsPassBase;

  void runOnOperation() override;
};
} // namespace

/// Returns true if one store of the target makes a packet of a value visible as
/// a whole.
static bool fitsIntoPackets(Type value, TargetAttr target) {
  Type packet = getPacketType(value);
  return packet &&
         packet.getIntOrFloatBitWidth() <= 8 * target.getGpu().getPacket();
}

void HandOffPacketsPass::runOnOperation() {
  ProgramOp program = getOperation();
  TargetAttr target = findTarget(program);
  if (!target || !target.hasPolledPackets())
    return;
  for (auto task : program.getBody().getOps<TaskOp>())
    forwardCopies(task, maxElements);
  TaskBuffers buffers(program);
  int64_t memory = target.getSharedMemory();
  TemporaryLimit temporaries(memory - memory / kReservedShare);
  SmallVector<HandOff> handOffs;
  for (auto buffer : program.getBody().getOps<memref::AllocOp>())
    if (fitsIntoPackets(buffer.getType().getElementType(), target))
      if (std::optional<HandOff> handOff =
              HandOff::match(buffer, maxElements, buffers, temporaries))
        handOffs.push_back(std::move(*handOff));
  if (handOffs.empty())
    return;
  int64_t bytes = placeWords(handOffs, program.getNumRanks());
  OpBuilder builder = OpBuilder::atBlockBegin(&program.getBody().front());
  Value packets = PacketsOp::create(
      builder, program.getLoc(), MemRefType::get({bytes}, builder.getI8Type()));
  rewrite(handOffs, packets);
  numHandOffs += handOffs.size();
  eraseJoined(handOffs);
}
