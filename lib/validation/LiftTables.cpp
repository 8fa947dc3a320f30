//===- LiftTables.cpp - Lift tables to a program --------------------------===//

#include "lib/validation/LiftTables.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::ark;
using namespace mlir::ark::validation;

namespace {
class Lifter {
public:
  Lifter(const Tables &tables, const Manifest &manifest, StringRef where,
         MLIRContext &context)
      : tables(tables), manifest(manifest), where(where), builder(&context),
        loc(locate(where)) {}

  OwningOpRef<ModuleOp> lift();

private:
  Location locate(const Twine &file, unsigned line = 0) {
    return FileLineColLoc::get(builder.getStringAttr(file), line, 0);
  }
  Location locateTask(const TaskRecord &record);
  ProgramOp addProgram();
  void addBuffers(ProgramOp program);
  Value viewOperand(const OperandRecord &operand, OperandEntry entry);
  Type getTileType(const TaskRecord &record, const OperandRecord &operand);
  void addTask(size_t index);
  void addBody(TaskOp task, const TaskRecord &record,
               ArrayRef<const OperandRecord *> operands);
  void addSchedule();
  void addLane(const LaneRecord &lane, int64_t warp);
  void addItem(const Instruction &instruction, int64_t entry);

  const Tables &tables;
  const Manifest &manifest;
  StringRef where;
  OpBuilder builder;
  Location loc;
  /// The buffer of every slot.
  SmallVector<Value> buffers;
};
} // namespace

/// Returns the location of the source that made a task.
Location Lifter::locateTask(const TaskRecord &record) {
  unsigned line;
  auto [file, number] = StringRef(record.location).rsplit(':');
  if (number.getAsInteger(10, line))
    return loc;
  return locate(file, line);
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

ProgramOp Lifter::addProgram() {
  SmallVector<Type> types;
  for (const BufferRecord &buffer : manifest.buffers)
    types.push_back(MemRefType::get(buffer.shape, buffer.element));
  auto program = ProgramOp::create(builder, loc, manifest.program,
                                   builder.getFunctionType(types, {}));
  if (manifest.ranks > 1)
    program.setWorldSizeAttr(builder.getI64IntegerAttr(manifest.ranks));
  program.getBody().emplaceBlock().addArguments(
      types, SmallVector<Location>(types.size(), loc));
  for (auto [index, buffer] : llvm::enumerate(manifest.buffers)) {
    program.setArgAttr(index, ArkDialect::kKindAttr,
                       builder.getAttr<ArgumentKindAttr>(buffer.kind));
    program.setArgAttr(index, ArkDialect::kNameAttr,
                       builder.getStringAttr(buffer.name));
    if (buffer.stop)
      program.setArgAttr(index, ArkDialect::kStopAttr, builder.getUnitAttr());
  }
  return program;
}

void Lifter::addBuffers(ProgramOp program) {
  Type byte = builder.getI8Type();
  buffers.push_back(
      ArenaOp::create(builder, loc, MemRefType::get({manifest.arena}, byte)));
  llvm::append_range(buffers, program.getBody().getArguments());
  if (manifest.packets)
    buffers.push_back(PacketsOp::create(
        builder, loc, MemRefType::get({manifest.packets}, byte)));
}

/// Returns a view of an operand. Element 0 lies a multiple of the element size
/// behind the first byte of the slot.
Value Lifter::viewOperand(const OperandRecord &operand, OperandEntry entry) {
  auto layout = StridedLayoutAttr::get(builder.getContext(),
                                       entry.offset / operand.elementBytes,
                                       operand.strides);
  return BufferCastOp::create(
      builder, loc, MemRefType::get(operand.shape, operand.element, layout),
      buffers[entry.slot]);
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

/// Returns the first element of the last vCTA in a dimension. Returns a
/// negative number if the expression has no value, which the verifier reports.
static int64_t getLastOffset(AffineExpr offset, ArrayRef<int64_t> grid) {
  SmallVector<AffineExpr> last;
  for (int64_t extent : grid)
    last.push_back(getAffineConstantExpr(extent - 1, offset.getContext()));
  auto value = dyn_cast<AffineConstantExpr>(offset.replaceDims(last));
  return value ? value.getValue() : -1;
}

/// Returns the type of a tile. An extent is dynamic if the last vCTA has fewer
/// elements.
Type Lifter::getTileType(const TaskRecord &record,
                         const OperandRecord &operand) {
  SmallVector<int64_t> extents;
  for (auto [offset, size, extent] :
       llvm::zip_equal(operand.offsets, operand.sizes, operand.shape)) {
    bool clipped = getLastOffset(offset, record.grid) + size > extent;
    extents.push_back(clipped ? ShapedType::kDynamic : size);
  }
  return MemRefType::get(extents, operand.element);
}

/// Adds a body with an `ark.epoch` if the task puts rank packets: the checker
/// looks for no other op.
void Lifter::addBody(TaskOp task, const TaskRecord &record,
                     ArrayRef<const OperandRecord *> operands) {
  SmallVector<Type> types(record.grid.size(), builder.getIndexType());
  for (const OperandRecord *operand : operands)
    types.push_back(getTileType(record, *operand));
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&task.getBody(), {}, types,
                      SmallVector<Location>(types.size(), loc));
  if (manifest.bodies[record.body].stamps)
    EpochOp::create(builder, loc, builder.getI32Type());
  YieldOp::create(builder, loc);
}

void Lifter::addTask(size_t index) {
  const TaskRecord &record = manifest.tasks[index];
  SmallVector<const OperandRecord *> inputs, outs;
  SmallVector<Value> inputViews, outViews;
  SmallVector<Attribute> inputRegions, outRegions;
  SmallVector<int64_t> fresh;
  size_t entry = tables.tasks[index].second;
  for (const OperandRecord &operand : manifest.getFootprint(record)) {
    bool isInput = operand.access == Access::Read;
    if (operand.access == Access::Write)
      fresh.push_back(outs.size());
    (isInput ? inputs : outs).push_back(&operand);
    (isInput ? inputViews : outViews)
        .push_back(viewOperand(operand, tables.operands[entry++]));
    AffineMap offsets = AffineMap::get(record.grid.size(), 0, operand.offsets,
                                       builder.getContext());
    (isInput ? inputRegions : outRegions)
        .push_back(builder.getAttr<RegionAttr>(offsets, operand.sizes));
  }
  bool updates = fresh.size() < outs.size();
  auto task = TaskOp::create(
      builder, locateTask(record), TypeRange(),
      builder.getStringAttr(record.name),
      builder.getDenseI64ArrayAttr(record.grid), inputViews, outViews,
      builder.getArrayAttr(inputRegions), builder.getArrayAttr(outRegions),
      builder.getI64IntegerAttr(1), builder.getI64IntegerAttr(0), ArrayAttr(),
      DictionaryAttr(), updates ? builder.getUnitAttr() : UnitAttr(),
      updates && !fresh.empty() ? builder.getDenseI64ArrayAttr(fresh)
                                : DenseI64ArrayAttr());
  llvm::append_range(inputs, outs);
  addBody(task, record, inputs);
}

//===----------------------------------------------------------------------===//
// The schedule
//===----------------------------------------------------------------------===//

void Lifter::addItem(const Instruction &instruction, int64_t entry) {
  Location location = locate(where + ": instructions[" + Twine(entry) + "]");
  auto semaphore = [&] {
    return FlatSymbolRefAttr::get(builder.getContext(),
                                  manifest.semaphores[instruction.a].name);
  };
  switch (instruction.opcode) {
  case Opcode::Run:
    RunOp::create(builder, location, manifest.tasks[instruction.a].name,
                  instruction.b, instruction.c);
    return;
  case Opcode::Signal:
    SignalOp::create(builder, location, semaphore());
    return;
  case Opcode::Wait:
    WaitOp::create(builder, location, semaphore());
    return;
  case Opcode::Barrier:
    BarrierOp::create(builder, location, semaphore());
    return;
  case Opcode::Prefetch:
  case Opcode::Stop:
    // A prefetch is a hint, and a stop reads a state that its own lane wrote.
    return;
  }
}

void Lifter::addLane(const LaneRecord &lane, int64_t warp) {
  auto range = [&](int64_t begin) {
    return builder.getDenseI64ArrayAttr({begin, begin + 1});
  };
  auto op = LaneOp::create(builder, loc, range(lane.sm), range(warp),
                           DenseI64ArrayAttr());
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&op.getBody());
  for (int64_t entry = lane.first; entry < lane.end; ++entry)
    addItem(tables.instructions[entry], entry);
}

void Lifter::addSchedule() {
  auto schedule = ScheduleOp::create(
      builder, loc, builder.getStringAttr("bundle"),
      builder.getI64IntegerAttr(manifest.sms), IntegerAttr());
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&schedule.getBody());
  for (const SemaphoreRecord &semaphore : manifest.semaphores)
    SemaphoreOp::create(builder, loc, semaphore.name, semaphore.arrivals,
                        semaphore.handoff);
  DenseMap<int64_t, int64_t> lanesOfSm;
  for (const LaneRecord &lane : tables.lanes)
    addLane(lane, lanesOfSm[lane.sm]++);
}

OwningOpRef<ModuleOp> Lifter::lift() {
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  if (!manifest.domains.empty())
    (*module)->setAttr(ArkDialect::kDomainsAttr,
                       builder.getDenseI64ArrayAttr(manifest.domains));
  builder.setInsertionPointToStart(module->getBody());
  ProgramOp program = addProgram();
  builder.setInsertionPointToStart(&program.getBody().front());
  addBuffers(program);
  for (size_t task = 0; task < manifest.tasks.size(); ++task)
    addTask(task);
  addSchedule();
  ReturnOp::create(builder, loc);
  return module;
}

OwningOpRef<ModuleOp> validation::liftTables(const Tables &tables,
                                             const Manifest &manifest,
                                             StringRef where,
                                             MLIRContext &context) {
  return Lifter(tables, manifest, where, context).lift();
}
