//===- BuildTables.cpp - Build tables from program and schedule -----------===//

#include "dialects/ark/ArkBodyAttrs.h"
#include "dialects/ark/ArkLimits.h"
#include "dialects/ark/ArkOps.h"
#include "lib/analysis/CostModel.h"
#include "lib/analysis/Packets.h"
#include "lib/support/BufferView.h"
#include "lib/support/PlanUnit.h"
#include "passes/kernel/Footprints.h"
#include "passes/kernel/LaneTables.h"
#include "passes/kernel/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::ark {
#define GEN_PASS_DEF_BUILDTABLESPASS
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

static_assert(static_cast<int32_t>(abi::Opcode::Run) == KernelOp::kRunOpcode);

namespace {
/// Builds the tables of one program, entry by entry.
class TableBuilder {
public:
  TableBuilder(ProgramOp program, ScheduleOp schedule)
      : program(program), schedule(schedule), builder(program.getContext()),
        costs(program, schedule.getSms()), footprints(slots) {}

  FailureOr<KernelOp> build();

  size_t getNumInstructions() const { return numInstructions; }
  size_t getNumOperands() const { return operands.size() / 2; }

private:
  LogicalResult addBuffers();
  LogicalResult findStop();
  LogicalResult addTasks();
  LogicalResult addTask(TaskOp task);
  FailureOr<func::FuncOp> findBody(TaskOp task);
  DictionaryAttr getStatistics(const LaneTables &lanes);
  IntegerAttr getRanks();
  int64_t getArenaBytes();
  IntegerAttr getPacketBytes();

  template <typename T>
  DenseElementsAttr getTable(ArrayRef<T> values, int64_t columns) {
    Type type = builder.getIntegerType(8 * sizeof(T));
    int64_t count = static_cast<int64_t>(values.size()) / columns;
    return DenseElementsAttr::get(RankedTensorType::get({count, columns}, type),
                                  values);
  }

  ProgramOp program;
  ScheduleOp schedule;
  Builder builder;
  CostModel costs;

  DenseMap<Value, int64_t> slots;
  std::optional<StopState> stop;
  FootprintTable footprints;
  /// Functions of the bodies by name, in the order of the indices of bodies.
  llvm::MapVector<StringAttr, func::FuncOp> functions;
  /// Bodies that write rank packets, which contain the epoch.
  llvm::SmallPtrSet<Operation *, 4> stamping;

  SmallVector<Attribute> buffers, tasks, bodies;
  SmallVector<int32_t> taskTable;
  SmallVector<int64_t> operands;
  int64_t numVctas = 0, numInstructions = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// Returns the bytes of a constant in memory: a splat is expanded, and a bool
/// takes one byte.
static DenseElementsAttr getBytes(DenseElementsAttr value) {
  SmallVector<int8_t> bytes;
  if (value.getElementType().isInteger(1)) {
    for (bool element : value.getValues<bool>())
      bytes.push_back(element);
  } else {
    ArrayRef<char> raw = value.getRawData();
    int64_t copies = value.isSplat() ? value.getNumElements() : 1;
    bytes.reserve(raw.size() * copies);
    for (int64_t i = 0; i < copies; ++i)
      bytes.append(raw.begin(), raw.end());
  }
  auto type = RankedTensorType::get({static_cast<int64_t>(bytes.size())},
                                    IntegerType::get(value.getContext(), 8));
  return DenseElementsAttr::get(type, ArrayRef<int8_t>(bytes));
}

/// Returns the bytes of the largest element type with which tasks reinterpret
/// an argument; 0 if no task reinterprets the argument.
static int64_t getLargestElement(BlockArgument argument) {
  int64_t largest = 0;
  for (Operation *user : argument.getUsers())
    if (auto view = dyn_cast<BufferCastOp>(user))
      largest = std::max(
          largest,
          getElementBytes(cast<MemRefType>(view.getType()).getElementType()));
  return largest;
}

/// Assigns the slots from 1 on: the arguments in order, then the packets.
LogicalResult TableBuilder::addBuffers() {
  for (auto arena : program.getBody().getOps<ArenaOp>())
    slots[arena] = kArenaSlot;
  for (BlockArgument argument : program.getBody().getArguments()) {
    unsigned index = argument.getArgNumber();
    slots[argument] = index + 1;
    auto type = cast<MemRefType>(argument.getType());
    SmallVector<NamedAttribute> entry = {
        builder.getNamedAttr(
            "name", builder.getStringAttr(program.getArgumentName(index))),
        builder.getNamedAttr(
            "kind", builder.getStringAttr(
                        stringifyArgumentKind(program.getArgumentKind(index)))),
        builder.getNamedAttr("type", TypeAttr::get(type)),
        builder.getNamedAttr("bytes",
                             builder.getI64IntegerAttr(getBufferBytes(type)))};
    if (TargetAttr target = findTarget(program); target && target.isGpu())
      entry.push_back(builder.getNamedAttr(
          "alignment", builder.getI64IntegerAttr(abi::kGpuBufferAlignment)));
    else if (int64_t largest = getLargestElement(argument);
             largest > getElementBytes(type.getElementType()))
      entry.push_back(builder.getNamedAttr("alignment",
                                           builder.getI64IntegerAttr(largest)));
    if (Attribute init = program.getArgAttr(index, ArkDialect::kInitAttr))
      entry.push_back(builder.getNamedAttr("init", init));
    if (Attribute max = program.getArgAttr(index, ArkDialect::kMaxAttr))
      entry.push_back(builder.getNamedAttr("max", max));
    if (program.getArgAttr(index, ArkDialect::kStopAttr))
      entry.push_back(builder.getNamedAttr("stop", builder.getBoolAttr(true)));
    if (auto value = program.getArgAttrOfType<DenseElementsAttr>(
            index, ArkDialect::kValueAttr)) {
      if (value.isSplat() && getBufferBytes(type) > kMaxSplatBytes)
        return program.emitOpError("constant '")
               << program.getArgumentName(index) << "' of type " << type
               << " would take more than " << kMaxSplatBytes
               << " bytes of the bundle";
      entry.push_back(builder.getNamedAttr("data", getBytes(value)));
    }
    buffers.push_back(builder.getDictionaryAttr(entry));
  }
  for (auto packets : program.getBody().getOps<PacketsOp>())
    slots[packets] = buffers.size() + 1;
  return success();
}

/// Finds the last task that writes the state with `ark.stop`. The task must
/// have one vCTA, so that the lane of this vCTA knows the state's value right
/// after its work item.
LogicalResult TableBuilder::findStop() {
  std::optional<int64_t> slot, lastTask;
  for (BlockArgument argument : program.getBody().getArguments())
    if (program.getArgAttr(argument.getArgNumber(), ArkDialect::kStopAttr))
      slot = slots[argument];
  if (!slot)
    return success();
  for (auto [index, task] :
       llvm::enumerate(program.getBody().getOps<TaskOp>())) {
    for (Value out : task.getOuts()) {
      FailureOr<BufferView> view = resolveBufferView(out);
      if (failed(view))
        return failure();
      if (slots.lookup(view->root) != *slot)
        continue;
      if (task.getNumVCTAs() != 1)
        return task.emitOpError(
                   "writes the state that ends the launch and has ")
               << task.getNumVCTAs() << " vCTAs, not one";
      lastTask = index;
    }
  }
  if (!lastTask)
    return program.emitOpError("ends its launch by state '")
           << program.getArgumentName(*slot - 1) << "', which no task writes";
  stop = StopState{*slot, *lastTask};
  return success();
}

int64_t TableBuilder::getArenaBytes() {
  for (auto arena : program.getBody().getOps<ArenaOp>())
    return getBufferBytes(arena.getType());
  return 0;
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

/// Returns `file:line` of the first file in a location, or an empty string. In
/// a call, the location of the callee comes first.
static std::string describeLocation(Location loc) {
  if (auto file = dyn_cast<FileLineColRange>(loc))
    return (file.getFilename().getValue() + ":" + Twine(file.getStartLine()))
        .str();
  if (auto name = dyn_cast<NameLoc>(loc))
    return describeLocation(name.getChildLoc());
  if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    std::string callee = describeLocation(call.getCallee());
    return callee.empty() ? describeLocation(call.getCaller()) : callee;
  }
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (std::string text = describeLocation(part); !text.empty())
        return text;
  return "";
}

/// Returns the function of a task's body. A new body gets the next index.
FailureOr<func::FuncOp> TableBuilder::findBody(TaskOp task) {
  auto name = task->getAttrOfType<FlatSymbolRefAttr>(kOutlinedBodyAttr);
  if (!name)
    return task.emitOpError(
        "has no outlined body: run ark-outline-bodies first");
  func::FuncOp &function = functions[name.getAttr()];
  if (!function)
    function =
        SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(program, name);
  if (!function || function.getNumArguments() < abi::kBodyOperands)
    return program.emitOpError("has a task with body ")
           << name << ", which is not an outlined body";
  return function;
}

LogicalResult TableBuilder::addTask(TaskOp task) {
  FailureOr<func::FuncOp> body = findBody(task);
  if (failed(body))
    return failure();
  if (putsPackets(task))
    stamping.insert(*body);
  int64_t bodyIndex =
      functions.find(body->getSymNameAttr()) - functions.begin();

  taskTable.push_back(bodyIndex);
  taskTable.push_back(getNumOperands());
  SmallVector<BufferView> views;
  for (Value operand : task.getOperands()) {
    FailureOr<BufferView> view = resolveBufferView(operand);
    if (failed(view))
      return failure();
    auto slot = slots.find(view->root);
    if (slot == slots.end())
      return task.emitOpError("works on a buffer that is neither an argument "
                              "nor part of the arena or the packets");
    operands.push_back(slot->second);
    operands.push_back(view->byteOffset);
    views.push_back(*view);
  }

  const TaskCost &cost = costs.getTask(tasks.size());
  auto number = [&](StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  ArrayAttr ops = task.getOpsAttr();
  SmallVector<NamedAttribute> entry = {
      builder.getNamedAttr("name", builder.getStringAttr(task.getName())),
      number("body", bodyIndex),
      number("vctas", task.getNumVCTAs()),
      builder.getNamedAttr("grid",
                           builder.getDenseI64ArrayAttr(task.getGrid())),
      builder.getNamedAttr("ops", ops ? ops : builder.getArrayAttr({})),
      builder.getNamedAttr(
          "location", builder.getStringAttr(describeLocation(task.getLoc()))),
      number("bytes", cost.bytesRead + cost.bytesWritten),
      number("flops", cost.flops)};
  FailureOr<std::optional<PlanUnit>> unit = readPlanUnit(task);
  if (failed(unit))
    return failure();
  if (*unit)
    entry.push_back(builder.getNamedAttr(
        "unit", builder.getDenseI64ArrayAttr(
                    {(*unit)->stage, (*unit)->microbatch, (*unit)->backward})));
  if (failed(footprints.describe(task, views, *body, entry)))
    return failure();
  tasks.push_back(builder.getDictionaryAttr(entry));
  numVctas += task.getNumVCTAs();
  return success();
}

LogicalResult TableBuilder::addTasks() {
  for (auto task : program.getBody().getOps<TaskOp>())
    if (failed(addTask(task)))
      return failure();
  for (auto &[name, function] : functions) {
    SmallVector<NamedAttribute> entry = {
        builder.getNamedAttr("function", FlatSymbolRefAttr::get(name)),
        builder.getNamedAttr(
            "operands", builder.getI64IntegerAttr(function.getNumArguments() -
                                                  abi::kBodyOperands)),
        builder.getNamedAttr("footprints", footprints.getFootprints(function))};
    if (stamping.contains(function))
      entry.push_back(
          builder.getNamedAttr("stamps", builder.getBoolAttr(true)));
    bodies.push_back(builder.getDictionaryAttr(entry));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

DictionaryAttr TableBuilder::getStatistics(const LaneTables &lanes) {
  SmallVector<NamedAttribute> entries;
  auto add = [&](StringRef name, int64_t value) {
    entries.push_back(
        builder.getNamedAttr(name, builder.getI64IntegerAttr(value)));
  };
  add("barriers", lanes.getNumBarriers());
  if (auto bytes =
          program->getAttrOfType<IntegerAttr>(ArkDialect::kLargestLiveSetAttr))
    add("largest_live_set", bytes.getInt());
  if (auto bytes =
          program->getAttrOfType<IntegerAttr>(ArkDialect::kMemoryLimitAttr))
    add("memory_limit", bytes.getInt());
  add("signals", lanes.getNumSignals());
  add("vctas", numVctas);
  add("waits", lanes.getNumWaits());
  if (std::optional<uint64_t> predicted = schedule.getPredictedNs())
    add("predicted_ns", *predicted);
  return builder.getDictionaryAttr(entries);
}

IntegerAttr TableBuilder::getRanks() {
  int64_t ranks = program.getNumRanks();
  return ranks > 1 ? builder.getI64IntegerAttr(ranks) : IntegerAttr();
}

IntegerAttr TableBuilder::getPacketBytes() {
  for (auto packets : program.getBody().getOps<PacketsOp>())
    return builder.getI64IntegerAttr(getBufferBytes(packets.getType()));
  return IntegerAttr();
}

FailureOr<KernelOp> TableBuilder::build() {
  if (failed(addBuffers()) || failed(findStop()) || failed(addTasks()))
    return failure();
  LaneTables lanes(program, schedule, stop, operands);
  if (failed(lanes.build()))
    return failure();
  numInstructions = lanes.getNumInstructions();

  OpBuilder ops(program);
  auto kernel = KernelOp::create(
      ops, program.getLoc(), program.getSymName(), abi::kEntry,
      schedule.getSms(), getArenaBytes(), builder.getArrayAttr(bodies),
      builder.getArrayAttr(buffers), builder.getArrayAttr(tasks),
      getTable<int64_t>(operands, 2), getTable<int32_t>(taskTable, 2),
      getTable(lanes.getInstructions(), 4), getTable(lanes.getLanes(), 3),
      builder.getArrayAttr(lanes.getSemaphores()),
      getTable(lanes.getTimeline(), 2), getStatistics(lanes), getRanks(),
      getPacketBytes());
  kernel->setAttr(kIntermediatesAttr,
                  builder.getDenseI64ArrayAttr(footprints.getIntermediates()));
  return kernel;
}

namespace {
struct BuildTablesPass : ark::impl::BuildTablesPassBase<BuildTablesPass> {
  using BuildTablesPassBase::BuildTablesPassBase;

  void runOnOperation() override {
    SmallVector<ProgramOp> programs(getOperation().getOps<ProgramOp>());
    if (programs.empty())
      return;
    if (programs.size() > 1) {
      programs[1].emitOpError("is the second program of its module; a kernel "
                              "is made of one");
      return signalPassFailure();
    }
    auto schedules = programs[0].getBody().getOps<ScheduleOp>();
    if (schedules.empty()) {
      programs[0].emitOpError("has no schedule: the scheduling and "
                              "synchronization stages come before the kernel");
      return signalPassFailure();
    }
    TableBuilder tables(programs[0], *schedules.begin());
    if (failed(tables.build()))
      return signalPassFailure();
    numInstructions += tables.getNumInstructions();
    numOperands += tables.getNumOperands();
    programs[0].erase();
  }
};
} // namespace
