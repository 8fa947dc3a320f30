//===- TileOfRows.cpp - Tiles of rows of an argument ----------------------===//

#include "passes/target/prefetch/TileOfRows.h"

#include "lib/support/BufferView.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::ark;

std::optional<TileOfRows> TileOfRows::match(memref::SubViewOp view) {
  MemRefType type = view.getType(), whole = view.getSourceType();
  if (!isa<BlockArgument>(view.getSource()) || whole.getRank() != 2 ||
      type.getRank() != 2 || !type.hasStaticShape() ||
      !whole.getLayout().isIdentity() || !view.hasUnitStride() ||
      type.getDimSize(1) != whole.getDimSize(1))
    return std::nullopt;
  return TileOfRows{view, type.getDimSize(0),
                    type.getDimSize(1) *
                        getElementBytes(type.getElementType())};
}

/// Clones the ops that compute `value` in the loop over vCTAs, for one vCTA.
static Value cloneFor(OpBuilder &builder, Value value, scf::ForOp vctas,
                      Value vcta) {
  IRMapping mapping;
  mapping.map(vctas.getInductionVar(), vcta);
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [&](Operation *op) { return vctas->isProperAncestor(op); };
  (void)getBackwardSlice(value, &slice, options);
  for (Operation *op : slice)
    builder.clone(*op, mapping);
  return mapping.lookupOrDefault(value);
}

Value TileOfRows::getAddress(ImplicitLocOpBuilder &builder, scf::ForOp vctas,
                             Value vcta) const {
  memref::SubViewOp own = view;
  Value first =
      cloneFor(builder,
               getValueOrCreateConstantIndexOp(builder, builder.getLoc(),
                                               own.getMixedOffsets()[0]),
               vctas, vcta);
  Value begin =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, own.getSource());
  Value bytes = arith::MulIOp::create(
      builder, first, arith::ConstantIndexOp::create(builder, rowBytes));
  return arith::AddIOp::create(builder, begin, bytes);
}
