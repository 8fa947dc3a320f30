//===- ArkAssembly.h - Custom directives of assembly formats ----*- C++ -*-===//
//
// Shared by the formats in the .td files as `custom<Name>(...)`.
//
//===----------------------------------------------------------------------===//

#ifndef DIALECTS_ARK_ARKASSEMBLY_H
#define DIALECTS_ARK_ARKASSEMBLY_H

#include "mlir/IR/OpImplementation.h"

namespace mlir::ark {

/// Parses and prints operands with their regions:
/// `%x[#ark.region<...>] : type, ...`
ParseResult
parseRegionOperands(OpAsmParser &parser,
                    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands,
                    SmallVectorImpl<Type> &types, ArrayAttr &regions);
void printRegionOperands(OpAsmPrinter &printer, Operation *op,
                         OperandRange operands, TypeRange types,
                         ArrayAttr regions);

/// Parses and prints `[0, 4]`, or bounds affine in the SM:
/// `[d0 * 4, d0 * 4 + 4]`
ParseResult parseRunRange(OpAsmParser &parser, AffineMapAttr &range);
void printRunRange(OpAsmPrinter &printer, Operation *op, AffineMapAttr range);

} // namespace mlir::ark

#endif // DIALECTS_ARK_ARKASSEMBLY_H
