//===- ArkIndexingOps.cpp - Embeddings, gathers, windows, updates ---------===//
//
// Checks carry the constraint labels of ArkAnchorOps.td.
//
//===----------------------------------------------------------------------===//

#include "dialects/ark/ArkInference.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

TypedAttr SegmentSumOp::getValueOfNone() {
  return getZero(getType().getElementType());
}

Attribute SegmentSumOp::getValueIfEmpty() {
  return isEmpty(getOperand()) ? getValueOfNone() : TypedAttr();
}

TypedAttr SegmentMaxOp::getValueOfNone() {
  return getLimit(getType().getElementType(), /*least=*/true);
}

Attribute SegmentMaxOp::getValueIfEmpty() {
  return isEmpty(getOperand()) ? getValueOfNone() : TypedAttr();
}

StringRef EmbeddingOp::getEmptyRead() {
  return tensorType(getWeight()).getDimSize(0) == 0
             ? "reads rows of a table without rows"
             : "";
}

StringRef GatherOp::getEmptyRead() {
  return tensorType(getSource()).getDimSize(getAxis()) == 0
             ? "reads elements of an empty dimension"
             : "";
}

SmallVector<int64_t> UpdateOp::getSerialDims() {
  SmallVector<int64_t> dims;
  for (auto [dim, offset] : llvm::enumerate(getStaticOffsets()))
    if (ShapedType::isDynamic(offset) &&
        tensorType(getValue()).getDimSize(dim) > 1)
      dims.push_back(dim);
  return dims;
}

bool UpdateOp::hasSequenceOffsets() {
  return llvm::any_of(getOffsets(), [](Value offset) {
    return tensorType(offset).getRank() > 0;
  });
}

bool UpdateOp::hasRowOffsets() {
  return ShapedType::isDynamic(getStaticOffsets().front()) &&
         tensorType(getOffsets().front()).getRank() > 0;
}

SmallVector<int64_t> UpdateOp::getUnitDims(int64_t) {
  return hasSequenceOffsets() ? SmallVector<int64_t>{0}
                              : SmallVector<int64_t>();
}

LogicalResult EmbeddingOp::inferReturnTypes(MLIRContext *, Loc loc,
                                            Adaptor adaptor, Types &types) {
  RankedTensorType weight = tensorType(adaptor.getWeight());
  // embedding_c1
  if (weight.getRank() != 2)
    return emitOptionalError(loc, "table ", toString(weight.getShape()),
                             " is not of rank two (embedding_c1)");
  SmallVector<int64_t> shape(tensorType(adaptor.getIndices()).getShape());
  shape.push_back(weight.getDimSize(1));
  return infer(types, shape, weight.getElementType());
}

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, Loc loc,
                                         Adaptor adaptor, Types &types) {
  RankedTensorType source = tensorType(adaptor.getSource());
  int64_t axis = adaptor.getAxis();
  // gather_c1
  if (failed(checkAxis(loc, "gather_c1", axis, source)))
    return failure();
  SmallVector<int64_t> shape(source.getShape().take_front(axis));
  llvm::append_range(shape, tensorType(adaptor.getIndices()).getShape());
  llvm::append_range(shape, source.getShape().drop_front(axis + 1));
  return infer(types, shape, source.getElementType());
}

/// Infers the shape of a result with a slice for each segment. `c1` and `c2`
/// are the labels of the constraints.
template <typename Adaptor>
static LogicalResult inferSegments(Loc loc, Adaptor adaptor, StringRef c1,
                                   StringRef c2, Type element, Types &types) {
  RankedTensorType operand = tensorType(adaptor.getOperand());
  RankedTensorType indices = tensorType(adaptor.getIndices());
  int64_t axis = adaptor.getAxis(), segments = adaptor.getSegments();
  if (failed(checkAxis(loc, c1, axis, operand)))
    return failure();
  if (indices.getRank() != 1 ||
      indices.getDimSize(0) != operand.getDimSize(axis))
    return emitOptionalError(loc, "indices of shape ",
                             toString(indices.getShape()),
                             " do not name a segment for each of ",
                             operand.getDimSize(axis), " slices (", c1, ")");
  if (segments < 0)
    return emitOptionalError(loc, "there are ", segments, " segments (", c2,
                             ")");
  SmallVector<int64_t> shape(operand.getShape());
  shape[axis] = segments;
  return infer(types, shape, element);
}

LogicalResult SegmentSumOp::inferReturnTypes(MLIRContext *context, Loc loc,
                                             Adaptor adaptor, Types &types) {
  Type element = tensorType(adaptor.getOperand()).getElementType();
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32)
    element = Float32Type::get(context);
  return inferSegments(loc, adaptor, "segment_sum_c1", "segment_sum_c2",
                       element, types);
}

LogicalResult SegmentMaxOp::inferReturnTypes(MLIRContext *, Loc loc,
                                             Adaptor adaptor, Types &types) {
  return inferSegments(loc, adaptor, "segment_max_c1", "segment_max_c2",
                       tensorType(adaptor.getOperand()).getElementType(),
                       types);
}

LogicalResult WindowsOp::inferReturnTypes(MLIRContext *, Loc loc,
                                          Adaptor adaptor, Types &types) {
  RankedTensorType type = tensorType(adaptor.getOperand());
  ArrayRef<int64_t> sizes = adaptor.getSizes(), strides = adaptor.getStrides(),
                    dilations = adaptor.getDilations();
  int64_t rank = type.getRank(), spatial = sizes.size();
  // windows_c1
  if (spatial < 1 || spatial > rank || strides.size() != sizes.size() ||
      dilations.size() != sizes.size())
    return emitOptionalError(loc, "has ", spatial, " sizes, ", strides.size(),
                             " strides and ", dilations.size(),
                             " dilations for rank ", rank, " (windows_c1)");
  auto isPositive = [](int64_t value) { return value > 0; };
  if (!llvm::all_of(sizes, isPositive) || !llvm::all_of(strides, isPositive) ||
      !llvm::all_of(dilations, isPositive))
    return emitOptionalError(
        loc, "sizes, strides and dilations must be positive (windows_c1)");
  SmallVector<int64_t> shape(type.getShape().drop_back(spatial));
  llvm::append_range(shape, sizes);
  for (auto [extent, size, stride, dilation] : llvm::zip(
           type.getShape().take_back(spatial), sizes, strides, dilations)) {
    // windows_c2
    int64_t span;
    if (llvm::MulOverflow(size - 1, dilation, span) || span >= extent)
      return emitOptionalError(
          loc, "a window of ", size, " elements with dilation ", dilation,
          " does not fit into extent ", extent, " (windows_c2)");
    shape.push_back((extent - span - 1) / stride + 1);
  }
  return infer(types, shape, type.getElementType());
}

/// update_c2. If each entry of the value has its own row of the state, the
/// value may have more entries than the state has rows.
static LogicalResult checkFits(Loc loc, RankedTensorType state,
                               RankedTensorType value,
                               ArrayRef<int64_t> staticOffsets,
                               ValueRange offsets) {
  bool ownRows = !staticOffsets.empty() && !offsets.empty() &&
                 ShapedType::isDynamic(staticOffsets.front()) &&
                 tensorType(offsets.front()).getRank() > 0;
  bool fits =
      state.getRank() == value.getRank() &&
      state.getElementType() == value.getElementType() &&
      llvm::all_of_zip(state.getShape().drop_front(ownRows ? 1 : 0),
                       value.getShape().drop_front(ownRows ? 1 : 0),
                       [](int64_t have, int64_t need) { return need <= have; });
  if (fits)
    return success();
  return emitOptionalError(loc, "value ", value, " does not fit into state ",
                           state, " (update_c2)");
}

LogicalResult UpdateOp::inferReturnTypes(MLIRContext *, Loc loc,
                                         Adaptor adaptor, Types &types) {
  types.push_back(adaptor.getState().getType());
  return checkFits(loc, tensorType(adaptor.getState()),
                   tensorType(adaptor.getValue()), adaptor.getStaticOffsets(),
                   adaptor.getOffsets());
}

/// update_c5
static LogicalResult verifySequenceOffsets(UpdateOp op) {
  ArrayRef<int64_t> value = tensorType(op.getValue()).getShape();
  auto offsets = op.getOffsets();
  for (auto [dim, offset] : llvm::enumerate(op.getStaticOffsets())) {
    if (!ShapedType::isDynamic(offset))
      continue;
    RankedTensorType type = tensorType(offsets.front());
    offsets = offsets.drop_front();
    if (type.getRank() == 0)
      continue;
    if (type.getRank() != 1 || type.getDimSize(0) != value[0])
      return op.emitOpError("offset ")
             << toString(type.getShape()) << " of dimension " << dim
             << " is neither a scalar nor an offset for each sequence of "
             << toString(value) << " (update_c5)";
  }
  return success();
}

LogicalResult UpdateOp::verify() {
  auto isState = [](Value value) {
    if (value.getDefiningOp<UpdateOp>())
      return true;
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument)
      return false;
    auto program = dyn_cast<ProgramOp>(argument.getOwner()->getParentOp());
    // Inside a group or task, the outer op carries the state.
    if (!program)
      return true;
    // The program's own verifier, which requires kinds, runs later.
    auto kind = program.getArgAttrOfType<ArgumentKindAttr>(
        argument.getArgNumber(), ArkDialect::kKindAttr);
    return kind && kind.getValue() == ArgumentKind::State;
  };
  // update_c1
  if (!isState(getState()))
    return emitOpError("writes to a tensor that is not a state (update_c1)");
  ArrayRef<int64_t> offsets = getStaticOffsets();
  size_t dynamic = llvm::count(offsets, ShapedType::kDynamic);
  RankedTensorType state = tensorType(getState());
  // Later checks index by dimension, so this check cannot wait for inference.
  if (failed(checkFits(getLoc(), state, tensorType(getValue()), offsets,
                       getOffsets())))
    return failure();
  // update_c3
  if (offsets.size() != static_cast<size_t>(state.getRank()) ||
      dynamic != getOffsets().size())
    return emitOpError("has ")
           << offsets.size() << " static offsets and " << getOffsets().size()
           << " dynamic ones for rank " << state.getRank() << " (update_c3)";
  // update_c4
  for (auto [dim, offset] : llvm::enumerate(offsets))
    if (!ShapedType::isDynamic(offset) &&
        (offset < 0 || offset > state.getDimSize(dim) -
                                    tensorType(getValue()).getDimSize(dim)))
      return emitOpError("slice at offset ")
             << offset << " leaves dimension " << dim << " of " << state
             << " (update_c4)";
  return verifySequenceOffsets(*this);
}
