//===- VerifyRanks.cpp - Check that the programs of all ranks fit ---------===//
//
// Checks carry the labels of the pass description.
//
//===----------------------------------------------------------------------===//

#include "dialects/ark/ArkDomains.h"
#include "dialects/ark/ArkRepresentative.h"
#include "lib/support/GraphUtils.h"
#include "passes/graph/collectives/Passes.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>

namespace mlir::ark {
#define GEN_PASS_DEF_VERIFYRANKSPASS
#include "passes/graph/collectives/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// World
//===----------------------------------------------------------------------===//

/// ranks_c1: reports a missing or duplicate rank.
static LogicalResult verifyWorld(ArrayRef<ProgramOp> programs) {
  int64_t size = *ProgramOp(programs.front()).getWorldSize();
  SmallVector<ProgramOp> ranks(size);
  for (ProgramOp program : programs) {
    int64_t worldSize = *program.getWorldSize(), rank = *program.getRank();
    if (worldSize != size) {
      InFlightDiagnostic diagnostic =
          program.emitError("program '")
          << program.getSymName() << "' belongs to a world of " << worldSize
          << " ranks, but program '" << ProgramOp(programs.front()).getSymName()
          << "' to a world of " << size << " ranks (ranks_c1)";
      diagnostic.attachNote(ProgramOp(programs.front()).getLoc())
          << "program of the world of " << size << " ranks";
      return diagnostic;
    }
    if (ProgramOp other = ranks[rank]) {
      InFlightDiagnostic diagnostic = program.emitError("program '")
                                      << program.getSymName()
                                      << "' is the second program of rank "
                                      << rank << " (ranks_c1)";
      diagnostic.attachNote(other.getLoc()) << "first program of rank " << rank;
      return diagnostic;
    }
    ranks[rank] = program;
  }
  for (auto [rank, program] : llvm::enumerate(ranks))
    if (!program)
      return ProgramOp(programs.front()).emitError("program '")
             << ProgramOp(programs.front()).getSymName()
             << "' belongs to a world of " << size << " ranks, and rank "
             << rank
             << " has no program here: compile all of them together "
                "(ranks_c1)";
  return success();
}

/// ranks_c5
static LogicalResult verifyDomains(ArrayRef<ProgramOp> programs) {
  Domains domains(programs.front());
  if (domains.size() == 0 || domains.size() == programs.size())
    return success();
  return ProgramOp(programs.front())
             .emitError("the module names the domains of ")
         << domains.size() << " ranks, but the world has " << programs.size()
         << " ranks (ranks_c5)";
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

static SmallVector<Operation *> collectCollectives(ProgramOp program) {
  SmallVector<Operation *> ops;
  for (Operation &op : program.getBody().front())
    if (isa<CollectiveOpInterface>(op) && !isa<SendOp, RecvOp>(op))
      ops.push_back(&op);
  return ops;
}

/// Returns a text with the properties that all ranks must agree on: the op, its
/// type and its attributes.
static std::string describe(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << op->getName();
  if (auto reduce = dyn_cast<AllReduceOp>(op))
    os << " " << stringifyReductionKind(reduce.getKind());
  if (auto scatter = dyn_cast<ReduceScatterOp>(op))
    os << " " << stringifyReductionKind(scatter.getKind());
  os << " of " << op->getOperand(0).getType();
  for (StringRef name : {"axis", "root"})
    if (auto value = op->getAttrOfType<IntegerAttr>(name))
      os << " " << name << " = " << value.getInt();
  return text;
}

/// ranks_c3
static LogicalResult verifySameCollectives(ProgramOp first, ProgramOp other) {
  SmallVector<Operation *> ours = collectCollectives(first),
                           theirs = collectCollectives(other);
  int64_t rank = *first.getRank(), otherRank = *other.getRank();
  for (auto [index, pair] : llvm::enumerate(llvm::zip(ours, theirs))) {
    auto [a, b] = pair;
    std::string ofA = describe(a), ofB = describe(b);
    if (ofA == ofB)
      continue;
    InFlightDiagnostic diagnostic = a->emitError("collective ")
                                    << index + 1 << " of rank " << rank
                                    << " is '" << ofA << "', but collective "
                                    << index + 1 << " of rank " << otherRank
                                    << " is '" << ofB << "' (ranks_c3)";
    diagnostic.attachNote(b->getLoc())
        << "collective " << index + 1 << " of rank " << otherRank;
    return diagnostic;
  }
  if (ours.size() == theirs.size())
    return success();
  bool oursIsLonger = ours.size() > theirs.size();
  size_t missing = std::min(ours.size(), theirs.size());
  Operation *unmatched = oursIsLonger ? ours[missing] : theirs[missing];
  ProgramOp shorter = oursIsLonger ? other : first;
  InFlightDiagnostic diagnostic =
      unmatched->emitError("collective ")
      << missing + 1 << " of rank " << (oursIsLonger ? rank : otherRank)
      << " is '" << describe(unmatched) << "', but rank " << *shorter.getRank()
      << " has no collective " << missing + 1 << " (ranks_c3)";
  diagnostic.attachNote(shorter.getLoc())
      << "program of rank " << *shorter.getRank();
  return diagnostic;
}

//===----------------------------------------------------------------------===//
// Sends and receives
//===----------------------------------------------------------------------===//

namespace {
/// Sender, receiver, tag.
using Route = std::tuple<int64_t, int64_t, int64_t>;
struct Traffic {
  SmallVector<Operation *> sends, receives;
};
using TrafficMap = std::map<Route, Traffic>;
} // namespace

static LogicalResult checkPeer(Operation &op, int64_t peer, int64_t size) {
  if (peer < size)
    return success();
  return op.emitError("'") << op.getName() << "' names rank " << peer
                           << " of a world of " << size << " (ranks_c4)";
}

static FailureOr<TrafficMap> collectTraffic(ArrayRef<ProgramOp> programs) {
  TrafficMap traffic;
  for (ProgramOp program : programs) {
    int64_t rank = *program.getRank(), size = *program.getWorldSize();
    for (Operation &op : program.getBody().front()) {
      if (auto send = dyn_cast<SendOp>(op)) {
        int64_t peer = send.getPeer();
        if (failed(checkPeer(op, peer, size)))
          return failure();
        traffic[Route(rank, peer, send.getTag())].sends.push_back(&op);
      } else if (auto receive = dyn_cast<RecvOp>(op)) {
        int64_t peer = receive.getPeer();
        if (failed(checkPeer(op, peer, size)))
          return failure();
        traffic[Route(peer, rank, receive.getTag())].receives.push_back(&op);
      }
    }
  }
  return traffic;
}

/// Reports a send or receive without a counterpart. Notes name unmatched ops
/// between the same ranks with another tag, which is a likely mistake.
static LogicalResult reportUnmatched(Operation *op, const Route &route,
                                     bool isSend, const TrafficMap &traffic) {
  auto [from, to, tag] = route;
  InFlightDiagnostic diagnostic = op->emitError();
  if (isSend)
    diagnostic << "rank " << from << " sends a tensor to rank " << to
               << " under tag " << tag << " that rank " << to
               << " never receives (ranks_c4)";
  else
    diagnostic << "rank " << to << " receives a tensor from rank " << from
               << " under tag " << tag << " that rank " << from
               << " never sends (ranks_c4)";
  for (const auto &[other, ends] : traffic) {
    auto [otherFrom, otherTo, otherTag] = other;
    if (otherFrom != from || otherTo != to)
      continue;
    size_t sends = ends.sends.size(), receives = ends.receives.size();
    if (isSend && receives > sends)
      diagnostic.attachNote(ends.receives[sends]->getLoc())
          << "rank " << to << " receives a tensor from rank " << from
          << " under tag " << otherTag << " here";
    if (!isSend && sends > receives)
      diagnostic.attachNote(ends.sends[receives]->getLoc())
          << "rank " << from << " sends a tensor to rank " << to
          << " under tag " << otherTag << " here";
  }
  return diagnostic;
}

/// ranks_c4
static LogicalResult verifyTraffic(ArrayRef<ProgramOp> programs) {
  FailureOr<TrafficMap> traffic = collectTraffic(programs);
  if (failed(traffic))
    return failure();
  for (const auto &[route, ends] : *traffic) {
    for (auto [send, receive] : llvm::zip(ends.sends, ends.receives)) {
      Type sent = send->getOperand(0).getType(),
           received = receive->getResult(0).getType();
      if (sent == received)
        continue;
      InFlightDiagnostic diagnostic =
          send->emitError("rank ")
          << std::get<0>(route) << " sends " << sent << " under tag "
          << std::get<2>(route) << ", but rank " << std::get<1>(route)
          << " receives " << received << " (ranks_c4)";
      diagnostic.attachNote(receive->getLoc())
          << "rank " << std::get<1>(route) << " receives the tensor here";
      return diagnostic;
    }
    size_t sends = ends.sends.size(), receives = ends.receives.size();
    if (sends > receives)
      return reportUnmatched(ends.sends[receives], route, true, *traffic);
    if (receives > sends)
      return reportUnmatched(ends.receives[sends], route, false, *traffic);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// ranks_c2
static LogicalResult verifyWorldSizes(ProgramOp program) {
  for (Operation &op : program.getBody().front()) {
    auto size = op.getAttrOfType<IntegerAttr>("world_size");
    if (isa<CollectiveOpInterface>(op) && size &&
        size.getInt() != static_cast<int64_t>(*program.getWorldSize()))
      return op.emitError("'")
             << op.getName() << "' belongs to a world of " << size.getInt()
             << " ranks, but its program to a world of "
             << *program.getWorldSize() << " (ranks_c2)";
  }
  return success();
}

/// ranks_c6: one program stands for the programs of all ranks. What a rank
/// sends then depends only on the distance of the receiver, so no op may name a
/// rank.
static LogicalResult verifyRepresentative(ArrayRef<ProgramOp> programs) {
  ProgramOp program = programs.front();
  if (programs.size() > 1)
    return ProgramOp(programs[1]).emitError("program '")
           << ProgramOp(programs[1]).getSymName()
           << "' is the second program of a module in which one program stands "
              "for all ranks (ranks_c6)";
  if (Domains(program).size() > 0)
    return program.emitError("stands for all ranks, and the ranks have domains "
                             "(ranks_c6)");
  for (Operation &op : program.getBody().front())
    if (isa<SendOp, RecvOp>(op) || isa<BroadcastOp>(op))
      return op.emitError("'") << op.getName()
                               << "' names a rank, in a program that stands "
                                  "for all ranks (ranks_c6)";
  return verifyWorldSizes(program);
}

static LogicalResult verifyRanks(ModuleOp module) {
  SmallVector<ProgramOp> ranked, others;
  for (auto program : module.getOps<ProgramOp>())
    (program.getRank() && program.getWorldSize() ? ranked : others)
        .push_back(program);
  if (ranked.empty())
    return success();
  // ranks_c1
  if (!others.empty()) {
    InFlightDiagnostic diagnostic = others.front().emitError("program '")
                                    << others.front().getSymName()
                                    << "' has no rank, but program '"
                                    << ranked.front().getSymName()
                                    << "' of the same module has one "
                                       "(ranks_c1)";
    diagnostic.attachNote(ranked.front().getLoc()) << "program with a rank";
    return diagnostic;
  }
  if (module->hasAttr(kRepresentativeAttr))
    return verifyRepresentative(ranked);
  if (failed(verifyWorld(ranked)) || failed(verifyDomains(ranked)))
    return failure();
  llvm::sort(ranked, [](ProgramOp a, ProgramOp b) {
    return *a.getRank() < *b.getRank();
  });
  for (ProgramOp program : ranked)
    if (failed(verifyWorldSizes(program)) ||
        failed(verifySameCollectives(ranked.front(), program)))
      return failure();
  return verifyTraffic(ranked);
}

namespace {
struct VerifyRanksPass : ark::impl::VerifyRanksPassBase<VerifyRanksPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verifyRanks(getOperation())))
      signalPassFailure();
  }
};
} // namespace
