//===- Footprints.cpp - Memory footprints of tasks ------------------------===//

#include "passes/kernel/Footprints.h"

#include "passes/kernel/KernelAbi.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

static StringRef getSymbol(AffineExprKind kind) {
  switch (kind) {
  case AffineExprKind::Add:
    return "+";
  case AffineExprKind::Mul:
    return "*";
  case AffineExprKind::Mod:
    return "mod";
  case AffineExprKind::FloorDiv:
    return "floordiv";
  case AffineExprKind::CeilDiv:
    return "ceildiv";
  default:
    llvm_unreachable("not a binary expression");
  }
}

/// Encodes an affine expression of the grid indices as a number, `"d0"`, or an
/// array of an operator and two expressions.
static Attribute encode(Builder &builder, AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return builder.getI64IntegerAttr(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return builder.getStringAttr("d" + Twine(dim.getPosition()));
  auto binary = cast<AffineBinaryOpExpr>(expr);
  return builder.getArrayAttr({builder.getStringAttr(getSymbol(expr.getKind())),
                               encode(builder, binary.getLHS()),
                               encode(builder, binary.getRHS())});
}

static ArrayAttr encode(Builder &builder, AffineMap offsets) {
  SmallVector<Attribute> encoded;
  for (AffineExpr expr : offsets.getResults())
    encoded.push_back(encode(builder, expr));
  return builder.getArrayAttr(encoded);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

static StringRef getAccess(TaskOp task, unsigned index) {
  unsigned inputs = task.getInputs().size();
  if (index < inputs)
    return "read";
  return task.isUpdated(index - inputs) ? "update" : "write";
}

/// Returns the byte offset of the value in its root buffer.
static int64_t getValueOffset(const BufferView &view) {
  if (view.buffer == view.root)
    return 0;
  FailureOr<BufferView> whole = resolveBufferView(view.buffer);
  assert(succeeded(whole) && "an operand was resolved through it");
  return whole->byteOffset;
}

/// Returns true if `type` describes the same elements as `view`.
static bool hasLayout(Type type, const BufferView &view) {
  auto memref = dyn_cast<MemRefType>(type);
  SmallVector<int64_t> strides;
  int64_t offset;
  return memref && memref.getElementType() == view.elementType &&
         memref.getShape() == ArrayRef<int64_t>(view.shape) &&
         succeeded(getStridesAndOffset(memref, strides, offset)) &&
         offset == 0 && strides == view.strides;
}

FailureOr<DictionaryAttr>
FootprintTable::describeOperand(TaskOp task, unsigned index,
                                const BufferView &view, func::FuncOp body) {
  unsigned argument = abi::kBodyOperands + index;
  if (argument >= body.getNumArguments() ||
      !hasLayout(body.getArgumentTypes()[argument], view))
    return task.emitOpError("operand ")
           << index << " does not have the layout that its body '@"
           << body.getSymName() << "' takes";
  int64_t begin = view.byteOffset - getValueOffset(view);
  int64_t bytes = getBufferBytes(cast<ShapedType>(view.buffer.getType()));
  if (begin < 0 || view.getByteEnd() - view.byteOffset + begin > bytes)
    return task.emitOpError("operand ")
           << index << " leaves its buffer of " << bytes << " bytes";

  Builder builder(task.getContext());
  RegionAttr region = task.getRegion(index);
  auto entry = [&](StringRef name, Attribute value) {
    return builder.getNamedAttr(name, value);
  };
  SmallVector<NamedAttribute> entries = {
      entry("access", builder.getStringAttr(getAccess(task, index))),
      entry("element", TypeAttr::get(view.elementType)),
      entry("begin", builder.getI64IntegerAttr(begin)),
      entry("shape", builder.getDenseI64ArrayAttr(view.shape)),
      entry("strides", builder.getDenseI64ArrayAttr(view.strides)),
      entry("offsets", encode(builder, region.getOffsets())),
      entry("sizes", builder.getDenseI64ArrayAttr(region.getSizes()))};
  if (Attribute alignment =
          body.getArgAttr(argument, LLVM::LLVMDialect::getAlignAttrName()))
    entries.push_back(entry("alignment", alignment));
  return builder.getDictionaryAttr(entries);
}

/// Returns the index of a value. Arguments come first, then intermediates in
/// the order of their first use.
int64_t FootprintTable::getValue(const BufferView &view) {
  if (auto argument = dyn_cast<BlockArgument>(view.root))
    return argument.getArgNumber();
  auto program = cast<ProgramOp>(view.root.getDefiningOp()->getParentOp());
  int64_t index = program.getNumArguments() + intermediates.size() / 3;
  auto [known, isNew] = values.try_emplace(view.buffer, index);
  if (isNew)
    intermediates.append(
        {slots.lookup(view.root), getValueOffset(view),
         getBufferBytes(cast<ShapedType>(view.buffer.getType()))});
  return known->second;
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

LogicalResult FootprintTable::describe(TaskOp task, ArrayRef<BufferView> views,
                                       func::FuncOp body,
                                       SmallVectorImpl<NamedAttribute> &entry) {
  Builder builder(task.getContext());
  SmallVector<Attribute> operands;
  SmallVector<int64_t> valueIndices;
  for (auto [index, view] : llvm::enumerate(views)) {
    FailureOr<DictionaryAttr> operand =
        describeOperand(task, index, view, body);
    if (failed(operand))
      return failure();
    operands.push_back(*operand);
    valueIndices.push_back(getValue(view));
  }
  auto &ofBody = footprints[body];
  int64_t footprintIndex = ofBody
                               .insert({builder.getArrayAttr(operands),
                                        static_cast<int64_t>(ofBody.size())})
                               .first->second;
  entry.push_back(builder.getNamedAttr(
      "footprint", builder.getI64IntegerAttr(footprintIndex)));
  entry.push_back(builder.getNamedAttr(
      "values", builder.getDenseI64ArrayAttr(valueIndices)));
  return success();
}

ArrayAttr FootprintTable::getFootprints(func::FuncOp body) {
  SmallVector<Attribute> list;
  for (auto &[footprint, index] : footprints[body])
    list.push_back(footprint);
  return ArrayAttr::get(body.getContext(), list);
}
