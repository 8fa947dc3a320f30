//===- PacketMatch.cpp - Find intermediates to send as packets ------------===//

#include "passes/memory/packets/PacketMatch.h"

#include "dialects/ark/ArkDomains.h"
#include "dialects/ark/ArkRepresentative.h"
#include "lib/analysis/CostModel.h"
#include "lib/analysis/ProductTiles.h"
#include "lib/analysis/Regions.h"
#include "lib/support/BufferView.h"
#include "lib/support/PacketRows.h"
#include "lib/support/PlanRank.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::ark;

BlockArgument TaskUse::getTile() const {
  return TaskOp(task).getBody().front().getArgument(
      TaskOp(task).getGrid().size() + index);
}

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

static bool isOut(OpOperand *operand) {
  auto task = cast<TaskOp>(operand->getOwner());
  return operand->getOperandNumber() >= task.getInputs().size();
}

/// Returns all task operands that view a buffer, or nothing if another op uses
/// it.
static std::optional<SmallVector<OpOperand *>> getTaskUses(Value buffer) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : buffer.getUses()) {
    if (isa<TaskOp>(use.getOwner())) {
      uses.push_back(&use);
      continue;
    }
    if (!isa<ViewLikeOpInterface>(use.getOwner()))
      return std::nullopt;
    auto others = getTaskUses(use.getOwner()->getResult(0));
    if (!others)
      return std::nullopt;
    llvm::append_range(uses, *others);
  }
  return uses;
}

/// Returns true if an operand covers its whole buffer.
static bool isWhole(OpOperand *operand) {
  FailureOr<BufferView> view = resolveBufferView(operand->get());
  return succeeded(view) && view->coversRoot();
}

/// Returns the root buffer of an operand.
static Value getBase(Value operand) {
  FailureOr<BufferView> view = resolveBufferView(operand);
  return succeeded(view) ? view->root : operand;
}

TaskBuffers::TaskBuffers(ProgramOp program)
    : isRepresentative(
          program->getParentOfType<ModuleOp>()->hasAttr(kRepresentativeAttr)) {
  for (auto task : program.getBody().getOps<TaskOp>()) {
    unsigned position = outs.size();
    positions[task] = position;
    SmallVector<Value> &ofTask = outs.emplace_back();
    for (auto [index, operand] : llvm::enumerate(task.getOperands())) {
      Value base = getBase(operand);
      SmallVector<unsigned> &users = usersOf[base];
      if (users.empty() || users.back() != position)
        users.push_back(position);
      if (index >= task.getInputs().size())
        ofTask.push_back(base);
    }
  }
}

bool TaskBuffers::comesLater(TaskOp reader, TaskOp writer, Value buffer) const {
  bool onlyBuffer = isRepresentative && getRank(reader) != getRank(writer);
  unsigned first = positions.lookup(writer), last = positions.lookup(reader);
  llvm::SmallSetVector<unsigned, 8> dependents;
  dependents.insert(first);
  for (size_t next = 0; next < dependents.size(); ++next) {
    unsigned position = dependents[next];
    for (Value base : outs[position]) {
      if (onlyBuffer && position == first && base != buffer)
        continue;
      ArrayRef<unsigned> users = usersOf.find(base)->second;
      for (unsigned user :
           llvm::make_range(llvm::upper_bound(users, position), users.end())) {
        if (user >= last) {
          if (user == last && position != first)
            return true;
          break;
        }
        dependents.insert(user);
      }
    }
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Receivers
//===----------------------------------------------------------------------===//

MemRefType mlir::ark::getTileType(MemRefType operand, RegionAttr region) {
  auto layout =
      StridedLayoutAttr::get(operand.getContext(), ShapedType::kDynamic,
                             operand.getStridesAndOffset().first);
  return MemRefType::get(region.getSizes(), operand.getElementType(), layout);
}

/// Returns the largest number of packets that a thread can load at once from a
/// region, or 0 if the region has no rows. Every load of every vCTA is aligned
/// to its size.
static int64_t getPerLoad(MemRefType operand, RegionAttr region) {
  std::optional<PacketRows> rows =
      PacketRows::match(getTileType(operand, region));
  if (!rows)
    return 0;
  AffineMap offsets = region.getOffsets();
  AffineExpr first = getAffineConstantExpr(0, operand.getContext());
  for (auto [offset, stride] :
       llvm::zip(offsets.getResults(), getDenseStrides(operand.getShape())))
    first = first + offset * stride;
  first =
      simplifyAffineExpr(first, offsets.getNumDims(), offsets.getNumSymbols());
  int64_t perLoad = rows->perLoad;
  while (!first.isMultipleOf(perLoad))
    perLoad /= 2;
  return perLoad;
}

/// Returns the bounding box of two regions whose distance is the same for all
/// vCTAs, or null if the distance varies.
static RegionAttr getHull(RegionAttr a, RegionAttr b) {
  AffineMap map = a.getOffsets();
  SmallVector<AffineExpr> offsets;
  SmallVector<int64_t> sizes;
  for (auto [of, to, size, other] :
       llvm::zip(map.getResults(), b.getOffsets().getResults(), a.getSizes(),
                 b.getSizes())) {
    auto distance = dyn_cast<AffineConstantExpr>(
        simplifyAffineExpr(to - of, map.getNumDims(), 0));
    if (!distance)
      return nullptr;
    int64_t begin = std::min<int64_t>(distance.getValue(), 0);
    offsets.push_back(simplifyAffineExpr(of + begin, map.getNumDims(), 0));
    sizes.push_back(std::max(size, distance.getValue() + other) - begin);
  }
  return RegionAttr::get(
      a.getContext(),
      AffineMap::get(map.getNumDims(), 0, offsets, a.getContext()), sizes);
}

static MemRefType getOperandType(TaskUse use) {
  return cast<MemRefType>(use.get()->get().getType());
}

static int64_t getPerLoad(TaskUse use) {
  return cast<MemRefType>(use.getTile().getType()).hasStaticShape()
             ? getPerLoad(getOperandType(use), use.task.getRegion(use.index))
             : 0;
}

/// Joins several operands into one receipt. Returns nothing if threads cannot
/// receive the bounding box of their regions.
static std::optional<PacketReceipt> join(ArrayRef<TaskUse> uses) {
  PacketReceipt all;
  for (TaskUse use : uses) {
    RegionAttr region = use.task.getRegion(use.index);
    if (!cast<MemRefType>(use.getTile().getType()).hasStaticShape() ||
        use.get()->get() != uses.front().get()->get())
      return std::nullopt;
    all.region = all.uses.empty() ? region : getHull(all.region, region);
    if (!all.region)
      return std::nullopt;
    all.uses.push_back(use);
  }
  all.perLoad = getPerLoad(getOperandType(uses.front()), all.region);
  return all.perLoad > 0 ? std::optional(all) : std::nullopt;
}

/// Returns one joint receipt of all operands if the joint receipt is possible
/// and threads load more packets at once than from the operands separately.
/// Otherwise returns one receipt per operand that threads can receive.
static SmallVector<PacketReceipt> getReceipts(ArrayRef<TaskUse> uses) {
  SmallVector<PacketReceipt> receipts;
  int64_t least = kPacketsPerLoad;
  for (TaskUse use : uses) {
    int64_t perLoad = getPerLoad(use);
    least = std::min(least, perLoad);
    if (perLoad > 0)
      receipts.push_back({{use}, use.task.getRegion(use.index), perLoad});
  }
  if (uses.size() > 1)
    if (std::optional<PacketReceipt> all = join(uses))
      if (all->perLoad > least)
        return {*all};
  return receipts;
}

//===----------------------------------------------------------------------===//
// Producers of the values
//===----------------------------------------------------------------------===//

namespace {
/// The elements of a tile that an op writes.
struct Part {
  DestinationStyleOpInterface producer;
  SmallVector<int64_t> offsets, sizes;
};
} // namespace

/// Returns true if two parts of a tile are disjoint.
static bool areDisjoint(const Part &a, const Part &b) {
  for (size_t dim = 0; dim < std::min(a.offsets.size(), b.offsets.size());
       ++dim)
    if (a.offsets[dim] + a.sizes[dim] <= b.offsets[dim] ||
        b.offsets[dim] + b.sizes[dim] <= a.offsets[dim])
      return true;
  return false;
}

/// Returns the part of the tile that the outermost subview of `view` covers.
static Part getPart(DestinationStyleOpInterface producer, Value view,
                    BlockArgument tile) {
  Part part{producer, {}, {}};
  memref::SubViewOp outer;
  for (Value value = view; value != tile; value = outer.getSource())
    outer = value.getDefiningOp<memref::SubViewOp>();
  if (!outer || ShapedType::isDynamicShape(outer.getStaticOffsets()) ||
      ShapedType::isDynamicShape(outer.getStaticSizes()) ||
      llvm::any_of(outer.getStaticStrides(),
                   [](int64_t stride) { return stride != 1; }))
    return part;
  part.offsets.assign(outer.getStaticOffsets().begin(),
                      outer.getStaticOffsets().end());
  part.sizes.assign(outer.getStaticSizes().begin(),
                    outer.getStaticSizes().end());
  return part;
}

/// Returns true if the owner of `use` writes values to a tile without reading
/// the tile.
static bool isProducer(OpOperand &use, BlockArgument tile) {
  if (use.getOwner()->getBlock() != tile.getOwner())
    return false;
  if (auto bodyOp = dyn_cast<BodyOpInterface>(use.getOwner()))
    return bodyOp.isDpsInit(&use) && bodyOp.getYieldingRegion(use) &&
           bodyOp.getMap(use).isIdentity();
  auto op = dyn_cast<linalg::LinalgOp>(use.getOwner());
  return op && op.getNumDpsInits() == 1 && op.isDpsInit(&use) &&
         op.getNumLoops() == op.getNumParallelLoops() &&
         isa<linalg::GenericOp, linalg::CopyOp>(op) &&
         op.getMatchingIndexingMap(&use).isIdentity() &&
         op.getMatchingBlockArgument(&use).use_empty();
}

/// Returns the ops that write a tile, directly or through subviews, if they
/// write disjoint subviews. Returns nothing if other ops use the tile. Since a
/// task fills its results, these ops write every element, and each element
/// once.
static SmallVector<DestinationStyleOpInterface>
findProducers(BlockArgument tile) {
  SmallVector<Part> parts;
  SmallVector<Value> views = {tile};
  while (!views.empty()) {
    Value view = views.pop_back_val();
    for (OpOperand &use : view.getUses()) {
      if (auto subview = dyn_cast<memref::SubViewOp>(use.getOwner())) {
        views.push_back(subview);
        continue;
      }
      if (isa<memref::DimOp>(use.getOwner()))
        continue;
      if (!isProducer(use, tile))
        return {};
      Part part = getPart(cast<DestinationStyleOpInterface>(use.getOwner()),
                          view, tile);
      if (llvm::any_of(parts, [&](const Part &other) {
            return !areDisjoint(part, other);
          }))
        return {};
      parts.push_back(std::move(part));
    }
  }
  return llvm::map_to_vector(parts,
                             [](const Part &part) { return part.producer; });
}

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

/// Upper bound of the elements of an f32 intermediate that becomes packets.
/// Beyond it, packets take longer than a hand-off by a counter: 3 MB more pass
/// through memory.
static constexpr int64_t kMaxWideElements = 1 << 18;

/// Returns true if 64-bit packets pay off. No two vCTAs may read the same
/// value, because each poll reads twice the bytes. The elements of the region
/// count twice against the limit.
static bool justifiesWidePackets(const PacketReceipt &receipt,
                                 int64_t maxElements) {
  return isDisjoint(receipt.region, receipt.getTask().getGrid()) &&
         2 * llvm::product_of(receipt.region.getSizes()) <= maxElements;
}

/// Returns the bytes of all temporaries in a task's body.
static int64_t getTemporaryBytes(TaskOp task) {
  int64_t bytes = 0;
  task.getBody().walk(
      [&](memref::AllocOp op) { bytes += getBufferBytes(op.getType()); });
  return bytes;
}

bool TemporaryLimit::admit(const PacketReceipt &receipt) {
  auto [entry, isNew] = bytesOf.try_emplace(receipt.getTask(), 0);
  if (isNew)
    entry->second = getTemporaryBytes(receipt.getTask());
  MemRefType operand = getOperandType(receipt.uses.front());
  int64_t bytes = getBufferBytes(
      MemRefType::get(receipt.region.getSizes(), operand.getElementType()));
  if (entry->second + bytes > limit)
    return false;
  entry->second += bytes;
  return true;
}

/// Returns true if matrix units read an operand of a product from stages of
/// shared memory, which the CTA copies from the operand's buffer. Packets are
/// received into a temporary, which such a product cannot read.
static bool isStaged(TaskUse use) {
  TargetAttr target = findTarget(use.task->getParentOfType<ProgramOp>());
  BlockArgument tile = use.getTile();
  return use.task.getBody()
      .walk([&](linalg::ContractOp product) {
        SmallVector<int64_t> sizes = product.getStaticLoopRanges();
        return llvm::is_contained(product.getInputs(), tile) &&
                       sizes.size() == 3 &&
                       isListedTile(target, sizes[0], sizes[1], sizes[2])
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Adds the operands of one task. The task still waits for operands that it
/// does not receive as packets.
void HandOff::addReader(ArrayRef<TaskUse> uses, int64_t maxElements,
                        const TaskBuffers &buffers,
                        TemporaryLimit &temporaries) {
  SmallVector<TaskUse> candidates;
  for (TaskUse use : uses)
    if (isWhole(use.get()) && !isStaged(use) &&
        !buffers.comesLater(use.task, writer.task, buffer))
      candidates.push_back(use);
  size_t received = 0;
  for (PacketReceipt &receipt : getReceipts(candidates)) {
    if (receipt.getNumLoads() > maxElements / kPacketsPerLoad ||
        (isWide() && !justifiesWidePackets(receipt, maxElements)) ||
        !temporaries.admit(receipt))
      continue;
    received += receipt.uses.size();
    receipts.push_back(std::move(receipt));
  }
  hasOtherReaders |= received < uses.size();
}

bool HandOff::isWide() { return buffer.getType().getElementType().isF32(); }

std::optional<HandOff> HandOff::match(memref::AllocOp buffer,
                                      int64_t maxElements,
                                      const TaskBuffers &buffers,
                                      TemporaryLimit &temporaries) {
  HandOff handOff;
  handOff.buffer = buffer;
  MemRefType type = buffer.getType();
  if (!type.hasStaticShape() || !type.getLayout().isIdentity() ||
      !getPacketType(type.getElementType()) || type.getNumElements() == 0 ||
      type.getNumElements() >
          (handOff.isWide() ? kMaxWideElements : maxElements))
    return std::nullopt;
  std::optional<SmallVector<OpOperand *>> uses = getTaskUses(buffer);
  if (!uses)
    return std::nullopt;
  llvm::MapVector<Operation *, SmallVector<TaskUse>> readers;
  for (OpOperand *use : *uses) {
    if (!isOut(use)) {
      readers[use->getOwner()].push_back(TaskUse(use));
      continue;
    }
    auto task = cast<TaskOp>(use->getOwner());
    unsigned index = use->getOperandNumber() - task.getInputs().size();
    if (handOff.writer || task.isUpdated(index) || !isWhole(use))
      return std::nullopt;
    handOff.writer = TaskUse(use);
  }
  if (!handOff.writer || getNetworkPeer(handOff.writer.task))
    return std::nullopt;
  // Receivers poll memory of their own GPU, so all must have the same rank.
  if (readers.empty())
    return std::nullopt;
  handOff.rank = getRank(cast<TaskOp>(readers.front().first));
  for (auto &[reader, own] : readers)
    if (getRank(cast<TaskOp>(reader)) != handOff.rank ||
        getNetworkPeer(cast<TaskOp>(reader)))
      return std::nullopt;
  handOff.producers = findProducers(handOff.writer.getTile());
  if (handOff.producers.empty())
    return std::nullopt;
  for (auto &[reader, own] : readers)
    handOff.addReader(own, maxElements, buffers, temporaries);
  return handOff.receipts.empty() ? std::nullopt : std::optional(handOff);
}
