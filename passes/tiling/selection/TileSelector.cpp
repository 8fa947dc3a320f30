//===- TileSelector.cpp - Tiles of rows; choice by the anchor -------------===//

#include "passes/tiling/selection/TileSelector.h"

#include "dialects/ark/ArkInference.h"
#include "lib/analysis/ProductTiles.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;
using llvm::divideCeil;

/// Returns true if matrix units multiply this many rows.
bool TileSelector::hasMatrixUnits(Type element, int64_t rows) const {
  if (isCPU() || rows < kMinMatrixRows)
    return false;
  GpuAttr gpu = target.getGpu();
  if (element.isSignlessInteger(8))
    return static_cast<bool>(gpu.findRegisterMma(MmaOperands::Int8));
  return isa<FloatType>(element) && element.getIntOrFloatBitWidth() <= 16 &&
         !gpu.getMma().empty();
}

/// Returns the bytes of a tile of rows. Two kinds of groups have one tile for
/// each SM of a GPU: groups that put to or receive from another GPU, since that
/// hand-off takes long, and groups that add matrices, whose threads have more
/// loads in flight in larger tiles.
int64_t TileSelector::getWantedBytes(GroupOp group,
                                     ArrayRef<int64_t> domain) const {
  if (isCPU() || !(isReadByAnotherRank(group) || readsAnotherRank(group) ||
                   addsMatrices(group)))
    return rowBytes;
  int64_t bytes =
      ShapedType::getNumElements(domain) * getBytesPerElement(group);
  return std::max<int64_t>(rowBytes, divideCeil(bytes, getLeastTiles(target)));
}

/// Returns the minimum extent of the last dimension of a tile of rows.
///
/// If other dimensions are not divided, rows are divided along their last
/// dimension instead, down to one memory transaction.
static int64_t getLeastLastExtent(GroupOp group, bool hasSerialDims,
                                  TargetAttr target) {
  if (hasSerialDims)
    return divideCeil(kSectorBytes * 8,
                      tensorType(group.getResult(0)).getElementTypeBitWidth());
  return getLeastColumns(group, target);
}

/// Returns true for elementwise ops and updates of states.
/// ark-join-elementwise joins these ops if their tiles have a static shape, so
/// that the values of a step of an optimizer stay in registers. Their tiles
/// hence divide the domain if possible.
static bool mayBeJoined(GroupOp group) {
  Operation *anchor = getTileAnchor(group);
  return !anchor || isa<UpdateOp>(anchor);
}

Tile TileSelector::selectRows(GroupOp group, ArrayRef<int64_t> domain) const {
  int64_t rank = domain.size();
  SmallVector<int64_t> wholeDims, serialDims;
  if (AnchorOpInterface anchor = getTileAnchor(group)) {
    wholeDims = anchor.getWholeDims(rank);
    serialDims = anchor.getSerialDims();
  }
  wholeDims.append(serialDims);
  int64_t leastLast = getLeastLastExtent(group, !serialDims.empty(), target);
  int64_t bytes = getBytesPerElement(group);
  int64_t tileBytes = getWantedBytes(group, domain);
  Tile tile(rank, 1);
  for (int64_t dim : wholeDims) {
    tile[dim] = std::max<int64_t>(domain[dim], 1);
    bytes *= tile[dim];
  }
  // Innermost dimensions come first, because they are contiguous in memory.
  for (int64_t dim = rank - 1; dim >= 0; --dim) {
    if (llvm::is_contained(wholeDims, dim))
      continue;
    int64_t least = dim == rank - 1 ? getLeastColumns(group, target) : 1;
    int64_t wanted = std::max<int64_t>(tileBytes / bytes, least);
    tile[dim] = divideEvenly(domain[dim], wanted, dim == rank - 1 ? 16 : 1);
    bytes *= tile[dim];
    if (tile[dim] < domain[dim])
      break;
  }
  // Selects smaller tiles if SMs would idle, down to the size that justifies a
  // vCTA. The threads of a GPU's CTA wait for a large tile as long as for a
  // small one.
  bool mayJoin = !isCPU() && mayBeJoined(group);
  int64_t wantedTiles = isCPU() ? getWantedTiles() : target.getSms();
  if (tileBytes > rowBytes)
    wantedTiles = getLeastTiles(target);
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t least = dim == rank - 1 ? leastLast : 1;
    while (countTiles(domain, tile) < wantedTiles && tile[dim] > least &&
           !llvm::is_contained(wholeDims, dim) && bytes > rowBytes / 16) {
      bytes /= 2;
      int64_t half = std::max<int64_t>(divideCeil(tile[dim], 2), least);
      tile[dim] = mayJoin ? divideEvenly(domain[dim], half, least) : half;
    }
  }
  return tile;
}

/// Returns false if the accumulators of a listed tile stay in registers, while
/// the group has ops that need a temporary: the shared memory may have no room
/// for it.
bool TileSelector::hasRoomForTile(GroupOp group) const {
  if (isCPU() || target.getGpu().findSharedMemoryMma())
    return true;
  int64_t anchors = 0;
  return llvm::all_of(group.getBody().getOps(), [&](Operation &op) {
    if (isa<AnchorOpInterface>(op))
      return ++anchors == 1;
    return isa<ElementwiseOpInterface>(op) ||
           op.hasTrait<OpTrait::IsTerminator>();
  });
}

Tile TileSelector::select(GroupOp group) const {
  Operation *anchor = getTileAnchor(group);
  ArrayRef<int64_t> domain = getDomain(group);
  if (auto matmul = dyn_cast_if_present<MatmulOp>(anchor)) {
    std::optional<Tile> tile;
    if (hasRoomForTile(group))
      tile = findMatrixTile(matmul, domain);
    bool isFixed = matmulM > 0 || matmulN > 0;
    return tile && !isFixed ? *tile : selectMatmul(matmul, domain);
  }
  if (auto convolution = dyn_cast_if_present<ConvolutionOp>(anchor))
    if (std::optional<Tile> tile = findConvolution(convolution, domain))
      return *tile;
  if (isa_and_present<QuantizedMatmulOp>(anchor))
    return selectQuantizedMatmul(domain);
  if (auto attention = dyn_cast_if_present<AttentionOpInterface>(anchor))
    return attention.hasPartitions() ? selectPartitions(attention, domain)
                                     : selectAttention(attention, domain);
  if (auto gradient = dyn_cast_if_present<AttentionGradientOpInterface>(anchor))
    return selectAttentionGradient(gradient, domain);
  return selectRows(group, domain);
}
