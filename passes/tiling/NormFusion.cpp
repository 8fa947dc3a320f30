//===- NormFusion.cpp - Elementwise neighbours of norms -------------------===//

#include "passes/tiling/NormFusion.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

/// Returns true if every element of the result depends on the elements of the
/// inputs that the maps select, and on nothing else.
static bool isElementwise(linalg::GenericOp op) {
  return op.getNumDpsInits() == 1 && op.hasPureTensorSemantics() &&
         op.getNumLoops() == op.getNumParallelLoops() &&
         op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity() &&
         op.getRegionOutputArgs()[0].use_empty() &&
         llvm::all_of(op.getBody()->without_terminator(), [](Operation &inner) {
           return isMemoryEffectFree(&inner) && inner.getNumRegions() == 0 &&
                  !isa<linalg::IndexOp>(inner);
         });
}

//===----------------------------------------------------------------------===//
// Norms with other inputs
//===----------------------------------------------------------------------===//

namespace {
/// Builds a norm that replaces another norm and also computes elementwise
/// neighbours in its regions.
class NormRebuilder {
public:
  NormRebuilder(RewriterBase &rewriter, RowNormOp norm)
      : rewriter(rewriter), norm(norm) {}

  /// Returns the number of an input of the new norm. Two inputs that read the
  /// same elements become one input.
  unsigned addInput(Value value, AffineMap map);
  /// Adds the tensors among some inputs of an elementwise op, and appends their
  /// numbers. `map` is from the loops of the norm to those of the op.
  void addInputsOf(linalg::GenericOp op, AffineMap map,
                   ArrayRef<OpOperand *> operands,
                   SmallVectorImpl<std::optional<unsigned>> &numbers);

  /// Creates the norm with empty regions that have arguments.
  RowNormOp create(Value out);
  /// Clones the ops of an elementwise op. Returns the result for these
  /// elements.
  Value cloneBody(linalg::GenericOp op, ArrayRef<Value> elements);
  /// Clones the ops of a block of the old norm. Returns the yielded value.
  Value cloneBlock(Block &block, IRMapping &mapping);

private:
  RewriterBase &rewriter;
  RowNormOp norm;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
};
} // namespace

unsigned NormRebuilder::addInput(Value value, AffineMap map) {
  for (unsigned input = 0; input < inputs.size(); ++input)
    if (inputs[input] == value && maps[input] == map)
      return input;
  inputs.push_back(value);
  maps.push_back(map);
  return inputs.size() - 1;
}

void NormRebuilder::addInputsOf(
    linalg::GenericOp op, AffineMap map, ArrayRef<OpOperand *> operands,
    SmallVectorImpl<std::optional<unsigned>> &numbers) {
  for (OpOperand *input : operands) {
    std::optional<unsigned> number;
    if (isa<RankedTensorType>(input->get().getType()))
      number =
          addInput(input->get(), op.getMatchingIndexingMap(input).compose(map));
    numbers.push_back(number);
  }
}

RowNormOp NormRebuilder::create(Value out) {
  SmallVector<AffineMap> allMaps(maps);
  for (OpOperand &init : norm.getDpsInitsMutable())
    allMaps.push_back(norm.getMap(init));
  SmallVector<Type> types = {out.getType()};
  llvm::append_range(types, llvm::drop_begin(norm->getResultTypes()));
  auto created =
      RowNormOp::create(rewriter, norm.getLoc(), types, inputs, out,
                        norm.getMean(), norm.getScale(), norm.getEpsAttr(),
                        rewriter.getAffineMapArrayAttr(allMaps));
  OpBuilder::InsertionGuard guard(rewriter);
  Block *prologue = rewriter.createBlock(&created.getPrologue());
  Block *epilogue = rewriter.createBlock(&created.getEpilogue());
  epilogue->addArgument(norm.getElementType(), norm.getLoc());
  for (Value input : inputs) {
    prologue->addArgument(getElementTypeOrSelf(input), input.getLoc());
    epilogue->addArgument(getElementTypeOrSelf(input), input.getLoc());
  }
  return created;
}

Value NormRebuilder::cloneBody(linalg::GenericOp op, ArrayRef<Value> elements) {
  IRMapping mapping;
  for (auto [argument, input, element] :
       llvm::zip(op.getRegionInputArgs(), op.getInputs(), elements))
    mapping.map(argument, element ? element : input);
  return cloneBlock(*op.getBody(), mapping);
}

Value NormRebuilder::cloneBlock(Block &block, IRMapping &mapping) {
  for (Operation &inner : block.without_terminator())
    rewriter.clone(inner, mapping);
  return mapping.lookupOrDefault(block.getTerminator()->getOperand(0));
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {
/// Lets the regions of a norm compute the elements of an input.
struct FuseProducerIntoNorm : OpRewritePattern<RowNormOp> {
  FuseProducerIntoNorm(MLIRContext *context, FusionFn shouldFuse)
      : OpRewritePattern(context), shouldFuse(std::move(shouldFuse)) {}

  LogicalResult matchAndRewrite(RowNormOp norm,
                                PatternRewriter &rewriter) const override {
    for (OpOperand *input : norm.getDpsInputOperands()) {
      auto producer = input->get().getDefiningOp<linalg::GenericOp>();
      if (!producer || !isElementwise(producer) || !shouldFuse(input))
        continue;
      fuse(rewriter, norm, input->getOperandNumber(), producer);
      return success();
    }
    return failure();
  }

private:
  void fuse(PatternRewriter &rewriter, RowNormOp norm, unsigned fused,
            linalg::GenericOp producer) const;

  FusionFn shouldFuse;
};

/// Makes the elementwise op that reads the result part of the epilogue.
struct FuseReaderIntoNorm : OpRewritePattern<linalg::GenericOp> {
  FuseReaderIntoNorm(MLIRContext *context, FusionFn shouldFuse)
      : OpRewritePattern(context), shouldFuse(std::move(shouldFuse)) {}

  LogicalResult matchAndRewrite(linalg::GenericOp reader,
                                PatternRewriter &rewriter) const override {
    if (!isElementwise(reader))
      return failure();
    for (OpOperand *input : reader.getDpsInputOperands())
      if (input->get().getDefiningOp<RowNormOp>() && shouldFuse(input)) {
        fuse(rewriter, reader, input);
        return success();
      }
    return failure();
  }

private:
  void fuse(PatternRewriter &rewriter, linalg::GenericOp reader,
            OpOperand *result) const;

  FusionFn shouldFuse;
};
} // namespace

void FuseProducerIntoNorm::fuse(PatternRewriter &rewriter, RowNormOp norm,
                                unsigned fused,
                                linalg::GenericOp producer) const {
  NormRebuilder builder(rewriter, norm);
  SmallVector<unsigned> numbers;
  SmallVector<std::optional<unsigned>> ofProducer;
  for (OpOperand *input : norm.getDpsInputOperands()) {
    AffineMap map = norm.getMap(*input);
    bool isFused = input->getOperandNumber() == fused;
    if (isFused)
      builder.addInputsOf(producer, map, producer.getDpsInputOperands(),
                          ofProducer);
    numbers.push_back(isFused ? 0 : builder.addInput(input->get(), map));
  }
  RowNormOp created = builder.create(norm.getOut());
  // Clones a region, whose arguments for elements start at `first`.
  auto build = [&](Block &from, Block &to, unsigned first) {
    rewriter.setInsertionPointToEnd(&to);
    IRMapping mapping;
    if (first > 0)
      mapping.map(from.getArgument(0), to.getArgument(0));
    for (auto [input, number] : llvm::enumerate(numbers)) {
      BlockArgument argument = from.getArgument(first + input);
      if (argument.use_empty())
        continue;
      if (input != fused) {
        mapping.map(argument, to.getArgument(first + number));
        continue;
      }
      SmallVector<Value> elements;
      for (std::optional<unsigned> element : ofProducer)
        elements.push_back(element ? Value(to.getArgument(first + *element))
                                   : Value());
      mapping.map(argument, builder.cloneBody(producer, elements));
    }
    Value yielded = builder.cloneBlock(from, mapping);
    YieldOp::create(rewriter, norm.getLoc(), yielded);
  };
  build(*norm.getPrologueBlock(), *created.getPrologueBlock(), 0);
  build(*norm.getEpilogueBlock(), *created.getEpilogueBlock(), 1);
  rewriter.replaceOp(norm, created.getResults());
}

void FuseReaderIntoNorm::fuse(PatternRewriter &rewriter,
                              linalg::GenericOp reader,
                              OpOperand *result) const {
  auto norm = result->get().getDefiningOp<RowNormOp>();
  NormRebuilder builder(rewriter, norm);
  // The inputs of the norm replace its result among those of the reader.
  AffineMap loops = rewriter.getMultiDimIdentityMap(norm.getNumLoops());
  SmallVector<OpOperand *> inputs = reader.getDpsInputOperands();
  unsigned position = result->getOperandNumber();
  SmallVector<unsigned> numbers;
  SmallVector<std::optional<unsigned>> ofReader;
  builder.addInputsOf(reader, loops, ArrayRef(inputs).take_front(position),
                      ofReader);
  for (OpOperand *input : norm.getDpsInputOperands())
    numbers.push_back(builder.addInput(input->get(), norm.getMap(*input)));
  ofReader.push_back(std::nullopt);
  builder.addInputsOf(reader, loops, ArrayRef(inputs).drop_front(position + 1),
                      ofReader);
  RowNormOp created = builder.create(reader.getOutputs().front());

  IRMapping prologue;
  rewriter.setInsertionPointToEnd(created.getPrologueBlock());
  for (auto [input, number] : llvm::enumerate(numbers))
    prologue.map(norm.getPrologueArgument(input),
                 created.getPrologueArgument(number));
  YieldOp::create(rewriter, norm.getLoc(),
                  builder.cloneBlock(*norm.getPrologueBlock(), prologue));

  IRMapping epilogue;
  rewriter.setInsertionPointToEnd(created.getEpilogueBlock());
  epilogue.map(norm.getNormalised(), created.getNormalised());
  for (auto [input, number] : llvm::enumerate(numbers))
    epilogue.map(norm.getEpilogueArgument(input),
                 created.getEpilogueArgument(number));
  Value element = builder.cloneBlock(*norm.getEpilogueBlock(), epilogue);
  SmallVector<Value> elements;
  for (auto [input, number] : llvm::enumerate(ofReader))
    elements.push_back(input == position ? element
                       : number ? Value(created.getEpilogueArgument(*number))
                                : Value());
  YieldOp::create(rewriter, norm.getLoc(), builder.cloneBody(reader, elements));
  rewriter.replaceOp(reader, created.getResult(0));
  rewriter.eraseOp(norm);
}

void ark::populateNormFusionPatterns(RewritePatternSet &patterns,
                                     const FusionFn &shouldFuse) {
  patterns.add<FuseProducerIntoNorm, FuseReaderIntoNorm>(patterns.getContext(),
                                                         shouldFuse);
}
