//===- IterationSpace.cpp - Numbered iterations of a loop -----------------===//

#include "passes/target/support/IterationSpace.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/SCF/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

IterationSpace::IterationSpace(OpBuilder &builder, scf::ParallelOp loop)
    : loop(loop) {
  Location loc = loop.getLoc();
  size = arith::ConstantIndexOp::create(builder, loc, 1);
  for (auto [begin, end, step] :
       llvm::zip(loop.getLowerBound(), loop.getUpperBound(), loop.getStep())) {
    Value distance = arith::SubIOp::create(builder, loc, end, begin);
    extents.push_back(arith::CeilDivSIOp::create(builder, loc, distance, step));
    size = arith::MulIOp::create(builder, loc, size, extents.back());
  }
}

SmallVector<Value> IterationSpace::getVariables(OpBuilder &builder,
                                                Value iteration) const {
  Location loc = iteration.getLoc();
  auto split = affine::AffineDelinearizeIndexOp::create(builder, loc, iteration,
                                                        extents);
  SmallVector<Value> variables;
  scf::ParallelOp source = loop;
  for (auto [index, begin, step] : llvm::zip(
           split.getResults(), source.getLowerBound(), source.getStep())) {
    Value distance = arith::MulIOp::create(builder, loc, index, step);
    variables.push_back(arith::AddIOp::create(builder, loc, begin, distance));
  }
  return variables;
}

namespace {
/// The extent of a clipped tile is a minimum. Upstream implements
/// ValueBoundsOpInterface for `affine.min`, but not for the `arith.minsi` to
/// which the op is lowered.
struct MinBounds
    : ValueBoundsOpInterface::ExternalModel<MinBounds, arith::MinSIOp> {
  void populateBoundsForIndexValue(Operation *op, Value value,
                                   ValueBoundsConstraintSet &bounds) const {
    for (Value operand : op->getOperands())
      bounds.bound(value) <= bounds.getExpr(operand);
  }
};
} // namespace

void ark::registerBoundModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    arith::MinSIOp::attachInterface<MinBounds>(*context);
  });
  affine::registerValueBoundsOpInterfaceExternalModels(registry);
  arith::registerValueBoundsOpInterfaceExternalModels(registry);
  memref::registerValueBoundsOpInterfaceExternalModels(registry);
  scf::registerValueBoundsOpInterfaceExternalModels(registry);
}

std::optional<int64_t> ark::getSizeBound(scf::ParallelOp loop) {
  int64_t size = 1;
  for (auto [begin, end, step] :
       llvm::zip(loop.getLowerBound(), loop.getUpperBound(), loop.getStep())) {
    std::optional<int64_t> first = getConstantIntValue(begin),
                           stride = getConstantIntValue(step);
    // A clipped tile has no constant extent, but a constant upper bound.
    FailureOr<int64_t> last = ValueBoundsConstraintSet::computeConstantBound(
        presburger::BoundType::UB, end, /*stopCondition=*/nullptr,
        /*closedUB=*/true);
    int64_t distance;
    if (!first || !stride || *stride <= 0 || failed(last) ||
        llvm::SubOverflow(*last, *first, distance) ||
        llvm::MulOverflow(
            size,
            llvm::divideCeilSigned(std::max<int64_t>(distance, 0), *stride),
            size))
      return std::nullopt;
  }
  return size;
}

int64_t ark::getStaticSize(scf::ParallelOp loop) {
  int64_t size = 1;
  for (auto [begin, end, step] :
       llvm::zip(loop.getLowerBound(), loop.getUpperBound(), loop.getStep())) {
    std::optional<int64_t> first = getConstantIntValue(begin),
                           last = getConstantIntValue(end),
                           stride = getConstantIntValue(step);
    if (first && last && stride && *stride > 0)
      size *=
          llvm::divideCeilSigned(std::max<int64_t>(*last - *first, 0), *stride);
  }
  return size;
}

void ark::inlineBody(OpBuilder &builder, scf::ParallelOp loop, Operation *op,
                     ValueRange variables) {
  loop.getBody()->getTerminator()->erase();
  IRRewriter rewriter(builder);
  rewriter.inlineBlockBefore(loop.getBody(), op, variables);
}
