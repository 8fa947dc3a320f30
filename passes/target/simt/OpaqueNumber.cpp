//===- OpaqueNumber.cpp - Numbers opaque to compilers ---------------------===//

#include "passes/target/simt/OpaqueNumber.h"

#include "lib/backend/GpuInstructions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::ark;

Value ark::createOpaqueIndex(OpBuilder &builder, Location loc, Value number) {
  Value narrow =
      arith::IndexCastOp::create(builder, loc, builder.getI32Type(), number);
  Value opaque =
      getGpuInstructions(builder).createOpaqueNumber(builder, loc, narrow);
  return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(),
                                      opaque);
}

Value ark::createOpaqueThread(OpBuilder &builder, Location loc) {
  Value thread = getGpuInstructions(builder).createOpaqueThread(builder, loc);
  return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(),
                                      thread);
}

Value ark::createOpaqueFence(OpBuilder &builder, Location loc, Value number) {
  Value word =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), number);
  Value opaque =
      getGpuInstructions(builder).createLoadFence(builder, loc, word);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    opaque);
}
