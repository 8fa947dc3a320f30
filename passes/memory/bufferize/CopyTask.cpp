//===- CopyTask.cpp - Build tasks that copy a tensor ----------------------===//

#include "passes/memory/bufferize/CopyTask.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// Bounds on the elements per vCTA: fewer elements do not justify a vCTA, and
/// more would be evicted from the cache between read and write.
static constexpr int64_t kMinElements = 256;
static constexpr int64_t kMaxElements = 8192;
/// Extent of a block along the fastest dimensions of both sides. The block uses
/// whole cache lines on both sides, whichever dimension is traversed first.
static constexpr int64_t kBlockExtent = 64;

/// Returns an extent of at most `limit`: a divisor of `extent` if one exceeds
/// `limit / 2`.
static int64_t pickExtent(int64_t extent, int64_t limit) {
  if (extent <= limit)
    return extent;
  for (int64_t divisor = limit; divisor > limit / 2; --divisor)
    if (extent % divisor == 0)
      return divisor;
  return limit;
}

static SmallVector<int64_t> pickTile(const TensorLayout &source, int64_t sms) {
  ArrayRef<int64_t> shape = source.shape;
  int64_t elements = ShapedType::getNumElements(shape);
  int64_t budget = std::clamp<int64_t>(llvm::divideCeil(elements, sms),
                                       kMinElements, kMaxElements);
  SmallVector<int64_t> tile(shape.size(), 1);
  auto grow = [&](size_t dim, int64_t limit) {
    int64_t rest = budget / (ShapedType::getNumElements(tile) / tile[dim]);
    // The tile of an empty tensor needs a positive extent, too.
    if (rest > tile[dim])
      tile[dim] =
          std::max<int64_t>(1, pickExtent(shape[dim], std::min(rest, limit)));
  };

  // The copy is dense, so the stride of its last dimension is 1.
  if (!shape.empty()) {
    size_t fastest = shape.size() - 1;
    for (size_t dim = 0; dim < shape.size(); ++dim)
      if (source.strides[dim] == 1 && shape[dim] > 1)
        fastest = dim;
    if (fastest != shape.size() - 1) {
      grow(shape.size() - 1, kBlockExtent);
      grow(fastest, kBlockExtent);
    }
  }
  for (size_t dim = shape.size(); dim-- > 0;)
    grow(dim, shape[dim]);
  return tile;
}

CopyTaskBuilder::CopyTaskBuilder(ProgramOp program) : program(program), sms(1) {
  if (auto module = program->getParentOfType<ModuleOp>())
    if (auto target =
            module->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr))
      sms = target.getSms();
}

std::string CopyTaskBuilder::getUniqueName() {
  auto isTaken = [&](StringRef name) {
    return llvm::any_of(program.getBody().getOps<TaskOp>(),
                        [&](TaskOp task) { return task.getName() == name; });
  };
  std::string name;
  do {
    name = copies == 0 ? "copy" : "copy_" + std::to_string(copies);
    ++copies;
  } while (isTaken(name));
  return name;
}

Value CopyTaskBuilder::create(OpBuilder &builder, Location loc, Value source,
                              const TensorLayout &layout) {
  MLIRContext *context = builder.getContext();
  auto type = cast<RankedTensorType>(source.getType());
  SmallVector<int64_t> tile = pickTile(layout, sms);

  // One grid dimension for every dimension that is tiled.
  SmallVector<int64_t> grid, tileShape;
  SmallVector<AffineExpr> offsets;
  for (auto [extent, size] : llvm::zip(type.getShape(), tile)) {
    bool isClipped = extent == 0 || extent % size != 0;
    tileShape.push_back(isClipped ? ShapedType::kDynamic : size);
    if (size >= extent) {
      offsets.push_back(builder.getAffineConstantExpr(0));
      continue;
    }
    offsets.push_back(builder.getAffineDimExpr(grid.size()) * size);
    grid.push_back(llvm::divideCeil(extent, size));
  }
  if (grid.empty())
    grid.push_back(1);
  auto region = RegionAttr::get(
      context, AffineMap::get(grid.size(), 0, offsets, context), tile);
  ArrayAttr regions = builder.getArrayAttr(region);

  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  auto task =
      TaskOp::create(builder, loc, type, getUniqueName(), grid, source, empty,
                     regions, regions, /*warps=*/1, /*shared_memory=*/0,
                     builder.getStrArrayAttr({"copy"}),
                     /*plan=*/DictionaryAttr(), /*in_place=*/false,
                     /*fresh_outs=*/DenseI64ArrayAttr());

  OpBuilder::InsertionGuard guard(builder);
  auto tileType = RankedTensorType::get(tileShape, type.getElementType());
  SmallVector<Type> argumentTypes(grid.size(), builder.getIndexType());
  argumentTypes.append(2, tileType);
  Block *body =
      builder.createBlock(&task.getBody(), {}, argumentTypes,
                          SmallVector<Location>(argumentTypes.size(), loc));
  auto copy =
      linalg::CopyOp::create(builder, loc, body->getArgument(grid.size()),
                             body->getArgument(grid.size() + 1));
  YieldOp::create(builder, loc, copy->getResults());
  return task.getResult(0);
}
