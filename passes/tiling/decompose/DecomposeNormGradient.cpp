//===- DecomposeNormGradient.cpp - Statistics and gradients of norms ------===//

#include "passes/tiling/decompose/Decompose.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::ark;

using utils::IteratorType;

namespace {
/// Builds structured ops on the rows of an operand. Each op reads the elements
/// in their memory types and computes in the type of the computation, so that
/// the ops of a body share the loads.
class RowsBuilder {
public:
  RowsBuilder(ConversionPatternRewriter &rewriter, Location loc, Value original,
              Value converted)
      : rewriter(rewriter), loc(loc),
        x(getContractionOperand(original, converted)),
        type(cast<RankedTensorType>(x.getType())),
        element(getComputeType(type.getElementType())) {}

  AffineMap getMap() { return rewriter.getMultiDimIdentityMap(type.getRank()); }
  AffineMap getRowMap() {
    int64_t rank = type.getRank();
    return getMapWithout(rewriter.getContext(), rank, {rank - 1});
  }
  AffineMap getVectorMap() { return getMap().getMinorSubMap(1); }
  int64_t getNumColumns() { return type.getShape().back(); }

  /// Returns `finish` of the sum over each row of a term, which `term` computes
  /// from the elements of the inputs.
  Value sum(ArrayRef<Value> inputs, ArrayRef<AffineMap> maps, BodyFn term,
            BodyFn finish, ArrayRef<Value> ofRows = {});
  /// Returns the result of an elementwise op on whole rows.
  Value map(ArrayRef<Value> inputs, ArrayRef<AffineMap> maps, BodyFn body);

  Value widen(OpBuilder &b, Location l, Value value) {
    return convertScalar(b, l, value, element);
  }
  Value divideByCount(OpBuilder &b, Location l, Value sum) {
    return arith::DivFOp::create(b, l, sum,
                                 createNumber(b, l, element, getNumColumns()));
  }

  /// Returns the mean of each row.
  Value buildMean();
  /// Returns the scale of each row; a null mean counts as zero.
  Value buildScale(Value mean, double eps);
  /// Emits the element of the operand minus the mean, if the row has one.
  Value emitCentred(OpBuilder &b, Location l, Value number, Value mean) {
    Value wide = widen(b, l, number);
    return mean ? arith::SubFOp::create(b, l, wide, mean) : wide;
  }

  ConversionPatternRewriter &rewriter;
  Location loc;
  Value x;
  RankedTensorType type;
  Type element;
};
} // namespace

Value RowsBuilder::sum(ArrayRef<Value> inputs, ArrayRef<AffineMap> maps,
                       BodyFn term, BodyFn finish, ArrayRef<Value> ofRows) {
  SmallVector<OpFoldResult> rows = getAsIndexOpFoldResult(
      rewriter.getContext(), type.getShape().drop_back());
  Value init =
      createFill(rewriter, loc, rows, createNumber(rewriter, loc, element, 0));
  SmallVector<AffineMap> allMaps(maps);
  allMaps.push_back(getRowMap());
  SmallVector<IteratorType> iterators(type.getRank(), IteratorType::parallel);
  iterators.back() = IteratorType::reduction;
  Value total = linalg::GenericOp::create(
                    rewriter, loc, TypeRange{init.getType()}, inputs,
                    ValueRange{init}, allMaps, iterators,
                    [&](OpBuilder &b, Location l, ValueRange elements) {
                      Value value = term(b, l, elements.drop_back());
                      Value next =
                          arith::AddFOp::create(b, l, value, elements.back());
                      linalg::YieldOp::create(b, l, next);
                    })
                    .getResult(0);
  SmallVector<Value> operands = {total};
  llvm::append_range(operands, ofRows);
  SmallVector<AffineMap> ofRowMaps(
      operands.size(), rewriter.getMultiDimIdentityMap(type.getRank() - 1));
  return createElementwise(
      rewriter, loc, operands, ofRowMaps,
      createEmpty(rewriter, loc, type.getShape().drop_back(), element), finish);
}

Value RowsBuilder::map(ArrayRef<Value> inputs, ArrayRef<AffineMap> maps,
                       BodyFn body) {
  Value init = createEmpty(rewriter, loc, type.getShape(), element);
  return createElementwise(rewriter, loc, inputs, maps, init, body);
}

Value RowsBuilder::buildMean() {
  return sum(
      {x}, {getMap()},
      [&](OpBuilder &b, Location l, ValueRange v) { return widen(b, l, v[0]); },
      [&](OpBuilder &b, Location l, ValueRange v) {
        return divideByCount(b, l, v[0]);
      });
}

Value RowsBuilder::buildScale(Value mean, double eps) {
  SmallVector<Value> inputs = {x};
  SmallVector<AffineMap> maps = {getMap()};
  if (mean) {
    inputs.push_back(mean);
    maps.push_back(getRowMap());
  }
  return sum(
      inputs, maps,
      [&](OpBuilder &b, Location l, ValueRange v) -> Value {
        Value centred = emitCentred(b, l, v[0], mean ? v[1] : Value());
        return arith::MulFOp::create(b, l, centred, centred);
      },
      [&](OpBuilder &b, Location l, ValueRange v) -> Value {
        Value variance = divideByCount(b, l, v[0]);
        return math::RsqrtOp::create(
            b, l,
            arith::AddFOp::create(b, l, variance,
                                  createNumber(b, l, element, eps)));
      });
}

//===----------------------------------------------------------------------===//
// Statistics
//===----------------------------------------------------------------------===//

namespace {
struct DecomposeNormStatistics : OpConversionPattern<NormStatisticsOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(NormStatisticsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RowsBuilder rows(rewriter, loc, op.getOperand(), adaptor.getOperand());
    Value mean = op.getCentred() ? rows.buildMean() : Value();
    Value scale = rows.buildScale(mean, op.getEps().convertToDouble());
    SmallVector<Value> inputs = {scale};
    if (mean)
      inputs.push_back(mean);
    SmallVector<AffineMap> maps(inputs.size(), rows.getRowMap());
    int64_t column = rows.type.getRank() - 1;
    Value init = createEmpty(rewriter, loc, op.getType().getShape(),
                             op.getType().getElementType());
    rewriter.replaceOp(
        op, createElementwise(
                rewriter, loc, inputs, maps, init,
                [&](OpBuilder &b, Location l, ValueRange v) -> Value {
                  Value number = v[0];
                  if (mean) {
                    Value zero = arith::ConstantIndexOp::create(b, l, 0);
                    Value isMean = arith::CmpIOp::create(
                        b, l, arith::CmpIPredicate::eq,
                        linalg::IndexOp::create(b, l, column), zero);
                    number = arith::SelectOp::create(b, l, isMean, v[1], v[0]);
                  }
                  return convertScalar(b, l, number, b.getF32Type());
                }));
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Gradient of the operand
//===----------------------------------------------------------------------===//

namespace {
/// Builds the ops of one gradient. The first inputs of its ops on whole rows
/// are the cotangent and the weight, whose product is the slope of an element.
class GradientBuilder {
public:
  GradientBuilder(RowsBuilder &rows, NormInputGradientOp op,
                  NormInputGradientOp::Adaptor adaptor)
      : rows(rows), eps(op.getEps().convertToDouble()),
        isCentred(op.getCentred()) {
    add(getContractionOperand(op.getCotangent(), adaptor.getCotangent()),
        rows.getMap());
    if (op.getWeight())
      add(getContractionOperand(op.getWeight(), adaptor.getWeight()),
          rows.getVectorMap());
    numFactors = inputs.size();
  }

  Value build();

private:
  unsigned add(Value input, AffineMap map) {
    inputs.push_back(input);
    maps.push_back(map);
    return inputs.size() - 1;
  }
  Value emitSlope(OpBuilder &b, Location l, ValueRange elements) {
    Value slope = rows.widen(b, l, elements[0]);
    if (numFactors == 1)
      return slope;
    return arith::MulFOp::create(b, l, slope, rows.widen(b, l, elements[1]));
  }

  RowsBuilder &rows;
  double eps;
  bool isCentred;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  unsigned numFactors = 0;
};
} // namespace

Value GradientBuilder::build() {
  Value mean, meanSlope;
  if (isCentred) {
    mean = rows.buildMean();
    meanSlope = rows.sum(
        inputs, maps,
        [&](OpBuilder &b, Location l, ValueRange v) {
          return emitSlope(b, l, v);
        },
        [&](OpBuilder &b, Location l, ValueRange v) {
          return rows.divideByCount(b, l, v[0]);
        });
  }
  Value scale = rows.buildScale(mean, eps);
  unsigned operand = add(rows.x, rows.getMap());
  unsigned meanInput = isCentred ? add(mean, rows.getRowMap()) : 0;
  auto emitCentred = [&](OpBuilder &b, Location l, ValueRange v) {
    return rows.emitCentred(b, l, v[operand],
                            isCentred ? v[meanInput] : Value());
  };
  // The mean of the slopes times the normalised numbers, times the scale.
  Value projection = rows.sum(
      inputs, maps,
      [&](OpBuilder &b, Location l, ValueRange v) -> Value {
        return arith::MulFOp::create(b, l, emitSlope(b, l, v),
                                     emitCentred(b, l, v));
      },
      [&](OpBuilder &b, Location l, ValueRange v) -> Value {
        Value square = arith::MulFOp::create(b, l, v[1], v[1]);
        return arith::MulFOp::create(b, l, rows.divideByCount(b, l, v[0]),
                                     square);
      },
      {scale});
  unsigned scaleInput = add(scale, rows.getRowMap()),
           projectionInput = add(projection, rows.getRowMap()),
           slopeInput = isCentred ? add(meanSlope, rows.getRowMap()) : 0;
  return rows.map(
      inputs, maps, [&](OpBuilder &b, Location l, ValueRange v) -> Value {
        Value slope = emitSlope(b, l, v);
        if (isCentred)
          slope = arith::SubFOp::create(b, l, slope, v[slopeInput]);
        Value part = arith::MulFOp::create(b, l, emitCentred(b, l, v),
                                           v[projectionInput]);
        return arith::MulFOp::create(
            b, l, arith::SubFOp::create(b, l, slope, part), v[scaleInput]);
      });
}

namespace {
struct DecomposeNormInputGradient : OpConversionPattern<NormInputGradientOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(NormInputGradientOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    RowsBuilder rows(rewriter, op.getLoc(), op.getOperand(),
                     adaptor.getOperand());
    rewriter.replaceOp(op, GradientBuilder(rows, op, adaptor).build());
    return success();
  }
};
} // namespace

void ark::populateDecomposeNormGradient(const TypeConverter &converter,
                                        RewritePatternSet &patterns) {
  patterns.add<DecomposeNormInputGradient, DecomposeNormStatistics>(
      converter, patterns.getContext());
}
