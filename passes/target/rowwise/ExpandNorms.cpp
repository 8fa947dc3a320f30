//===- ExpandNorms.cpp - Norms as structured ops --------------------------===//

#include "passes/target/rowwise/Passes.h"
#include "passes/target/support/Bodies.h"

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::ark {
#define GEN_PASS_DEF_EXPANDNORMSPASS
#include "passes/target/rowwise/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

using utils::IteratorType;

namespace {
/// Elements of one iteration of a structured op.
struct Elements {
  /// By the number of the input; null if the op does not read the input.
  SmallVector<Value> ofInputs;
  /// The elements of mean and scale that the op reads.
  SmallVector<Value> ofRow;
  /// The element of the out that the op writes.
  Value out;
};
using BodyFn = function_ref<Value(OpBuilder &, Location, const Elements &)>;

/// Builds the structured ops of one norm before it.
class NormExpander {
public:
  explicit NormExpander(RowNormOp op);

  void run();

private:
  Value createNumber(double number) {
    return arith::ConstantOp::create(
        builder, builder.getFloatAttr(op.getElementType(), number));
  }
  /// Adds an op that reads inputs and, after the last input of the prologue,
  /// numbers of rows, and writes `out`. Loops that the map of the out lacks are
  /// reductions.
  void build(ArrayRef<unsigned> inputs, ValueRange ofRows, OpOperand &out,
             BodyFn body);
  void buildSum(ValueRange ofRows, OpOperand &out, BodyFn term);
  void buildOfRow(OpOperand &out,
                  function_ref<Value(OpBuilder &, Location, Value)> body);
  void buildMean();
  void buildScale();
  void buildResult();

  Value emitNumber(OpBuilder &b, Location l, const Elements &elements);
  Value emitCentred(OpBuilder &b, Location l, const Elements &elements);
  Value emitResult(OpBuilder &b, Location l, const Elements &elements);

  RowNormOp op;
  ImplicitLocOpBuilder builder;
  /// The numbers of the inputs of the prologue, and of all inputs that a region
  /// reads.
  SmallVector<unsigned> ofNumber, ofResult;
  /// The mean of each row, if the norm has one.
  SmallVector<Value> means;
};
} // namespace

NormExpander::NormExpander(RowNormOp op) : op(op), builder(op.getLoc(), op) {
  for (unsigned input = 0; input < op.getInputs().size(); ++input) {
    bool isOfNumber = !op.getPrologueArgument(input).use_empty();
    if (isOfNumber)
      ofNumber.push_back(input);
    if (isOfNumber || !op.getEpilogueArgument(input).use_empty())
      ofResult.push_back(input);
  }
  if (op.isCentred())
    means.push_back(op.getMean());
}

void NormExpander::build(ArrayRef<unsigned> inputs, ValueRange ofRows,
                         OpOperand &out, BodyFn body) {
  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;
  auto addRows = [&] {
    llvm::append_range(operands, ofRows);
    maps.append(ofRows.size(), op.getMap(op.getScaleMutable()));
  };
  size_t firstOfRows = 0;
  // A prologue may yield a constant.
  if (ofNumber.empty())
    addRows();
  for (unsigned input : inputs) {
    operands.push_back(op->getOperand(input));
    maps.push_back(op.getMap(op->getOpOperand(input)));
    if (!ofNumber.empty() && input == ofNumber.back()) {
      firstOfRows = operands.size();
      addRows();
    }
  }
  AffineMap map = op.getMap(out);
  maps.push_back(map);
  SmallVector<IteratorType> iterators;
  for (unsigned loop = 0; loop < map.getNumDims(); ++loop)
    iterators.push_back(map.isFunctionOfDim(loop) ? IteratorType::parallel
                                                  : IteratorType::reduction);
  linalg::GenericOp::create(
      builder, TypeRange(), operands, ValueRange{out.get()}, maps, iterators,
      [&](OpBuilder &b, Location l, ValueRange values) {
        Elements elements;
        elements.ofInputs.resize(op.getInputs().size());
        for (auto [index, input] : llvm::enumerate(inputs))
          elements.ofInputs[input] =
              values[index < firstOfRows ? index : index + ofRows.size()];
        llvm::append_range(elements.ofRow,
                           values.slice(firstOfRows, ofRows.size()));
        elements.out = values.back();
        linalg::YieldOp::create(b, l, body(b, l, elements));
      });
}

/// Adds the sum of a term over each row.
void NormExpander::buildSum(ValueRange ofRows, OpOperand &out, BodyFn term) {
  linalg::FillOp::create(builder, createNumber(0), out.get());
  build(ofNumber, ofRows, out,
        [&](OpBuilder &b, Location l, const Elements &elements) -> Value {
          return arith::AddFOp::create(b, l, term(b, l, elements),
                                       elements.out);
        });
}

/// Adds an op that replaces the number of each row.
void NormExpander::buildOfRow(
    OpOperand &out, function_ref<Value(OpBuilder &, Location, Value)> body) {
  AffineMap map = builder.getMultiDimIdentityMap(op.getNumRowLoops());
  SmallVector<IteratorType> iterators(op.getNumRowLoops(),
                                      IteratorType::parallel);
  linalg::GenericOp::create(
      builder, TypeRange(), ValueRange(), ValueRange{out.get()}, map, iterators,
      [&](OpBuilder &b, Location l, ValueRange values) {
        linalg::YieldOp::create(b, l, body(b, l, values.front()));
      });
}

void NormExpander::buildMean() {
  buildSum({}, op.getMeanMutable()[0],
           [&](OpBuilder &b, Location l, const Elements &elements) {
             return emitNumber(b, l, elements);
           });
  Value count = createNumber(op.getNumColumns());
  buildOfRow(op.getMeanMutable()[0],
             [&](OpBuilder &b, Location l, Value sum) -> Value {
               return arith::DivFOp::create(b, l, sum, count);
             });
}

void NormExpander::buildScale() {
  buildSum(means, op.getScaleMutable(),
           [&](OpBuilder &b, Location l, const Elements &elements) -> Value {
             Value centred = emitCentred(b, l, elements);
             return arith::MulFOp::create(b, l, centred, centred);
           });
  Value count = createNumber(op.getNumColumns()),
        eps = createNumber(op.getEps().convertToDouble());
  buildOfRow(op.getScaleMutable(),
             [&](OpBuilder &b, Location l, Value sum) -> Value {
               Value mean = arith::DivFOp::create(b, l, sum, count);
               return math::RsqrtOp::create(
                   b, l, arith::AddFOp::create(b, l, mean, eps));
             });
}

void NormExpander::buildResult() {
  SmallVector<Value> ofRows(means);
  ofRows.push_back(op.getScale());
  build(ofResult, ofRows, op.getOutMutable(),
        [&](OpBuilder &b, Location l, const Elements &elements) {
          return emitResult(b, l, elements);
        });
}

/// Emits the number that the prologue yields.
Value NormExpander::emitNumber(OpBuilder &b, Location l,
                               const Elements &elements) {
  IRMapping mapping;
  for (unsigned input : ofNumber)
    mapping.map(op.getPrologueArgument(input), elements.ofInputs[input]);
  Block *block = op.getPrologueBlock();
  for (Operation &inner : block->without_terminator())
    b.clone(inner, mapping);
  return mapping.lookupOrDefault(block->getTerminator()->getOperand(0));
}

/// Emits the number minus the mean.
Value NormExpander::emitCentred(OpBuilder &b, Location l,
                                const Elements &elements) {
  Value number = emitNumber(b, l, elements);
  return op.isCentred()
             ? arith::SubFOp::create(b, l, number, elements.ofRow.front())
             : number;
}

/// Emits the epilogue. The normalised number is computed where it is used
/// first, so that the conversions of other elements precede it.
Value NormExpander::emitResult(OpBuilder &b, Location l,
                               const Elements &elements) {
  IRMapping mapping;
  for (unsigned input : ofResult)
    mapping.map(op.getEpilogueArgument(input), elements.ofInputs[input]);
  auto emitNormalised = [&] {
    if (mapping.contains(op.getNormalised()))
      return;
    Value centred = emitCentred(b, l, elements);
    mapping.map(op.getNormalised(),
                arith::MulFOp::create(b, l, centred, elements.ofRow.back())
                    .getResult());
  };
  Block *block = op.getEpilogueBlock();
  for (Operation &inner : *block) {
    if (llvm::is_contained(inner.getOperands(), op.getNormalised()))
      emitNormalised();
    if (&inner != block->getTerminator())
      b.clone(inner, mapping);
  }
  return mapping.lookupOrDefault(block->getTerminator()->getOperand(0));
}

void NormExpander::run() {
  [[maybe_unused]] auto countOps = [&] {
    return llvm::range_size(op->getBlock()->getOps<linalg::LinalgOp>());
  };
  [[maybe_unused]] int64_t before = countOps();
  if (op.isCentred())
    buildMean();
  buildScale();
  buildResult();
  assert(countOps() - before == op.getNumExpandedOps() &&
         "tasks are fused by this number");
  op.erase();
}

namespace {
struct ExpandNormsPass : ark::impl::ExpandNormsPassBase<ExpandNormsPass> {
  using ExpandNormsPassBase::ExpandNormsPassBase;

  void runOnOperation() override {
    for (func::FuncOp body : getBodies(getOperation())) {
      SmallVector<RowNormOp> ops;
      body.walk([&](RowNormOp op) { ops.push_back(op); });
      for (RowNormOp op : ops)
        NormExpander(op).run();
      numNorms += ops.size();
    }
  }
};
} // namespace
