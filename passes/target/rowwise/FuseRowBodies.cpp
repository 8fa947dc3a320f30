//===- FuseRowBodies.cpp - Bodies that only compute rows ------------------===//

#include "passes/target/memory_access/WideLoad.h"
#include "passes/target/rowwise/Passes.h"
#include "passes/target/rowwise/RowBuilder.h"
#include "passes/target/support/Aliasing.h"
#include "passes/target/support/Alignment.h"
#include "passes/target/support/Bodies.h"
#include "passes/target/support/MappedLoop.h"
#include "passes/target/support/Warp.h"

#include "lib/support/BufferView.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::ark {
#define GEN_PASS_DEF_FUSEROWBODIESPASS
#include "passes/target/rowwise/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Upper bound of the registers of a thread for rows and vectors.
static constexpr int64_t kMaxWords = 48;
/// A body with fewer reductions reads its rows only twice.
static constexpr int64_t kMinReductions = 2;
/// Upper bound of the numbers that one thread stores for a row.
static constexpr int64_t kMaxNumbers = 4;

namespace {
/// All ops of a vCTA if they compute rows, and numbers of rows, from nothing
/// but these rows and from vectors that all rows share.
class RowBody {
public:
  /// Returns nothing if an op of the block has another form, or if the rows do
  /// not fit into the registers of `warps` warps.
  static std::optional<RowBody> match(Block &block, int64_t warps,
                                      int64_t warpSize);

  /// Replaces the ops by a loop over threads.
  void build(int64_t threads);
  int64_t getNumRows() const { return shape[0]; }

private:
  bool collect(Block &block);
  bool add(linalg::GenericOp op);
  bool addOperand(linalg::GenericOp op, OpOperand *operand);
  bool addInput(Value input, AffineMap map);
  bool addNumbers(linalg::GenericOp op);
  bool storesRow(Value out) const;
  bool isOwned(Value out) const;
  bool divide(int64_t warps, int64_t warpSize);
  void storeNumbers(ImplicitLocOpBuilder &builder, linalg::GenericOp op,
                    ArrayRef<Value> values, const ThreadIndices &indices,
                    int64_t warps) const;
  void erase();

  /// In program order.
  SmallVector<linalg::GenericOp> ops;
  /// The number of rows, and their length.
  SmallVector<int64_t> shape;
  llvm::SetVector<Value> inputs;
  /// Temporaries with a number for each row, and with rows.
  llvm::SmallPtrSet<Value, 8> scalars, intermediates;
  /// The ops that write rows, or numbers of rows, for other tasks.
  llvm::SmallPtrSet<Operation *, 4> rowStores, numberStores;
  RowShares shares;
};
} // namespace

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

/// Returns true for a reduction of rows to numbers that threads exchange in one
/// shuffle.
static bool isRowReduction(linalg::GenericOp op) {
  Type element = getElementTypeOrSelf(op.getDpsInits()[0]);
  return getCombiner(op) && element.getIntOrFloatBitWidth() == 32 &&
         op.getIteratorTypesArray().back() == utils::IteratorType::reduction;
}

/// Collects the ops. Returns false if the block has other effects, or if there
/// are few reductions.
bool RowBody::collect(Block &block) {
  int64_t reductions = 0;
  for (Operation &op : block.without_terminator()) {
    auto structured = dyn_cast<linalg::GenericOp>(op);
    if (!structured && isMemoryEffectFree(&op))
      continue;
    if (!structured || !structured.hasPureBufferSemantics() ||
        structured.getNumDpsInits() != 1)
      return false;
    ops.push_back(structured);
    if (!isRowReduction(structured))
      continue;
    ++reductions;
    shape = structured.getStaticLoopRanges();
  }
  return reductions >= kMinReductions && !ShapedType::isDynamicShape(shape);
}

static ArrayRef<int64_t> getShape(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getShape();
}

/// Returns true for a temporary that only these ops access.
bool RowBody::isOwned(Value out) const {
  return out.getDefiningOp<memref::AllocaOp>() &&
         llvm::all_of(out.getUsers(), [&](Operation *user) {
           return llvm::is_contained(ops, user);
         });
}

/// Returns true if vectors of a buffer's neighbours can be loaded and stored.
static bool isVectorizable(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  return !arePackets(buffer) && type.getElementType().isIntOrFloat() &&
         type.getElementTypeBitWidth() >= 8 &&
         succeeded(type.getStridesAndOffset(strides, offset)) &&
         strides.back() == 1;
}

/// Adds rows, or a vector that all rows share.
bool RowBody::addInput(Value input, AffineMap map) {
  auto type = cast<MemRefType>(input.getType());
  AffineExpr column = getAffineDimExpr(1, map.getContext());
  bool isRow = map.isIdentity() && type.getShape() == ArrayRef(shape);
  bool isVector = map.getNumResults() == 1 && map.getResult(0) == column &&
                  type.getShape() == ArrayRef(shape).drop_front();
  // Loads precede all stores.
  bool isStored = llvm::any_of(rowStores, [&](Operation *store) {
    Value out = cast<linalg::GenericOp>(store).getDpsInits()[0];
    return getRoot(out) == getRoot(input);
  });
  if ((!isRow && !isVector) || isStored || !isVectorizable(input))
    return false;
  inputs.insert(input);
  return true;
}

/// Returns true if an earlier op writes the rows `out` for other tasks.
bool RowBody::storesRow(Value out) const {
  return llvm::any_of(rowStores, [&](Operation *store) {
    return cast<linalg::GenericOp>(store).getDpsInits()[0] == out;
  });
}

bool RowBody::addOperand(linalg::GenericOp op, OpOperand *operand) {
  Value value = operand->get();
  if (!isa<ShapedType>(value.getType()))
    return true;
  AffineMap map = op.getMatchingIndexingMap(operand);
  if (scalars.contains(value))
    return map.getNumResults() == 1 &&
           map.getResult(0) == getAffineDimExpr(0, map.getContext());
  if (intermediates.contains(value) || storesRow(value))
    return map.isIdentity();
  return op.getNumLoops() == 2 && addInput(value, map);
}

/// Adds an op that computes a few numbers of a row from others, such as the
/// mean and the scale of a norm.
bool RowBody::addNumbers(linalg::GenericOp op) {
  Value out = op.getDpsInits()[0];
  bool readsScalars =
      llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
        return !isa<ShapedType>(operand->get().getType()) ||
               (scalars.contains(operand->get()) && addOperand(op, operand));
      });
  if (!readsScalars || getShape(out)[0] != shape[0] ||
      getShape(out)[1] > kMaxNumbers || arePackets(out))
    return false;
  numberStores.insert(op);
  return true;
}

/// Adds an op that reads what earlier ops compute.
bool RowBody::add(linalg::GenericOp op) {
  Value out = op.getDpsInits()[0];
  if (writesRow(op, /*allowsIndices=*/true) && getShape(out) != ArrayRef(shape))
    return addNumbers(op);
  bool isRow = writesRow(op);
  if (!dependsOnElementsAndConstants(op) ||
      !llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
        return addOperand(op, operand);
      }))
    return false;
  if (isRow && !isOwned(out)) {
    rowStores.insert(op);
    return isVectorizable(out);
  }
  (isRow ? intermediates : scalars).insert(out);
  return isOwned(out) &&
         (isRow || ((isRowReduction(op) || isScalarOp(op)) &&
                    getShape(out) == ArrayRef(shape).drop_back()));
}

/// Divides the rows among warps. Returns false if registers cannot hold them.
bool RowBody::divide(int64_t warps, int64_t warpSize) {
  SmallVector<Value> buffers(inputs.begin(), inputs.end());
  for (Operation *op : rowStores)
    buffers.push_back(cast<linalg::GenericOp>(op).getDpsInits()[0]);
  // Elements of intermediate rows have 32 bits.
  constexpr int64_t kWordBits = 32;
  int64_t bytes = 1, bits = kWordBits * intermediates.size();
  for (Value buffer : buffers) {
    Type element = cast<MemRefType>(buffer.getType()).getElementType();
    bytes = std::max(bytes, getElementBytes(element));
    bits += element.getIntOrFloatBitWidth();
  }
  std::optional<RowShares> found =
      divideRows(shape[0], shape[1], bytes, warps, warpSize);
  if (!found || found->getElements() * bits > kMaxWords * kWordBits)
    return false;
  shares = *found;
  return llvm::all_of(buffers, [&](Value buffer) {
    auto type = cast<MemRefType>(buffer.getType());
    return getRowAlignment(buffer, shares.width) >=
           shares.width * getElementBytes(type.getElementType());
  });
}

std::optional<RowBody> RowBody::match(Block &block, int64_t warps,
                                      int64_t warpSize) {
  RowBody body;
  if (!body.collect(block) ||
      !llvm::all_of(body.ops,
                    [&](linalg::GenericOp op) { return body.add(op); }) ||
      body.rowStores.empty() || !body.divide(warps, warpSize))
    return std::nullopt;
  return body;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

/// Stores numbers of the row, by one thread of the row.
void RowBody::storeNumbers(ImplicitLocOpBuilder &builder, linalg::GenericOp op,
                           ArrayRef<Value> values, const ThreadIndices &indices,
                           int64_t warps) const {
  OpBuilder::InsertionGuard restore(builder);
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(builder, number);
  };
  auto isEqual = [&](Value index, int64_t number) -> Value {
    return arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, index,
                                 constant(number));
  };
  Value leads = arith::AndIOp::create(builder, isEqual(indices.inWarp, 0),
                                      isEqual(indices.warpOfRow, 0));
  if (shape[0] * shares.warpsPerRow < warps)
    leads = arith::AndIOp::create(
        builder, leads,
        arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, indices.warp,
                              constant(shape[0] * shares.warpsPerRow)));
  auto branch = scf::IfOp::create(builder, leads, /*withElseRegion=*/false);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  for (auto [column, value] : llvm::enumerate(values))
    memref::StoreOp::create(
        builder, value, op.getDpsInits()[0],
        ValueRange{indices.row, constant(static_cast<int64_t>(column))});
}

void RowBody::build(int64_t threads) {
  int64_t warps = threads / shares.warpSize;
  linalg::GenericOp last = ops.back();
  ImplicitLocOpBuilder builder(last.getLoc(), last);
  Value thread = createMappedLoop(builder, threads);
  ThreadIndices indices =
      getThreadIndices(builder, thread, getNumRows(), warps, shares);
  RowBuilder row(builder, indices, shares, warps);
  for (Value input : inputs)
    row.load(input);
  // All values are computed before any of them is stored.
  SmallVector<SmallVector<Value>> results;
  for (linalg::GenericOp op : ops) {
    SmallVector<Value> &values = results.emplace_back();
    if (numberStores.contains(op))
      values = row.buildNumbers(op);
    else if (op.getNumReductionLoops() != 0)
      row.buildReduction(op);
    else if (isScalarOp(op))
      row.buildRowScalar(op);
    else
      row.buildIntermediate(op);
    if (rowStores.contains(op))
      llvm::append_range(values, row.getIntermediate(op));
  }
  for (auto [op, values] : llvm::zip(ops, results)) {
    if (numberStores.contains(op))
      storeNumbers(builder, op, values, indices, warps);
    else if (rowStores.contains(op))
      storeRow(builder, indices, values, op.getDpsInits()[0], warps, shares);
  }
  erase();
}

void RowBody::erase() {
  for (linalg::GenericOp op : llvm::reverse(ops)) {
    auto temporary = op.getDpsInits()[0].getDefiningOp<memref::AllocaOp>();
    op.erase();
    if (temporary && temporary->use_empty())
      temporary.erase();
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct FuseRowBodiesPass : ark::impl::FuseRowBodiesPassBase<FuseRowBodiesPass> {
  using FuseRowBodiesPassBase::FuseRowBodiesPassBase;

  void runOnOperation() override {
    FailureOr<int64_t> warpThreads = getWarpSize(getOperation(), warpSize);
    if (failed(warpThreads))
      return signalPassFailure();
    for (func::FuncOp body : getBodies(getOperation())) {
      scf::ForOp vctas = getVctaLoop(body);
      if (!vctas)
        continue;
      if (auto found = RowBody::match(*vctas.getBody(), threads / *warpThreads,
                                      *warpThreads)) {
        numRows += found->getNumRows();
        found->build(threads);
      }
    }
  }
};
} // namespace
