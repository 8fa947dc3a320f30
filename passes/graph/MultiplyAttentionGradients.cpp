//===- MultiplyAttentionGradients.cpp - Gradients as matrix products ------===//

#include "lib/analysis/CostModel.h"
#include "lib/support/GraphUtils.h"
#include "lib/support/OnePassAttention.h"
#include "passes/graph/Passes.h"

#include "mlir/IR/PatternMatch.h"

#include <limits>

namespace mlir::ark {
#define GEN_PASS_DEF_MULTIPLYATTENTIONGRADIENTSPASS
#include "passes/graph/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

static ArrayRef<int64_t> getShape(Value value) {
  return getTensorType(value).getShape();
}

namespace {
/// The operands that gradients of queries and of keys have in common.
struct Operands {
  template <typename OpTy>
  explicit Operands(OpTy op)
      : query(op.getQuery()), key(op.getKey()), value(op.getValue()),
        cotangent(op.getCotangent()), logSumExp(op.getLogSumExp()),
        mean(op.getMean()), mask(op.getMask()), length(op.getKvLength()),
        scale(op.getScale().convertToDouble()), causal(op.getCausal()) {}

  bool operator==(const Operands &other) const {
    auto tie = [](const Operands &x) {
      return std::tie(x.query, x.key, x.value, x.cotangent, x.logSumExp, x.mean,
                      x.mask, x.length, x.scale, x.causal);
    };
    return tie(*this) == tie(other);
  }

  Type getElement() const { return getTensorType(query).getElementType(); }
  int64_t getNumQueries() const { return getShape(mean).back(); }
  int64_t getNumKeys() const { return getShape(key).drop_back().back(); }
  int64_t countScores() const {
    return getTensorType(mean).getNumElements() * getNumKeys();
  }

  Value query, key, value, cotangent, logSumExp, mean, mask, length;
  double scale;
  bool causal;
};

/// Creates the weights and the shares (the gradients of the scores), tensors of
/// the shape `[..., H, R, Tq, Tk]`, and the products of these tensors with
/// queries, keys and cotangents.
class ProductBuilder {
public:
  ProductBuilder(OpBuilder &builder, Location loc, const Operands &operands)
      : builder(builder), loc(loc), operands(operands) {
    buildFactors();
  }

  const Operands &getOperands() const { return operands; }
  Value buildQueries(OpBuilder &b, Location l) {
    return multiply(b, l, scaledShares, keys, operands.getElement());
  }
  Value buildKeys(OpBuilder &b, Location l) {
    return addUp(b, l, scaledShares, operands.query);
  }
  Value buildValues(OpBuilder &b, Location l) {
    return addUp(b, l, weights, operands.cotangent);
  }

private:
  Value createNumber(double number);
  Value createPositions(int64_t count, int64_t first, Type element,
                        bool isColumn);
  Value compare(ComparePredicate predicate, Value left, Value right) {
    return CompareOp::create(builder, loc, predicate, left, right);
  }
  Value withUnitDim(Value tensor, int64_t fromEnd);
  Value cast(Value tensor, Type element);
  Value multiply(OpBuilder &b, Location l, Value left, Value right,
                 Type element, bool transposeLeft = false,
                 bool transposeRight = false);
  Value addUp(OpBuilder &b, Location l, Value factors, Value rows);
  Value buildShared(Value rows);
  Value buildSeen();
  void buildFactors();

  OpBuilder builder;
  Location loc;
  Operands operands;
  /// Keys with a dimension of one head, and the factors in the operands' type.
  Value keys, weights, scaledShares;
};
} // namespace

//===----------------------------------------------------------------------===//
// Single ops
//===----------------------------------------------------------------------===//

Value ProductBuilder::createNumber(double number) {
  auto type = RankedTensorType::get({}, builder.getF32Type());
  return ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(type, builder.getF32FloatAttr(number)));
}

/// Creates `first`, `first + 1`, ... as a column or as a row.
Value ProductBuilder::createPositions(int64_t count, int64_t first,
                                      Type element, bool isColumn) {
  unsigned width = element.getIntOrFloatBitWidth();
  SmallVector<APInt> numbers;
  for (int64_t i = 0; i < count; ++i)
    numbers.emplace_back(width, first + i, /*isSigned=*/true);
  SmallVector<int64_t> shape = {count};
  if (isColumn)
    shape.push_back(1);
  return ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(RankedTensorType::get(shape, element), numbers));
}

/// Inserts a dimension of extent one before the last `fromEnd` dimensions.
Value ProductBuilder::withUnitDim(Value tensor, int64_t fromEnd) {
  SmallVector<int64_t> shape(getShape(tensor));
  shape.insert(shape.end() - fromEnd, 1);
  return ReshapeOp::create(builder, loc, tensor, shape);
}

Value ProductBuilder::cast(Value tensor, Type element) {
  if (getTensorType(tensor).getElementType() == element)
    return tensor;
  return CastOp::create(builder, loc, tensor, element);
}

Value ProductBuilder::multiply(OpBuilder &b, Location l, Value left,
                               Value right, Type element, bool transposeLeft,
                               bool transposeRight) {
  SmallVector<int64_t> shape(getShape(left).drop_back(2));
  shape.push_back(getShape(left).take_back(2)[transposeLeft ? 1 : 0]);
  shape.push_back(getShape(right).take_back(2)[transposeRight ? 0 : 1]);
  return MatmulOp::create(b, l, RankedTensorType::get(shape, element), left,
                          right, transposeLeft, transposeRight);
}

/// Sums `factors` times `rows` over the queries of all heads that share a key.
Value ProductBuilder::addUp(OpBuilder &b, Location l, Value factors,
                            Value rows) {
  Value product = multiply(b, l, factors, rows, operands.getElement(),
                           /*transposeLeft=*/true);
  int64_t heads = getShape(product).size() - 3;
  return ReduceSumOp::create(b, l, product, ArrayRef<int64_t>{heads},
                             /*keepdims=*/false);
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

/// Returns keys or values of one head, with zeros beyond a run-time length,
/// where a cache may hold NaN.
Value ProductBuilder::buildShared(Value rows) {
  if (operands.length) {
    Type index = getTensorType(operands.length).getElementType();
    Value valid = compare(ComparePredicate::LT,
                          createPositions(operands.getNumKeys(), 0, index,
                                          /*isColumn=*/true),
                          operands.length);
    rows = WhereOp::create(builder, loc, valid, rows,
                           cast(createNumber(0), operands.getElement()));
  }
  return withUnitDim(rows, 2);
}

/// Returns a bool tensor that is true where a query sees a key, or null if
/// queries see all keys.
Value ProductBuilder::buildSeen() {
  Value seen;
  auto require = [&](Value condition) {
    seen = seen
               ? LogicalAndOp::create(builder, loc, seen, condition).getResult()
               : condition;
  };
  Type index = operands.length ? getTensorType(operands.length).getElementType()
                               : builder.getI32Type();
  Value columns = createPositions(operands.getNumKeys(), 0, index,
                                  /*isColumn=*/false);
  if (operands.mask &&
      getTensorType(operands.mask).getElementType().isInteger(1))
    require(operands.mask);
  if (operands.length)
    require(compare(ComparePredicate::LT, columns, operands.length));
  if (operands.causal) {
    // The last query is at the last valid key.
    int64_t queries = operands.getNumQueries();
    int64_t keyCount = operands.length ? 0 : operands.getNumKeys();
    Value last =
        createPositions(queries, keyCount - queries, index, /*isColumn=*/true);
    if (operands.length)
      last = AddOp::create(builder, loc, last, operands.length);
    require(compare(ComparePredicate::LE, columns, last));
  }
  return seen;
}

void ProductBuilder::buildFactors() {
  Type element = operands.getElement(), f32 = builder.getF32Type();
  keys = buildShared(operands.key);
  Value scale = createNumber(operands.scale);
  Value scores =
      MulOp::create(builder, loc,
                    multiply(builder, loc, operands.query, keys, f32,
                             /*transposeLeft=*/false, /*transposeRight=*/true),
                    scale);
  Value seen = buildSeen();
  if (operands.mask &&
      !getTensorType(operands.mask).getElementType().isInteger(1))
    scores = AddOp::create(builder, loc, scores, cast(operands.mask, f32));
  // The least finite number masks a score, as in the rule of attention.
  if (seen)
    scores = WhereOp::create(builder, loc, seen, scores,
                             createNumber(-std::numeric_limits<float>::max()));
  Value exponentials = ExpOp::create(
      builder, loc,
      SubOp::create(builder, loc, scores, withUnitDim(operands.logSumExp, 0)));
  // The difference may overflow for a hidden key.
  if (seen)
    exponentials =
        WhereOp::create(builder, loc, seen, exponentials, createNumber(0));
  weights = cast(exponentials, element);
  Value slopes = multiply(builder, loc, operands.cotangent,
                          buildShared(operands.value), f32,
                          /*transposeLeft=*/false, /*transposeRight=*/true);
  Value centred =
      SubOp::create(builder, loc, slopes, withUnitDim(operands.mean, 0));
  Value shares = MulOp::create(builder, loc, cast(weights, f32), centred);
  scaledShares = cast(MulOp::create(builder, loc, shares, scale), element);
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// Replaces the parts that a slice takes of gradients of keys and values.
/// Other readers get both parts, joined.
static void replaceKeyValues(RewriterBase &rewriter,
                             AttentionKeyValueGradientOp op, Value ofKeys,
                             Value ofValues) {
  int64_t depth = getShape(ofKeys).back();
  for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
    auto slice = dyn_cast<SliceOp>(user);
    if (!slice)
      continue;
    for (auto [part, start] :
         {std::pair(ofKeys, int64_t(0)), std::pair(ofValues, depth)})
      if (slice.getType() == part.getType() &&
          slice.getStarts().back() == start) {
        rewriter.replaceOp(slice, part);
        break;
      }
  }
  if (op->use_empty())
    return rewriter.eraseOp(op);
  rewriter.replaceOpWithNewOp<ConcatOp>(op, ValueRange{ofKeys, ofValues},
                                        getShape(ofKeys).size() - 1);
}

namespace {
struct MultiplyAttentionGradientsPass
    : ark::impl::MultiplyAttentionGradientsPassBase<
          MultiplyAttentionGradientsPass> {
  using MultiplyAttentionGradientsPassBase::MultiplyAttentionGradientsPassBase;

  /// Returns true if warps of the target compute gradients of these operands in
  /// blocks on matrix units: the accumulators of a product are an operand of
  /// the next one in the same threads.
  static bool hasBlocksOnMatrixUnits(GpuAttr gpu, const Operands &operands) {
    MmaAttr mma = gpu.findRegisterMma();
    int64_t depth = getShape(operands.query).back();
    return mma && mma.hasOperandsOfSameThreads() &&
           mma.hasAccumulatorsInThreadsOfLhs() &&
           depth == getShape(operands.value).back() &&
           depth % kOnePassDepthUnit == 0 && depth <= kMaxOnePassDepth;
  }

  /// Returns true if matrix units compute the products of a gradient, and two
  /// tensors of the shape of the scores may pass through memory.
  bool shouldMultiply(Operation *op, const Operands &operands) {
    auto plan = op->getAttrOfType<DictionaryAttr>(ArkDialect::kPlanAttr.str());
    TargetAttr target = findTarget(op);
    if ((plan && plan.contains("tile")) || !target || !target.isGpu() ||
        operands.countScores() > mostScores)
      return false;
    // Units of warpgroups multiply f32 as sums of narrower numbers.
    GpuAttr gpu = target.getGpu();
    if (operands.getElement().isF32())
      return static_cast<bool>(gpu.findSharedMemoryMma());
    return !gpu.getMma().empty() && !hasBlocksOnMatrixUnits(gpu, operands);
  }

  /// Returns the builder for operands. Gradients with equal operands share
  /// their factors.
  ProductBuilder &getBuilder(RewriterBase &rewriter, Operation *op,
                             const Operands &operands) {
    auto *known = llvm::find_if(builders, [&](const ProductBuilder &builder) {
      return builder.getOperands() == operands;
    });
    if (known != builders.end())
      return *known;
    return builders.emplace_back(rewriter, op->getLoc(), operands);
  }

  void multiplyQueries(RewriterBase &rewriter, AttentionQueryGradientOp op) {
    Operands operands(op);
    if (!shouldMultiply(op, operands))
      return;
    ProductBuilder &builder = getBuilder(rewriter, op, operands);
    rewriter.replaceOp(op, builder.buildQueries(rewriter, op.getLoc()));
    ++numGradients;
  }

  void multiplyKeyValues(RewriterBase &rewriter,
                         AttentionKeyValueGradientOp op) {
    Operands operands(op);
    if (!shouldMultiply(op, operands))
      return;
    ProductBuilder &builder = getBuilder(rewriter, op, operands);
    replaceKeyValues(rewriter, op, builder.buildKeys(rewriter, op.getLoc()),
                     builder.buildValues(rewriter, op.getLoc()));
    ++numGradients;
  }

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    builders.clear();
    SmallVector<Operation *> gradients;
    for (auto op :
         getOperation().getBody().getOps<AttentionGradientOpInterface>())
      gradients.push_back(op);
    for (Operation *op : gradients) {
      rewriter.setInsertionPoint(op);
      if (auto ofQueries = dyn_cast<AttentionQueryGradientOp>(op))
        multiplyQueries(rewriter, ofQueries);
      else
        multiplyKeyValues(rewriter, cast<AttentionKeyValueGradientOp>(op));
    }
    builders.clear();
  }

  SmallVector<ProductBuilder> builders;
};
} // namespace
