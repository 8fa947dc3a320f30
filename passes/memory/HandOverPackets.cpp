//===- HandOverPackets.cpp - Small activations that need no semaphore -----===//

#include "lib/analysis/CostModel.h"
#include "lib/support/BufferView.h"
#include "lib/support/PacketRows.h"
#include "passes/memory/Passes.h"

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::ark {
#define GEN_PASS_DEF_HANDOVERPACKETSPASS
#include "passes/memory/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// A cache line.
static constexpr int64_t kAlignment = 64;
/// Of a packet; the others are those of the epoch.
static constexpr int64_t kValueBits = 16;

namespace {
/// An operand of a task, by its number: operands move when others are added.
struct TaskUse {
  TaskOp task;
  unsigned number = 0;

  TaskUse() = default;
  explicit TaskUse(OpOperand *operand)
      : task(cast<TaskOp>(operand->getOwner())),
        number(operand->getOperandNumber()) {}
  OpOperand *get() { return &task->getOpOperand(number); }
  explicit operator bool() const { return static_cast<bool>(task); }
};

/// An intermediate that one task writes, and tasks that read rows of it.
struct HandOver {
  memref::AllocOp buffer;
  TaskUse writer;
  /// The op of the writer's body that makes the value.
  linalg::LinalgOp maker;
  SmallVector<TaskUse> receivers;
  bool hasOtherReaders = false;
  int64_t offset = 0;
};
} // namespace

static BlockArgument getTile(OpOperand *operand) {
  auto task = cast<TaskOp>(operand->getOwner());
  return task.getBody().front().getArgument(task.getGrid().size() +
                                            operand->getOperandNumber());
}

static bool isOut(OpOperand *operand) {
  auto task = cast<TaskOp>(operand->getOwner());
  return operand->getOperandNumber() >= task.getInputs().size();
}

/// All operands of tasks that view a buffer; nothing where something else does.
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

/// Whether an operand is a buffer from its first to its last element.
static bool isWhole(OpOperand *operand, memref::AllocOp buffer) {
  FailureOr<BufferView> view = resolveBufferView(operand->get());
  return succeeded(view) && view->byteOffset == 0 && view->isDense() &&
         view->getNumElements() == buffer.getType().getNumElements();
}

/// Whether threads can receive what a vCTA reads, with their loads.
static bool readsPackets(OpOperand *operand) {
  auto task = cast<TaskOp>(operand->getOwner());
  RegionAttr region = task.getRegion(operand->getOperandNumber());
  auto type = cast<MemRefType>(operand->get().getType());
  if (!PacketRows::match(cast<MemRefType>(getTile(operand).getType())))
    return false;
  AffineMap offsets = region.getOffsets();
  AffineExpr first = getAffineConstantExpr(0, type.getContext());
  for (auto [offset, stride] :
       llvm::zip(offsets.getResults(), getDenseStrides(type.getShape())))
    first = first + offset * stride;
  return simplifyAffineExpr(first, offsets.getNumDims(),
                            offsets.getNumSymbols())
      .isMultipleOf(kPacketsPerLoad);
}

/// What an operand is a view of.
static Value getBase(Value operand) {
  FailureOr<BufferView> view = resolveBufferView(operand);
  return succeeded(view) ? view->root : operand;
}

/// Whether a task needs another one that needs `writer`, too: what that wrote,
/// such as a residual, has long been there, and can be read where it is.
static bool comesLater(TaskOp reader, TaskOp writer) {
  llvm::SmallDenseSet<Value> own, later;
  for (Value out : writer.getOuts())
    own.insert(getBase(out));
  for (Operation *op = writer->getNextNode(); op; op = op->getNextNode()) {
    auto task = dyn_cast<TaskOp>(op);
    if (!task)
      continue;
    auto reads = [&](const llvm::SmallDenseSet<Value> &buffers) {
      return llvm::any_of(task->getOperands(), [&](Value operand) {
        return buffers.contains(getBase(operand));
      });
    };
    if (task == reader)
      return reads(later);
    if (reads(own) || reads(later))
      for (Value out : task.getOuts())
        later.insert(getBase(out));
  }
  return false;
}

/// The op that alone writes a tile, through subviews at most. As a task fills
/// what it makes, that op writes every element, and each once.
static linalg::LinalgOp findMaker(BlockArgument tile) {
  linalg::LinalgOp maker;
  SmallVector<Value> views = {tile};
  while (!views.empty())
    for (OpOperand &use : views.pop_back_val().getUses()) {
      if (auto subview = dyn_cast<memref::SubViewOp>(use.getOwner())) {
        views.push_back(subview);
        continue;
      }
      if (isa<memref::DimOp>(use.getOwner()))
        continue;
      auto op = dyn_cast<linalg::LinalgOp>(use.getOwner());
      if (!op || maker || op.getNumDpsInits() != 1 || !op.isDpsInit(&use) ||
          op.getNumLoops() != op.getNumParallelLoops() ||
          !isa<linalg::GenericOp, linalg::CopyOp>(op) ||
          op->getBlock() != tile.getOwner() ||
          !op.getMatchingIndexingMap(&use).isIdentity() ||
          !op.getMatchingBlockArgument(&use).use_empty())
        return nullptr;
      maker = op;
    }
  return maker;
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// A buffer that no task uses, with its views.
static void eraseUnused(Operation *buffer) {
  for (Operation *view : llvm::make_early_inc_range(buffer->getUsers()))
    if (isa<ViewLikeOpInterface>(view))
      eraseUnused(view);
  if (buffer->use_empty())
    buffer->erase();
}

namespace {
/// Makes packets of one intermediate.
class Rewriter {
public:
  Rewriter(HandOver &handOver, Value packets)
      : handOver(handOver), packets(packets),
        builder(handOver.buffer.getContext()) {}

  void run();

private:
  Value viewAs(OpOperand *operand);
  MemRefType getWordType(Type type) {
    return cast<MemRefType>(
        cast<MemRefType>(type).cloneWith(std::nullopt, builder.getI32Type()));
  }
  BlockArgument addOut(Value words);
  BlockArgument replaceOut(Value words);
  Value rebuildView(Value view, BlockArgument tile, BlockArgument words);
  void send(BlockArgument tile, BlockArgument words);
  void eraseMaker(BlockArgument tile);
  Value createValues(MemRefType type, Location loc);
  void receive(OpOperand *operand);

  HandOver &handOver;
  Value packets;
  OpBuilder builder;
  memref::ViewOp words;
};
} // namespace

/// The packets with the shape of an operand.
Value Rewriter::viewAs(OpOperand *operand) {
  MemRefType type = getWordType(operand->get().getType());
  if (type == words.getType())
    return words;
  builder.setInsertionPointAfter(words);
  return memref::ReinterpretCastOp::create(builder, words.getLoc(), type, words,
                                           /*offset=*/0, type.getShape(),
                                           getDenseStrides(type.getShape()));
}

/// One more out of the task that writes; its tile.
BlockArgument Rewriter::addOut(Value out) {
  TaskOp task = handOver.writer.task;
  unsigned number = handOver.writer.number - task.getInputs().size();
  SmallVector<Attribute> regions(task.getOutRegions().begin(),
                                 task.getOutRegions().end());
  regions.push_back(regions[number]);
  task.setOutRegionsAttr(builder.getArrayAttr(regions));
  if (task.getInPlace()) {
    SmallVector<int64_t> fresh(
        task.getFreshOuts().value_or(ArrayRef<int64_t>()));
    fresh.push_back(regions.size() - 1);
    task.setFreshOutsAttr(builder.getDenseI64ArrayAttr(fresh));
  }
  Type type = getWordType(getTile(handOver.writer.get()).getType());
  task.getOutsMutable().append(out);
  return task.getBody().front().addArgument(type, task.getLoc());
}

/// In place of what nobody reads any more.
BlockArgument Rewriter::replaceOut(Value out) {
  BlockArgument tile = getTile(handOver.writer.get());
  handOver.writer.get()->set(out);
  Block *body = tile.getOwner();
  return body->insertArgument(tile.getArgNumber() + 1,
                              getWordType(tile.getType()), tile.getLoc());
}

/// What a view of the tile is for words.
Value Rewriter::rebuildView(Value view, BlockArgument tile,
                            BlockArgument wordTile) {
  if (view == tile)
    return wordTile;
  auto subview = view.getDefiningOp<memref::SubViewOp>();
  Value source = rebuildView(subview.getSource(), tile, wordTile);
  auto type = memref::SubViewOp::inferRankReducedResultType(
      subview.getType().getShape(), cast<MemRefType>(source.getType()),
      subview.getMixedOffsets(), subview.getMixedSizes(),
      subview.getMixedStrides());
  return memref::SubViewOp::create(
      builder, subview.getLoc(), cast<MemRefType>(type), source,
      subview.getMixedOffsets(), subview.getMixedSizes(),
      subview.getMixedStrides());
}

/// An op beside the one that makes the value, which makes words of it.
void Rewriter::send(BlockArgument tile, BlockArgument wordTile) {
  linalg::LinalgOp maker = handOver.maker;
  Location loc = maker.getLoc();
  builder.setInsertionPoint(maker);
  Value epoch = EpochOp::create(builder, loc, builder.getI32Type());
  Value half = arith::ConstantIntOp::create(builder, loc, kValueBits, 32);
  Value tag = arith::ShLIOp::create(builder, loc, epoch, half);
  Value out = rebuildView(maker.getDpsInits()[0], tile, wordTile);
  auto sender = cast<linalg::GenericOp>(builder.clone(*maker));
  sender.getDpsInitsMutable()[0].set(out);
  Block *body = sender.getBlock();
  body->getArguments().back().setType(builder.getI32Type());
  Operation *yield = body->getTerminator();
  builder.setInsertionPoint(yield);
  Value bits = arith::BitcastOp::create(builder, loc, builder.getI16Type(),
                                        yield->getOperand(0));
  Value word = arith::ExtUIOp::create(builder, loc, builder.getI32Type(), bits);
  yield->setOperand(0, arith::OrIOp::create(builder, loc, word, tag));
}

/// Once nobody reads what it made.
void Rewriter::eraseMaker(BlockArgument tile) {
  Value out = handOver.maker.getDpsInits()[0];
  handOver.maker.erase();
  while (auto view = out.getDefiningOp<memref::SubViewOp>()) {
    if (!view->use_empty())
      break;
    out = view.getSource();
    view.erase();
  }
  // The extents of a tile that is clipped are those of its words.
  Block *body = tile.getOwner();
  BlockArgument wordTile = body->getArgument(tile.getArgNumber() + 1);
  tile.replaceUsesWithIf(wordTile, [](OpOperand &use) {
    return isa<memref::DimOp>(use.getOwner());
  });
  body->eraseArgument(tile.getArgNumber());
}

/// A temporary for values that lie as those of a tile do.
Value Rewriter::createValues(MemRefType type, Location loc) {
  auto dense = MemRefType::get(type.getShape(), type.getElementType());
  if (memref::CastOp::areCastCompatible(dense, type))
    return memref::AllocOp::create(builder, loc, dense);
  // A cast keeps strides, even those of extents of one.
  PacketRows rows = *PacketRows::match(type);
  Value all = memref::AllocOp::create(
      builder, loc, MemRefType::get(rows.getSpan(), type.getElementType()));
  auto [strides, offset] = type.getStridesAndOffset();
  auto layout = StridedLayoutAttr::get(builder.getContext(), 0, strides);
  return memref::ReinterpretCastOp::create(
      builder, loc,
      MemRefType::get(type.getShape(), type.getElementType(), layout), all,
      /*offset=*/0, type.getShape(), strides);
}

/// Values instead of words, in a temporary.
void Rewriter::receive(OpOperand *operand) {
  BlockArgument tile = getTile(operand);
  auto type = cast<MemRefType>(tile.getType());
  Value out = viewAs(operand);
  operand->set(out);
  Location loc = tile.getLoc();
  builder.setInsertionPointToStart(tile.getOwner());
  Value values = createValues(type, loc);
  Value same = memref::CastOp::create(builder, loc, type, values);
  tile.replaceAllUsesWith(same);
  tile.setType(getWordType(type));
  builder.setInsertionPointAfterValue(same);
  ReceivePacketsOp::create(builder, loc, tile, values);
}

void Rewriter::run() {
  memref::AllocOp buffer = handOver.buffer;
  Location loc = buffer.getLoc();
  if (!isa<linalg::GenericOp>(handOver.maker)) {
    IRRewriter rewriter(handOver.maker);
    handOver.maker = *linalg::generalizeNamedOp(rewriter, handOver.maker);
  }
  builder.setInsertionPoint(buffer);
  Value offset = arith::ConstantIndexOp::create(builder, loc, handOver.offset);
  words = memref::ViewOp::create(builder, loc, getWordType(buffer.getType()),
                                 packets, offset, /*sizes=*/ValueRange());
  BlockArgument tile = getTile(handOver.writer.get());
  Value out = viewAs(handOver.writer.get());
  if (handOver.hasOtherReaders) {
    send(tile, addOut(out));
  } else {
    send(tile, replaceOut(out));
    eraseMaker(tile);
  }
  for (TaskUse receiver : handOver.receivers)
    receive(receiver.get());
  eraseUnused(buffer);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct HandOverPacketsPass
    : public ark::impl::HandOverPacketsPassBase<HandOverPacketsPass> {
  using HandOverPacketsPassBase::HandOverPacketsPassBase;

  void runOnOperation() override;

private:
  std::optional<HandOver> match(memref::AllocOp buffer);
};
} // namespace

std::optional<HandOver> HandOverPacketsPass::match(memref::AllocOp buffer) {
  MemRefType type = buffer.getType();
  if (!type.hasStaticShape() || !type.getLayout().isIdentity() ||
      !(type.getElementType().isBF16() || type.getElementType().isF16()) ||
      type.getNumElements() > maxElements ||
      type.getNumElements() % kPacketsPerLoad != 0 ||
      type.getNumElements() == 0)
    return std::nullopt;
  std::optional<SmallVector<OpOperand *>> uses = getTaskUses(buffer);
  if (!uses)
    return std::nullopt;
  HandOver handOver;
  handOver.buffer = buffer;
  SmallVector<OpOperand *> readers;
  for (OpOperand *use : *uses) {
    if (!isOut(use)) {
      readers.push_back(use);
      continue;
    }
    auto task = cast<TaskOp>(use->getOwner());
    unsigned number = use->getOperandNumber() - task.getInputs().size();
    if (handOver.writer || task.isUpdated(number) || !isWhole(use, buffer))
      return std::nullopt;
    handOver.writer = TaskUse(use);
  }
  if (!handOver.writer)
    return std::nullopt;
  for (OpOperand *use : readers) {
    if (isWhole(use, buffer) && readsPackets(use) &&
        !comesLater(cast<TaskOp>(use->getOwner()), handOver.writer.task))
      handOver.receivers.push_back(TaskUse(use));
    else
      handOver.hasOtherReaders = true;
  }
  if (handOver.receivers.empty())
    return std::nullopt;
  handOver.maker = findMaker(getTile(handOver.writer.get()));
  return handOver.maker ? std::optional(handOver) : std::nullopt;
}

void HandOverPacketsPass::runOnOperation() {
  ProgramOp program = getOperation();
  TargetAttr target = findTarget(program);
  if (!target || !target.hasPolledPackets() || program.getNumRanks() > 1)
    return;
  SmallVector<HandOver> handOvers;
  int64_t bytes = 0;
  for (auto buffer : program.getBody().getOps<memref::AllocOp>())
    if (std::optional<HandOver> handOver = match(buffer)) {
      handOver->offset = bytes;
      bytes += llvm::alignTo(4 * handOver->buffer.getType().getNumElements(),
                             kAlignment);
      handOvers.push_back(std::move(*handOver));
    }
  if (handOvers.empty())
    return;
  OpBuilder builder = OpBuilder::atBlockBegin(&program.getBody().front());
  Value packets = PacketsOp::create(
      builder, program.getLoc(), MemRefType::get({bytes}, builder.getI8Type()));
  for (HandOver &handOver : handOvers) {
    Rewriter(handOver, packets).run();
    ++numHandOvers;
  }
}
