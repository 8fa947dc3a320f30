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

//===----------------------------------------------------------------------===//
// Normalisations
//===----------------------------------------------------------------------===//

/// State that both norms share: the iteration space and the parameters of a
/// row.
struct NormBuilder {
  ConversionPatternRewriter &rewriter;
  Location loc;
  Value x;
  double eps;

  RankedTensorType getType() { return cast<RankedTensorType>(x.getType()); }
  int64_t getAxis() { return getType().getRank() - 1; }
  AffineMap getRowMap() {
    return getMapWithout(rewriter.getContext(), getType().getRank(),
                         {getAxis()});
  }
  AffineMap getVectorMap() {
    return AffineMap::get(getType().getRank(), 0,
                          rewriter.getAffineDimExpr(getAxis()));
  }
  /// Emits the mean, given the sum over a row.
  Value emitMean(OpBuilder &b, Location l, Value sum) {
    Value count =
        createNumber(b, l, sum.getType(), getType().getShape().back());
    return arith::DivFOp::create(b, l, sum, count);
  }
  /// Builds 1 / sqrt(mean + eps) for every row.
  Value buildScale(Value sumOfSquares) {
    return mapLike(rewriter, loc, sumOfSquares, {}, {},
                   [&](OpBuilder &b, Location l, ValueRange v) -> Value {
                     Value mean = emitMean(b, l, v[0]);
                     Value bound = createNumber(b, l, mean.getType(), eps);
                     return math::RsqrtOp::create(
                         b, l, arith::AddFOp::create(b, l, mean, bound));
                   });
  }
  /// Sums squares over every row. `centre` computes the squared number from an
  /// element and the inputs of its row.
  Value sumOfSquares(ArrayRef<Value> others, BodyFn centre) {
    SmallVector<AffineMap> maps(others.size(), getRowMap());
    Value squares =
        mapLike(rewriter, loc, x, others, maps,
                [&](OpBuilder &b, Location l, ValueRange v) -> Value {
                  Value centred = centre(b, l, v);
                  return arith::MulFOp::create(b, l, centred, centred);
                });
    return sumOver(rewriter, loc, squares, getAxis());
  }
};

struct DecomposeLayernorm : OpConversionPattern<LayernormOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(LayernormOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NormBuilder norm{rewriter, op.getLoc(), adaptor.getOperand(),
                     op.getEps().convertToDouble()};
    Value sum = sumOver(rewriter, op.getLoc(), norm.x, norm.getAxis());
    Value mean = mapLike(rewriter, op.getLoc(), sum, {}, {},
                         [&](OpBuilder &b, Location l, ValueRange v) {
                           return norm.emitMean(b, l, v[0]);
                         });
    auto centre = [](OpBuilder &b, Location l, ValueRange v) -> Value {
      return arith::SubFOp::create(b, l, v[0], v[1]);
    };
    Value scale = norm.buildScale(norm.sumOfSquares({mean}, centre));

    SmallVector<Value> others = {mean, scale};
    SmallVector<AffineMap> maps = {norm.getRowMap(), norm.getRowMap()};
    for (Value vector : {adaptor.getWeight(), adaptor.getBias()})
      if (vector) {
        others.push_back(vector);
        maps.push_back(norm.getVectorMap());
      }
    bool hasWeight = static_cast<bool>(adaptor.getWeight());
    bool hasBias = static_cast<bool>(adaptor.getBias());
    rewriter.replaceOp(
        op, mapLike(rewriter, op.getLoc(), norm.x, others, maps,
                    [&](OpBuilder &b, Location l, ValueRange v) -> Value {
                      Value y =
                          arith::MulFOp::create(b, l, centre(b, l, v), v[2]);
                      if (hasWeight)
                        y = arith::MulFOp::create(b, l, y, v[3]);
                      if (hasBias)
                        y = arith::AddFOp::create(b, l, y, v.back());
                      return y;
                    }));
    return success();
  }
};

struct DecomposeRmsnorm : OpConversionPattern<RmsnormOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(RmsnormOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NormBuilder norm{rewriter, op.getLoc(), adaptor.getOperand(),
                     op.getEps().convertToDouble()};
    Value scale = norm.buildScale(norm.sumOfSquares(
        {}, [](OpBuilder &, Location, ValueRange v) { return v[0]; }));
    SmallVector<Value> others = {scale};
    SmallVector<AffineMap> maps = {norm.getRowMap()};
    if (adaptor.getWeight()) {
      others.push_back(adaptor.getWeight());
      maps.push_back(norm.getVectorMap());
    }
    rewriter.replaceOp(
        op, mapLike(rewriter, op.getLoc(), norm.x, others, maps,
                    [&](OpBuilder &b, Location l, ValueRange v) -> Value {
                      Value y = arith::MulFOp::create(b, l, v[0], v[1]);
                      if (v.size() > 2)
                        y = arith::MulFOp::create(b, l, y, v[2]);
                      return y;
                    }));
    return success();
  }
};
} // namespace

void ark::populateDecomposeNorm(const TypeConverter &converter,
                                RewritePatternSet &patterns) {
  patterns.add<DecomposeLayernorm, DecomposeRmsnorm, DecomposeSoftmax>(
      converter, patterns.getContext());
}
