//===- BufferizeProgram.cpp - Bufferize the tensors between tasks ---------===//

#include "lib/support/BufferView.h"
#include "passes/memory/bufferize/InPlaceReads.h"
#include "passes/memory/bufferize/Passes.h"
#include "passes/memory/bufferize/TaskOrder.h"
#include "passes/memory/bufferize/TensorLayout.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::ark {
#define GEN_PASS_DEF_BUFFERIZEPROGRAMPASS
#include "passes/memory/bufferize/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Preconditions
//===----------------------------------------------------------------------===//

/// Checks that an update in place updates a whole state or a result of a task.
static LogicalResult checkUpdates(TaskOp task) {
  for (OpResult result : task->getResults()) {
    OpOperand *updated = getUpdatedOperand(result);
    if (!updated)
      continue;
    if (!task.isUpdated(result.getResultNumber()))
      return task.emitError("writes over a tensor without being in_place: outs "
                            "of other tasks are tensor.empty");
    Value version = updated->get();
    while (auto reshape = version.getDefiningOp<ReshapeOp>())
      version = reshape.getSource();
    if (version.getDefiningOp<TaskOp>())
      continue;
    auto argument = dyn_cast<BlockArgument>(version);
    auto program = cast<ProgramOp>(task->getParentOp());
    if (!argument ||
        program.getArgumentKind(argument.getArgNumber()) != ArgumentKind::State)
      return task.emitError("updates in place a tensor that is neither a state "
                            "nor the result of a task");
  }
  return success();
}

static LogicalResult checkReads(TaskOp task) {
  for (Value operand : task.getOperands())
    if (!isa<RankedTensorType>(operand.getType()))
      return task.emitError("works on buffers already");
  for (Value input : task.getInputs())
    if (skipViews(input).getDefiningOp<tensor::EmptyOp>())
      return task.emitError("reads a tensor that no task fills");
  return success();
}

/// Checks the postcondition of `ark-resolve-views`.
static LogicalResult checkResolved(ProgramOp program) {
  TensorPlacements placements;
  for (auto view : program.getBody().getOps<ViewOpInterface>())
    if (!placements.lookup(view->getResult(0)))
      return view->emitError("strides cannot express this view: run "
                             "ark-resolve-views first");
  Operation *terminator = program.getBody().front().getTerminator();
  for (OpOperand &operand : terminator->getOpOperands())
    if (!isOutputBuffer(operand))
      return terminator->emitError("result ")
             << operand.getOperandNumber()
             << " is not filled by a task for this result alone: run "
                "ark-resolve-views first";
  return success();
}

static LogicalResult checkProgram(ProgramOp program) {
  for (Operation &op : program.getBody().front()) {
    if (auto task = dyn_cast<TaskOp>(op)) {
      if (failed(checkReads(task)) || failed(checkUpdates(task)))
        return failure();
      continue;
    }
    if (!isa<ViewOpInterface, ConstantOp, NoopOp, tensor::EmptyOp, ReturnOp>(
            op))
      return op.emitError("is not allowed between tasks: only tasks, views, "
                          "constants and tensor.empty are");
  }
  return checkResolved(program);
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

/// Returns the type of a tile: the strides of its operand, and a dynamic
/// offset, which depends on the vCTA.
static MemRefType getTileType(RankedTensorType tile, MemRefType operand) {
  SmallVector<int64_t> strides;
  int64_t offset;
  // Cannot fail: the buffers that this pass creates are dense or strided.
  (void)getStridesAndOffset(operand, strides, offset);
  return MemRefType::get(
      tile.getShape(), tile.getElementType(),
      StridedLayoutAttr::get(tile.getContext(), ShapedType::kDynamic, strides));
}

/// Indices of an input and an out that share a tile.
using TilePair = std::pair<unsigned, unsigned>;

/// Turns the tiles of a task's body into buffers. The body still computes on
/// tensors, from `bufferization.to_tensor` to `materialize_in_destination`.
static void bufferizeBoundary(TaskOp task, ArrayRef<TilePair> shared) {
  OpBuilder builder = OpBuilder::atBlockBegin(&task.getBody().front());
  auto retype = [&](BlockArgument tile, Value operand, bool writable) {
    auto tensorType = cast<RankedTensorType>(tile.getType());
    tile.setType(getTileType(tensorType, cast<MemRefType>(operand.getType())));
    auto tensor = bufferization::ToTensorOp::create(
        builder, tile.getLoc(), tensorType, tile, /*restrict=*/true, writable);
    tile.replaceAllUsesExcept(tensor, tensor);
    return tensor.getResult();
  };
  SmallVector<Value> destinations;
  for (auto [tile, operand] : llvm::zip(task.getOutTiles(), task.getOuts()))
    destinations.push_back(retype(tile, operand, /*writable=*/true));
  for (auto [index, tile] : llvm::enumerate(task.getInputTiles())) {
    Value input = task.getInputs()[index];
    Value tensor = retype(tile, input, /*writable=*/false);
    // An input tile that is also updated shares the tensor of the out; two
    // tensors would be marked as not aliasing.
    for (auto [out, destination] : llvm::enumerate(destinations))
      if (task.getOuts()[out] == input ||
          llvm::is_contained(shared, TilePair(index, out)))
        tensor.replaceAllUsesWith(destination);
  }

  auto yield = cast<YieldOp>(task.getBody().front().getTerminator());
  builder.setInsertionPoint(yield);
  for (auto [value, tensor, tile] :
       llvm::zip(yield.getOperands(), destinations, task.getOutTiles())) {
    // The first op materializes in the tensor of the tile, which declares that
    // all accesses to the tile alias. This op has no other effect: the second
    // op copies a buffer onto itself.
    auto inTensor = bufferization::MaterializeInDestinationOp::create(
        builder, yield.getLoc(), value, tensor);
    bufferization::MaterializeInDestinationOp::create(
        builder, yield.getLoc(), /*result=*/Type(), inTensor.getResult(), tile,
        /*restrict=*/true, /*writable=*/true);
  }
  yield->setOperands({});
}

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

namespace {
/// Bufferizes one program. New arguments follow the old arguments. At the end
/// the old arguments have no users, and are erased.
class ProgramBufferizer {
public:
  explicit ProgramBufferizer(ProgramOp program)
      : program(program), block(program.getBody().front()),
        builder(program.getContext()), numArguments(program.getNumArguments()) {
  }

  LogicalResult run();

private:
  void convertArguments();
  void addOutputs();
  void convertTask(TaskOp task);
  void finish();

  Value addArgument(RankedTensorType type, ArgumentKind kind, StringAttr name,
                    Location loc, ArrayRef<NamedAttribute> others = {});
  Value getBuffer(Value base);
  Value addConstant(ConstantOp constant);
  /// Returns the memref through which a task accesses `tensor`.
  Value getOperand(Value tensor);

  ProgramOp program;
  Block &block;
  OpBuilder builder;
  unsigned numArguments;
  TensorPlacements placements;
  SmallVector<Attribute> argumentAttrs;
  /// Dense buffers of base tensors.
  llvm::DenseMap<Value, Value> buffers;
  llvm::DenseMap<Attribute, Value> constants;
  llvm::DenseMap<std::pair<Value, Type>, Value> views;
};
} // namespace

Value ProgramBufferizer::addArgument(RankedTensorType type, ArgumentKind kind,
                                     StringAttr name, Location loc,
                                     ArrayRef<NamedAttribute> others) {
  NamedAttrList attrs(others);
  attrs.set(ArkDialect::kKindAttr,
            ArgumentKindAttr::get(builder.getContext(), kind));
  attrs.set(ArkDialect::kNameAttr, name);
  argumentAttrs.push_back(attrs.getDictionary(builder.getContext()));
  return block.addArgument(
      MemRefType::get(type.getShape(), type.getElementType()), loc);
}

void ProgramBufferizer::convertArguments() {
  for (unsigned index = 0; index < numArguments; ++index) {
    BlockArgument argument = block.getArgument(index);
    auto type = cast<RankedTensorType>(argument.getType());
    argumentAttrs.push_back(program.getArgAttrDict(index));
    buffers[argument] = block.addArgument(
        MemRefType::get(type.getShape(), type.getElementType()),
        argument.getLoc());
  }
}

void ProgramBufferizer::addOutputs() {
  for (auto [index, value] :
       llvm::enumerate(block.getTerminator()->getOperands())) {
    auto attrs = NamedAttrList(program.getResultAttrDict(index));
    auto name = cast<StringAttr>(attrs.get(ArkDialect::kNameAttr));
    buffers[value] =
        addArgument(cast<RankedTensorType>(value.getType()),
                    ArgumentKind::Output, name, value.getLoc(), attrs);
  }
}

/// Returns the buffer of a constant. Equal constants share a buffer, and a
/// splat has a buffer of one element.
Value ProgramBufferizer::addConstant(ConstantOp constant) {
  Attribute value = constant.getValue();
  if (auto splat = dyn_cast<SplatElementsAttr>(value))
    value =
        splat.resizeSplat(RankedTensorType::get({1}, splat.getElementType()));
  Value &buffer = constants[value];
  if (!buffer)
    buffer = addArgument(
        cast<RankedTensorType>(cast<ElementsAttr>(value).getType()),
        ArgumentKind::Constant,
        builder.getStringAttr("constant" + Twine(constants.size() - 1)),
        constant.getLoc(), builder.getNamedAttr(ArkDialect::kValueAttr, value));
  return buffer;
}

/// Returns the buffer of a base tensor. Arguments have their buffers from the
/// start; the result of a task gets a buffer whose dimensions are in memory
/// order.
Value ProgramBufferizer::getBuffer(Value base) {
  if (Value buffer = buffers.lookup(base))
    return buffer;
  Value buffer;
  if (auto constant = base.getDefiningOp<ConstantOp>()) {
    buffer = addConstant(constant);
  } else {
    auto type = cast<RankedTensorType>(base.getType());
    SmallVector<int64_t> shape;
    for (int64_t dim : placements.getOrder(base))
      shape.push_back(type.getDimSize(dim));
    buffer = memref::AllocOp::create(
        builder, base.getLoc(), MemRefType::get(shape, type.getElementType()));
  }
  buffers[base] = buffer;
  return buffer;
}

Value ProgramBufferizer::getOperand(Value tensor) {
  // ark-resolve-views has made all views expressible.
  TensorPlacement placement = *placements.lookup(tensor);
  const TensorLayout &layout = placement.layout;
  Value buffer = getBuffer(placement.base);
  auto bufferType = cast<MemRefType>(buffer.getType());
  Type elementType = cast<RankedTensorType>(tensor.getType()).getElementType();
  bool isCast = elementType != bufferType.getElementType();

  if (!isCast && layout.isWhole() && layout.shape == bufferType.getShape())
    return buffer;
  // A dense type with an empty dimension has no strides in MLIR.
  bool isEmpty = ShapedType::getNumElements(layout.shape) == 0;
  auto type = layout.isWhole() && !isEmpty
                  ? MemRefType::get(layout.shape, elementType)
                  : MemRefType::get(layout.shape, elementType,
                                    StridedLayoutAttr::get(builder.getContext(),
                                                           layout.offset,
                                                           layout.strides));
  Value &view = views[{buffer, type}];
  if (!view && isCast)
    view = BufferCastOp::create(builder, tensor.getLoc(), type, buffer);
  else if (!view)
    view = memref::ReinterpretCastOp::create(builder, tensor.getLoc(), type,
                                             buffer, layout.offset,
                                             layout.shape, layout.strides);
  return view;
}

void ProgramBufferizer::convertTask(TaskOp task) {
  auto inputs = llvm::map_to_vector(
      task.getInputs(), [&](Value input) { return getOperand(input); });
  SmallVector<Value> outs;
  for (OpResult result : task->getResults())
    outs.push_back(getOperand(result));

  // Finds shared tiles before the new task is created, because its operands no
  // longer show the views.
  SmallVector<TilePair> shared;
  for (unsigned input = 0; input < inputs.size(); ++input)
    for (unsigned out = 0; out < outs.size(); ++out)
      if (readsOwnElements(task, input, out))
        shared.push_back({input, out});

  auto converted = TaskOp::create(
      builder, task.getLoc(), TypeRange(), task.getNameAttr(),
      task.getGridAttr(), inputs, outs, task.getInputRegionsAttr(),
      task.getOutRegionsAttr(), task.getWarpsAttr(), task.getSharedMemoryAttr(),
      task.getOpsAttr(), task.getPlanAttr(), task.getInPlaceAttr(),
      task.getFreshOutsAttr());
  converted->setDiscardableAttrs(task->getDiscardableAttrDictionary());
  converted.getBody().takeBody(task.getBody());
  bufferizeBoundary(converted, shared);
}

void ProgramBufferizer::finish() {
  block.getTerminator()->setOperands({});
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    auto task = dyn_cast<TaskOp>(op);
    if (isa<ViewOpInterface, ConstantOp, NoopOp, tensor::EmptyOp>(op) ||
        (task && task.getNumResults() != 0))
      op.erase();
  }
  block.eraseArguments(0, numArguments);
  program.setFunctionType(
      builder.getFunctionType(block.getArgumentTypes(), {}));
  program.setArgAttrsAttr(builder.getArrayAttr(argumentAttrs));
  program.removeResAttrsAttr();
}

LogicalResult ProgramBufferizer::run() {
  FailureOr<SmallVector<TaskOp>> tasks = orderTasks(program);
  if (failed(tasks))
    return failure();
  convertArguments();
  addOutputs();
  // New ops follow all old ops, in their final order.
  builder.setInsertionPoint(block.getTerminator());
  for (TaskOp task : *tasks)
    convertTask(task);
  finish();
  return success();
}

namespace {
struct BufferizeProgramPass
    : public ark::impl::BufferizeProgramPassBase<BufferizeProgramPass> {
  using BufferizeProgramPassBase::BufferizeProgramPassBase;

  void runOnOperation() override {
    ProgramOp program = getOperation();
    if (program.getBody().empty() || program.isBufferized())
      return;
    if (failed(verifyOnTensors(program)) || failed(checkProgram(program)) ||
        failed(ProgramBufferizer(program).run()))
      signalPassFailure();
  }
};
} // namespace
