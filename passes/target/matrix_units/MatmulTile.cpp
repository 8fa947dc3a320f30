//===- MatmulTile.cpp - Matrix products for tensor cores ------------------===//

#include "passes/target/matrix_units/MatmulTile.h"

#include "passes/target/matrix_units/MatrixInstruction.h"
#include "passes/target/memory_access/WideLoad.h"
#include "passes/target/support/Alignment.h"

#include "lib/support/BufferView.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;
using namespace mlir::ark;

/// Fewest rows: a product of a single row is as fast without tensor cores.
static constexpr int64_t kMinRows = 2;
/// Smallest K: with fewer terms, the exchange between warps outweighs the gain.
static constexpr int64_t kMinDepth = 64;

/// Returns true for sum + a * b or sum + wide(a) * wide(b), with each operand
/// exactly once.
template <typename Add, typename Multiply, typename Widen>
static bool isSumOfProducts(linalg::LinalgOp op) {
  Block *block = op.getBlock();
  auto sum = block->getTerminator()->getOperand(0).getDefiningOp<Add>();
  if (!sum)
    return false;
  BlockArgument accumulator = block->getArgument(2);
  Value term = sum.getLhs() == accumulator ? sum.getRhs() : sum.getLhs();
  auto product = term.getDefiningOp<Multiply>();
  bool adds = sum.getLhs() == accumulator || sum.getRhs() == accumulator;
  if (!product || !adds)
    return false;
  auto isOperand = [](Value value, BlockArgument argument) {
    auto wide = value.getDefiningOp<Widen>();
    return wide ? wide.getIn() == argument : value == argument;
  };
  BlockArgument left = block->getArgument(0), right = block->getArgument(1);
  return (isOperand(product.getLhs(), left) &&
          isOperand(product.getRhs(), right)) ||
         (isOperand(product.getLhs(), right) &&
          isOperand(product.getRhs(), left));
}

/// Returns true if the accumulators of an instruction are the sums of `op`.
static bool isSumOfProducts(linalg::LinalgOp op, MmaAttr mma) {
  if (op.getBlock()->getTerminator()->getOperandTypes().front() !=
      getAccumulatorType(mma))
    return false;
  return mma.getOperands() == MmaOperands::Int8
             ? isSumOfProducts<arith::AddIOp, arith::MulIOp, arith::ExtSIOp>(op)
             : isSumOfProducts<arith::AddFOp, arith::MulFOp, arith::ExtFOp>(op);
}

/// Returns the majors of both operands of out[m, n] += left[m, k] * right[n,
/// k], for any order of the loops. Returns nothing for other maps.
static std::optional<std::pair<Major, Major>> getMajors(linalg::LinalgOp op) {
  FailureOr<linalg::ContractionDimensions> dims =
      linalg::inferContractionDims(op);
  if (failed(dims) || op.getNumLoops() != 3 || dims->m.size() != 1 ||
      dims->n.size() != 1 || dims->k.size() != 1)
    return std::nullopt;
  AffineMap identity = AffineMap::getMultiDimIdentityMap(3, op.getContext());
  auto select = [&](unsigned a, unsigned b) {
    return identity.getSubMap({a, b});
  };
  unsigned m = dims->m.front(), n = dims->n.front(), k = dims->k.front();
  auto getMajor = [&](AffineMap map, unsigned across) -> std::optional<Major> {
    if (map == select(across, k))
      return Major::K;
    return map == select(k, across) ? std::optional(Major::MN) : std::nullopt;
  };
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  std::optional<Major> left = getMajor(maps[0], m),
                       right = getMajor(maps[1], n);
  if (!left || !right || maps[2] != select(m, n))
    return std::nullopt;
  return std::pair(*left, *right);
}

static bool isLoadable(Value buffer, int64_t elementsPerLoad) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  int64_t bytes = std::min(
      elementsPerLoad * getElementBytes(type.getElementType()), kLoadBytes);
  return succeeded(type.getStridesAndOffset(strides, offset)) &&
         strides.back() == 1 &&
         getRowAlignment(buffer, elementsPerLoad) >= bytes;
}

/// Returns true for 8-bit floats, which both tensor-core types represent
/// exactly.
static bool isNarrow(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(type);
}

/// Returns true if an instruction takes operands as they are in memory.
static bool takes(MmaAttr mma, Type left, Type right) {
  if (left != right)
    return false;
  switch (mma.getOperands()) {
  case MmaOperands::Float16:
    return left.isBF16() || left.isF16();
  case MmaOperands::Float8:
    return isNarrow(left);
  case MmaOperands::Int8:
    return left.isSignlessInteger(8);
  }
  llvm_unreachable("not a kind of operands");
}

/// Returns true if instructions of 16-bit floats take operands after they are
/// widened or split.
static bool canConvert(Type left, Type right) {
  if (left.isF32() && right.isF32())
    return true;
  auto isOperand = [](Type type) {
    return type.isBF16() || type.isF16() || isNarrow(type);
  };
  return isOperand(left) && isOperand(right) &&
         (left == right || isNarrow(left) || isNarrow(right));
}

/// Returns a constant upper bound of a dimension, if there is one.
static std::optional<int64_t> getBound(Value buffer, int64_t dim) {
  FailureOr<int64_t> bound = ValueBoundsConstraintSet::computeConstantBound(
      presburger::BoundType::UB, {buffer, dim}, /*stopCondition=*/nullptr,
      /*closedUB=*/true);
  return succeeded(bound) ? std::optional<int64_t>(*bound) : std::nullopt;
}

/// Elements of K of a thread per instruction of 16-bit floats: as many as 8-bit
/// floats in a word.
static constexpr int64_t kDepthPerThread = 4;

/// Returns true if loads of 16 bytes are whole operands of a thread.
static bool hasSupportedDepth(MmaAttr mma, int64_t depthPerThread) {
  if (mma.getOperands() == MmaOperands::Float16)
    return depthPerThread == kDepthPerThread;
  return kLoadBytes * 8 / mma.getOperandBits() % depthPerThread == 0;
}

/// Returns true if a thread holds the same elements of K of both operands, and
/// one row of each of their blocks. Both operands may then use the order of K
/// in which the threads load it.
static bool areSupported(MmaAttr mma) {
  FragmentAttr lhs = mma.getLhs(), rhs = mma.getRhs(), acc = mma.getAcc();
  if (!lhs)
    return false;
  MatrixFragment left(lhs), right(rhs), accumulator(acc);
  int64_t perWord = getElementsPerWord(mma);
  return hasSupportedDepth(mma, left.getExtentPerThread(1)) &&
         right.getExtentPerThread(0) == left.getExtentPerThread(1) &&
         left.getConsecutive(0) == 1 && right.getConsecutive(1) == 1 &&
         right.getNumBlocks(1) == 1 && left.getConsecutive(1) % perWord == 0 &&
         right.getConsecutive(0) % perWord == 0 &&
         lhs.getThreads()[1] == rhs.getThreads()[0] &&
         lhs.getStrides()[1] == rhs.getStrides()[0] &&
         lhs.getThreads()[0] == rhs.getThreads()[1] &&
         lhs.getStrides()[0] == rhs.getStrides()[1] &&
         accumulator.getBlockExtent(0) == left.getBlockExtent(0);
}

/// Returns the first instruction that takes operands as they are, and the first
/// that takes them after a conversion.
static SmallVector<MmaAttr> findInstructions(ArrayRef<MmaAttr> instructions,
                                             Type left, Type right) {
  SmallVector<MmaAttr> found;
  auto addFirst = [&](auto canUse) {
    const MmaAttr *first = llvm::find_if(instructions, [&](MmaAttr mma) {
      return areSupported(mma) && canUse(mma);
    });
    if (first != instructions.end())
      found.push_back(*first);
  };
  addFirst([&](MmaAttr mma) { return takes(mma, left, right); });
  addFirst([&](MmaAttr mma) {
    return mma.getOperands() == MmaOperands::Float16 && canConvert(left, right);
  });
  return found;
}

/// Sets the extents. Returns false if they or the alignment of the operands are
/// not supported.
static bool setExtents(MatmulTile &product) {
  auto rows = getBound(product.out, 0), columns = getBound(product.out, 1);
  product.depth = cast<MemRefType>(product.right.getType())
                      .getDimSize(product.rightMajor == Major::K ? 1 : 0);
  if (!rows || !columns || ShapedType::isDynamic(product.depth))
    return false;
  product.rows = *rows;
  product.columns = *columns;
  int64_t perLoad = product.getElementsPerLoad();
  return product.rows >= kMinRows && product.depth >= kMinDepth &&
         product.depth % perLoad == 0 && isLoadable(product.left, perLoad) &&
         isLoadable(product.right, perLoad);
}

/// Returns true if the elements of all dimensions but the first follow one
/// another.
static bool hasContiguousRows(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> strides;
  int64_t offset, next = 1;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return false;
  for (int64_t dim = type.getRank() - 1; dim > 0; --dim) {
    if (strides[dim] != next)
      return false;
    next *= type.getDimSize(dim);
  }
  return true;
}

/// Returns the product of filters and the windows of an image, or nothing for
/// other ops.
static std::optional<MatmulTile>
matchConvolution(linalg::LinalgOp op, ArrayRef<MmaAttr> instructions) {
  if (!op.hasPureBufferSemantics() || linalg::isaContractionOpInterface(op))
    return std::nullopt;
  std::optional<RowConvolution> found = RowConvolution::match(op);
  if (!found)
    return std::nullopt;
  Value filters = op->getOperand(0), image = op->getOperand(1),
        out = op->getOperand(2);
  Type element = getElementTypeOrSelf(filters);
  std::optional<int64_t> rows = getBound(out, 0);
  if (!rows || !(element.isF16() || element.isBF16()) ||
      getElementTypeOrSelf(image) != element || !hasContiguousRows(filters) ||
      getLeadingAlignment(filters) < kLoadBytes ||
      !isLoadable(image, RowConvolution::kUnit))
    return std::nullopt;
  for (MmaAttr mma : findInstructions(instructions, element, element))
    if (isSumOfProducts(op, mma))
      return MatmulTile{op,
                        filters,
                        image,
                        out,
                        Major::K,
                        Major::MN,
                        *rows,
                        found->getProductColumns(),
                        found->getDepth(),
                        mma,
                        found};
  return std::nullopt;
}

std::optional<MatmulTile> MatmulTile::match(linalg::LinalgOp op,
                                            ArrayRef<MmaAttr> instructions) {
  if (std::optional<MatmulTile> found = matchConvolution(op, instructions))
    return found;
  if (!op.hasPureBufferSemantics() || !linalg::isaContractionOpInterface(op))
    return std::nullopt;
  auto majors = getMajors(op);
  if (!majors)
    return std::nullopt;
  Value left = op->getOperand(0), right = op->getOperand(1);
  for (MmaAttr mma : findInstructions(instructions, getElementTypeOrSelf(left),
                                      getElementTypeOrSelf(right))) {
    MatmulTile product{
        op, left, right, op->getOperand(2), majors->first, majors->second, 0,
        0,  0,    mma};
    if (isSumOfProducts(op, mma) && setExtents(product))
      return product;
  }
  return std::nullopt;
}

int64_t MatmulTile::getColumnsPerLoad() const {
  return MatrixFragment(mma.getLhs()).getBlockExtent(0);
}

Type MatmulTile::getAccumulatorType() const {
  return ark::getAccumulatorType(mma);
}

Type MatmulTile::getElementType() const {
  if (mma.getOperands() != MmaOperands::Float16)
    return getElementTypeOrSelf(left);
  if (isSplit())
    return BFloat16Type::get(left.getContext());
  for (Value operand : {left, right})
    if (Type type = getElementTypeOrSelf(operand); !isNarrow(type))
      return type;
  return Float16Type::get(left.getContext());
}

bool MatmulTile::isPlain() const {
  return llvm::all_of(ArrayRef<Value>{left, right}, [&](Value operand) {
    return getElementTypeOrSelf(operand) == getElementType();
  });
}

bool MatmulTile::isSplit() const { return getElementTypeOrSelf(left).isF32(); }

bool MatmulTile::hasTemporaryRows() const {
  return isSkinny() && left.getDefiningOp<memref::AllocaOp>();
}

Value ark::createSum(OpBuilder &builder, Location loc, Value a, Value b,
                     arith::FastMathFlags flags) {
  if (isa<IntegerType>(a.getType()))
    return arith::AddIOp::create(builder, loc, a, b);
  return arith::AddFOp::create(builder, loc, a, b, flags);
}

bool ark::isZero(Value number) {
  return matchPattern(number, m_AnyZeroFloat()) ||
         matchPattern(number, m_Zero());
}
