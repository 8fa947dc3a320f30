//===- DecomposeNorm.cpp - Decompose softmax and norms --------------------===//

#include "passes/tiling/decompose/Decompose.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::ark;

/// Creates an elementwise op over the shape of `x`; `otherMaps` are the maps of
/// the inputs after `x`.
static Value mapLike(OpBuilder &builder, Location loc, Value x,
                     ArrayRef<Value> others, ArrayRef<AffineMap> otherMaps,
                     BodyFn body) {
  auto type = cast<RankedTensorType>(x.getType());
  SmallVector<Value> inputs = {x};
  llvm::append_range(inputs, others);
  SmallVector<AffineMap> maps = {
      builder.getMultiDimIdentityMap(type.getRank())};
  llvm::append_range(maps, otherMaps);
  Value init =
      createEmpty(builder, loc, type.getShape(), type.getElementType());
  return createElementwise(builder, loc, inputs, maps, init, body);
}

static Value sumOver(OpBuilder &builder, Location loc, Value x, int64_t axis) {
  Type element = cast<RankedTensorType>(x.getType()).getElementType();
  return createReduction(builder, loc, x, {axis},
                         createNumber(builder, loc, element, 0),
                         [](OpBuilder &b, Location l, ValueRange v) -> Value {
                           return arith::AddFOp::create(b, l, v[0], v[1]);
                         });
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

namespace {
struct DecomposeSoftmax : OpConversionPattern<SoftmaxOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(SoftmaxOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value x = adaptor.getOperand();
    auto type = cast<RankedTensorType>(x.getType());
    int64_t axis = op.getAxis();
    AffineMap rows =
        getMapWithout(rewriter.getContext(), type.getRank(), {axis});
    Value least = createExtreme(rewriter, loc, type.getElementType(),
                                /*least=*/true, /*isUnsigned=*/false);
    Value max = createReduction(
        rewriter, loc, x, {axis}, least,
        [](OpBuilder &b, Location l, ValueRange v) {
          return emitExtremum(b, l, v[0], v[1], /*isMaximum=*/true, false);
        });
    Value power = mapLike(rewriter, loc, x, {max}, {rows},
                          [](OpBuilder &b, Location l, ValueRange v) -> Value {
                            return math::ExpOp::create(
                                b, l, arith::SubFOp::create(b, l, v[0], v[1]));
                          });
    // One division per row.
    Value sum = sumOver(rewriter, loc, power, axis);
    Value inverse =
        mapLike(rewriter, loc, sum, {}, {},
                [](OpBuilder &b, Location l, ValueRange v) -> Value {
                  Value one = createNumber(b, l, v[0].getType(), 1);
                  return arith::DivFOp::create(b, l, one, v[0]);
                });
    Value result = mapLike(rewriter, loc, power, {inverse}, {rows},
                           [](OpBuilder &b, Location l, ValueRange v) -> Value {
                             return arith::MulFOp::create(b, l, v[0], v[1]);
                           });
    rewriter.replaceOp(op, result);
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Normalisations
//===----------------------------------------------------------------------===//

namespace {
/// Builds an `ark.row_norm` that reads inputs in their memory types.
class NormBuilder {
public:
  NormBuilder(ConversionPatternRewriter &rewriter, Location loc, Value x)
      : rewriter(rewriter), loc(loc), type(cast<RankedTensorType>(x.getType())),
        element(getComputeType(type.getElementType())),
        rows(type.getRank() - 1) {}

  /// Adds an input, which has the number of the call.
  void addInput(Value original, Value converted, AffineMap map) {
    inputs.push_back(getContractionOperand(original, converted));
    maps.push_back(map);
  }
  AffineMap getMap() { return rewriter.getMultiDimIdentityMap(type.getRank()); }
  AffineMap getRowMap() {
    return getMapWithout(rewriter.getContext(), type.getRank(), {rows});
  }
  AffineMap getVectorMap() { return getMap().getMinorSubMap(1); }

  /// Builds the norm of the first input, multiplied by the input `weight`, if
  /// given, plus the input `bias`. Returns the result in the type of the
  /// computation.
  Value build(double eps, bool isCentred, std::optional<unsigned> weight,
              std::optional<unsigned> bias);

private:
  Block *createBlock(Region &region, bool withNormalised);

  ConversionPatternRewriter &rewriter;
  Location loc;
  RankedTensorType type;
  Type element;
  int64_t rows;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
};
} // namespace

Block *NormBuilder::createBlock(Region &region, bool withNormalised) {
  Block *block = rewriter.createBlock(&region);
  if (withNormalised)
    block->addArgument(element, loc);
  for (Value input : inputs)
    block->addArgument(getElementTypeOrSelf(input), input.getLoc());
  return block;
}

Value NormBuilder::build(double eps, bool isCentred,
                         std::optional<unsigned> weight,
                         std::optional<unsigned> bias) {
  ArrayRef<int64_t> shape = type.getShape();
  auto createOfRows = [&] {
    return createEmpty(rewriter, loc, shape.drop_back(), element);
  };
  Value mean = isCentred ? createOfRows() : Value(), scale = createOfRows(),
        out = createEmpty(rewriter, loc, shape, element);
  SmallVector<Type> types = {out.getType()};
  maps.push_back(getMap());
  for (Value ofRows : {mean, scale})
    if (ofRows) {
      types.push_back(ofRows.getType());
      maps.push_back(getRowMap());
    }
  auto op = RowNormOp::create(rewriter, loc, types, inputs, out, mean, scale,
                              rewriter.getF64FloatAttr(eps),
                              rewriter.getAffineMapArrayAttr(maps));
  OpBuilder::InsertionGuard guard(rewriter);
  auto widen = [&](Value value) {
    return convertScalar(rewriter, loc, value, element);
  };
  Block *prologue = createBlock(op.getPrologue(), /*withNormalised=*/false);
  YieldOp::create(rewriter, loc, widen(prologue->getArgument(0)));
  createBlock(op.getEpilogue(), /*withNormalised=*/true);
  Value factor, summand, y = op.getNormalised();
  if (bias)
    summand = widen(op.getEpilogueArgument(*bias));
  if (weight)
    factor = widen(op.getEpilogueArgument(*weight));
  if (factor)
    y = arith::MulFOp::create(rewriter, loc, y, factor);
  if (summand)
    y = arith::AddFOp::create(rewriter, loc, y, summand);
  YieldOp::create(rewriter, loc, y);
  return op.getResult(0);
}

namespace {
struct DecomposeLayernorm : OpConversionPattern<LayernormOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(LayernormOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NormBuilder norm(rewriter, op.getLoc(), op.getOperand());
    norm.addInput(op.getOperand(), adaptor.getOperand(), norm.getMap());
    std::optional<unsigned> weight, bias;
    unsigned count = 1;
    if (op.getWeight()) {
      weight = count++;
      norm.addInput(op.getWeight(), adaptor.getWeight(), norm.getVectorMap());
    }
    if (op.getBias()) {
      bias = count++;
      norm.addInput(op.getBias(), adaptor.getBias(), norm.getVectorMap());
    }
    rewriter.replaceOp(op, norm.build(op.getEps().convertToDouble(),
                                      /*isCentred=*/true, weight, bias));
    return success();
  }
};

struct DecomposeRmsnorm : OpConversionPattern<RmsnormOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(RmsnormOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NormBuilder norm(rewriter, op.getLoc(), op.getOperand());
    norm.addInput(op.getOperand(), adaptor.getOperand(), norm.getMap());
    std::optional<unsigned> weight;
    if (op.getWeight()) {
      weight = 1;
      norm.addInput(op.getWeight(), adaptor.getWeight(), norm.getVectorMap());
    }
    rewriter.replaceOp(op, norm.build(op.getEps().convertToDouble(),
                                      /*isCentred=*/false, weight,
                                      /*bias=*/std::nullopt));
    return success();
  }
};
} // namespace

void ark::populateDecomposeNorm(const TypeConverter &converter,
                                RewritePatternSet &patterns) {
  patterns.add<DecomposeLayernorm, DecomposeRmsnorm, DecomposeSoftmax>(
      converter, patterns.getContext());
}
