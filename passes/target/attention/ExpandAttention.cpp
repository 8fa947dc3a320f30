//===- ExpandAttention.cpp - Attention as structured ops ------------------===//

#include "passes/target/attention/AttentionLoops.h"
#include "passes/target/attention/AttentionOps.h"
#include "passes/target/attention/Passes.h"
#include "passes/target/matrix_units/MatrixInstruction.h"
#include "passes/target/support/Bodies.h"

#include "lib/support/Softmax.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::ark {
#define GEN_PASS_DEF_EXPANDATTENTIONPASS
#include "passes/target/attention/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

using utils::IteratorType;
using BodyFn = function_ref<Value(OpBuilder &, Location, ValueRange)>;

namespace {
/// Builds the structured ops of one attention before it. The loops of these ops
/// are the rows, followed by one or two other loops.
class AttentionExpander {
public:
  explicit AttentionExpander(OnlineAttentionOp op)
      : op(op), builder(op.getLoc(), op), rows(op.getNumRowLoops()) {}

  void run();

private:
  /// Maps to the rows, of `loops` loops, and to the loop after the rows if
  /// `withNext`.
  AffineMap getRowMap(unsigned loops, bool withNext) {
    return builder.getMultiDimIdentityMap(loops).getMajorSubMap(rows +
                                                                withNext);
  }
  AffineMap withLoops(OpOperand &operand, ArrayRef<unsigned> others);
  void fill(Value out, Value number);
  void contract(Value left, Value right, Value out, ArrayRef<AffineMap> maps);
  void build(ValueRange inputs, Value out, ArrayRef<AffineMap> maps,
             BodyFn body);
  void buildScores();
  void buildSoftmax();
  void buildProduct();

  OnlineAttentionOp op;
  ImplicitLocOpBuilder builder;
  unsigned rows;
};
} // namespace

/// Returns the map of an operand from the rows and the loops `others`.
AffineMap AttentionExpander::withLoops(OpOperand &operand,
                                       ArrayRef<unsigned> others) {
  SmallVector<AffineExpr> loops(op.getNumLoops(),
                                builder.getAffineConstantExpr(0));
  for (unsigned loop = 0; loop < rows; ++loop)
    loops[loop] = builder.getAffineDimExpr(loop);
  for (auto [i, loop] : llvm::enumerate(others))
    loops[loop] = builder.getAffineDimExpr(rows + i);
  return op.getMap(operand).replaceDimsAndSymbols(loops, {},
                                                  rows + others.size(), 0);
}

void AttentionExpander::fill(Value out, Value number) {
  linalg::FillOp::create(builder, number, out);
}

/// Builds an op with one out. Loops that the out's map, the last one, lacks are
/// reductions.
void AttentionExpander::build(ValueRange inputs, Value out,
                              ArrayRef<AffineMap> maps, BodyFn body) {
  SmallVector<IteratorType> iterators;
  for (unsigned loop = 0; loop < maps.back().getNumDims(); ++loop)
    iterators.push_back(maps.back().isFunctionOfDim(loop)
                            ? IteratorType::parallel
                            : IteratorType::reduction);
  linalg::GenericOp::create(
      builder, TypeRange(), inputs, ValueRange{out}, maps, iterators,
      [&](OpBuilder &b, Location l, ValueRange elements) {
        linalg::YieldOp::create(b, l, body(b, l, elements));
      });
}

/// Adds the sums of products over the last loop to `out`. Backends match the
/// named op, which cannot express several query heads per key head.
void AttentionExpander::contract(Value left, Value right, Value out,
                                 ArrayRef<AffineMap> maps) {
  if (llvm::all_of(
          maps, [](AffineMap map) { return map.isProjectedPermutation(); })) {
    linalg::ContractOp::create(builder, TypeRange(), ValueRange{left, right},
                               ValueRange{out},
                               builder.getAffineMapArrayAttr(maps));
    return;
  }
  build({left, right}, out, maps,
        [&](OpBuilder &b, Location l, ValueRange elements) -> Value {
          auto widen = [&](Value element) -> Value {
            return element.getType() == op.getElementType()
                       ? element
                       : arith::ExtFOp::create(b, l, op.getElementType(),
                                               element);
          };
          return arith::AddFOp::create(
              b, l, elements[2],
              arith::MulFOp::create(b, l, widen(elements[0]),
                                    widen(elements[1])));
        });
}

void AttentionExpander::buildScores() {
  unsigned key = op.getKeyLoop(), depth = op.getDepthLoop();
  fill(op.getScores(), arith::ConstantOp::create(
                           builder, builder.getZeroAttr(op.getElementType())));
  contract(op.getQuery(), op.getKey(), op.getScores(),
           {withLoops(op.getQueryMutable(), {key, depth}),
            withLoops(op.getKeyMutable(), {key, depth}),
            getRowMap(rows + 2, /*withNext=*/true)});
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  if (op.getMask()) {
    inputs.push_back(op.getMask());
    maps.push_back(withLoops(op.getMaskMutable()[0], {key}));
  }
  maps.push_back(builder.getMultiDimIdentityMap(rows + 1));
  build(inputs, op.getScores(), maps,
        [&](OpBuilder &b, Location l, ValueRange elements) {
          IRMapping mapping;
          for (auto [loop, index] : llvm::enumerate(op.getIndices()))
            if (!index.use_empty())
              mapping.map(index, linalg::IndexOp::create(b, l, loop));
          mapping.map(op.getDotArgument(), elements.back());
          if (op.getMask())
            mapping.map(op.getMaskArgument(), elements.front());
          for (Operation &inner : op.getScoreBlock()->without_terminator())
            b.clone(inner, mapping);
          return mapping.lookupOrDefault(op.getScore());
        });
}

/// Replaces the scores by their exponentials. The buffer of the sums first
/// holds the numbers that are subtracted from the scores.
void AttentionExpander::buildSoftmax() {
  AffineMap all = getRowMap(rows + 1, /*withNext=*/true);
  AffineMap ofRows = getRowMap(rows + 1, /*withNext=*/false);
  fill(op.getMaximum(),
       createLeastScore(builder, builder.getLoc(), op.getElementType()));
  build(op.getScores(), op.getMaximum(), {all, ofRows},
        [](OpBuilder &b, Location l, ValueRange elements) -> Value {
          return arith::MaximumFOp::create(b, l, elements[0], elements[1]);
        });
  SmallVector<AffineMap> rowByRow(2, builder.getMultiDimIdentityMap(rows));
  build(op.getMaximum(), op.getSum(), rowByRow,
        [](OpBuilder &b, Location l, ValueRange elements) {
          return emitFinite(b, l, elements[0]);
        });
  build(op.getSum(), op.getScores(), {ofRows, all},
        [](OpBuilder &b, Location l, ValueRange elements) {
          return emitExponential(b, l, elements[1], elements[0]);
        });
  fill(op.getSum(), arith::ConstantOp::create(
                        builder, builder.getZeroAttr(op.getElementType())));
  build(op.getScores(), op.getSum(), {all, ofRows},
        [](OpBuilder &b, Location l, ValueRange elements) -> Value {
          return arith::AddFOp::create(b, l, elements[0], elements[1]);
        });
}

void AttentionExpander::buildProduct() {
  unsigned key = op.getKeyLoop(), column = op.getColumnLoop();
  fill(op.getProduct(), arith::ConstantOp::create(
                            builder, builder.getZeroAttr(op.getElementType())));
  contract(op.getScores(), op.getValue(), op.getProduct(),
           {withLoops(op.getScoresMutable(), {column, key}),
            withLoops(op.getValueMutable(), {column, key}),
            getRowMap(rows + 2, /*withNext=*/true)});
}

void AttentionExpander::run() {
  [[maybe_unused]] auto countOps = [&] {
    return llvm::range_size(op->getBlock()->getOps<linalg::LinalgOp>());
  };
  [[maybe_unused]] int64_t before = countOps();
  buildScores();
  buildSoftmax();
  buildProduct();
  assert(countOps() - before == op.getNumExpandedOps() &&
         "tasks are fused by this number");
  op.erase();
}

namespace {
struct ExpandAttentionPass
    : ark::impl::ExpandAttentionPassBase<ExpandAttentionPass> {
  using ExpandAttentionPassBase::ExpandAttentionPassBase;

  void runOnOperation() override {
    instructions = findRegisterMmas(getOperation());
    for (func::FuncOp body : getBodies(getOperation())) {
      SmallVector<OnlineAttentionOp> ops;
      body.walk([&](OnlineAttentionOp op) { ops.push_back(op); });
      scf::ForOp vctas = getVctaLoop(body);
      for (OnlineAttentionOp op : ops) {
        if (vctas && op->getParentOp() == vctas && hasOnePass(op))
          continue;
        AttentionExpander(op).run();
        ++numAttentions;
      }
    }
  }

private:
  bool hasOnePass(OnlineAttentionOp op);

  SmallVector<MmaAttr> instructions;
};
} // namespace

/// Returns true if `ark-flash-attention` computes an attention.
bool ExpandAttentionPass::hasOnePass(OnlineAttentionOp op) {
  std::optional<AttentionOps> attention = AttentionOps::get(op);
  return attention && AttentionShape::choose(*attention, instructions, threads,
                                             /*longestWorkItem=*/1);
}
