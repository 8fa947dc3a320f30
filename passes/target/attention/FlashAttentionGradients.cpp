//===- FlashAttentionGradients.cpp - Gradients on matrix units ------------===//

#include "passes/target/attention/AttentionGradientBlocks.h"
#include "passes/target/attention/Passes.h"
#include "passes/target/matrix_units/MatrixInstruction.h"
#include "passes/target/support/Bodies.h"
#include "passes/target/support/MappedLoop.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace mlir::ark {
#define GEN_PASS_DEF_FLASHATTENTIONGRADIENTSPASS
#include "passes/target/attention/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Erases views of a temporary, and the temporary, if nothing reads or writes
/// them.
static void eraseIfUnused(Value memory) {
  while (Operation *op = memory.getDefiningOp()) {
    auto view = dyn_cast<ViewLikeOpInterface>(op);
    if (!op->use_empty() || !(view || isa<memref::AllocaOp>(op)))
      return;
    if (view)
      memory = view.getViewSource();
    op->erase();
    if (!view)
      return;
  }
}

/// Replaces a gradient by a loop over threads. Warps hold weights and slopes in
/// registers, and need no memory for them.
static void replace(BlockedAttentionGradientOp op,
                    const AttentionGradientShape &shape) {
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  Value thread = createMappedLoop(builder, shape.warps * shape.getWarpSize());
  setFullRegisterPressure(thread.getParentBlock()->getParentOp());
  buildAttentionGradientBlocks(builder, op, shape);
  SetVector<Value> memory;
  memory.insert(op.getWeights());
  memory.insert(op.getSlopes());
  op.erase();
  for (Value unused : memory)
    eraseIfUnused(unused);
}

namespace {
struct FlashAttentionGradientsPass
    : ark::impl::FlashAttentionGradientsPassBase<FlashAttentionGradientsPass> {
  using FlashAttentionGradientsPassBase::FlashAttentionGradientsPassBase;

  void runOnOperation() override {
    MmaAttr mma = findRegisterMma(getOperation());
    if (!mma)
      return;
    for (func::FuncOp body : getBodies(getOperation())) {
      SmallVector<BlockedAttentionGradientOp> ops;
      body.walk([&](BlockedAttentionGradientOp op) { ops.push_back(op); });
      for (BlockedAttentionGradientOp op : ops)
        if (auto shape = AttentionGradientShape::choose(op, mma, threads)) {
          replace(op, *shape);
          ++numGradients;
        }
    }
  }
};
} // namespace
