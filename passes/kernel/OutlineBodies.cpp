//===- OutlineBodies.cpp - Outline task bodies into functions -------------===//

#include "dialects/ark/ArkBodyAttrs.h"
#include "dialects/ark/ArkDomains.h"
#include "dialects/ark/ArkOps.h"
#include "lib/analysis/CostModel.h"
#include "lib/analysis/Packets.h"
#include "lib/support/BufferView.h"
#include "passes/kernel/KernelAbi.h"
#include "passes/kernel/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::ark {
#define GEN_PASS_DEF_OUTLINEBODIESPASS
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Returns a symbol for the body: the names of its ops joined, or else the name
/// of the task.
static std::string nameOfBody(TaskOp task) {
  // Four names suffice to distinguish bodies, even for a softmax of eight ops.
  constexpr size_t maxOps = 4;
  std::string name;
  if (ArrayAttr ops = task.getOpsAttr())
    for (Attribute op : ops.getValue().take_front(maxOps))
      if (auto text = dyn_cast<StringAttr>(op))
        name += (name.empty() ? "" : "_") + text.getValue().str();
  if (name.empty())
    name = task.getName().str();
  for (char &c : name)
    if (!llvm::isAlnum(c))
      c = '_';
  // The prefix avoids the names of C library functions.
  return "body_" + name;
}

/// Returns the type of a body's argument for an operand: the operand's shape
/// and strides, at offset 0. The strides of an empty operand are explicit,
/// because MLIR finds no strides in an empty dense layout and cannot make a
/// bare pointer of it.
static MemRefType getOperandType(const BufferView &view) {
  MemRefLayoutAttrInterface layout;
  if (!view.isDense() || view.getNumElements() == 0)
    layout =
        StridedLayoutAttr::get(view.elementType.getContext(), 0, view.strides);
  return MemRefType::get(view.shape, view.elementType, layout);
}

static bool overlap(const BufferView &a, const BufferView &b) {
  return a.root == b.root && a.byteOffset < b.getByteEnd() &&
         b.byteOffset < a.getByteEnd();
}

/// Returns true if the bytes of operand `index` are written through no other
/// operand and, if operand `index` is an out, accessed through no other
/// operand.
static bool isNoAlias(ArrayRef<BufferView> views, size_t index,
                      size_t numInputs) {
  for (auto [other, view] : llvm::enumerate(views))
    if (other != index && (other >= numInputs || index >= numInputs) &&
        overlap(view, views[index]))
      return false;
  return true;
}

/// Returns the largest power of two that is known to divide the address of
/// element 0, up to the alignment of buffers.
static int64_t getAlignment(const BufferView &view) {
  return llvm::MinAlign(abi::kGpuBufferAlignment, view.byteOffset);
}

namespace {
/// Outlines the body of one task into a function.
class Outliner {
public:
  Outliner(TaskOp task, ArrayRef<BufferView> views)
      : task(task), views(views), loc(task.getLoc()),
        builder(task.getContext()) {}

  FailureOr<func::FuncOp> outline();

private:
  func::FuncOp createFunction();
  void hoistTemporaries();
  void mapIndices(Value vcta);
  LogicalResult mapTile(unsigned index, Value operand);

  TaskOp task;
  ArrayRef<BufferView> views;
  Location loc;
  OpBuilder builder;
  IRMapping mapping;
};
} // namespace

func::FuncOp Outliner::createFunction() {
  Type index = builder.getIndexType();
  SmallVector<Type> types = {
      index, index, index,
      MemRefType::get({abi::kStatusWords}, builder.getI64Type())};
  for (const BufferView &view : views)
    types.push_back(getOperandType(view));
  auto function = func::FuncOp::create(loc, nameOfBody(task),
                                       builder.getFunctionType(types, {}));
  function.setPrivate();
  TargetAttr target = findRankTarget(task);
  bool isForGpu = target && target.isGpu();
  for (auto [i, view] : llvm::enumerate(views)) {
    unsigned argument = abi::kBodyOperands + i;
    if (isNoAlias(views, i, task.getInputs().size()))
      function.setArgAttr(argument, LLVM::LLVMDialect::getNoAliasAttrName(),
                          builder.getUnitAttr());
    if (isPackets(view.root))
      function.setArgAttr(argument, ArkDialect::kPacketsAttr,
                          builder.getUnitAttr());
    // A GPU loads several elements at once only if the alignment is known.
    if (isForGpu)
      function.setArgAttr(argument, LLVM::LLVMDialect::getAlignAttrName(),
                          builder.getI64IntegerAttr(getAlignment(view)));
  }
  if (!isForGpu && !findPacketObstacle(task))
    function.setArgAttr(function.getNumArguments() - 1,
                        ArkDialect::kPacketsAttr, builder.getUnitAttr());
  if (isForGpu)
    function->setAttr(kWorkItemVctasAttr,
                      builder.getI64IntegerAttr(llvm::divideCeil(
                          task.getNumVCTAs(), target.getSms())));
  if (getNetworkPeer(task))
    function->setAttr(kNetworkCopyAttr, builder.getUnitAttr());
  function.addEntryBlock();
  return function;
}

/// Clones the temporaries in front of the loop over vCTAs: an alloca inside of
/// the loop would grow the stack in every iteration.
void Outliner::hoistTemporaries() {
  for (auto temporary : task.getBody().front().getOps<memref::AllocaOp>())
    if (temporary->getNumOperands() == 0)
      builder.clone(*temporary, mapping);
}

/// Maps the grid indices to the indices of a vCTA, in row-major order.
void Outliner::mapIndices(Value vcta) {
  ValueRange indices = task.getGridIndices();
  if (indices.empty())
    return;
  if (indices.size() == 1)
    return mapping.map(indices[0], vcta);
  auto split = affine::AffineDelinearizeIndexOp::create(builder, loc, vcta,
                                                        task.getGrid());
  mapping.map(indices, split.getResults());
}

/// Maps a tile to a subview of its operand: the region of this vCTA.
LogicalResult Outliner::mapTile(unsigned index, Value operand) {
  RegionAttr region = task.getRegion(index);
  auto source = cast<MemRefType>(operand.getType());
  BlockArgument tile =
      task.getBody().getArgument(task.getGrid().size() + index);
  auto tileType = cast<MemRefType>(tile.getType());

  SmallVector<Value> indices;
  for (Value gridIndex : task.getGridIndices())
    indices.push_back(mapping.lookup(gridIndex));
  SmallVector<OpFoldResult> offsets, sizes;
  SmallVector<OpFoldResult> strides(source.getRank(), builder.getIndexAttr(1));
  for (int64_t dim = 0; dim < source.getRank(); ++dim) {
    AffineMap map = region.getOffsets().getSubMap({static_cast<unsigned>(dim)});
    Value offset = affine::AffineApplyOp::create(builder, loc, map, indices);
    offsets.push_back(offset);
    int64_t size = region.getSizes()[dim];
    if (!tileType.isDynamicDim(dim)) {
      sizes.push_back(builder.getIndexAttr(size));
      continue;
    }
    AffineExpr left = source.getDimSize(dim) - builder.getAffineDimExpr(0);
    AffineMap clip = AffineMap::get(
        1, 0, {builder.getAffineConstantExpr(size), left}, map.getContext());
    sizes.push_back(
        affine::AffineMinOp::create(builder, loc, clip, ValueRange{offset})
            .getResult());
  }
  Value view =
      memref::SubViewOp::create(builder, loc, operand, offsets, sizes, strides);
  if (view.getType() != tileType) {
    if (!memref::CastOp::areCastCompatible(view.getType(), tileType))
      return task.emitOpError("tile ")
             << tileType << " of operand " << index
             << " has other strides than the operand's view " << view.getType();
    view = memref::CastOp::create(builder, loc, tileType, view);
  }
  mapping.map(tile, view);
  return success();
}

FailureOr<func::FuncOp> Outliner::outline() {
  func::FuncOp function = createFunction();
  builder.setInsertionPointToStart(&function.getBody().front());
  hoistTemporaries();

  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto loop =
      scf::ForOp::create(builder, loc, function.getArgument(abi::kBodyBegin),
                         function.getArgument(abi::kBodyEnd), one);
  func::ReturnOp::create(builder, loc);

  builder.setInsertionPointToStart(loop.getBody());
  mapIndices(loop.getInductionVar());
  for (size_t i = 0; i < views.size(); ++i)
    if (failed(mapTile(i, function.getArgument(abi::kBodyOperands + i)))) {
      function->erase();
      return failure();
    }
  for (Operation &op : task.getBody().front().without_terminator())
    if (op.getNumResults() == 0 || !mapping.contains(op.getResult(0)))
      builder.clone(op, mapping);
  return function;
}

namespace {
struct OutlineBodiesPass : ark::impl::OutlineBodiesPassBase<OutlineBodiesPass> {
  using OutlineBodiesPassBase::OutlineBodiesPassBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto program :
         llvm::make_early_inc_range(getOperation().getOps<ProgramOp>()))
      for (auto task : program.getBody().getOps<TaskOp>())
        if (failed(outline(task, symbols)))
          return signalPassFailure();
  }

  LogicalResult outline(TaskOp task, SymbolTable &symbols) {
    SmallVector<BufferView> views;
    for (Value operand : task.getOperands()) {
      if (!isa<MemRefType>(operand.getType()))
        return task.emitOpError("works on tensors: the memory stage comes "
                                "before the kernel stage");
      FailureOr<BufferView> view = resolveBufferView(operand);
      if (failed(view))
        return failure();
      views.push_back(*view);
    }
    FailureOr<func::FuncOp> function = Outliner(task, views).outline();
    if (failed(function))
      return failure();
    StringAttr name = symbols.insert(*function);
    task->setAttr(kOutlinedBodyAttr, FlatSymbolRefAttr::get(name));
    ++numBodies;
    return success();
  }
};
} // namespace
