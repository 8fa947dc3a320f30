//===- BuildTables.cpp - Program and schedule become tables ---------------===//

#include "dialects/ark/ArkOps.h"
#include "lib/support/BufferView.h"
#include "passes/kernel/KernelAbi.h"
#include "passes/kernel/Passes.h"
#include "passes/kernel/TaskFacts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::ark {
#define GEN_PASS_DEF_BUILDTABLESPASS
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Slot of the arena in the table of buffers; arguments follow it.
static constexpr int64_t kArenaSlot = 0;

namespace {
/// The tables of one program, row by row.
class TableBuilder {
public:
  TableBuilder(ProgramOp program, ScheduleOp schedule)
      : program(program), schedule(schedule), builder(program.getContext()) {}

  FailureOr<KernelOp> build();

  size_t getNumInstructions() const { return instructions.size() / 4; }
  size_t getNumOperands() const { return operands.size() / 2; }

private:
  void addBuffers();
  LogicalResult addTasks();
  LogicalResult addTask(TaskOp task);
  void addSemaphores();
  void addLanes();
  void addItem(Operation &item, int64_t sm);
  void addInstruction(abi::Opcode opcode, int64_t a, int64_t b = 0,
                      int64_t c = 0);
  DictionaryAttr getStatistics();
  int64_t getArenaBytes();

  template <typename T>
  DenseElementsAttr getTable(ArrayRef<T> values, int64_t columns) {
    Type type = builder.getIntegerType(8 * sizeof(T));
    int64_t rows = static_cast<int64_t>(values.size()) / columns;
    return DenseElementsAttr::get(RankedTensorType::get({rows, columns}, type),
                                  values);
  }

  ProgramOp program;
  ScheduleOp schedule;
  Builder builder;

  DenseMap<Value, int64_t> slots;
  llvm::StringMap<int64_t> taskNumbers, semaphoreNumbers;
  llvm::MapVector<StringAttr, int64_t> bodyNumbers;
  SmallVector<int64_t> arrivals;

  SmallVector<Attribute> buffers, tasks, bodies, semaphores;
  SmallVector<int32_t> taskTable, instructions, lanes;
  SmallVector<int64_t> operands, timeline;
  int64_t numVctas = 0, numWaits = 0, numSignals = 0, numBarriers = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// The bytes of a constant as they lie in memory: a splat written out, a bool
/// in a byte.
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

/// Slots 1 and up: the arguments in order.
void TableBuilder::addBuffers() {
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
    if (Attribute init = program.getArgAttr(index, ArkDialect::kInitAttr))
      entry.push_back(builder.getNamedAttr("init", init));
    if (Attribute max = program.getArgAttr(index, ArkDialect::kMaxAttr))
      entry.push_back(builder.getNamedAttr("max", max));
    if (auto value = program.getArgAttrOfType<DenseElementsAttr>(
            index, ArkDialect::kValueAttr))
      entry.push_back(builder.getNamedAttr("data", getBytes(value)));
    buffers.push_back(builder.getDictionaryAttr(entry));
  }
}

int64_t TableBuilder::getArenaBytes() {
  for (auto arena : program.getBody().getOps<ArenaOp>())
    return getBufferBytes(arena.getType());
  return 0;
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

LogicalResult TableBuilder::addTask(TaskOp task) {
  auto body = task->getAttrOfType<FlatSymbolRefAttr>(abi::kBodyAttr);
  if (!body)
    return task.emitOpError(
        "has no outlined body: run ark-outline-bodies first");
  int64_t bodyNumber =
      bodyNumbers
          .insert({body.getAttr(), static_cast<int64_t>(bodyNumbers.size())})
          .first->second;

  taskNumbers[task.getName()] = tasks.size();
  taskTable.push_back(bodyNumber);
  taskTable.push_back(getNumOperands());
  for (Value operand : task.getOperands()) {
    FailureOr<BufferView> view = resolveBufferView(operand);
    if (failed(view))
      return failure();
    auto slot = slots.find(view->root);
    if (slot == slots.end())
      return task.emitOpError("works on a buffer that is neither an argument "
                              "nor part of the arena");
    operands.push_back(slot->second);
    operands.push_back(view->byteOffset);
  }

  TaskFacts facts = getTaskFacts(task);
  auto number = [&](StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  ArrayAttr ops = task.getOpsAttr();
  tasks.push_back(builder.getDictionaryAttr(
      {builder.getNamedAttr("name", builder.getStringAttr(task.getName())),
       number("body", bodyNumber), number("vctas", task.getNumVCTAs()),
       builder.getNamedAttr("grid",
                            builder.getDenseI64ArrayAttr(task.getGrid())),
       builder.getNamedAttr("ops", ops ? ops : builder.getArrayAttr({})),
       builder.getNamedAttr("location", builder.getStringAttr(facts.location)),
       number("bytes", facts.bytes), number("flops", facts.flops)}));
  numVctas += task.getNumVCTAs();
  return success();
}

LogicalResult TableBuilder::addTasks() {
  for (auto task : program.getBody().getOps<TaskOp>())
    if (failed(addTask(task)))
      return failure();
  for (auto &[name, number] : bodyNumbers) {
    auto body = FlatSymbolRefAttr::get(name);
    auto function =
        SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(program, body);
    if (!function || function.getNumArguments() < abi::kBodyOperands)
      return program.emitOpError("has a task with body ")
             << body << ", which is not an outlined body";
    bodies.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("function", body),
         builder.getNamedAttr(
             "operands", builder.getI64IntegerAttr(function.getNumArguments() -
                                                   abi::kBodyOperands))}));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

void TableBuilder::addSemaphores() {
  for (auto semaphore : schedule.getBody().getOps<SemaphoreOp>()) {
    semaphoreNumbers[semaphore.getSymName()] = arrivals.size();
    arrivals.push_back(semaphore.getArrivals());
    semaphores.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("name", semaphore.getSymNameAttr()),
         builder.getNamedAttr(
             "arrivals", builder.getI64IntegerAttr(semaphore.getArrivals())),
         builder.getNamedAttr(
             "handoff", builder.getStringAttr(
                            stringifyHandoffKind(semaphore.getHandoff())))}));
  }
}

void TableBuilder::addInstruction(abi::Opcode opcode, int64_t a, int64_t b,
                                  int64_t c) {
  for (int64_t field : {static_cast<int64_t>(opcode), a, b, c})
    instructions.push_back(static_cast<int32_t>(field));
}

void TableBuilder::addItem(Operation &item, int64_t sm) {
  if (auto run = dyn_cast<RunOp>(item)) {
    auto [begin, end] = run.getRangeOn(sm);
    // A lane op of several SMs may leave some of them without work.
    if (begin < end)
      addInstruction(abi::Opcode::Run, taskNumbers.lookup(run.getTask()), begin,
                     end);
  } else if (auto signal = dyn_cast<SignalOp>(item)) {
    ++numSignals;
    addInstruction(abi::Opcode::Signal,
                   semaphoreNumbers.lookup(signal.getSemaphore()));
  } else if (auto wait = dyn_cast<WaitOp>(item)) {
    ++numWaits;
    int64_t semaphore = semaphoreNumbers.lookup(wait.getSemaphore());
    addInstruction(abi::Opcode::Wait, semaphore, arrivals[semaphore]);
  } else if (auto barrier = dyn_cast<BarrierOp>(item)) {
    ++numBarriers;
    int64_t semaphore = semaphoreNumbers.lookup(barrier.getSemaphore());
    addInstruction(abi::Opcode::Barrier, semaphore, arrivals[semaphore]);
  }
  // A prefetch is a hint, and hardware prefetches well enough on a cpu.
}

/// A lane op stands for one lane on each of its SMs.
void TableBuilder::addLanes() {
  for (auto lane : schedule.getBody().getOps<LaneOp>())
    for (int64_t sm = lane.getSmBegin(); sm < lane.getSmEnd(); ++sm) {
      lanes.push_back(sm);
      lanes.push_back(getNumInstructions());
      for (Operation &item : lane.getBody().front())
        addItem(item, sm);
      lanes.push_back(getNumInstructions());
    }
  // Until a prediction exists everything starts at zero and takes no time.
  timeline.assign(2 * getNumInstructions(), 0);
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

DictionaryAttr TableBuilder::getStatistics() {
  SmallVector<NamedAttribute> entries;
  auto add = [&](StringRef name, int64_t value) {
    entries.push_back(
        builder.getNamedAttr(name, builder.getI64IntegerAttr(value)));
  };
  add("barriers", numBarriers);
  if (auto bytes =
          program->getAttrOfType<IntegerAttr>(ArkDialect::kLargestLiveSetAttr))
    add("largest_live_set", bytes.getInt());
  add("signals", numSignals);
  add("vctas", numVctas);
  add("waits", numWaits);
  if (std::optional<uint64_t> predicted = schedule.getPredictedNs())
    add("predicted_ns", *predicted);
  return builder.getDictionaryAttr(entries);
}

FailureOr<KernelOp> TableBuilder::build() {
  addBuffers();
  if (failed(addTasks()))
    return failure();
  addSemaphores();
  addLanes();
  if (lanes.empty())
    return schedule.emitOpError("has no lanes");

  OpBuilder ops(program);
  return KernelOp::create(
      ops, program.getLoc(), program.getSymName(), abi::kEntry,
      schedule.getSms(), getArenaBytes(), builder.getArrayAttr(bodies),
      builder.getArrayAttr(buffers), builder.getArrayAttr(tasks),
      getTable<int64_t>(operands, 2), getTable<int32_t>(taskTable, 2),
      getTable<int32_t>(instructions, 4), getTable<int32_t>(lanes, 3),
      builder.getArrayAttr(semaphores), getTable<int64_t>(timeline, 2),
      getStatistics());
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
