//===- BodyBounds.cpp - Ranges of the indices in a body -------------------===//

#include "passes/memory/verify/BodyBounds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::ark;

/// Limit on the length of a chain of ops through which an index is traced back.
static constexpr unsigned kMaxDepth = 100;

//===----------------------------------------------------------------------===//
// Selections and loops
//===----------------------------------------------------------------------===//

bool BodyBounds::fitsIndex(const LinearForm &form, Operation *at) {
  return system.getInterval(form).isWithin(INT64_MIN, INT64_MAX) ||
         (isNonNegative(form - INT64_MIN, at) &&
          isNonNegative(LinearForm(INT64_MAX) - form, at));
}

LinearForm BodyBounds::getExact(const LinearForm &form, Operation *op) {
  return fitsIndex(form, op) ? form : system.createVariable();
}

LinearForm BodyBounds::getSelected(Value condition, const LinearForm &ifTrue,
                                   const LinearForm &ifFalse) {
  Facts whenTrue, whenFalse;
  addFacts(condition, /*holds=*/true, whenTrue);
  addFacts(condition, /*holds=*/false, whenFalse);
  LinearForm selected = system.createVariable(
      unite(system.getInterval(ifTrue), system.getInterval(ifFalse)));
  whenTrue.append({selected - ifTrue, ifTrue - selected});
  whenFalse.append({selected - ifFalse, ifFalse - selected});
  system.setCases(selected, {whenTrue, whenFalse});
  return selected;
}

LinearForm BodyBounds::getInductionVariable(LoopLikeOpInterface loop,
                                            unsigned dim) {
  auto forLoop = dyn_cast<scf::ForOp>(*loop);
  if (forLoop && forLoop.getUnsignedCmp())
    return system.createVariable();
  OpFoldResult step = (*loop.getLoopSteps())[dim];
  LinearForm first = getIndex((*loop.getLoopLowerBounds())[dim]);
  LinearForm last = getIndex((*loop.getLoopUpperBounds())[dim]) - 1;
  LinearForm stride = getIndex(step);
  // The induction variable increases in each iteration only if the step is
  // positive and the addition after the last iteration does not wrap around.
  LinearForm after = last + stride;
  if (!isNonNegative(stride - 1, loop) ||
      !(system.getInterval(after).isWithin(INT64_MIN, INT64_MAX) ||
        isNonNegative(LinearForm(INT64_MAX) - after, loop))) {
    LinearForm induction =
        system.createVariable({{}, system.getInterval(last).most});
    system.setFacts(induction, {last - induction});
    return induction;
  }
  std::optional<int64_t> factor = stride.getConstant();
  if (!factor)
    return system.createBetween(first, last);
  Interval interval = system.getInterval(last - first);
  if (interval.most)
    interval.most =
        std::max(floorDiv(*interval.most, llvm::DynamicAPInt(*factor)),
                 llvm::DynamicAPInt(0));
  LinearForm iteration =
      system.createVariable({llvm::DynamicAPInt(0), interval.most});
  LinearForm induction = first + iteration * *factor;
  system.setFacts(iteration, {iteration, last - induction});
  return induction;
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

LinearForm BodyBounds::getIndex(Value index) {
  auto it = indices.find(index);
  if (it != indices.end())
    return it->second;
  // Breaks cycles: an index that depends on itself, through a temporary, may
  // have any value.
  indices[index] = system.createVariable();
  // computeIndex visits operands recursively.
  ++depth;
  LinearForm form =
      depth < kMaxDepth ? computeIndex(index) : system.createVariable();
  --depth;
  indices[index] = form;
  return form;
}

LinearForm BodyBounds::getIndex(OpFoldResult index) {
  if (auto value = dyn_cast<Value>(index))
    return getIndex(value);
  return LinearForm(cast<IntegerAttr>(cast<Attribute>(index)).getInt());
}

LinearForm BodyBounds::computeIndex(Value index) {
  if (std::optional<int64_t> constant = getConstantIntValue(index))
    return LinearForm(*constant);
  if (auto argument = dyn_cast<BlockArgument>(index))
    return computeIndexOf(argument);
  return computeIndexOf(index.getDefiningOp());
}

LinearForm BodyBounds::computeIndexOf(BlockArgument argument) {
  unsigned index = argument.getArgNumber();
  Operation *parent = argument.getOwner()->getParentOp();
  if (parent == task && index < task.getGrid().size())
    return system.createBetween(0, task.getGrid()[index] - 1,
                                /*isUniform=*/true);
  if (auto structured = dyn_cast<linalg::LinalgOp>(parent)) {
    Value operand = structured->getOperand(index);
    return isa<MemRefType>(operand.getType())
               ? computeLoaded(operand, structured)
               : getIndex(operand);
  }
  auto loop = dyn_cast<LoopLikeOpInterface>(parent);
  std::optional<SmallVector<Value>> inductions;
  if (loop)
    inductions = loop.getLoopInductionVars();
  if (!inductions || index >= inductions->size() ||
      (*inductions)[index] != argument)
    return system.createVariable();
  return getInductionVariable(loop, index);
}

LinearForm BodyBounds::computeProduct(const LinearForm &left,
                                      const LinearForm &right) {
  if (std::optional<int64_t> factor = left.getConstant())
    return right * *factor;
  if (std::optional<int64_t> factor = right.getConstant())
    return left * *factor;
  return system.createVariable();
}

LinearForm BodyBounds::computeIndexOf(Operation *op) {
  auto operand = [&](unsigned index) {
    return getIndex(op->getOperand(index));
  };
  // Signed and unsigned division agree if neither operand is negative.
  auto floorDiv = [&]() -> std::optional<LinearForm> {
    std::optional<int64_t> divisor = operand(1).getConstant();
    if (!divisor || *divisor < 1 || !isNonNegative(operand(0), op))
      return std::nullopt;
    return system.createFloorDiv(operand(0), *divisor);
  };
  return llvm::TypeSwitch<Operation *, LinearForm>(op)
      .Case(
          [&](arith::AddIOp) { return getExact(operand(0) + operand(1), op); })
      .Case(
          [&](arith::SubIOp) { return getExact(operand(0) - operand(1), op); })
      .Case([&](arith::MulIOp) {
        return getExact(computeProduct(operand(0), operand(1)), op);
      })
      .Case([&](arith::MinSIOp) {
        return system.getMinimum(operand(0), operand(1));
      })
      .Case([&](arith::MaxSIOp) {
        return system.getMinimum(operand(0) * -1, operand(1) * -1) * -1;
      })
      .Case([&](arith::SelectOp select) {
        return getSelected(select.getCondition(), operand(1), operand(2));
      })
      .Case<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>([&](auto) {
        std::optional<LinearForm> quotient = floorDiv();
        return quotient ? *quotient : system.createVariable();
      })
      .Case<arith::RemSIOp, arith::RemUIOp>([&](auto) {
        std::optional<LinearForm> quotient = floorDiv();
        return quotient ? operand(0) - *quotient * *operand(1).getConstant()
                        : system.createVariable();
      })
      .Case([&](memref::DimOp dim) {
        std::optional<int64_t> index = dim.getConstantIndex();
        return index ? getExtent(dim.getSource(), *index)
                     : system.createVariable();
      })
      .Case([&](memref::LoadOp load) {
        return computeLoaded(load.getMemref(), load);
      })
      .Case([&](linalg::IndexOp index) {
        auto parent = index->getParentOfType<linalg::LinalgOp>();
        return getLoopIndex(parent, index.getDim());
      })
      .Case([&](CheckIndexOp check) {
        LinearForm last = getIndex(check.getBound()) - 1;
        return isNonNegative(last, op) ? system.createBetween(0, last)
                                       : system.createVariable();
      })
      .Default([&](Operation *) { return system.createVariable(); });
}

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

LinearForm BodyBounds::evaluate(AffineExpr expr, ArrayRef<LinearForm> dims) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return LinearForm(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return system.createVariable();
  LinearForm left = evaluate(binary.getLHS(), dims);
  LinearForm right = evaluate(binary.getRHS(), dims);
  std::optional<int64_t> divisor = right.getConstant();
  bool divides = divisor && *divisor > 0;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return left + right;
  case AffineExprKind::Mul:
    return computeProduct(left, right);
  case AffineExprKind::FloorDiv:
    return divides ? system.createFloorDiv(left, *divisor)
                   : system.createVariable();
  case AffineExprKind::Mod:
    return divides ? left - system.createFloorDiv(left, *divisor) * *divisor
                   : system.createVariable();
  default:
    return system.createVariable();
  }
}

/// Returns the extent of a tile, which ends with its region or with its
/// operand, whichever comes first.
LinearForm BodyBounds::computeTileExtent(BlockArgument tile, int64_t dim) {
  unsigned operand = tile.getArgNumber() - task.getGrid().size();
  RegionAttr region = task.getRegion(operand);
  auto type = cast<ShapedType>(task.getOperand(operand).getType());
  SmallVector<LinearForm> grid;
  for (Value index : task.getGridIndices())
    grid.push_back(getIndex(index));
  LinearForm offset = evaluate(region.getOffsets().getResult(dim), grid);
  return system.getMinimum(LinearForm(region.getSizes()[dim]),
                           LinearForm(type.getDimSize(dim)) - offset);
}

LinearForm BodyBounds::getExtent(Value buffer, int64_t dim) {
  auto type = cast<MemRefType>(buffer.getType());
  if (!type.isDynamicDim(dim))
    return LinearForm(type.getDimSize(dim));
  if (auto tile = dyn_cast<BlockArgument>(buffer)) {
    bool isTile = tile.getOwner()->getParentOp() == task;
    return isTile ? computeTileExtent(tile, dim) : system.createVariable();
  }
  return llvm::TypeSwitch<Operation *, LinearForm>(buffer.getDefiningOp())
      .Case([&](memref::SubViewOp view) {
        // Sizes of the kept dimensions, in order.
        llvm::SmallBitVector dropped = view.getDroppedDims();
        SmallVector<OpFoldResult> kept;
        for (auto [index, size] : llvm::enumerate(view.getMixedSizes()))
          if (!dropped.test(index))
            kept.push_back(size);
        return getIndex(kept[dim]);
      })
      .Case([&](memref::ReinterpretCastOp view) {
        return getIndex(view.getMixedSizes()[dim]);
      })
      .Case([&](memref::ExpandShapeOp view) {
        return getIndex(view.getMixedOutputShape()[dim]);
      })
      .Case([&](memref::CollapseShapeOp view) {
        return getProduct(view.getSrc(), view.getReassociationIndices()[dim]);
      })
      .Case(
          [&](memref::CastOp view) { return getExtent(view.getSource(), dim); })
      .Case([&](memref::TransposeOp view) {
        return getExtent(view.getIn(),
                         view.getPermutation().getDimPosition(dim));
      })
      .Default([&](Operation *) { return system.createVariable(); });
}

LinearForm BodyBounds::getProduct(Value buffer, ArrayRef<int64_t> dims) {
  LinearForm product(1);
  for (int64_t dim : dims)
    product = computeProduct(product, getExtent(buffer, dim));
  return product;
}

LinearForm BodyBounds::getLoopExtent(IndexingMapOpInterface op, unsigned loop) {
  AffineExpr wanted = getAffineDimExpr(loop, op.getContext());
  for (OpOperand &operand : op->getOpOperands())
    for (auto [dim, expr] :
         llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults()))
      if (expr == wanted && isa<MemRefType>(operand.get().getType()))
        return getExtent(operand.get(), dim);
  return system.createVariable();
}

LinearForm BodyBounds::getLoopIndex(IndexingMapOpInterface op, unsigned loop) {
  auto [it, isNew] = loopIndices.try_emplace({op, loop});
  if (isNew) {
    LinearForm index = system.createBetween(0, getLoopExtent(op, loop) - 1);
    // getLoopExtent may have inserted into the map and invalidated `it`.
    loopIndices[{op, loop}] = index;
    return index;
  }
  return it->second;
}

//===----------------------------------------------------------------------===//
// Facts of conditions
//===----------------------------------------------------------------------===//

/// Adds the facts that follow from a condition, or from its negation. A
/// condition that compares no indices adds none.
void BodyBounds::addFacts(Value condition, bool holds, Facts &facts) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
    if (!holds)
      return;
    addFacts(both.getLhs(), holds, facts);
    addFacts(both.getRhs(), holds, facts);
    return;
  }
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare || !compare.getLhs().getType().isIndex())
    return;
  LinearForm left = getIndex(compare.getLhs());
  LinearForm right = getIndex(compare.getRhs());
  arith::CmpIPredicate predicate = compare.getPredicate();
  switch (holds ? predicate : arith::invertPredicate(predicate)) {
  case arith::CmpIPredicate::eq:
    facts.append({left - right, right - left});
    return;
  case arith::CmpIPredicate::slt:
    facts.push_back(right - left - 1);
    return;
  case arith::CmpIPredicate::sle:
    facts.push_back(right - left);
    return;
  case arith::CmpIPredicate::sgt:
    facts.push_back(left - right - 1);
    return;
  case arith::CmpIPredicate::sge:
    facts.push_back(left - right);
    return;
  default:
    return;
  }
}

/// Returns the facts that the loops and branches around an op imply.
LinearSystem::Facts BodyBounds::getFactsAt(Operation *at) {
  Facts facts;
  for (Operation *op = at; op != task; op = op->getParentOp()) {
    Operation *parent = op->getParentOp();
    if (auto branch = dyn_cast<scf::IfOp>(parent)) {
      bool holds = op->getParentRegion() == &branch.getThenRegion();
      addFacts(branch.getCondition(), holds, facts);
    } else if (auto loop = dyn_cast<scf::ForOp>(parent);
               loop && !loop.getUnsignedCmp()) {
      facts.push_back(getIndex(loop.getUpperBound()) -
                      getIndex(loop.getLowerBound()) - 1);
    }
  }
  return facts;
}

//===----------------------------------------------------------------------===//
// Proofs
//===----------------------------------------------------------------------===//

bool BodyBounds::isNonNegative(const LinearForm &form, Operation *at) {
  if (std::optional<int64_t> constant = form.getConstant())
    return *constant >= 0;
  Facts facts = getFactsAt(at);
  facts.push_back(form * -1 - 1);
  return system.isImpossible(std::move(facts));
}
