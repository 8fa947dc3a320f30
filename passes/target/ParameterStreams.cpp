//===- ParameterStreams.cpp - Products with streamed weights --------------===//

#include "passes/target/ParameterStreams.h"

#include "lib/support/BufferView.h"
#include "passes/kernel/KernelAbi.h"
#include "passes/target/Bodies.h"
#include "passes/target/RowPrologue.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::ark;

/// Bytes that the threads of a warp load at once, 16 for each thread.
static constexpr int64_t kWarpBytes = 512;
/// Bytes of the largest piece: four loads of a thread. With eight loads, the
/// elements of the row with which they are multiplied do not fit into registers
/// beside them.
static constexpr int64_t kMaxPieceBytes = 2048;
/// Bytes of the largest piece of 8-bit weights, which are multiplied with as
/// many elements of a row of 16 bits.
static constexpr int64_t kMaxNarrowPieceBytes = 1024;
/// If pieces of a row are dealt to warps, each warp keeps to one part of the
/// row.
static constexpr int64_t kMaxPiecesPerRow = 16;

MemRefType ParameterStream::getType() const {
  return cast<MemRefType>(parameter.getType());
}

int64_t ParameterStream::getNumRows() const { return getType().getDimSize(0); }

int64_t ParameterStream::getNumPieces(int64_t begin, int64_t end) const {
  int64_t last = std::min(end * rowsPerVcta, getNumRows());
  return std::max<int64_t>(last - begin * rowsPerVcta, 0) * piecesPerRow;
}

//===----------------------------------------------------------------------===//
// Tables of the kernel
//===----------------------------------------------------------------------===//

static constexpr int64_t kTaskFields = 2;
static constexpr int64_t kOperandFields = 2;
static constexpr int64_t kInstructionFields = 4;
static constexpr int64_t kLaneFields = 3;

SmallVector<SmallVector<LaneRun>> ark::getLaneRuns(KernelOp kernel) {
  auto tasks = llvm::to_vector(kernel.getTaskTable().getValues<int32_t>());
  auto rows = llvm::to_vector(kernel.getInstructions().getValues<int32_t>());
  auto lanes = llvm::to_vector(kernel.getLanes().getValues<int32_t>());
  SmallVector<SmallVector<LaneRun>> all;
  for (size_t lane = 0; lane < lanes.size(); lane += kLaneFields) {
    SmallVector<LaneRun> runs;
    for (int64_t index = lanes[lane + 1]; index < lanes[lane + 2]; ++index) {
      const int32_t *row = &rows[index * kInstructionFields];
      if (row[0] != KernelOp::kRunOpcode)
        continue;
      const int32_t *task = &tasks[row[1] * kTaskFields];
      runs.push_back({task[0], task[1], row[2], row[3]});
    }
    all.push_back(std::move(runs));
  }
  return all;
}

int64_t ark::getLongestRun(KernelOp kernel, func::FuncOp body) {
  int64_t longest = 0;
  for (ArrayRef<LaneRun> lane : getLaneRuns(kernel))
    for (const LaneRun &run : lane) {
      auto entry = cast<DictionaryAttr>(kernel.getBodies()[run.body]);
      auto name = entry.getAs<FlatSymbolRefAttr>("function");
      if (name && name.getValue() == StringRef(body.getSymName()))
        longest = std::max(longest, run.end - run.begin);
    }
  return longest;
}

OperandPlace ark::getOperandPlace(KernelOp kernel, int64_t row) {
  auto values = kernel.getOperandsAttr().getValues<int64_t>();
  // A body may have more arguments than the kernel has operands for it.
  if ((row + 1) * kOperandFields > static_cast<int64_t>(values.size()))
    return {/*slot=*/-1, /*offset=*/0};
  return {values[row * kOperandFields], values[row * kOperandFields + 1]};
}

/// Returns true if nobody writes the buffer of a slot while the kernel runs.
static bool isConstantSlot(KernelOp kernel, int64_t slot) {
  if (slot < 1 || slot > static_cast<int64_t>(kernel.getBuffers().size()))
    return false;
  auto buffer = cast<DictionaryAttr>(kernel.getBuffers()[slot - 1]);
  auto kind = buffer.getAs<StringAttr>("kind");
  return kind && (kind == stringifyArgumentKind(ArgumentKind::Parameter) ||
                  kind == stringifyArgumentKind(ArgumentKind::Constant));
}

static std::optional<int32_t> getBodyIndex(KernelOp kernel, func::FuncOp body) {
  for (auto [index, entry] : llvm::enumerate(kernel.getBodies()))
    if (cast<DictionaryAttr>(entry).getAs<FlatSymbolRefAttr>("function") ==
        FlatSymbolRefAttr::get(body.getSymNameAttr()))
      return index;
  return std::nullopt;
}

/// Returns true if an argument of a body is a parameter in all tasks with that
/// body, at an address where copies may begin.
static bool isParameter(KernelOp kernel, func::FuncOp body,
                        BlockArgument argument) {
  auto tasks = llvm::to_vector(kernel.getTaskTable().getValues<int32_t>());
  std::optional<int32_t> index = getBodyIndex(kernel, body);
  int64_t operand = argument.getArgNumber() - abi::kBodyOperands;
  for (size_t task = 0; task < tasks.size(); task += kTaskFields) {
    if (index != tasks[task])
      continue;
    OperandPlace place = getOperandPlace(kernel, tasks[task + 1] + operand);
    if (!isConstantSlot(kernel, place.slot) ||
        place.offset % abi::kGpuBufferAlignment != 0)
      return false;
  }
  return isAlignedArgument(argument);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Returns true if an op computes `out[0, n] += a[0, k] * b[n, k]` in f32.
static bool isRowProduct(linalg::GenericOp op) {
  if (!op.hasPureBufferSemantics() || op.getNumDpsInputs() != 2 ||
      op.getNumDpsInits() != 1 || op.getNumLoops() != 3 ||
      !linalg::isaContractionOpInterface(op))
    return false;
  MLIRContext *context = op.getContext();
  AffineExpr m, n, k;
  bindDims(context, m, n, k);
  auto map = [&](AffineExpr first, AffineExpr second) {
    return AffineMap::get(3, 0, {first, second}, context);
  };
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  auto out = cast<MemRefType>(op.getDpsInits()[0].getType());
  return maps[0] == map(m, k) && maps[1] == map(n, k) && maps[2] == map(m, n) &&
         out.getDimSize(0) == 1 && out.getElementType().isF32();
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

/// Returns the number of rows of each vCTA, if tiles have all columns of their
/// rows.
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

static bool isNarrow(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(type);
}

/// Cuts a row into few pieces of full width. Returns false if that fails.
static bool cutRow(ParameterStream &stream) {
  MemRefType type = stream.getType();
  int64_t bytes = type.getDimSize(1) * type.getElementTypeBitWidth() / 8;
  int64_t most =
      isNarrow(type.getElementType()) ? kMaxNarrowPieceBytes : kMaxPieceBytes;
  for (int64_t pieces = 1; pieces <= kMaxPiecesPerRow; pieces *= 2)
    if (bytes % (pieces * kWarpBytes) == 0 && bytes / pieces <= most) {
      stream.piecesPerRow = pieces;
      stream.pieceBytes = bytes / pieces;
      return true;
    }
  return false;
}

/// Returns true if the loop over vCTAs only reads a row. All products are
/// computed before the loop, where results of its iterations do not exist yet.
static bool isOnlyRead(Value row, scf::ForOp vctas) {
  return llvm::all_of(row.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    auto op = dyn_cast<linalg::LinalgOp>(user);
    return !vctas->isProperAncestor(user) || (op && op.isDpsInput(&use));
  });
}

/// Returns true for floats of one type, and for 8-bit weights, which threads
/// widen.
static bool canMultiply(Type row, Type weight) {
  bool isFloat = row.isBF16() || row.isF16() || row.isF32() || isNarrow(row);
  return isFloat && (row == weight || isNarrow(weight));
}

static std::optional<ParameterStream> match(linalg::GenericOp op,
                                            scf::ForOp vctas) {
  if (!isRowProduct(op))
    return std::nullopt;
  ParameterStream stream;
  stream.product = op;
  stream.row = op.getInputs()[0];
  auto row = cast<MemRefType>(stream.row.getType());
  auto tile = op.getInputs()[1].getDefiningOp<memref::SubViewOp>();
  if (!tile || !vctas.isDefinedOutsideOfLoop(stream.row) ||
      !isOnlyRead(stream.row, vctas) || !row.getLayout().isIdentity() ||
      !row.hasStaticShape() ||
      !(stream.row.getDefiningOp<memref::AllocaOp>() ||
        isAlignedArgument(stream.row)))
    return std::nullopt;
  stream.parameter = dyn_cast<BlockArgument>(tile.getSource());
  std::optional<int64_t> rows = getRowsPerVcta(tile, vctas);
  if (!stream.parameter || !rows ||
      !isa<func::FuncOp>(stream.parameter.getOwner()->getParentOp()))
    return std::nullopt;
  MemRefType type = stream.getType();
  if (!type.hasStaticShape() || !type.getLayout().isIdentity() ||
      !canMultiply(row.getElementType(), type.getElementType()))
    return std::nullopt;
  stream.rowsPerVcta = *rows;
  if (!cutRow(stream))
    return std::nullopt;
  return stream;
}

/// Returns true if a thread multiplies pieces of both with the same elements.
static bool haveOneRow(const ParameterStream &a, const ParameterStream &b) {
  return a.row == b.row && a.piecesPerRow == b.piecesPerRow &&
         a.getType().getElementType() == b.getType().getElementType();
}

SmallVector<ParameterStream> ark::findParameterStreams(KernelOp kernel,
                                                       func::FuncOp body) {
  SmallVector<ParameterStream> streams;
  scf::ForOp vctas = getVctaLoop(body);
  if (!vctas)
    return streams;
  for (auto op : vctas.getBody()->getOps<linalg::GenericOp>())
    if (std::optional<ParameterStream> stream = match(op, vctas);
        stream && isParameter(kernel, body, stream->parameter) &&
        (streams.empty() || haveOneRow(streams.front(), *stream)))
      streams.push_back(*stream);
  return streams;
}
