//===- ArkTaskOps.cpp - Programs, groups and tasks ------------------------===//

#include "dialects/ark/ArkLimits.h"
#include "dialects/ark/ArkOps.h"
#include "dialects/ark/ArkRegions.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// ProgramOp
//===----------------------------------------------------------------------===//

void ProgramOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                      FunctionType type) {
  state.addAttribute(getSymNameAttrName(state.name),
                     builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  state.addRegion();
}

ParseResult ProgramOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> inputs,
                      ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag, std::string &) {
    return builder.getFunctionType(inputs, results);
  };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false,
      getFunctionTypeAttrName(result.name), buildType,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void ProgramOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(
      printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
      getArgAttrsAttrName(), getResAttrsAttrName());
}

ArgumentKind ProgramOp::getArgumentKind(unsigned index) {
  return getArgAttrOfType<ArgumentKindAttr>(index, ArkDialect::kKindAttr)
      .getValue();
}

StringRef ProgramOp::getArgumentName(unsigned index) {
  return getArgAttrOfType<StringAttr>(index, ArkDialect::kNameAttr).getValue();
}

StringRef ProgramOp::getResultName(unsigned index) {
  return getResultAttrOfType<StringAttr>(index, ArkDialect::kNameAttr)
      .getValue();
}

bool ProgramOp::isBufferized() {
  return llvm::any_of(getArgumentTypes(), llvm::IsaPred<MemRefType>);
}

/// Checks that at most one argument ends a launch, and that it is a state of
/// one word.
static LogicalResult verifyStop(ProgramOp program) {
  std::optional<unsigned> stop;
  for (unsigned i = 0, e = program.getNumArguments(); i < e; ++i) {
    if (!program.getArgAttr(i, ArkDialect::kStopAttr))
      continue;
    // program_c6
    auto type = cast<ShapedType>(program.getArgumentTypes()[i]);
    if (program.getArgumentKind(i) != ArgumentKind::State ||
        type.getNumElements() != 1 ||
        !type.getElementType().isSignlessInteger(32))
      return program.emitOpError("argument '")
             << program.getArgumentName(i) << "' of type " << type
             << " cannot end a launch: it is not a state of one i32 "
                "(program_c6)";
    if (stop)
      return program.emitOpError("arguments '")
             << program.getArgumentName(*stop) << "' and '"
             << program.getArgumentName(i)
             << "' both end a launch (program_c6)";
    stop = i;
  }
  return success();
}

/// program_c7
static LogicalResult verifyWorld(ProgramOp program) {
  std::optional<int64_t> rank = program.getRank(),
                         size = program.getWorldSize();
  if (size && (*size < 1 || *size > kMaxRanks))
    return program.emitOpError("has world_size = ")
           << *size << "; expected 1 to " << kMaxRanks << " (program_c7)";
  if (rank && (!size || *rank < 0 || *rank >= *size))
    return program.emitOpError("has rank = ")
           << *rank << ", which is not one of " << size.value_or(0)
           << " ranks (program_c7)";
  return success();
}

/// program_c8
static LogicalResult verifyDimensions(ProgramOp program, StringRef role,
                                      StringAttr name, ShapedType type) {
  if (type.getRank() <= kMaxDimensions)
    return success();
  return program.emitOpError(role)
         << " '" << name.getValue() << "' has " << type.getRank()
         << " dimensions; at most " << kMaxDimensions
         << " are possible (program_c8)";
}

/// Checks that arguments and results have the attributes that the host needs to
/// bind them.
static LogicalResult verifyInterface(ProgramOp program) {
  // Callers bind arguments by name, get outputs by name, and never access
  // constants, so an output may have the name of an input.
  llvm::StringSet<> bound, outputs, constants;
  for (unsigned i = 0, e = program.getNumArguments(); i < e; ++i) {
    auto kind =
        program.getArgAttrOfType<ArgumentKindAttr>(i, ArkDialect::kKindAttr);
    auto name = program.getArgAttrOfType<StringAttr>(i, ArkDialect::kNameAttr);
    // program_c1
    if (!kind || !name)
      return program.emitOpError("argument ")
             << i << " needs ark.kind and ark.name (program_c1)";
    llvm::StringSet<> &names = kind.getValue() == ArgumentKind::Output ? outputs
                               : kind.getValue() == ArgumentKind::Constant
                                   ? constants
                                   : bound;
    if (!names.insert(name.getValue()).second)
      return program.emitOpError("has two arguments named '")
             << name.getValue() << "' (program_c1)";
    auto type = dyn_cast<ShapedType>(program.getArgumentTypes()[i]);
    if (!type || !type.hasStaticShape())
      return program.emitOpError("argument '")
             << name.getValue()
             << "' is not a tensor or buffer of static shape (program_c1)";
    if (failed(verifyDimensions(program, "argument", name, type)))
      return failure();
    // program_c5
    if (!isAddressable(type))
      return program.emitOpError("argument '")
             << name.getValue() << "' of type " << type
             << " takes more than 2^47 bytes (program_c5)";
    // program_c2
    if (kind.getValue() == ArgumentKind::Scalar &&
        (type.getRank() != 0 || !(type.getElementType().isInteger(32) ||
                                  type.getElementType().isInteger(64))))
      return program.emitOpError("scalar '")
             << name.getValue() << "' is " << type
             << ", not a rank-zero tensor of i32 or i64 (program_c2)";
  }
  llvm::StringSet<> results;
  for (unsigned i = 0, e = program.getNumResults(); i < e; ++i) {
    auto name =
        program.getResultAttrOfType<StringAttr>(i, ArkDialect::kNameAttr);
    // program_c3
    if (!name || !results.insert(name.getValue()).second)
      return program.emitOpError("result ")
             << i << " needs an ark.name that no other result has (program_c3)";
    auto type = dyn_cast<ShapedType>(program.getResultTypes()[i]);
    if (!type || !type.hasStaticShape())
      return program.emitOpError("result '")
             << name.getValue()
             << "' is not a tensor of static shape (program_c3)";
    if (failed(verifyDimensions(program, "result", name, type)))
      return failure();
  }
  return success();
}

int64_t ProgramOp::getNumRanks() {
  return getRank() ? 1 : getWorldSize().value_or(1);
}

LogicalResult ProgramOp::verifyRegions() {
  if (failed(verifyWorld(*this)) || failed(verifyInterface(*this)) ||
      failed(verifyStop(*this)))
    return failure();
  Block &block = getBody().front();
  if (block.getArgumentTypes() != TypeRange(getArgumentTypes()))
    return emitOpError("body arguments differ from the program's type");
  if (!isa<ReturnOp>(block.getTerminator()))
    return emitOpError("must end in ark.return");
  llvm::StringSet<> tasks;
  for (auto task : block.getOps<TaskOp>())
    // program_c4
    if (!tasks.insert(task.getName()).second)
      return task.emitOpError("has the name of another task, '")
             << task.getName() << "' (program_c4)";
  // schedule_c1
  auto schedules = block.getOps<ScheduleOp>();
  if (!schedules.empty() && std::next(schedules.begin()) != schedules.end())
    return (*std::next(schedules.begin()))
        .emitOpError("is the second schedule of its program (schedule_c1)");
  return success();
}

LogicalResult ReturnOp::verify() {
  auto program = cast<ProgramOp>((*this)->getParentOp());
  // return_c1
  if (getOperandTypes() != TypeRange(program.getResultTypes()))
    return emitOpError("operand types differ from the results of '@")
           << program.getSymName() << "' (return_c1)";
  return success();
}

//===----------------------------------------------------------------------===//
// GroupOp
//===----------------------------------------------------------------------===//

/// Parses `"name" (%a = %x, ...) attributes {...} : (types) -> types { body }`.
ParseResult GroupOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  FunctionType type;
  if (parser.parseAttribute(name, getNameAttrName(result.name),
                            result.attributes) ||
      parser.parseAssignmentList(arguments, operands) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseColonType(type))
    return failure();
  SMLoc location = parser.getCurrentLocation();
  if (arguments.size() != type.getNumInputs())
    return parser.emitError(location, "expected ")
           << arguments.size() << " operand types";
  for (auto [argument, argumentType] : llvm::zip(arguments, type.getInputs()))
    argument.type = argumentType;
  if (parser.resolveOperands(operands, type.getInputs(), location,
                             result.operands) ||
      parser.parseRegion(*result.addRegion(), arguments))
    return failure();
  result.addTypes(type.getResults());
  return success();
}

void GroupOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getNameAttr() << " (";
  llvm::interleaveComma(llvm::zip(getBody().getArguments(), getInputs()),
                        printer, [&](auto pair) {
                          printer << std::get<0>(pair) << " = "
                                  << std::get<1>(pair);
                        });
  printer << ')';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {getNameAttrName()});
  printer << " : ";
  printer.printFunctionalType(*this);
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult GroupOp::verifyRegions() {
  Block &block = getBody().front();
  // group_c1
  if (block.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("body arguments differ from the operands (group_c1)");
  // group_c2
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getOperandTypes() != getResultTypes())
    return emitOpError("must end in ark.yield of its result types (group_c2)");
  // group_c3
  if (std::optional<ArrayRef<int64_t>> tile = getTile()) {
    auto type = getNumResults() ? cast<RankedTensorType>(getResult(0).getType())
                                : RankedTensorType();
    if (!type || tile->size() != static_cast<size_t>(type.getRank()) ||
        llvm::any_of(*tile, [](int64_t extent) { return extent <= 0; }))
      return emitOpError("tile needs one positive entry for every dimension of "
                         "the result (group_c3)");
  }
  // group_c4
  for (Value input : getInputs())
    if (!isAddressable(cast<ShapedType>(input.getType())))
      return emitOpError("'") << getName() << "' reads " << input.getType()
                              << ", more than 2^47 bytes (group_c4)";
  for (Operation &op : block)
    for (Type type : op.getResultTypes())
      if (auto shaped = dyn_cast<ShapedType>(type);
          shaped && !isAddressable(shaped))
        return op.emitOpError("in group '")
               << getName() << "' makes " << type
               << ", more than 2^47 bytes (group_c4)";
  return success();
}

LogicalResult TileOffsetOp::verify() {
  auto group = cast<GroupOp>((*this)->getParentOp());
  auto type = dyn_cast<RankedTensorType>(
      group.getNumResults() == 1 ? group.getResult(0).getType() : Type());
  int64_t dim = getDim();
  // tile_offset_c1
  if (!type || dim < 0 || dim >= type.getRank())
    return emitOpError("names dimension ")
           << dim << ", which the result of its group does not have "
           << "(tile_offset_c1)";
  return success();
}

//===----------------------------------------------------------------------===//
// TaskOp
//===----------------------------------------------------------------------===//

int64_t TaskOp::getNumVCTAs() {
  int64_t count = 1;
  for (int64_t extent : getGrid())
    count *= extent;
  return count;
}

ValueRange TaskOp::getGridIndices() {
  return getBody().front().getArguments().take_front(getGrid().size());
}

MutableArrayRef<BlockArgument> TaskOp::getInputTiles() {
  return getBody().front().getArguments().slice(getGrid().size(),
                                                getInputs().size());
}

MutableArrayRef<BlockArgument> TaskOp::getOutTiles() {
  return getBody().front().getArguments().take_back(getOuts().size());
}

RegionAttr TaskOp::getRegion(unsigned index) {
  size_t inputs = getInputs().size();
  Attribute region = index < inputs ? getInputRegions()[index]
                                    : getOutRegions()[index - inputs];
  return cast<RegionAttr>(region);
}

bool TaskOp::isUpdated(unsigned index) {
  return getInPlace() &&
         !llvm::is_contained(getFreshOuts().value_or(ArrayRef<int64_t>()),
                             static_cast<int64_t>(index));
}

/// A task on buffers reads its inputs and writes its outs.
void TaskOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (OpOperand &input : getInputsMutable())
    if (isa<MemRefType>(input.get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), &input);
  for (OpOperand &out : getOutsMutable())
    if (isa<MemRefType>(out.get().getType()))
      effects.emplace_back(MemoryEffects::Write::get(), &out);
}

/// Bounds grid indices by the extents of the grid.
void TaskOp::populateBoundsForIndexValue(Value value,
                                         ValueBoundsConstraintSet &bounds) {
  auto index = cast<BlockArgument>(value);
  bounds.bound(value) >= 0;
  bounds.bound(value) < getGrid()[index.getArgNumber()];
}

/// Bounds the extents of a tile by the sizes of its region. The extents of
/// ragged tiles, and thus of every temporary of the body, are then bounded.
void TaskOp::populateBoundsForShapedValueDim(Value value, int64_t dim,
                                             ValueBoundsConstraintSet &bounds) {
  auto tile = dyn_cast<BlockArgument>(value);
  if (!tile)
    return;
  unsigned operand = tile.getArgNumber() - getGrid().size();
  bounds.bound(value)[dim] >= 0;
  bounds.bound(value)[dim] <= getRegion(operand).getSizes()[dim];
}

/// task_c1 and task_c2 for one operand.
static LogicalResult verifyRegion(TaskOp task, ShapedType type,
                                  RegionAttr region) {
  AffineMap offsets = region.getOffsets();
  if (offsets.getNumDims() != task.getGrid().size() ||
      offsets.getNumResults() != static_cast<size_t>(type.getRank()))
    return task.emitOpError("region ")
           << region << " does not fit grid of rank " << task.getGrid().size()
           << " and operand " << type << " (task_c1)";
  for (auto [dim, expr] : llvm::enumerate(offsets.getResults())) {
    std::optional<IndexRange> range = getRangeOverGrid(expr, task.getGrid());
    if (!range || range->lowest < 0 ||
        range->highest >= std::max<int64_t>(type.getDimSize(dim), 1))
      return task.emitOpError("region ")
             << region << " leaves operand " << type << " in dimension " << dim
             << " (task_c2)";
  }
  return success();
}

/// Returns true if the region of some vCTA is clipped in a dimension.
static bool isClipped(int64_t lastOffset, int64_t size, int64_t extent) {
  // The sum of offset and size may not be representable.
  return lastOffset > extent - size;
}

/// task_c3 for one operand: the tile has the region's extents.
static LogicalResult verifyTile(TaskOp task, ShapedType type, RegionAttr region,
                                Type tileType) {
  auto tile = dyn_cast<ShapedType>(tileType);
  bool sameKind = tile && isa<MemRefType>(tile) == isa<MemRefType>(type);
  if (!sameKind || tile.getElementType() != type.getElementType() ||
      tile.getRank() != type.getRank())
    return task.emitOpError("tile ")
           << tileType << " does not fit operand " << type << " (task_c3)";
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    AffineExpr offset = region.getOffsets().getResult(dim);
    int64_t last = getRangeOverGrid(offset, task.getGrid())->highest;
    int64_t size = region.getSizes()[dim];
    bool clipped = isClipped(last, size, type.getDimSize(dim));
    if (tile.getDimSize(dim) != (clipped ? ShapedType::kDynamic : size))
      return task.emitOpError("tile ")
             << tile << " does not fit region " << region << " of " << type
             << " in dimension " << dim << " (task_c3)";
  }
  return success();
}

/// task_c9
static LogicalResult verifyFreshOuts(TaskOp task) {
  std::optional<ArrayRef<int64_t>> fresh = task.getFreshOuts();
  if (!fresh)
    return success();
  int64_t outs = task.getOuts().size(), last = -1;
  bool ascends = llvm::all_of(*fresh, [&](int64_t index) {
    bool follows = index > last && index < outs;
    last = index;
    return follows;
  });
  if (task.getInPlace() && ascends && !fresh->empty() &&
      static_cast<int64_t>(fresh->size()) < outs)
    return success();
  return task.emitOpError("needs in_place, and fresh_outs with ascending "
                          "indices of some, not all, of its ")
         << outs << " outs (task_c9)";
}

LogicalResult TaskOp::verify() {
  // task_c5
  if (llvm::any_of(getGrid(), [](int64_t extent) { return extent <= 0; }) ||
      static_cast<int64_t>(getWarps()) <= 0 ||
      static_cast<int64_t>(getSharedMemory()) < 0)
    return emitOpError(
        "needs a positive grid, positive warps and shared memory "
        "of zero or more (task_c5)");
  if (!countVCTAs(getGrid()))
    return emitOpError("has more than ") << kMaxVCTAs << " vCTAs (task_c5)";
  // task_c1
  if (getInputRegions().size() != getInputs().size() ||
      getOutRegions().size() != getOuts().size())
    return emitOpError("needs one region for every operand (task_c1)");
  for (auto [index, operand] : llvm::enumerate(getOperands())) {
    auto type = cast<ShapedType>(operand.getType());
    if (!type.hasStaticShape())
      return emitOpError("operand ")
             << index << " has no static shape (task_c1)";
    // task_c7
    if (!isAddressable(type))
      return emitOpError("operand ") << index << " of type " << type
                                     << " takes more than 2^47 bytes (task_c7)";
    if (failed(verifyRegion(*this, type, getRegion(index))))
      return failure();
  }
  if (failed(verifyFreshOuts(*this)))
    return failure();
  // task_c4
  bool onTensors =
      llvm::any_of(getOperandTypes(), llvm::IsaPred<RankedTensorType>);
  if (onTensors ? getResultTypes() != getOuts().getTypes()
                : getNumResults() != 0)
    return emitOpError("results differ from outs (task_c4)");
  return success();
}

/// task_c8: upstream infers no types for slices with a stride of zero.
static LogicalResult verifySlices(TaskOp task) {
  WalkResult walk = task.getBody().walk([](OffsetSizeAndStrideOpInterface op) {
    // A cast to other strides may repeat elements.
    if (isa<memref::ReinterpretCastOp>(op) ||
        llvm::all_of(op.getStaticStrides(), [](int64_t stride) {
          return ShapedType::isDynamic(stride) || stride > 0;
        }))
      return WalkResult::advance();
    op->emitOpError("has a stride that is not positive (task_c8)");
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult TaskOp::verifyRegions() {
  Block &block = getBody().front();
  size_t rank = getGrid().size();
  // task_c3
  if (block.getNumArguments() != rank + getNumOperands() ||
      llvm::any_of(
          block.getArguments().take_front(rank),
          [](BlockArgument index) { return !index.getType().isIndex(); }))
    return emitOpError("body needs ")
           << rank << " indices and " << getNumOperands() << " tiles (task_c3)";
  for (auto [index, operand] : llvm::enumerate(getOperands()))
    if (failed(verifyTile(*this, cast<ShapedType>(operand.getType()),
                          getRegion(index),
                          block.getArgument(rank + index).getType())))
      return failure();
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield)
    return emitOpError("body must end in ark.yield (task_c3)");
  // task_c4
  if (getNumResults() == 0
          ? yield.getNumOperands() != 0
          : yield.getOperandTypes() != ValueRange(getOutTiles()).getTypes())
    return emitOpError("must yield the types of the tiles of outs, or "
                       "nothing on buffers (task_c4)");
  return verifySlices(*this);
}
