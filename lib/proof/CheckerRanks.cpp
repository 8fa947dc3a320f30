//===- CheckerRanks.cpp - Rules of sharing between ranks ------------------===//

#include "lib/proof/CheckerRanks.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ark;
using namespace mlir::ark::checker;

namespace {
class RankChecker {
public:
  RankChecker(ScheduleOp schedule, const ProgramAccesses &program,
              ArrayRef<Lane> lanes, ArrayRef<Item> positions)
      : schedule(schedule), op(cast<ProgramOp>(schedule->getParentOp())),
        program(program), lanes(lanes), positions(positions) {}

  LogicalResult run();

private:
  /// An item of a semaphore on one SM.
  struct Use {
    Operation *item;
    int64_t sm;
  };

  int64_t getRank(int64_t sm) const { return sm / smsOfRank; }
  int64_t getRank(Item item) const { return getRank(lanes[item.lane].sm); }
  LogicalResult checkShares();
  LogicalResult checkSemaphores();
  LogicalResult checkSemaphore(SemaphoreOp semaphore, ArrayRef<Use> uses);
  LogicalResult checkAccess(const OperandAccess &access);
  LogicalResult checkArgument(const OperandAccess &access, int64_t vcta,
                              Item at);
  LogicalResult checkPart(const OperandAccess &access, int64_t vcta, Item at,
                          ArrayRef<Bounds> box);
  bool reads(const OperandAccess &access) const;
  InFlightDiagnostic reportVCTA(const OperandAccess &access, int64_t vcta,
                                Item at) const;

  ScheduleOp schedule;
  ProgramOp op;
  const ProgramAccesses &program;
  ArrayRef<Lane> lanes;
  ArrayRef<Item> positions;
  int64_t smsOfRank = 1;
};
} // namespace

//===----------------------------------------------------------------------===//
// Shares
//===----------------------------------------------------------------------===//

LogicalResult RankChecker::checkShares() {
  int64_t ranks = op.getNumRanks(), sms = schedule.getSms();
  if (sms % ranks)
    return schedule.emitOpError("has ")
           << sms << " SMs, which " << ranks
           << " ranks do not share equally (sharing_c1)";
  smsOfRank = sms / ranks;
  for (const BufferAccesses &buffer : program.getBuffers()) {
    Operation *memory = buffer.root.getDefiningOp();
    if (!memory)
      continue;
    int64_t bytes = getBufferBytes(cast<ShapedType>(buffer.root.getType()));
    if (bytes % ranks)
      return memory->emitOpError("has ")
             << bytes << " bytes, which " << ranks
             << " ranks do not share equally (sharing_c1)";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Semaphores
//===----------------------------------------------------------------------===//

/// Returns true if a semaphore of a kind connects ranks.
static bool connectsRanks(HandoffKind kind, bool isBarrier) {
  if (isBarrier)
    return kind == HandoffKind::Barrier;
  return kind == HandoffKind::Peer || kind == HandoffKind::Packet;
}

LogicalResult RankChecker::checkSemaphore(SemaphoreOp semaphore,
                                          ArrayRef<Use> uses) {
  int64_t rank = getRank(uses.front().sm);
  const Use *other = llvm::find_if(
      uses, [&](const Use &use) { return getRank(use.sm) != rank; });
  if (other == uses.end())
    return success();
  bool isBarrier = isa<BarrierOp>(uses.front().item);
  for (const Use &use : uses)
    if (isa<BarrierOp>(use.item) != isBarrier)
      return use.item->emitOpError("of '@")
             << semaphore.getSymName() << "' on SM " << use.sm
             << ": a semaphore of several ranks has either barriers, or "
                "signals and waits (sharing_c3)";
  if (connectsRanks(semaphore.getHandoff(), isBarrier))
    return success();
  InFlightDiagnostic diagnostic =
      other->item->emitOpError("of '@")
      << semaphore.getSymName() << "' on SM " << other->sm << " connects rank "
      << getRank(other->sm) << " with rank " << rank << ", which the kind "
      << stringifyHandoffKind(semaphore.getHandoff())
      << " does not (sharing_c2)";
  diagnostic.attachNote(uses.front().item->getLoc())
      << "rank " << rank << " uses the semaphore here";
  return diagnostic;
}

LogicalResult RankChecker::checkSemaphores() {
  llvm::MapVector<StringRef, SmallVector<Use>> uses;
  for (const Lane &lane : lanes)
    for (Operation *item : lane.items)
      if (isa<SignalOp, WaitOp, BarrierOp>(item))
        uses[item->getAttrOfType<FlatSymbolRefAttr>("semaphore").getValue()]
            .push_back({item, lane.sm});
  for (auto semaphore : schedule.getBody().getOps<SemaphoreOp>())
    if (auto found = uses.find(semaphore.getSymName());
        found != uses.end() && failed(checkSemaphore(semaphore, found->second)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// Returns true if vCTAs read an operand. An out that is updated in place keeps
/// elements, which is a read.
bool RankChecker::reads(const OperandAccess &access) const {
  TaskOp task = program.getTasks()[access.task];
  return !access.isWrite ||
         task.isUpdated(access.operand - task.getInputs().size());
}

InFlightDiagnostic RankChecker::reportVCTA(const OperandAccess &access,
                                           int64_t vcta, Item at) const {
  TaskOp task = program.getTasks()[access.task];
  const Lane &lane = lanes[at.lane];
  InFlightDiagnostic diagnostic = lane.items[at.item]->emitOpError("vCTA ")
                                  << vcta << " of '" << task.getName()
                                  << "' on SM " << lane.sm << " of rank "
                                  << getRank(at);
  diagnostic.attachNote(task.getLoc())
      << "operand " << access.operand << " of '" << task.getName()
      << "', region " << access.region;
  return diagnostic;
}

/// Returns the rank in a name such as `rank1/x`.
static std::optional<int64_t> parseRank(StringRef name) {
  int64_t rank;
  auto [owner, rest] = name.split('/');
  if (!owner.consume_front("rank") || owner.getAsInteger(10, rank))
    return std::nullopt;
  return rank;
}

/// Checks that an argument is of the rank at an item. All ranks have the
/// constants.
LogicalResult RankChecker::checkArgument(const OperandAccess &access,
                                         int64_t vcta, Item at) {
  unsigned index = cast<BlockArgument>(access.view.root).getArgNumber();
  StringRef name = op.getArgumentName(index);
  if (op.getArgumentKind(index) == ArgumentKind::Constant ||
      parseRank(name) == getRank(at))
    return success();
  return reportVCTA(access, vcta, at)
         << " accesses '" << name
         << "', which is not an argument of its rank (sharing_c5)";
}

/// Checks that the bytes that a vCTA reads are in the part of its rank.
LogicalResult RankChecker::checkPart(const OperandAccess &access, int64_t vcta,
                                     Item at, ArrayRef<Bounds> box) {
  const BufferView &view = access.view;
  int64_t begin = view.byteOffset, end = view.byteOffset + view.elementBytes;
  for (auto [range, stride] : llvm::zip(box, view.strides)) {
    begin += range.first * stride * view.elementBytes;
    end += (range.second - 1) * stride * view.elementBytes;
  }
  int64_t part =
      getBufferBytes(cast<ShapedType>(view.root.getType())) / op.getNumRanks();
  int64_t rank = getRank(at);
  if (begin >= rank * part && end <= (rank + 1) * part)
    return success();
  return reportVCTA(access, vcta, at)
         << " reads bytes [" << begin << ", " << end << ") of "
         << (isPackets(view.root) ? "the packets" : "the arena")
         << "; its rank has bytes [" << rank * part << ", " << (rank + 1) * part
         << ") (sharing_c4)";
}

LogicalResult RankChecker::checkAccess(const OperandAccess &access) {
  bool isArgument = isa<BlockArgument>(access.view.root);
  if (!isArgument && !reads(access))
    return success();
  LogicalResult result = success();
  uint32_t first = program.getFirstVCTA(access.task);
  forEachRegion(access, [&](int64_t vcta, ArrayRef<Bounds> box) {
    bool isEmpty = llvm::any_of(
        box, [](Bounds range) { return range.first >= range.second; });
    if (failed(result) || isEmpty)
      return;
    Item at = positions[first + vcta];
    result = isArgument ? checkArgument(access, vcta, at)
                        : checkPart(access, vcta, at, box);
  });
  return result;
}

LogicalResult RankChecker::run() {
  if (op.getNumRanks() == 1)
    return success();
  if (failed(checkShares()) || failed(checkSemaphores()))
    return failure();
  for (const BufferAccesses &buffer : program.getBuffers())
    for (const OperandAccess *access : buffer.accesses)
      if (failed(checkAccess(*access)))
        return failure();
  return success();
}

LogicalResult checker::checkRanks(ScheduleOp schedule,
                                  const ProgramAccesses &program,
                                  ArrayRef<Lane> lanes,
                                  ArrayRef<Item> positions) {
  return RankChecker(schedule, program, lanes, positions).run();
}
