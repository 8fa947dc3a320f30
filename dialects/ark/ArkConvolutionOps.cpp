//===- ArkConvolutionOps.cpp - Convolutions -------------------------------===//
//
// Checks carry the constraint labels of ArkConvolutionOps.td.
//
//===----------------------------------------------------------------------===//

#include "dialects/ark/ArkConvolutionOps.h"

#include "dialects/ark/ArkInference.h"
#include "mlir/Dialect/Traits.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

#define GET_OP_CLASSES
#include "dialects/ark/ArkConvolutionOps.cpp.inc"

Attribute ConvolutionOp::getValueIfEmpty() {
  return isEmpty(getFilters()) ? getZero(getType().getElementType())
                               : TypedAttr();
}

/// Returns the rows of the result. Fails unless there is a row. convolution_c3
static FailureOr<int64_t> countRows(Loc loc, ConvolutionOp::Adaptor adaptor) {
  ArrayRef<int64_t> window =
      tensorType(adaptor.getFilters()).getShape().take_back(2);
  int64_t rows = tensorType(adaptor.getImages()).getShape().take_back(2)[0];
  int64_t stride = adaptor.getStride(), dilation = adaptor.getDilation();
  if (stride <= 0 || dilation <= 0)
    return emitOptionalError(
        loc, "needs a positive stride and a positive dilation, not ", stride,
        " and ", dilation, " (convolution_c3)");
  int64_t span;
  bool overflows =
      llvm::MulOverflow(std::max<int64_t>(window[0] - 1, 0), dilation, span) ||
      llvm::AddOverflow(span, std::max<int64_t>(window[1] - 1, 0), span);
  if (overflows || span >= rows)
    return emitOptionalError(loc, "a window of ", window[0], " x ", window[1],
                             " rows with dilation ", dilation,
                             " does not fit into ", rows,
                             " rows (convolution_c3)");
  return (rows - span - 1) / stride + 1;
}

LogicalResult ConvolutionOp::inferReturnTypes(MLIRContext *, Loc loc,
                                              Adaptor adaptor, Types &types) {
  RankedTensorType filters = tensorType(adaptor.getFilters());
  RankedTensorType images = tensorType(adaptor.getImages());
  // convolution_c1
  if (filters.getRank() < 4 || images.getRank() < 3)
    return emitOptionalError(loc, "needs filters of rank four or more, not ",
                             toString(filters.getShape()),
                             ", and images of rank three or more, ", "not ",
                             toString(images.getShape()), " (convolution_c1)");
  if (failed(checkSameElement(loc, "convolution_c1", adaptor.getFilters(),
                              adaptor.getImages())))
    return failure();
  // convolution_c2
  SmallVector<int64_t> shape;
  int64_t channels = filters.getDimSize(filters.getRank() - 3);
  if (channels != images.getDimSize(images.getRank() - 3) ||
      !OpTrait::util::getBroadcastedShape(filters.getShape().drop_back(4),
                                          images.getShape().drop_back(3),
                                          shape))
    return emitOptionalError(loc, "filters of shape ",
                             toString(filters.getShape()),
                             " do not fit images of shape ",
                             toString(images.getShape()), " (convolution_c2)");
  FailureOr<int64_t> rows = countRows(loc, adaptor);
  if (failed(rows))
    return failure();
  shape.append({filters.getDimSize(filters.getRank() - 4), *rows,
                images.getShape().back()});
  return infer(types, shape, filters.getElementType());
}
