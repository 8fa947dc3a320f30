//===- JoinRanks.cpp - Join the programs of all ranks into one ------------===//
//
// Executes the programs side by side, op by op: a program proceeds until it
// takes a tensor from an empty channel. The joined program contains the ops in
// the order of this execution. Every value is hence defined before its uses,
// and each rank keeps the order of its own ops.
//
//===----------------------------------------------------------------------===//

#include "dialects/ark/ArkDomains.h"
#include "dialects/ark/ArkRepresentative.h"
#include "lib/support/GraphUtils.h"
#include "passes/graph/collectives/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringSet.h"

#include <deque>
#include <map>

namespace mlir::ark {
#define GEN_PASS_DEF_JOINRANKSPASS
#include "passes/graph/collectives/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

namespace {
/// Progress of one rank.
struct Cursor {
  ProgramOp program;
  int64_t rank;
  Block::iterator next;
  IRMapping mapping;

  bool isDone() const { return isa<ReturnOp>(*next); }
};

/// A value that was put to a channel and has not been taken yet.
struct Message {
  ChannelOpInterface put;
  Value value;
};

/// Sender, receiver, tag, and the distance from the sender to the receiver if
/// one program stands for all ranks, else 0.
using Route = std::tuple<int64_t, int64_t, int64_t, int64_t>;
struct Mail {
  std::deque<Message> messages;
  int64_t signals = 0;
};

class Joiner {
public:
  explicit Joiner(SmallVector<ProgramOp> programs);
  /// Joins two copies of the program of one rank, which stands for all ranks.
  explicit Joiner(ProgramOp representative);

  LogicalResult run();

private:
  void addCursor(ProgramOp program, int64_t rank);
  int64_t getPeer(const Cursor &cursor, ChannelOpInterface op) const;
  Route getRoute(const Cursor &cursor, ChannelOpInterface op) const;
  ProgramOp createProgram();
  LogicalResult checkChannels();
  Cursor *findCursor(int64_t rank);
  FailureOr<bool> advance(Cursor &cursor);
  void send(Cursor &cursor, ChannelOpInterface op);
  FailureOr<bool> take(Cursor &cursor, ChannelOpInterface op);
  Value put(Cursor &cursor, ChannelOpInterface op);
  Value putOverNetwork(Cursor &cursor, ChannelOpInterface op);
  GroupOp copy(Cursor &cursor, ChannelOpInterface op, StringRef opName,
               const Twine &suffix, Value operand);
  Value read(Cursor &cursor, ChannelOpInterface op, Value packets);
  GroupOp createGroup(Cursor &cursor, ChannelOpInterface op, StringRef opName,
                      const Twine &suffix, Value operand, Type type);
  void copyOp(Cursor &cursor, Operation *op);
  DictionaryAttr addRank(DictionaryAttr plan, int64_t rank);
  StringAttr getName(const Cursor &cursor, StringRef name);
  std::string getUniqueName(const Twine &base);
  LogicalResult reportDeadlock();
  LogicalResult checkNothingLeft();

  std::vector<Cursor> cursors;
  OpBuilder builder;
  Domains domains;
  std::map<Route, Mail> mail;
  /// The contiguous copies of tensors that are put to other domains.
  llvm::DenseMap<Value, Value> staged;
  llvm::StringSet<> names;
  bool isRepresentative = false;
};
} // namespace

Joiner::Joiner(SmallVector<ProgramOp> programs)
    : builder(programs.front().getContext()), domains(programs.front()) {
  llvm::sort(programs, [](ProgramOp a, ProgramOp b) {
    return *a.getRank() < *b.getRank();
  });
  for (ProgramOp program : programs)
    addCursor(program, *program.getRank());
}

Joiner::Joiner(ProgramOp representative)
    : builder(representative.getContext()), domains(representative),
      isRepresentative(true) {
  addCursor(representative, 0);
  addCursor(representative, 1);
}

void Joiner::addCursor(ProgramOp program, int64_t rank) {
  cursors.push_back(
      {program, rank, program.getBody().front().begin(), IRMapping()});
  for (auto group : program.getBody().getOps<GroupOp>())
    names.insert(getName(cursors.back(), group.getName()).getValue());
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Prefixes a name with its rank, except in a world of one rank.
StringAttr Joiner::getName(const Cursor &cursor, StringRef name) {
  if (cursors.size() == 1 && *ProgramOp(cursor.program).getWorldSize() == 1)
    return builder.getStringAttr(name);
  return builder.getStringAttr("rank" + Twine(cursor.rank) + "/" + name);
}

std::string Joiner::getUniqueName(const Twine &base) {
  std::string name = base.str();
  for (unsigned number = 2; !names.insert(name).second; ++number)
    name = (base + "_" + Twine(number)).str();
  return name;
}

DictionaryAttr Joiner::addRank(DictionaryAttr plan, int64_t rank) {
  NamedAttrList entries(plan);
  entries.set(ArkDialect::kRankKey, builder.getI64IntegerAttr(rank));
  return entries.getDictionary(builder.getContext());
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static ChannelOpenOp getOpen(ChannelOpInterface op) {
  return op.getChannel().getDefiningOp<ChannelOpenOp>();
}

/// Returns true if the op sends to the other end, and never waits for it.
static bool sends(ChannelOpInterface op) {
  return op.getPutTensor() || op.isSignal();
}

/// Returns the rank at the other end of a channel. Of two copies, each stands
/// for all other ranks of the other copy.
int64_t Joiner::getPeer(const Cursor &cursor, ChannelOpInterface op) const {
  return isRepresentative ? 1 - cursor.rank : getOpen(op).getPeer();
}

/// Returns the route of a channel op of `cursor`. If one program stands for all
/// ranks, a put to the rank `distance` after this rank corresponds to a get
/// from the rank `distance` before this rank.
Route Joiner::getRoute(const Cursor &cursor, ChannelOpInterface op) const {
  int64_t peer = getPeer(cursor, op), tag = getOpen(op).getTag(), distance = 0;
  if (isRepresentative) {
    int64_t size = *ProgramOp(cursor.program).getWorldSize();
    int64_t after =
        getOpen(op).getPeer() - int64_t(*ProgramOp(cursor.program).getRank());
    distance = ((sends(op) ? after : -after) + size) % size;
  }
  return sends(op) ? Route(cursor.rank, peer, tag, distance)
                   : Route(peer, cursor.rank, tag, distance);
}

/// Creates a group for one channel op. The caller fills its body.
GroupOp Joiner::createGroup(Cursor &cursor, ChannelOpInterface op,
                            StringRef opName, const Twine &suffix,
                            Value operand, Type type) {
  StringRef base = getUserName(op->getLoc());
  std::string name = getUniqueName(
      getName(cursor, base.empty() ? opName : base).getValue() + suffix);
  auto plan = op->getAttrOfType<DictionaryAttr>(ArkDialect::kPlanAttr);
  auto group = GroupOp::create(builder, op->getLoc(), type,
                               builder.getStringAttr(name), operand,
                               /*tile=*/nullptr, addRank(plan, cursor.rank));
  group->setAttr("ops", builder.getStrArrayAttr({opName}));
  Block &body = group.getBody().emplaceBlock();
  body.addArgument(operand.getType(), op->getLoc());
  return group;
}

/// Creates the sender's group, which writes the tensor that the receiver's ops
/// read. Packets are written by a single vCTA, because a wait polls all of
/// them.
Value Joiner::put(Cursor &cursor, ChannelOpInterface op) {
  bool packs = op.usesPackets();
  if (domains.areApart(cursor.rank, getOpen(op).getPeer()) && !packs)
    return putOverNetwork(cursor, op);
  Value operand = cursor.mapping.lookup(op.getPutTensor());
  if (!packs)
    return copy(cursor, op, "put", ".to" + Twine(getOpen(op).getPeer()),
                operand)
        .getResult(0);
  auto type = cast<RankedTensorType>(operand.getType());
  auto made = type.clone(builder.getI64Type());
  GroupOp group =
      createGroup(cursor, op, "put_packet",
                  ".to" + Twine(getOpen(op).getPeer()), operand, made);
  group.setTile(made.getShape());
  OpBuilder::InsertionGuard guard(builder);
  Block &body = group.getBody().front();
  builder.setInsertionPointToStart(&body);
  Value result =
      PackPacketOp::create(builder, op->getLoc(), body.getArgument(0));
  YieldOp::create(builder, op->getLoc(), result);
  return group.getResult(0);
}

/// Creates a group of the sender that copies a tensor.
GroupOp Joiner::copy(Cursor &cursor, ChannelOpInterface op, StringRef opName,
                     const Twine &suffix, Value operand) {
  GroupOp group =
      createGroup(cursor, op, opName, suffix, operand, operand.getType());
  OpBuilder::InsertionGuard guard(builder);
  Block &body = group.getBody().front();
  builder.setInsertionPointToStart(&body);
  Value result =
      CopyOp::create(builder, op->getLoc(), body.getArgument(0)).getResult();
  YieldOp::create(builder, op->getLoc(), result);
  return group;
}

/// Creates two groups of the sender: SMs copy the tensor to a contiguous buffer
/// in the sender's arena, and a network adapter copies this buffer to the
/// receiver's arena. The adapter copies all bytes at once, so its group is one
/// tile of a vector. Puts of the same tensor share the buffer.
Value Joiner::putOverNetwork(Cursor &cursor, ChannelOpInterface op) {
  int64_t peer = getOpen(op).getPeer();
  Value operand = cursor.mapping.lookup(op.getPutTensor());
  auto type = cast<RankedTensorType>(operand.getType());
  SmallVector<int64_t> flat = {type.getNumElements()};
  Value &vector = staged[operand];
  if (!vector)
    vector = ReshapeOp::create(
        builder, op->getLoc(),
        copy(cursor, op, "put", ".stage", operand).getResult(0), flat);
  GroupOp group = copy(cursor, op, "put", ".to" + Twine(peer), vector);
  group.setTile(flat);
  NamedAttrList plan(group.getPlanAttr());
  plan.set(ArkDialect::kNetworkKey, builder.getI64IntegerAttr(peer));
  group.setPlanAttr(plan.getDictionary(builder.getContext()));
  return ReshapeOp::create(builder, op->getLoc(), group.getResult(0),
                           type.getShape());
}

/// Creates the receiver's group, which unpacks packets.
Value Joiner::read(Cursor &cursor, ChannelOpInterface op, Value packets) {
  auto type = cast<RankedTensorType>(op.getTakenTensor().getType());
  GroupOp group =
      createGroup(cursor, op, "read_packet",
                  ".from" + Twine(getOpen(op).getPeer()), packets, type);
  OpBuilder::InsertionGuard guard(builder);
  Block &body = group.getBody().front();
  builder.setInsertionPointToStart(&body);
  Value values = UnpackPacketOp::create(
      builder, op->getLoc(), body.getArgument(0), type.getElementType());
  YieldOp::create(builder, op->getLoc(), values);
  return group.getResult(0);
}

void Joiner::send(Cursor &cursor, ChannelOpInterface op) {
  Mail &box = mail[getRoute(cursor, op)];
  if (op.isSignal())
    ++box.signals;
  else
    box.messages.push_back({op, put(cursor, op)});
}

/// Takes a message or a signal. Returns false if the channel is empty.
FailureOr<bool> Joiner::take(Cursor &cursor, ChannelOpInterface op) {
  Mail &box = mail[getRoute(cursor, op)];
  Value taken = op.getTakenTensor();
  if (!taken) {
    if (box.signals == 0)
      return false;
    --box.signals;
    return true;
  }
  if (box.messages.empty())
    return false;
  Message message = box.messages.front();
  box.messages.pop_front();
  Type putType = message.put.getPutTensor().getType();
  if (message.put.usesPackets() != op.usesPackets() ||
      putType != taken.getType()) {
    InFlightDiagnostic diagnostic =
        op->emitError("takes ") << taken.getType() << " by '" << op->getName()
                                << "' where its peer put " << putType << " by '"
                                << message.put->getName() << "' (channel_c1)";
    diagnostic.attachNote(message.put->getLoc()) << "put here";
    return diagnostic;
  }
  cursor.mapping.map(taken, op.usesPackets() ? read(cursor, op, message.value)
                                             : message.value);
  return true;
}

void Joiner::copyOp(Cursor &cursor, Operation *op) {
  auto group = dyn_cast<GroupOp>(builder.clone(*op, cursor.mapping));
  if (!group)
    return;
  group.setNameAttr(getName(cursor, group.getName()));
  group.setPlanAttr(addRank(group.getPlanAttr(), cursor.rank));
}

/// Advances over one op. Returns false if the op has to wait.
FailureOr<bool> Joiner::advance(Cursor &cursor) {
  Operation *op = &*cursor.next;
  if (auto primitive = dyn_cast<ChannelOpInterface>(op)) {
    if (sends(primitive)) {
      send(cursor, primitive);
    } else {
      FailureOr<bool> taken = take(cursor, primitive);
      if (failed(taken) || !*taken)
        return taken;
    }
  } else if (!isa<ChannelOpenOp>(op)) {
    copyOp(cursor, op);
  }
  ++cursor.next;
  return true;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

Cursor *Joiner::findCursor(int64_t rank) {
  auto found = llvm::find_if(
      cursors, [&](const Cursor &cursor) { return cursor.rank == rank; });
  return found == cursors.end() ? nullptr : &*found;
}

/// Checks that every channel leads to a rank whose program is in the module.
LogicalResult Joiner::checkChannels() {
  for (Cursor &cursor : cursors)
    for (auto op :
         cursor.program.getBody().front().getOps<ChannelOpInterface>()) {
      ChannelOpenOp open = getOpen(op);
      if (!open)
        return op->emitError("takes a channel that no 'ark.channel.open' made "
                             "(channel_c3)");
      int64_t peer = open.getPeer();
      bool exists = isRepresentative
                        ? peer < int64_t(*cursor.program.getWorldSize())
                        : findCursor(peer) != nullptr;
      if (!exists)
        return open.emitError("leads to rank ")
               << peer << ", which has no program here (channel_c3)";
    }
  return success();
}

/// Reports that no rank can proceed although not all have ended.
LogicalResult Joiner::reportDeadlock() {
  auto stuck = llvm::make_filter_range(
      cursors, [](const Cursor &cursor) { return !cursor.isDone(); });
  auto getPeerOf = [&](Cursor &cursor) {
    return getPeer(cursor, cast<ChannelOpInterface>(*cursor.next));
  };
  Cursor &first = *stuck.begin();
  int64_t peer = getPeerOf(first);
  InFlightDiagnostic diagnostic =
      first.next->emitError("rank ")
      << first.rank << " waits for rank " << peer << ", which "
      << (findCursor(peer)->isDone() ? "has ended" : "waits itself")
      << ": no rank can proceed (channel_c2)";
  for (Cursor &other : llvm::drop_begin(stuck))
    diagnostic.attachNote(other.next->getLoc())
        << "rank " << other.rank << " waits for rank " << getPeerOf(other);
  return diagnostic;
}

LogicalResult Joiner::checkNothingLeft() {
  for (const auto &[route, box] : mail) {
    auto [from, to, tag, distance] = route;
    if (!box.messages.empty())
      return box.messages.front().put->emitError("rank ")
             << from << " puts a tensor to rank " << to
             << " that is never taken (channel_c2)";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Joined program
//===----------------------------------------------------------------------===//

/// Creates the joined program with the arguments of all ranks and an empty
/// body. The return is added at the end.
ProgramOp Joiner::createProgram() {
  SmallVector<Type> inputs, results;
  SmallVector<Attribute> argumentAttrs, resultAttrs;
  bool hasStop = false;
  auto rename = [&](const Cursor &cursor, DictionaryAttr attrs) {
    NamedAttrList list(attrs);
    auto name = cast<StringAttr>(list.get(ArkDialect::kNameAttr));
    list.set(ArkDialect::kNameAttr, getName(cursor, name.getValue()));
    // All ranks share one launch, so that one stop flag ends it for all.
    if (list.get(ArkDialect::kStopAttr) && std::exchange(hasStop, true))
      list.erase(ArkDialect::kStopAttr);
    return list.getDictionary(builder.getContext());
  };
  for (Cursor &cursor : cursors) {
    ProgramOp program = cursor.program;
    llvm::append_range(inputs, program.getArgumentTypes());
    llvm::append_range(results, program.getResultTypes());
    for (unsigned index = 0; index < program.getNumArguments(); ++index)
      argumentAttrs.push_back(rename(cursor, program.getArgAttrDict(index)));
    for (unsigned index = 0; index < program.getNumResults(); ++index)
      resultAttrs.push_back(rename(cursor, program.getResultAttrDict(index)));
  }
  ProgramOp first = cursors.front().program;
  builder.setInsertionPoint(first);
  auto joined = ProgramOp::create(builder, first.getLoc(), first.getSymName(),
                                  builder.getFunctionType(inputs, results));
  joined.setWorldSize(cursors.size());
  joined.setArgAttrsAttr(builder.getArrayAttr(argumentAttrs));
  joined.setResAttrsAttr(builder.getArrayAttr(resultAttrs));
  Block &body = joined.getBody().emplaceBlock();
  for (Cursor &cursor : cursors)
    for (BlockArgument argument : cursor.program.getArguments())
      cursor.mapping.map(
          argument, body.addArgument(argument.getType(), argument.getLoc()));
  return joined;
}

LogicalResult Joiner::run() {
  if (failed(checkChannels()))
    return failure();
  ProgramOp joined = createProgram();
  builder.setInsertionPointToStart(&joined.getBody().front());
  for (bool moved = true; moved;) {
    moved = false;
    for (Cursor &cursor : cursors)
      while (!cursor.isDone()) {
        FailureOr<bool> went = advance(cursor);
        if (failed(went))
          return failure();
        if (!*went)
          break;
        moved = true;
        // The two copies proceed op by op in turn, so that their ops alternate
        // in the joined program and both copies get equal plans for their
        // memory.
        if (isRepresentative)
          break;
      }
  }
  auto isDone = [](const Cursor &cursor) { return cursor.isDone(); };
  if (!llvm::all_of(cursors, isDone))
    return reportDeadlock();
  if (failed(checkNothingLeft()))
    return failure();
  SmallVector<Value> results;
  for (Cursor &cursor : cursors)
    for (Value value : cursor.next->getOperands())
      results.push_back(cursor.mapping.lookup(value));
  ReturnOp::create(builder, joined.getLoc(), results);
  for (Cursor &cursor : cursors)
    if (!isRepresentative || cursor.rank == 0)
      cursor.program.erase();
  return success();
}

namespace {
struct JoinRanksPass : ark::impl::JoinRanksPassBase<JoinRanksPass> {
  void runOnOperation() override {
    SmallVector<ProgramOp> programs;
    for (auto program : getOperation().getOps<ProgramOp>())
      if (program.getRank() && program.getWorldSize())
        programs.push_back(program);
    if (programs.empty())
      return;
    numRanks += programs.size();
    bool isRepresentative = getOperation()->hasAttr(kRepresentativeAttr);
    if (isRepresentative && programs.size() != 1) {
      programs[1].emitError("is the second program of a module in which one "
                            "program stands for all ranks (channel_c4)");
      return signalPassFailure();
    }
    LogicalResult joined = isRepresentative ? Joiner(programs.front()).run()
                                            : Joiner(std::move(programs)).run();
    if (failed(joined))
      signalPassFailure();
  }
};
} // namespace
