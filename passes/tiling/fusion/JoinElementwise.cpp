//===- JoinElementwise.cpp - Elementwise ops with several results ---------===//

#include "passes/tiling/fusion/JoinElementwise.h"

#include "passes/tiling/fusion/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::ark {
#define GEN_PASS_DEF_JOINELEMENTWISEPASS
#include "passes/tiling/fusion/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

using linalg::LinalgOp;

/// Returns true for an elementwise op on tiles of static shape that computes
/// each element of its results only from values of the same iteration.
static bool isElementwise(LinalgOp op) {
  if (op.getNumParallelLoops() != op.getNumLoops() || op.getNumLoops() == 0 ||
      ShapedType::isDynamicShape(op.getStaticLoopRanges()) ||
      !op.hasPureTensorSemantics())
    return false;
  bool writesWholeTiles =
      llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &out) {
        return op.getMatchingIndexingMap(&out).isIdentity();
      });
  return writesWholeTiles &&
         llvm::all_of(op.getBlock()->without_terminator(),
                      [](Operation &inner) { return isPure(&inner); });
}

/// Returns true if `op` reads a whole tile at `operand`, rather than a row, a
/// column or a number for many elements.
static bool readsWholeTile(LinalgOp op, OpOperand *operand) {
  return op.getMatchingIndexingMap(operand).isIdentity();
}

/// Returns the number that fills a tensor without dimensions, or null.
static Value getFilledNumber(Value value) {
  auto fill = value.getDefiningOp<linalg::GenericOp>();
  if (!fill || fill.getNumLoops() != 0 || fill.getNumDpsInputs() != 0)
    return {};
  Value number = fill.getBody()->getTerminator()->getOperand(
      cast<OpResult>(value).getResultNumber());
  return number.getParentBlock() == fill.getBody() ? Value() : number;
}

namespace {
/// Two ops that may become one, at the position of the second.
class Pair {
public:
  Pair(LinalgOp first, LinalgOp second) : first(first), second(second) {}

  bool canJoin(int64_t maxTiles) const;
  LinalgOp join(RewriterBase &rewriter) const;

private:
  bool areConnected() const;
  bool canMoveFirst() const;
  bool readsResultsByElement() const;
  SmallVector<OpOperand *> getInputs() const;
  SmallVector<OpOperand *> getOuts() const;

  LinalgOp first, second;
};
} // namespace

/// Returns true if the second op reads a result of the first one, or both read
/// the same tile.
bool Pair::areConnected() const {
  auto firstOp = first;
  return llvm::any_of(second->getOpOperands(), [&](OpOperand &operand) {
    if (operand.get().getDefiningOp() == first)
      return true;
    return readsWholeTile(second, &operand) &&
           llvm::any_of(firstOp->getOpOperands(), [&](OpOperand &other) {
             return other.get() == operand.get() &&
                    readsWholeTile(first, &other);
           });
  });
}

/// Returns true if no op between the two uses a result of the first one.
bool Pair::canMoveFirst() const {
  Operation *last = second;
  return llvm::all_of(first->getUsers(), [&](Operation *user) {
    return user == last || !user->isBeforeInBlock(last);
  });
}

/// Returns true if the second op reads the results of the first one as inputs,
/// at the element that it computes.
bool Pair::readsResultsByElement() const {
  LinalgOp reader = second;
  return llvm::all_of(reader->getOpOperands(), [&](OpOperand &operand) {
    return operand.get().getDefiningOp() != first ||
           (reader.isDpsInput(&operand) && readsWholeTile(reader, &operand));
  });
}

/// Returns the operands that the joined op reads, each operand with a map once.
/// Known numbers are not among them.
SmallVector<OpOperand *> Pair::getInputs() const {
  SmallVector<OpOperand *> inputs;
  for (LinalgOp op : {first, second})
    for (OpOperand *input : op.getDpsInputOperands())
      if (input->get().getDefiningOp() != first &&
          !getFilledNumber(input->get()) &&
          llvm::none_of(inputs, [&](OpOperand *known) {
            return known->get() == input->get() &&
                   cast<LinalgOp>(known->getOwner())
                           .getMatchingIndexingMap(known) ==
                       op.getMatchingIndexingMap(input);
          }))
        inputs.push_back(input);
  return inputs;
}

/// Returns the outs of the joined op: those of the second op, and those of the
/// first one that other ops use as well.
SmallVector<OpOperand *> Pair::getOuts() const {
  SmallVector<OpOperand *> outs;
  for (LinalgOp op : {first, second})
    for (OpOperand &out : op.getDpsInitsMutable()) {
      OpResult result = op.getTiedOpResult(&out);
      bool isTemporary =
          op == first && llvm::all_of(result.getUsers(), [&](Operation *user) {
            return user == second;
          });
      if (!isTemporary || op.payloadUsesValueFromOperand(&out))
        outs.push_back(&out);
    }
  return outs;
}

bool Pair::canJoin(int64_t maxTiles) const {
  LinalgOp one = first, other = second;
  if (one.getStaticLoopRanges() != other.getStaticLoopRanges() ||
      !areConnected() || !readsResultsByElement() || !canMoveFirst())
    return false;
  int64_t tiles = getOuts().size();
  for (OpOperand *input : getInputs())
    tiles += readsWholeTile(cast<LinalgOp>(input->getOwner()), input);
  return tiles <= maxTiles;
}

LinalgOp Pair::join(RewriterBase &rewriter) const {
  LinalgOp one = first, other = second;
  SmallVector<OpOperand *> inputs = getInputs(), outs = getOuts();
  SmallVector<Value> inputValues, outValues;
  SmallVector<AffineMap> maps;
  auto add = [&](ArrayRef<OpOperand *> operands, SmallVector<Value> &values) {
    for (OpOperand *operand : operands) {
      values.push_back(operand->get());
      maps.push_back(
          cast<LinalgOp>(operand->getOwner()).getMatchingIndexingMap(operand));
    }
  };
  add(inputs, inputValues);
  add(outs, outValues);
  rewriter.setInsertionPoint(second);
  auto joined = linalg::GenericOp::create(
      rewriter, second->getLoc(), TypeRange(ValueRange(outValues)), inputValues,
      outValues, maps, one.getIteratorTypesArray(),
      [&](OpBuilder &builder, Location loc, ValueRange arguments) {
        IRMapping mapping;
        auto mapArguments = [&](LinalgOp op) {
          for (OpOperand &operand : op->getOpOperands()) {
            if (Value number = getFilledNumber(operand.get()))
              mapping.map(op.getMatchingBlockArgument(&operand), number);
            AffineMap map = op.getMatchingIndexingMap(&operand);
            ArrayRef<OpOperand *> known =
                op.isDpsInput(&operand) ? inputs : ArrayRef(outs);
            size_t begin = op.isDpsInput(&operand) ? 0 : inputs.size();
            for (auto [index, candidate] : llvm::enumerate(known))
              if (candidate->get() == operand.get() &&
                  cast<LinalgOp>(candidate->getOwner())
                          .getMatchingIndexingMap(candidate) == map)
                mapping.map(op.getMatchingBlockArgument(&operand),
                            arguments[begin + index]);
          }
        };
        auto cloneBody = [&](LinalgOp op) {
          for (Operation &inner : op.getBlock()->without_terminator())
            builder.clone(inner, mapping);
        };
        auto getYielded = [&](LinalgOp op, OpOperand &out) {
          OpOperand *yielded = op.getMatchingYieldValue(&out);
          return mapping.lookupOrDefault(yielded->get());
        };
        mapArguments(one);
        cloneBody(one);
        mapArguments(other);
        for (OpOperand *input : other.getDpsInputOperands())
          if (auto result = dyn_cast<OpResult>(input->get());
              result && result.getOwner() == first)
            mapping.map(other.getMatchingBlockArgument(input),
                        getYielded(one, *one.getDpsInitOperand(
                                            result.getResultNumber())));
        cloneBody(other);
        SmallVector<Value> yielded;
        for (OpOperand *out : outs)
          yielded.push_back(getYielded(cast<LinalgOp>(out->getOwner()), *out));
        linalg::YieldOp::create(builder, loc, yielded);
      });
  for (auto [out, result] : llvm::zip(outs, joined->getResults())) {
    auto owner = cast<LinalgOp>(out->getOwner());
    rewriter.replaceAllUsesWith(owner.getTiedOpResult(out), result);
  }
  rewriter.eraseOp(second);
  rewriter.eraseOp(first);
  return joined;
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// Returns the structured ops of a body; nothing if one is not elementwise.
static SmallVector<LinalgOp> getElementwiseOps(TaskOp task) {
  SmallVector<LinalgOp> ops;
  for (Operation &op : task.getBody().front().without_terminator()) {
    auto structured = dyn_cast<LinalgOp>(op);
    if (structured && isElementwise(structured))
      ops.push_back(structured);
    else if (!op.hasTrait<OpTrait::ConstantLike>() &&
             !isa<tensor::EmptyOp>(op) &&
             llvm::none_of(op.getResults(), getFilledNumber))
      return {};
  }
  return ops;
}

bool ark::isElementwise(TaskOp task) {
  return !getElementwiseOps(task).empty();
}

namespace {
struct JoinElementwisePass
    : ark::impl::JoinElementwisePassBase<JoinElementwisePass> {
  using JoinElementwisePassBase::JoinElementwisePassBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    for (auto task : getOperation().getBody().getOps<TaskOp>()) {
      // Results of other tasks may become packets, which ops of one result
      // send.
      if (!task.getInPlace())
        continue;
      SmallVector<LinalgOp> ops = getElementwiseOps(task);
      if (ops.size() < 2)
        continue;
      while (joinOnce(rewriter, ops))
        ++numJoined;
      eraseDeadOps(rewriter, task);
    }
  }

private:
  static void eraseDeadOps(RewriterBase &rewriter, TaskOp task) {
    Block &body = task.getBody().front();
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (isOpTriviallyDead(&op))
        rewriter.eraseOp(&op);
  }

  /// Joins the nearest pair of ops, and replaces it by the joined op.
  bool joinOnce(RewriterBase &rewriter, SmallVector<LinalgOp> &ops) {
    for (size_t second = 1; second < ops.size(); ++second)
      for (size_t first = second; first-- > 0;) {
        Pair pair(ops[first], ops[second]);
        if (!pair.canJoin(maxTiles))
          continue;
        ops[second] = pair.join(rewriter);
        ops.erase(ops.begin() + first);
        return true;
      }
    return false;
  }
};
} // namespace
