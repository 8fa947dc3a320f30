//===- WeightStreams.cpp - Products with streamed weights -----------------===//

#include "passes/target/weight_streaming/WeightStreams.h"

#include "lib/support/BufferView.h"
#include "passes/target/support/Aliasing.h"
#include "passes/target/support/Alignment.h"
#include "passes/target/support/Bodies.h"
#include "passes/target/tables/KernelTables.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::ark;

/// The size and the addresses of a bulk copy are multiples of this number of
/// bytes. A load of a thread has the same size.
static constexpr int64_t kCopyBytes = 16;
/// Size of the smallest chunk: one load per thread of a warp.
static constexpr int64_t kMinChunkBytes = 512;
/// Size of the largest chunk: five loads per thread. A chunk costs a warp the
/// same instructions whatever its size, so a row has as few chunks as possible.
/// With eight loads, the registers would not hold both the chunk and the
/// elements of the row.
static constexpr int64_t kMaxChunkBytes = 2560;
/// Size of the largest chunk of 8-bit weights. Such a chunk has as many
/// elements as the largest chunk of 16-bit weights.
static constexpr int64_t kMaxNarrowChunkBytes = kMaxChunkBytes / 2;
/// Size of the largest chunk of 4-bit weights: two loads, whose elements of the
/// row take as many registers as those of four loads of 8-bit weights.
static constexpr int64_t kMaxPackedChunkBytes = 1024;
/// A warp reads the same columns of every row, so that the elements of the
/// activation row stay in registers. The registers suffice for two chunks.
static constexpr int64_t kMaxChunksPerRow = 2 * kStreamWarps;

MemRefType WeightStream::getType() const {
  return cast<MemRefType>(parameter.getType());
}

int64_t WeightStream::getNumRows() const { return getType().getDimSize(0); }

int64_t WeightStream::getNumBits() const {
  return quantization && quantization->product.hasFourBits
             ? 4
             : getType().getElementTypeBitWidth();
}

int64_t WeightStream::getWarpsPerRow() const {
  return std::min(chunksPerRow, kStreamWarps);
}

int64_t WeightStream::getChunksPerWarp() const {
  return chunksPerRow / getWarpsPerRow();
}

int64_t WeightStream::getNumChunks(int64_t begin, int64_t end) const {
  int64_t last = std::min(end * rowsPerVcta, getNumRows());
  return std::max<int64_t>(last - begin * rowsPerVcta, 0) * chunksPerRow;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Returns true if the op computes `out[0, n] += a[0, k] * b[n, k]` in f32.
static bool isPlainRowProduct(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 ||
      op.getNumLoops() != 3 || !linalg::isaContractionOpInterface(op))
    return false;
  auto map = [&](ArrayRef<unsigned> dims) {
    return AffineMap::getMultiDimMapWithTargets(3, dims, op.getContext());
  };
  return op.getIndexingMapsArray() ==
         SmallVector<AffineMap>{map({0, 2}), map({1, 2}), map({0, 1})};
}

/// Returns true if the result is a row of f32.
static bool hasRowOfSums(linalg::GenericOp op) {
  auto out = cast<MemRefType>(op.getDpsInits()[0].getType());
  return out.getDimSize(0) == 1 && out.getElementType().isF32();
}

std::optional<int64_t> ark::getVctaStride(OpFoldResult offset,
                                          scf::ForOp vctas) {
  auto first = dyn_cast<Value>(offset);
  if (!first)
    return std::nullopt;
  if (first == vctas.getInductionVar())
    return 1;
  auto apply = first.getDefiningOp<affine::AffineApplyOp>();
  if (!apply || apply.getMapOperands().size() != 1 ||
      apply.getMapOperands().front() != vctas.getInductionVar())
    return std::nullopt;
  auto product =
      dyn_cast<AffineBinaryOpExpr>(apply.getAffineMap().getResult(0));
  if (!product || product.getKind() != AffineExprKind::Mul)
    return std::nullopt;
  auto rows = dyn_cast<AffineConstantExpr>(product.getRHS());
  return rows && rows.getValue() > 0 ? std::optional(rows.getValue())
                                     : std::nullopt;
}

/// Returns the number of rows per vCTA if the tiles consist of whole rows.
static std::optional<int64_t> getRowsPerVcta(memref::SubViewOp tile,
                                             scf::ForOp vctas) {
  auto type = cast<MemRefType>(tile.getSource().getType());
  if (type.getRank() != 2 || tile.getType().getRank() != 2 ||
      !tile.hasUnitStride() ||
      !isConstantIntValue(tile.getMixedOffsets()[1], 0) ||
      !isConstantIntValue(tile.getMixedSizes()[1], type.getDimSize(1)))
    return std::nullopt;
  return getVctaStride(tile.getMixedOffsets()[0], vctas);
}

/// Returns the operand of a body whose whole rows are the tiles that a product
/// reads, `rowsPerVcta` for each vCTA, or null.
static BlockArgument getTiledRows(Value input, scf::ForOp vctas,
                                  int64_t rowsPerVcta) {
  auto tile = input.getDefiningOp<memref::SubViewOp>();
  if (!tile || getRowsPerVcta(tile, vctas) != rowsPerVcta)
    return {};
  auto source = dyn_cast<BlockArgument>(tile.getSource());
  if (!source || !isa<func::FuncOp>(source.getOwner()->getParentOp()))
    return {};
  auto type = cast<MemRefType>(source.getType());
  return type.hasStaticShape() && type.getLayout().isIdentity()
             ? source
             : BlockArgument();
}

/// Reads the scales and zeros of a quantized product. Returns false if threads
/// cannot read them: the elements of one load need one scale.
static bool readQuantization(WeightStream &stream, scf::ForOp vctas) {
  linalg::GenericOp op = stream.product;
  Quantization &quantization = *stream.quantization;
  quantization.scales =
      getTiledRows(op.getInputs()[2], vctas, stream.rowsPerVcta);
  if (quantization.product.hasZeros)
    quantization.zeros =
        getTiledRows(op.getInputs()[3], vctas, stream.rowsPerVcta);
  int64_t perLoad = kCopyBytes * 8 / stream.getNumBits();
  return quantization.scales &&
         (!quantization.product.hasZeros || quantization.zeros) &&
         quantization.product.group % perLoad == 0;
}

static bool isNarrow(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(type);
}

/// Cuts a row into the fewest possible chunks. Returns false if no division
/// exists.
static bool cutRow(WeightStream &stream) {
  MemRefType type = stream.getType();
  int64_t bytes = type.getDimSize(1) * type.getElementTypeBitWidth() / 8;
  int64_t most = stream.getNumBits() == 4          ? kMaxPackedChunkBytes
                 : isNarrow(type.getElementType()) ? kMaxNarrowChunkBytes
                                                   : kMaxChunkBytes;
  for (int64_t chunks = 1; chunks <= kMaxChunksPerRow; chunks *= 2)
    if (bytes % (chunks * kCopyBytes) == 0 && bytes / chunks <= most &&
        bytes / chunks >= kMinChunkBytes) {
      stream.chunksPerRow = chunks;
      stream.chunkBytes = bytes / chunks;
      return true;
    }
  return false;
}

/// Returns true if the loop over vCTAs reads the row and does not write it. All
/// products are computed before the loop, so a row that the loop writes would
/// not exist yet.
static bool isOnlyRead(Value row, scf::ForOp vctas) {
  return llvm::all_of(row.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    auto op = dyn_cast<linalg::LinalgOp>(user);
    return !vctas->isProperAncestor(user) || (op && op.isDpsInput(&use));
  });
}

bool ark::isUnchangedBefore(linalg::GenericOp reader, Value buffer,
                            scf::ForOp vctas) {
  Access read = {buffer, /*writes=*/false};
  for (Operation &op : *vctas.getBody()) {
    if (&op == reader)
      return true;
    if (llvm::any_of(getAccesses(&op), [&](const Access &access) {
          return conflict(access, read);
        }))
      return false;
  }
  return false;
}

/// Returns true if both types are the same float type, or if the weight has few
/// bits and can be converted in registers.
static bool canMultiply(Type row, Type weight, bool isQuantized) {
  bool isFloat = row.isBF16() || row.isF16() || row.isF32() || isNarrow(row);
  return isFloat && (row == weight || isNarrow(weight) || isQuantized);
}

static std::optional<WeightStream> match(linalg::GenericOp op,
                                         scf::ForOp vctas) {
  std::optional<QuantizedProduct> quantized = matchQuantizedProduct(op);
  if (!op.hasPureBufferSemantics() || !(quantized || isPlainRowProduct(op)) ||
      !hasRowOfSums(op))
    return std::nullopt;
  WeightStream stream;
  stream.product = op;
  if (quantized)
    stream.quantization = Quantization{*quantized, {}, {}};
  stream.row = op.getInputs()[0];
  auto row = cast<MemRefType>(stream.row.getType());
  auto tile = op.getInputs()[1].getDefiningOp<memref::SubViewOp>();
  if (!tile || !vctas.isDefinedOutsideOfLoop(stream.row) ||
      !isOnlyRead(stream.row, vctas) ||
      !isUnchangedBefore(op, stream.row, vctas) ||
      !row.getLayout().isIdentity() || !row.hasStaticShape() ||
      !(stream.row.getDefiningOp<memref::AllocaOp>() ||
        isAlignedArgument(stream.row)))
    return std::nullopt;
  stream.parameter = dyn_cast<BlockArgument>(tile.getSource());
  std::optional<int64_t> rows = getRowsPerVcta(tile, vctas);
  if (!stream.parameter || !rows || !isAlignedArgument(stream.parameter) ||
      !isa<func::FuncOp>(stream.parameter.getOwner()->getParentOp()))
    return std::nullopt;
  MemRefType type = stream.getType();
  if (!type.hasStaticShape() || !type.getLayout().isIdentity() ||
      !canMultiply(row.getElementType(), type.getElementType(),
                   quantized.has_value()))
    return std::nullopt;
  stream.rowsPerVcta = *rows;
  if ((quantized && !readQuantization(stream, vctas)) || !cutRow(stream))
    return std::nullopt;
  return stream;
}

/// Returns true if the kernel writes no buffer of a stream.
static bool readsParameters(KernelOp kernel, func::FuncOp body,
                            const WeightStream &stream) {
  SmallVector<Value> buffers = {stream.parameter};
  if (stream.quantization)
    llvm::append_range(buffers, stream.quantization->getBuffers());
  return llvm::all_of(buffers, [&](Value buffer) {
    return isParameter(kernel, body, cast<BlockArgument>(buffer));
  });
}

/// Returns true if a thread multiplies chunks of both by the same elements.
static bool haveOneRow(const WeightStream &a, const WeightStream &b) {
  auto getGroup = [](const WeightStream &stream) {
    return stream.quantization
               ? std::optional(stream.quantization->product.group)
               : std::nullopt;
  };
  return getGroup(a) == getGroup(b) && a.row == b.row &&
         a.chunksPerRow == b.chunksPerRow &&
         a.getType().getElementType() == b.getType().getElementType();
}

SmallVector<WeightStream> ark::findWeightStreams(KernelOp kernel,
                                                 func::FuncOp body) {
  SmallVector<WeightStream> streams;
  scf::ForOp vctas = getVctaLoop(body);
  if (!vctas)
    return streams;
  for (auto op : vctas.getBody()->getOps<linalg::GenericOp>())
    if (std::optional<WeightStream> stream = match(op, vctas);
        stream && readsParameters(kernel, body, *stream) &&
        (streams.empty() || haveOneRow(streams.front(), *stream)))
      streams.push_back(*stream);
  return streams;
}
