//===- ProductTiles.cpp - Tiles of matmuls for matrix units ---------------===//

#include "lib/analysis/ProductTiles.h"

#include "dialects/ark/ArkInference.h"
#include "lib/support/Streaming.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace mlir::ark;
using llvm::divideCeil;

/// 1/kIdleShare of the SMs may be idle in a matmul: tiles of half the size
/// would use all SMs, but read both operands twice.
static constexpr int64_t kIdleShare = 16;

int64_t mlir::ark::getLeastTiles(TargetAttr target) {
  return target.getSms() - target.getSms() / kIdleShare;
}

/// Smallest depth of a deep product. At smaller depths, prologues and epilogues
/// take most of the time, and more tiles divide them among more SMs.
static constexpr int64_t kMinDeepDepth = 512;

/// Returns true for a deep product whose operands warps can read.
static bool isDeepAlongDepth(const ProductSizes &sizes) {
  return sizes.canWarpsRead && sizes.depth >= kMinDeepDepth;
}

static MatrixTilesAttr getListedTiles(TargetAttr target) {
  return target.isGpu() ? target.getGpu().getMatrixTiles() : MatrixTilesAttr();
}

int64_t mlir::ark::getStageDepth(TargetAttr target) {
  MatrixTilesAttr listed = getListedTiles(target);
  return listed ? listed.getDepth() : 0;
}

int64_t mlir::ark::getDepth(MatmulOp op) {
  auto lhs = cast<RankedTensorType>(op.getLhs().getType());
  return lhs.getDimSize(lhs.getRank() - (op.getTransposeInput() ? 2 : 1));
}

/// Returns the number of elements that count as one along the depth.
static int64_t getElementsPerStep(MatmulOp op) {
  return getElementTypeOrSelf(op.getLhs()).getIntOrFloatBitWidth() == 8 ? 2 : 1;
}

bool mlir::ark::hasNarrowStages(TargetAttr target, Type element) {
  if (!target.isGpu() || target.getGpu().findSharedMemoryMma())
    return false;
  if (element.isSignlessInteger(8))
    return static_cast<bool>(
        target.getGpu().findRegisterMma(MmaOperands::Int8));
  return isNarrowFloat(element) &&
         target.getGpu().findRegisterMma(MmaOperands::Float8);
}

bool mlir::ark::hasSplitElements(MatmulOp op) {
  return getElementTypeOrSelf(op.getLhs()).isF32();
}

/// Returns the elements from a row of a matrix in memory to the next one. The
/// matrix is an operand of a product in a graph or in a group.
static int64_t getPitch(Value matrix) {
  if (auto argument = dyn_cast<BlockArgument>(matrix))
    if (auto group = dyn_cast<GroupOp>(argument.getOwner()->getParentOp()))
      matrix = group.getInputs()[argument.getArgNumber()];
  if (auto slice = matrix.getDefiningOp<SliceOp>())
    if (llvm::all_of(slice.getStarts(), [](int64_t i) { return i == 0; }) &&
        llvm::all_of(slice.getSteps(), [](int64_t i) { return i == 1; }))
      matrix = slice.getSource();
  return cast<RankedTensorType>(matrix.getType()).getShape().back();
}

ProductSizes mlir::ark::getProductSizes(MatmulOp op, ArrayRef<int64_t> shape) {
  bool isSplit = hasSplitElements(op);
  bool isAlongDepth = !op.getTransposeInput() && op.getTransposeOther();
  return {ShapedType::getNumElements(shape.drop_back(2)),
          shape[shape.size() - 2],
          shape.back(),
          getDepth(op) / getElementsPerStep(op),
          isSplit ? kF32Terms : 1,
          isAlongDepth && !isSplit,
          op.getTransposeOther(),
          !op.getTransposeInput(),
          getPitch(op.getLhs()),
          getPitch(op.getRhs())};
}

int64_t mlir::ark::getSplitStageBytes(TargetAttr target, int64_t rows,
                                      int64_t columns) {
  constexpr int64_t kTermBytes = 2;
  return kSplitStages * kF32Terms * (rows + columns) * getStageDepth(target) *
         kTermBytes;
}

static int64_t countTiles(const ProductSizes &sizes, int64_t rows,
                          int64_t columns) {
  return sizes.batches * divideCeil(sizes.rows, rows) *
         divideCeil(sizes.columns, columns);
}

/// Returns the rows of a stage of both operands that pass shared memory: the
/// CTA copies each row once, and each warpgroup reads the rows of its factors.
static int64_t countStageRows(TargetAttr target, const ProductSizes &sizes,
                              int64_t rows, int64_t columns) {
  int64_t copied = rows + columns;
  MmaAttr mma = target.getGpu().findSharedMemoryMma();
  if (!mma)
    return copied;
  int64_t down = divideCeil(rows, mma.getM());
  int64_t most =
      std::max<int64_t>(target.getWarps() / mma.getWarps() / down, 1);
  int64_t across =
      sizes.terms == 1
          ? countWarpgroupsAcross(columns, sizes.depth, /*products=*/1, most)
          : most;
  return copied + down * (across * mma.getM() + columns);
}

double mlir::ark::predictTileNs(TargetAttr target, const ProductSizes &sizes,
                                int64_t rows, int64_t columns) {
  constexpr double kPsPerNs = 1000;
  MatrixTilesAttr listed = getListedTiles(target);
  int64_t stages = divideCeil(sizes.depth, listed.getDepth());
  int64_t products = stages * countTermProducts(sizes.terms);
  double stageNs =
      std::max<double>(countStageRows(target, sizes, rows, columns) *
                           listed.getStageRow() / kPsPerNs,
                       listed.getMinStage());
  return listed.getTile() + products * stageNs;
}

bool mlir::ark::isListedTile(TargetAttr target, int64_t rows, int64_t columns,
                             int64_t depth) {
  MatrixTilesAttr listed = getListedTiles(target);
  if (!listed || depth % listed.getDepth() != 0)
    return false;
  int64_t panel = listed.getPanel();
  auto isPanels = [&](int64_t size) {
    return panel > 0 && (size == panel || size == 2 * panel);
  };
  return llvm::is_contained(listed.getTiles(), std::pair(rows, columns)) ||
         (isPanels(rows) && isPanels(columns));
}

double mlir::ark::predictTilesNs(TargetAttr target, const ProductSizes &sizes,
                                 int64_t rows, int64_t columns) {
  return divideCeil(countTiles(sizes, rows, columns), target.getSms()) *
         predictTileNs(target, sizes, rows, columns);
}

/// Returns false if the elements are split and either the stages of a tile
/// exceed the shared memory or the threads cannot load its rows evenly.
static bool canSplit(TargetAttr target, const ProductSizes &sizes, int64_t rows,
                     int64_t columns) {
  return sizes.terms == 1 ||
         (rows % kSplitUnit == 0 && columns % kSplitUnit == 0 &&
          getSplitStageBytes(target, rows, columns) <=
              target.getSharedMemory());
}

/// Returns true if rows of an operand across the depth, of `side` elements,
/// have addresses that threads can copy from.
static bool isAligned(int64_t pitch, int64_t side) {
  return std::max(pitch, side) % kAlignedElements == 0;
}

/// Returns true if the last tile of a side of the result may be clipped:
/// warpgroups multiply it, and copy its elements without splits. A tile has at
/// most the elements of the side, rounded up to `unit`.
static bool mayClip(TargetAttr target, const ProductSizes &sizes, int64_t side,
                    int64_t extent, int64_t unit) {
  return target.getGpu().findSharedMemoryMma() && sizes.terms == 1 &&
         side > kStreamingRows && extent <= llvm::alignTo(side, unit);
}

/// Returns true if matrix units can multiply tiles of `rows` rows. The rows of
/// a clipped tile are padded to those of whole warpgroups.
static bool dividesRows(TargetAttr target, const ProductSizes &sizes,
                        int64_t rows) {
  if (sizes.rows % rows == 0)
    return true;
  MmaAttr mma = target.getGpu().findSharedMemoryMma();
  return mma && mayClip(target, sizes, sizes.rows, rows, mma.getM()) &&
         (sizes.isLeftAlongDepth || isAligned(sizes.leftPitch, sizes.rows));
}

/// Returns true if matrix units can multiply tiles of `columns` columns. Only
/// columns that lie across the depth are clipped, since warps read others.
static bool dividesColumns(TargetAttr target, const ProductSizes &sizes,
                           int64_t columns) {
  if (sizes.columns % columns == 0)
    return true;
  int64_t panel = getListedTiles(target).getPanel();
  return panel > 0 && !sizes.isRightAlongDepth &&
         mayClip(target, sizes, sizes.columns, columns, panel) &&
         isAligned(sizes.rightPitch, sizes.columns);
}

/// Returns true if a tile divides the result. If the rows of the right operand
/// lie across the depth, each of the `across` warpgroups has whole panels.
static bool divides(TargetAttr target, const ProductSizes &sizes, int64_t rows,
                    int64_t columns, int64_t across) {
  int64_t panel = getListedTiles(target).getPanel();
  return dividesRows(target, sizes, rows) &&
         dividesColumns(target, sizes, columns) &&
         (sizes.isRightAlongDepth ||
          (panel > 0 && columns % (across * panel) == 0)) &&
         canSplit(target, sizes, rows, columns);
}

/// Returns the tiles that divide the result. Tiles with a side of at most one
/// panel are for deep products whose operands warps can read. If warps cannot
/// read the operands, such tiles are whole panels, which no target lists.
static SmallVector<std::pair<int64_t, int64_t>>
getTiles(TargetAttr target, const ProductSizes &sizes) {
  MatrixTilesAttr listed = getListedTiles(target);
  int64_t panel = listed.getPanel();
  SmallVector<std::pair<int64_t, int64_t>> tiles;
  for (auto [rows, columns] : listed.getTiles()) {
    bool isNarrow = std::min(rows, columns) <= panel;
    if ((isDeepAlongDepth(sizes) || !isNarrow) &&
        divides(target, sizes, rows, columns, /*across=*/2))
      tiles.emplace_back(rows, columns);
  }
  if (sizes.canWarpsRead || panel == 0)
    return tiles;
  for (auto [down, across] :
       {std::pair(2, 1), std::pair(1, 2), std::pair(1, 1)})
    if (divides(target, sizes, down * panel, across * panel, /*across=*/1))
      tiles.emplace_back(down * panel, across * panel);
  return tiles;
}

std::optional<ProductTile>
mlir::ark::findListedTile(TargetAttr target, const ProductSizes &sizes) {
  MatrixTilesAttr listed = getListedTiles(target);
  if (!listed || sizes.depth % listed.getDepth() != 0)
    return std::nullopt;
  bool mayIdle = !sizes.canWarpsRead || isDeepAlongDepth(sizes);
  int64_t least = mayIdle ? 1 : getLeastTiles(target), most = 0;
  std::optional<ProductTile> best;
  for (auto [rows, columns] : getTiles(target, sizes)) {
    int64_t tiles = countTiles(sizes, rows, columns);
    if (tiles < least)
      continue;
    double ns = predictTilesNs(target, sizes, rows, columns);
    // Of equally fast tiles, more tiles divide the loads among more SMs.
    if (!best || ns < best->ns || (ns == best->ns && tiles > most)) {
      best = {rows, columns, ns};
      most = tiles;
    }
  }
  return best;
}

std::optional<ProductTile>
mlir::ark::findCommonTile(TargetAttr target, ArrayRef<ProductSizes> products) {
  const ProductSizes &first = products.front();
  MatrixTilesAttr listed = getListedTiles(target);
  if (!listed || first.depth % listed.getDepth() != 0)
    return std::nullopt;
  std::optional<ProductTile> best;
  for (auto [rows, columns] : getTiles(target, first)) {
    int64_t tiles = 0;
    bool dividesAll = true;
    for (const ProductSizes &sizes : products) {
      tiles += countTiles(sizes, rows, columns);
      dividesAll &=
          llvm::is_contained(getTiles(target, sizes), std::pair(rows, columns));
    }
    if (!dividesAll)
      continue;
    double ns = divideCeil(tiles, target.getSms()) *
                predictTileNs(target, first, rows, columns);
    if (!best || ns < best->ns)
      best = {rows, columns, ns};
  }
  return best;
}

void mlir::ark::halveTile(int64_t &rows, int64_t &columns, int64_t leastRows,
                          int64_t leastColumns,
                          llvm::function_ref<bool()> isEnough) {
  constexpr int64_t kUnit = 8;
  while (!isEnough() && (columns > leastColumns || rows > leastRows)) {
    bool cutsColumns =
        columns > leastColumns && (columns >= 2 * rows || rows <= leastRows);
    int64_t &side = cutsColumns ? columns : rows;
    side = std::max<int64_t>(llvm::alignTo(side / 2, kUnit),
                             cutsColumns ? leastColumns : leastRows);
  }
}
