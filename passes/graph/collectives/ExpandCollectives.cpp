//===- ExpandCollectives.cpp - Expand collectives into puts and reads -----===//
//
// Every rank expands its own program. The two ends of each message match,
// because all ranks make the same choices from the same sizes.
//
//===----------------------------------------------------------------------===//

#include "dialects/ark/ArkDomains.h"
#include "dialects/ark/ArkKnownTargets.h"
#include "lib/analysis/CostModel.h"
#include "lib/analysis/ExchangeCost.h"
#include "lib/support/ArenaAlignment.h"
#include "lib/support/GraphUtils.h"
#include "passes/graph/collectives/Passes.h"
#include "passes/graph/collectives/RankExchange.h"

#include "llvm/ADT/TypeSwitch.h"

namespace mlir::ark {
#define GEN_PASS_DEF_EXPANDCOLLECTIVESPASS
#include "passes/graph/collectives/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Choice of algorithm
//===----------------------------------------------------------------------===//

namespace {
enum class Algorithm { OneShot, TwoShot, Ring };

struct Choice {
  std::optional<Algorithm> forced;
  /// Limits by size. Without them, predicted times decide.
  std::optional<int64_t> oneShotBytes, twoShotBytes;
  /// Lower bound of the bytes of the slices of a chunk in a two-shot reduction.
  int64_t sliceBytes = 0;
  LinksAttr links;

  /// Returns the algorithm for a tensor of `type` among `ranks`.
  Algorithm choose(RankedTensorType type, int64_t ranks) const;

private:
  Algorithm chooseByTime(int64_t bytes, int64_t ranks) const;
};
} // namespace

/// Returns the algorithm with the least predicted time between GPUs.
///
/// The ring algorithm is never faster than the two-shot algorithm: it sends as
/// many bytes, in more steps.
Algorithm Choice::chooseByTime(int64_t bytes, int64_t ranks) const {
  double part = double(bytes) / ranks;
  double oneShot = predictExchangeNs(links, bytes, ranks - 1);
  double twoShot = 2 * predictExchangeNs(links, part, ranks - 1);
  return oneShot <= twoShot ? Algorithm::OneShot : Algorithm::TwoShot;
}

Algorithm Choice::choose(RankedTensorType type, int64_t ranks) const {
  // A tensor with fewer elements than ranks cannot be split.
  if (type.getNumElements() < ranks)
    return Algorithm::OneShot;
  if (forced)
    return *forced;
  int64_t bytes = getBytes(type);
  if (!oneShotBytes)
    return chooseByTime(bytes, ranks);
  // Between two ranks, the one-shot and the two-shot algorithm send the same
  // number of bytes, and the one-shot algorithm waits only once. With more
  // ranks, the bytes that a rank sends in one shot grow with the number of
  // ranks.
  if (ranks == 2 || bytes <= *oneShotBytes * 2 / ranks)
    return Algorithm::OneShot;
  return bytes <= *twoShotBytes ? Algorithm::TwoShot : Algorithm::Ring;
}

//===----------------------------------------------------------------------===//
// all_reduce
//===----------------------------------------------------------------------===//

/// Upper bound of the chunks of a reduction in two shots. Each chunk adds
/// tasks, and hand-offs between all ranks.
static constexpr int64_t kMaxChunks = 4;

/// Reduces with the one-shot algorithm: every rank sends its whole tensor to
/// all other ranks.
static Value reduceInOneShot(RankExchange &exchange, Value value,
                             ReductionKind kind) {
  exchange.sendToAll(value);
  SmallVector<Value> values =
      exchange.receiveAll(value, [&](int64_t) { return getTensorType(value); });
  return exchange.reduce(values, kind);
}

/// Returns the number of chunks in which ranks reduce a tensor, so that the
/// links carry the next chunk while a rank reduces the last one. Chunks divide
/// the tensor into slices of equal, aligned size, which ark-elide-concats can
/// gather without a copy.
static int64_t countChunks(RankedTensorType type, int64_t ranks,
                           int64_t sliceBytes) {
  int64_t count =
      std::clamp<int64_t>(getBytes(type) / ranks / sliceBytes, 1, kMaxChunks);
  auto isDivisible = [&](int64_t count) {
    return getBytes(type) % (count * ranks * kArenaAlignment) == 0;
  };
  while (count > 1 && !isDivisible(count))
    --count;
  return count;
}

/// Reduces with the two-shot algorithm: a reduce-scatter, after which every
/// rank has one reduced slice of each chunk, and an all-gather of the slices.
/// The slices of a chunk are sent before the previous chunk is reduced.
static Value reduceInTwoShots(RankExchange &exchange, Value value,
                              ReductionKind kind, int64_t sliceBytes) {
  Value flat = exchange.flatten(value);
  int64_t count = countChunks(getTensorType(flat), exchange.size, sliceBytes);
  SmallVector<SmallVector<Value>> chunks;
  for (Value chunk : exchange.split(flat, /*axis=*/0, count))
    chunks.push_back(exchange.split(chunk, /*axis=*/0, exchange.size));

  SmallVector<Value> reduced, joined;
  auto gather = [&](int64_t chunk) {
    llvm::append_range(joined,
                       exchange.receiveAll(reduced[chunk], [&](int64_t rank) {
                         return getTensorType(chunks[chunk][rank]);
                       }));
  };
  exchange.scatter(chunks.front());
  for (int64_t chunk = 0; chunk < count; ++chunk) {
    if (chunk + 1 < count)
      exchange.scatter(chunks[chunk + 1]);
    SmallVector<Value> slices = exchange.receiveSlices(chunks[chunk]);
    // Receives follow the order in which the other ranks send.
    if (chunk > 0)
      gather(chunk - 1);
    reduced.push_back(exchange.reduce(slices, kind));
    exchange.sendToAll(reduced.back());
  }
  gather(count - 1);
  return exchange.reshape(exchange.join(joined, /*axis=*/0),
                          getTensorType(value));
}

/// Reduces with the ring algorithm: a reduce-scatter and an all-gather in which
/// each rank sends to the next rank only. Slice `r` is complete at rank `r`.
static Value reduceInRing(RankExchange &exchange, Value value,
                          ReductionKind kind) {
  Value flat = exchange.flatten(value);
  SmallVector<Value> slices = exchange.split(flat, /*axis=*/0, exchange.size);
  Value own = exchange.ringReduce(slices, kind);
  Value joined = exchange.ringGather(own, /*axis=*/0, [&](int64_t rank) {
    return getTensorType(slices[rank]);
  });
  return exchange.reshape(joined, getTensorType(value));
}

static Value expand(AllReduceOp op, RankExchange &exchange,
                    const Choice &choice) {
  Value value = op.getOperand();
  switch (choice.choose(getTensorType(value), exchange.size)) {
  case Algorithm::OneShot:
    return reduceInOneShot(exchange, value, op.getKind());
  case Algorithm::TwoShot:
    return reduceInTwoShots(exchange, value, op.getKind(), choice.sliceBytes);
  case Algorithm::Ring:
    return reduceInRing(exchange, value, op.getKind());
  }
  llvm_unreachable("all algorithms are handled");
}

//===----------------------------------------------------------------------===//
// Other collectives
//===----------------------------------------------------------------------===//

static Value expand(AllGatherOp op, RankExchange &exchange,
                    const Choice &choice) {
  RankedTensorType type = getTensorType(op.getOperand());
  auto getSlice = [&](int64_t) { return type; };
  bool ring = choice.choose(getTensorType(op.getResult()), exchange.size) ==
              Algorithm::Ring;
  return ring ? exchange.ringGather(op.getOperand(), op.getAxis(), getSlice)
              : exchange.gather(op.getOperand(), op.getAxis(), getSlice);
}

static Value expand(ReduceScatterOp op, RankExchange &exchange,
                    const Choice &choice) {
  SmallVector<Value> slices =
      exchange.split(op.getOperand(), op.getAxis(), exchange.size);
  bool ring = choice.choose(getTensorType(op.getOperand()), exchange.size) ==
              Algorithm::Ring;
  return ring ? exchange.ringReduce(slices, op.getKind())
              : exchange.scatterReduce(slices, op.getKind());
}

static Value expand(AllToAllOp op, RankExchange &exchange, const Choice &) {
  SmallVector<Value> slices =
      exchange.split(op.getOperand(), op.getAxis(), exchange.size);
  return exchange.join(exchange.swap(slices), op.getAxis());
}

/// Broadcasts with the two-shot algorithm: the root sends one slice to each
/// rank, and all ranks gather the slices.
static Value scatterAndGather(RankExchange &exchange, Value value,
                              int64_t root) {
  Value flat = exchange.flatten(value);
  SmallVector<Value> slices = exchange.split(flat, /*axis=*/0, exchange.size);
  Value own = slices[exchange.rank];
  if (exchange.rank == root)
    exchange.scatter(slices);
  else
    own = exchange.receive(getTensorType(own), root);
  Value joined = exchange.gather(own, /*axis=*/0, [&](int64_t rank) {
    return getTensorType(slices[rank]);
  });
  return exchange.reshape(joined, getTensorType(value));
}

static Value expand(BroadcastOp op, RankExchange &exchange,
                    const Choice &choice) {
  Value value = op.getOperand();
  int64_t root = op.getRoot();
  switch (choice.choose(getTensorType(value), exchange.size)) {
  case Algorithm::OneShot:
    if (exchange.rank != root)
      return exchange.receive(getTensorType(value), root);
    exchange.sendToAll(value);
    return value;
  case Algorithm::TwoShot:
    return scatterAndGather(exchange, value, root);
  case Algorithm::Ring:
    if (exchange.rank != root)
      value = exchange.receive(getTensorType(value), exchange.getNeighbour(-1));
    if (exchange.getNeighbour(1) != root)
      exchange.send(value, exchange.getNeighbour(1));
    return value;
  }
  llvm_unreachable("all algorithms are handled");
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// Returns true if the module of a program names a GPU as its target.
static bool isForGpu(ProgramOp program) {
  auto module = program->getParentOfType<ModuleOp>();
  auto target = module
                    ? module->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr)
                    : TargetAttr();
  return target && target.isGpu();
}

/// Returns the bytes of the largest tensor for which rank packets are faster
/// than a counter; benchmarks/log.md has the measurements.
static int64_t getPacketBytes(ProgramOp program) {
  // On a GPU, the semaphores of rank packets are counters, so rank packets
  // would only double the bytes.
  return isForGpu(program) ? 0 : 1 << 10;
}

namespace {
struct ExpandCollectivesPass
    : ark::impl::ExpandCollectivesPassBase<ExpandCollectivesPass> {
  using ExpandCollectivesPassBase::ExpandCollectivesPassBase;

  void runOnOperation() override;

private:
  FailureOr<Choice> getChoice();
  Value expandOp(Operation *op, RankExchange &exchange, const Choice &choice);
};
} // namespace

FailureOr<Choice> ExpandCollectivesPass::getChoice() {
  Choice choice;
  if (sliceBytes < 1)
    return emitError(getOperation().getLoc())
           << "slice-bytes is " << sliceBytes.getValue()
           << ": expected at least 1";
  choice.sliceBytes = sliceBytes;
  choice.links = findLinks(&getContext(), findTarget(getOperation()));
  if (oneShotBytes >= 0 || twoShotBytes >= 0 || !isForGpu(getOperation())) {
    choice.oneShotBytes = oneShotBytes < 0 ? 256 << 10 : int64_t(oneShotBytes);
    choice.twoShotBytes = twoShotBytes < 0 ? 1 << 20 : int64_t(twoShotBytes);
  }
  if (algorithm == "one-shot")
    choice.forced = Algorithm::OneShot;
  else if (algorithm == "two-shot")
    choice.forced = Algorithm::TwoShot;
  else if (algorithm == "ring")
    choice.forced = Algorithm::Ring;
  else if (algorithm != "auto")
    return emitError(getOperation().getLoc())
           << "unknown algorithm '" << algorithm.getValue()
           << "' of collectives: expected auto, one-shot, two-shot or ring";
  return choice;
}

Value ExpandCollectivesPass::expandOp(Operation *op, RankExchange &exchange,
                                      const Choice &choice) {
  if (auto send = dyn_cast<SendOp>(op)) {
    exchange.send(send.getOperand(), send.getPeer(), send.getTag());
    return send.getOperand();
  }
  if (auto receive = dyn_cast<RecvOp>(op))
    return exchange.receive(getTensorType(receive.getResult()),
                            receive.getPeer(), receive.getTag());
  // The tensor has no elements, or there is no other rank.
  RankedTensorType type = getTensorType(op->getResult(0));
  if (type.getNumElements() == 0)
    return exchange.makeEmpty(type);
  if (exchange.size == 1)
    return op->getOperand(0);
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<AllReduceOp, AllGatherOp, ReduceScatterOp, AllToAllOp, BroadcastOp>(
          [&](auto collective) {
            return expand(collective, exchange, choice);
          });
}

void ExpandCollectivesPass::runOnOperation() {
  ProgramOp program = getOperation();
  FailureOr<Choice> choice = getChoice();
  if (failed(choice))
    return signalPassFailure();
  if (!program.getRank() || !program.getWorldSize())
    return;
  int64_t limit = packetBytes < 0 ? getPacketBytes(program) : packetBytes;
  // A network adapter copies bytes in any order, so the epoch in a packet would
  // not show that the packet is complete.
  if (Domains(program).areSeveral())
    limit = 0;
  for (Operation &op : llvm::make_early_inc_range(program.getBody().front())) {
    if (!isa<CollectiveOpInterface>(op))
      continue;
    RankExchange exchange(&op, *program.getRank(), *program.getWorldSize(),
                          limit);
    op.getResult(0).replaceAllUsesWith(expandOp(&op, exchange, *choice));
    op.erase();
    ++numCollectives;
    numPuts += exchange.numPuts;
  }
}
