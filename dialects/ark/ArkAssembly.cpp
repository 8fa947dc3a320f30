//===- ArkAssembly.cpp - Custom directives of assembly formats ------------===//

#include "dialects/ark/ArkAssembly.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

/// Parses `%x[#ark.region<...>] : type, ...`.
ParseResult mlir::ark::parseRegionOperands(
    OpAsmParser &parser,
    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands,
    SmallVectorImpl<Type> &types, ArrayAttr &regions) {
  SmallVector<Attribute> attributes;
  auto parseRest = [&]() -> ParseResult {
    return failure(parser.parseLSquare() ||
                   parser.parseAttribute(attributes.emplace_back()) ||
                   parser.parseRSquare() || parser.parseColon() ||
                   parser.parseType(types.emplace_back()));
  };
  OpAsmParser::UnresolvedOperand operand;
  OptionalParseResult first = parser.parseOptionalOperand(operand);
  if (first.has_value()) {
    if (failed(*first) || parseRest())
      return failure();
    operands.push_back(operand);
    while (succeeded(parser.parseOptionalComma()))
      if (parser.parseOperand(operands.emplace_back()) || parseRest())
        return failure();
  }
  regions = parser.getBuilder().getArrayAttr(attributes);
  return success();
}

void mlir::ark::printRegionOperands(OpAsmPrinter &printer, Operation *,
                                    OperandRange operands, TypeRange types,
                                    ArrayAttr regions) {
  llvm::interleaveComma(llvm::zip(operands, types, regions), printer,
                        [&](auto part) {
                          auto [operand, type, region] = part;
                          printer << operand << '[' << region << "] : " << type;
                        });
}

/// Parses `[0, 4]`, or bounds affine in the SM: `[d0 * 4, d0 * 4 + 4]`.
ParseResult mlir::ark::parseRunRange(OpAsmParser &parser,
                                     AffineMapAttr &range) {
  MLIRContext *context = parser.getContext();
  std::pair<StringRef, AffineExpr> sm("d0", getAffineDimExpr(0, context));
  AffineExpr begin, end;
  if (parser.parseLSquare() || parser.parseAffineExpr({sm}, begin) ||
      parser.parseComma() || parser.parseAffineExpr({sm}, end) ||
      parser.parseRSquare())
    return failure();
  range = AffineMapAttr::get(AffineMap::get(1, 0, {begin, end}, context));
  return success();
}

void mlir::ark::printRunRange(OpAsmPrinter &printer, Operation *,
                              AffineMapAttr range) {
  AffineMap map = range.getValue();
  printer << '[' << map.getResult(0) << ", " << map.getResult(1) << ']';
}
