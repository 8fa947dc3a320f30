//===- WarpgroupStages.cpp - Stages of keys and values --------------------===//

#include "passes/target/attention/WarpgroupStages.h"

#include "passes/target/matrix_units/SwizzledStage.h"
#include "passes/target/memory_access/SpacePointer.h"
#include "passes/target/memory_access/WideLoad.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <array>

using namespace mlir;
using namespace mlir::ark;

static constexpr int64_t kElementBytes = 2;
/// 16-byte units of a row of a panel.
static constexpr int64_t kRowUnits = kStageRowBytes / kLoadBytes;

//===----------------------------------------------------------------------===//
// Offsets
//===----------------------------------------------------------------------===//

void WarpgroupStages::findThreads(Value thread) {
  assignThreads(thread);
  Value group = div(thread, shape.getGroupThreads());
  inGroup = rem(thread, shape.getGroupThreads());
  block = rem(group, shape.getBlocks());
  keyGroup = rem(div(group, shape.getBlocks()), shape.keyGroups);
  firstKey = add(mul(keyGroup, shape.getGroupKeys()),
                 mul(inQuad, getColumnsPerThread()));
  Value warpInGroup = rem(warp, shape.mma.getWarps());
  assignRows(add(add(mul(block, shape.getBlockRows()),
                     mul(warpInGroup, shape.getWarpRows())),
                 quad));
  copiedRow = div(thread, kRowUnits);
  copiedUnit = rem(thread, kRowUnits);
  swizzledUnit =
      arith::XOrIOp::create(builder, copiedUnit, rem(copiedRow, kBlockRows));
}

/// Queries come first in shared memory.
void WarpgroupStages::findOperands(Value memory) {
  shared = createSpacePointer(builder, memory, kSharedSpace);
  Value firstRow = mul(block, shape.getBlockRows());
  auto describe = [&](Value offset, bool hasPanels) {
    return createStageDescriptor(builder, createOffset(builder, shared, offset),
                                 hasPanels);
  };
  queries = describe(mul(firstRow, kStageRowBytes), /*hasPanels=*/false);
  Value begin =
      add(mul(keyGroup, shape.getGroupBytes()), shape.getQueryBytes());
  keys = describe(begin, /*hasPanels=*/false);
  values = describe(add(begin, shape.getTileBytes()), /*hasPanels=*/true);
  keySource = getSource(attention.key);
  valueSource = getSource(attention.value);
}

WarpgroupStages::Source WarpgroupStages::getSource(Value buffer) {
  auto metadata = memref::ExtractStridedMetadataOp::create(builder, buffer);
  Value rowBytes = mul(metadata.getStrides().front(), kElementBytes);
  Value pointer = createSpacePointer(builder, buffer, kGlobalSpace);
  return {createOffset(builder, pointer, mul(copiedUnit, kLoadBytes)),
          rowBytes};
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Copies all queries of the CTA. Rows beyond the last row are copies of the
/// last row.
void WarpgroupStages::copyQueries() {
  int64_t rowsAtOnce = shape.getThreads() / kRowUnits;
  int64_t rows = shape.getBlocks() * shape.getBlockRows();
  auto type = VectorType::get(shape.width, element);
  Value target =
      add(mul(copiedRow, kStageRowBytes), mul(swizzledUnit, kLoadBytes));
  for (int64_t begin = 0; begin < rows; begin += rowsAtOnce) {
    Value row = add(copiedRow, begin);
    if (rows != shape.rows)
      row = arith::MinSIOp::create(builder, row, index(shape.rows - 1));
    SmallVector<Value> indices = getRowIndices(row);
    indices.push_back(Value());
    for (int64_t panel = 0; panel < getPanels(); ++panel) {
      indices.back() =
          add(mul(copiedUnit, shape.width), panel * kPanelElements);
      Value elements = vector::LoadOp::create(builder, type, attention.query,
                                              indices, /*nontemporal=*/false,
                                              llvm::MaybeAlign(kLoadBytes));
      Value to = add(target, (panel * rows + begin) * kStageRowBytes);
      LLVM::StoreOp::create(builder, elements,
                            createOffset(builder, shared, to), kLoadBytes);
    }
  }
}

/// Issues copies of the keys and values from `first` on to a stage. Rows beyond
/// the last key are copies of the last key.
void WarpgroupStages::copyKeys(Value first, Value stage) {
  int64_t rowsAtOnce = shape.getThreads() / kRowUnits;
  Value last = arith::SubIOp::create(builder, length, index(1));
  Value target =
      add(add(stage, shape.getQueryBytes()),
          add(mul(copiedRow, kStageRowBytes), mul(swizzledUnit, kLoadBytes)));
  for (int64_t begin = 0; begin < shape.getStageKeys(); begin += rowsAtOnce) {
    Value key = arith::MinSIOp::create(builder,
                                       add(first, add(copiedRow, begin)), last);
    // A named array: that of an initializer list passed to `enumerate` would be
    // destroyed before the loop runs.
    const std::array sources = {keySource, valueSource};
    for (auto [i, source] : llvm::enumerate(sources)) {
      Value distance = arith::MulIOp::create(builder, key, source.rowBytes);
      for (int64_t panel = 0; panel < getPanels(); ++panel) {
        int64_t group = begin / shape.getGroupKeys(),
                row = begin % shape.getGroupKeys();
        Value to = add(target, group * shape.getGroupBytes() +
                                   i * shape.getTileBytes() +
                                   panel * kPanelBytes + row * kStageRowBytes);
        Value from = add(distance, panel * kStageRowBytes);
        NVVM::CpAsyncOp::create(builder, createOffset(builder, shared, to),
                                createOffset(builder, source.pointer, from),
                                kLoadBytes, NVVM::LoadCacheModifierKind::CG,
                                /*cpSize=*/Value());
      }
    }
  }
}

/// Issues and commits the copies of a step if the step exists. Commits a group
/// of copies even if the step does not exist, so that every wait counts the
/// same number of groups.
void WarpgroupStages::copyStepIfExists(Value first, Value stage) {
  auto branch =
      scf::IfOp::create(builder, isLess(first, length), /*withElse=*/false);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    copyKeys(first, stage);
  }
  NVVM::CpAsyncCommitGroupOp::create(builder);
}
