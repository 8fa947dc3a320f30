//===- CopiedStages.cpp - Stages that copies fill -------------------------===//

#include "passes/target/matmul/StoredStages.h"

#include "lib/backend/GpuInstructions.h"
#include "passes/target/memory_access/SpacePointer.h"
#include "passes/target/memory_access/WarpCopy.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::ark;

/// Divides the chunks of an operand among the copies of the warps. Neighbouring
/// copies of a warp write neighbouring places, whose distance is part of the
/// instruction, so that they share an address.
void StoredStages::addCopies(Value buffer, int64_t rows, int64_t firstRow,
                             Value thread) {
  int64_t chunksPerRow = shape.getChunksPerRow();
  int64_t warpSize = shape.getWarpSize(), warps = shape.threads / warpSize;
  int64_t copyBytes = warpSize * kLoadBytes,
          rowsPerCopy = warpSize / chunksPerRow;
  int64_t perWarp = rows / rowsPerCopy / warps;
  Value warp = arith::DivUIOp::create(builder, thread, constant(warpSize));
  Value inWarp = arith::RemUIOp::create(builder, thread, constant(warpSize));
  Value rowOfCopy =
      arith::DivUIOp::create(builder, inWarp, constant(chunksPerRow));
  Value place = arith::RemUIOp::create(builder, inWarp, constant(chunksPerRow));
  auto metadata = memref::ExtractStridedMetadataOp::create(builder, buffer);
  Value pitch =
      multiply(metadata.getStrides().front(), shape.getElementBytes());
  for (int64_t i = 0; i < perWarp; ++i) {
    Value number = add(multiply(warp, perWarp), constant(i));
    Value row = add(multiply(number, rowsPerCopy), rowOfCopy);
    Value chunk = arith::XOrIOp::create(builder, place,
                                        getKey(add(row, constant(firstRow))));
    row = clamp(row, buffer, /*dim=*/0, rows, /*unit=*/1);
    int64_t bytes = i * copyBytes % kCopyGroupBytes;
    addCopy(number, firstRow * shape.getRowBytes(), copyBytes, bytes);
    Value offset = add(arith::MulIOp::create(builder, row, pitch),
                       constant(kMaxCopyBytes - bytes));
    chunks.push_back({static_cast<unsigned>(operands.size() - 1), offset,
                      multiply(chunk, product.getElementsPerLoad()),
                      product.getElementsPerLoad(), isNear(buffer, rows)});
  }
}

/// Adds the place of a copy of the warp in a stage. `bytes` of the distance are
/// part of the instruction.
void StoredStages::addCopy(Value number, int64_t firstByte, int64_t copyBytes,
                           int64_t bytes) {
  if (bytes > 0) {
    copies.push_back({copies.back().target, bytes});
    return;
  }
  Value target = createOffset(
      builder, shared, add(multiply(number, copyBytes), constant(firstByte)));
  copies.push_back({getGpuInstructions(builder).createWarpPointer(
                        builder, builder.getLoc(), target),
                    bytes});
}

void StoredStages::copyChunk(const Copy &copy, Value source, int64_t stage) {
  createWarpCopy(builder, source,
                 createOffset(builder, copy.target,
                              constant(stage * shape.getStageBytes())),
                 copy.bytes);
}

void StoredStages::copy(Value k, int64_t stage) {
  for (auto [chunk, copy] : llvm::zip(chunks, copies)) {
    const Operand &operand = operands[chunk.operand];
    auto getBytes = [&](Value elements) -> Value {
      return arith::MulIOp::create(builder, elements, operand.bytesOfK);
    };
    Value base = createOffset(builder, operand.pointer, getBytes(k));
    Value offset = add(chunk.offset, getBytes(chunk.k));
    copyChunk(copy, addDistance(base, chunk.isNear ? narrow(offset) : offset),
              stage);
  }
}

void StoredStages::copy(const Cursor &cursor, int64_t elements, int64_t stage) {
  Cursor moved = cursor;
  advance(moved, elements);
  // LLVM would add the pointer and the distance once, and then add `elements`
  // to the sum of each chunk. A pointer that it cannot look through prevents
  // this.
  for (Value &pointer : moved.pointers)
    pointer = getGpuInstructions(builder).createWarpPointer(
        builder, builder.getLoc(), pointer);
  for (auto [chunk, distance, copy] :
       llvm::zip(chunks, cursor.distances, copies))
    copyChunk(copy, addDistance(moved.pointers[chunk.operand], distance),
              stage);
}
