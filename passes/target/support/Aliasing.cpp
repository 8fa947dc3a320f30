//===- Aliasing.cpp - Aliasing of buffers in a body -----------------------===//

#include "passes/target/support/Aliasing.h"

#include "passes/target/support/Bodies.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::ark;

Value ark::getRoot(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  return buffer;
}

bool ark::isNoAlias(Value root) {
  if (root.getDefiningOp<memref::AllocaOp>())
    return true;
  auto argument = dyn_cast<BlockArgument>(root);
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
               : nullptr;
  return function &&
         function.getArgAttr(argument.getArgNumber(),
                             LLVM::LLVMDialect::getNoAliasAttrName());
}

/// Returns the subviews between `buffer` and its root, the innermost first.
static SmallVector<memref::SubViewOp> getSubviews(Value buffer) {
  SmallVector<memref::SubViewOp> subviews;
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>()) {
    if (auto subview = buffer.getDefiningOp<memref::SubViewOp>())
      subviews.push_back(subview);
    buffer = view.getViewSource();
  }
  return subviews;
}

/// Returns true if two subviews of one buffer are disjoint along a dimension.
static bool areDisjoint(memref::SubViewOp a, memref::SubViewOp b) {
  if (a.getSource() != b.getSource())
    return false;
  auto endsBefore = [](memref::SubViewOp first, memref::SubViewOp second,
                       unsigned dim) {
    int64_t offset = first.getStaticOffsets()[dim],
            size = first.getStaticSizes()[dim],
            stride = first.getStaticStrides()[dim],
            end = second.getStaticOffsets()[dim];
    return ShapedType::isStaticShape({offset, size, stride, end}) &&
           offset + (size - 1) * stride < end;
  };
  for (unsigned dim = 0; dim < a.getStaticOffsets().size(); ++dim)
    if (endsBefore(a, b, dim) || endsBefore(b, a, dim))
      return true;
  return false;
}

/// Returns the first and the last element of the root that a buffer covers, if
/// both are constant.
static std::optional<std::pair<int64_t, int64_t>> getSpan(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!type.hasStaticShape() || type.getNumElements() == 0 ||
      failed(type.getStridesAndOffset(strides, offset)) ||
      ShapedType::isDynamic(offset) || !ShapedType::isStaticShape(strides))
    return std::nullopt;
  int64_t last = offset;
  for (auto [extent, stride] : llvm::zip(type.getShape(), strides))
    last += (extent - 1) * stride;
  return std::pair(offset, last);
}

/// Returns true if two views of a temporary are disjoint ranges of memory.
static bool haveDisjointSpans(Value a, Value b) {
  auto isPlain = [](Value buffer) {
    for (; auto view = buffer.getDefiningOp<ViewLikeOpInterface>();
         buffer = view.getViewSource())
      if (!isa<memref::SubViewOp, memref::ReinterpretCastOp, memref::CastOp>(
              *view))
        return false;
    return static_cast<bool>(buffer.getDefiningOp<memref::AllocaOp>());
  };
  if (!isPlain(a) || !isPlain(b))
    return false;
  auto spanOfA = getSpan(a), spanOfB = getSpan(b);
  return spanOfA && spanOfB &&
         (spanOfA->second < spanOfB->first || spanOfB->second < spanOfA->first);
}

bool ark::mayAlias(Value a, Value b) {
  Value first = getRoot(a), second = getRoot(b);
  if (first != second)
    return !isNoAlias(first) && !isNoAlias(second);
  if (haveDisjointSpans(a, b))
    return false;
  SmallVector<memref::SubViewOp> viewsOfB = getSubviews(b);
  return llvm::none_of(getSubviews(a), [&](memref::SubViewOp viewOfA) {
    return llvm::any_of(viewsOfB, [&](memref::SubViewOp viewOfB) {
      return areDisjoint(viewOfA, viewOfB);
    });
  });
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// Returns the buffer of which `address`, a pointer or an integer, is an
/// address. Returns null if the buffer is unknown.
static Value findBuffer(Value address) {
  Operation *op = address.getDefiningOp();
  if (!op)
    return Value();
  if (auto pointer = dyn_cast<memref::ExtractAlignedPointerAsIndexOp>(op))
    return getRoot(pointer.getSource());
  if (isa<LLVM::AddrSpaceCastOp, LLVM::IntToPtrOp, LLVM::GEPOp,
          arith::IndexCastOp>(op))
    return findBuffer(op->getOperand(0));
  if (auto sum = dyn_cast<arith::AddIOp>(op)) {
    Value left = findBuffer(sum.getLhs()), right = findBuffer(sum.getRhs());
    return left && right ? Value() : left ? left : right;
  }
  return Value();
}

/// Returns the buffer that an operand or the value of an effect stands for.
/// Returns null if the buffer is unknown.
static Value toBuffer(Value value) {
  if (!value || isa<UnrankedMemRefType>(value.getType()))
    return Value();
  return isa<LLVM::LLVMPointerType>(value.getType()) ? findBuffer(value)
                                                     : value;
}

static void addCall(func::CallOp call, SmallVectorImpl<Access> &accesses) {
  size_t numRead =
      isCtaCollective(call) ? call.getNumOperands() - getNumWritten(call) : 0;
  for (auto [index, operand] : llvm::enumerate(call.getOperands()))
    if (isa<BaseMemRefType, LLVM::LLVMPointerType>(operand.getType()))
      accesses.push_back({toBuffer(operand), /*writes=*/index >= numRead});
}

/// Returns true if an op is one instruction that only copies registers, such
/// as an opaque number, or brings a line to a cache, where later stores update
/// it.
static bool isMoveOrPrefetch(Operation *op) {
  auto assembly = dyn_cast<LLVM::InlineAsmOp>(op);
  if (!assembly || assembly.getAsmString().count(';') != 1)
    return false;
  StringRef text = assembly.getAsmString();
  return text.starts_with("prefetch.") || text.starts_with("mov.");
}

/// Adds the accesses of the op itself, without those of nested ops.
static void addAccesses(Operation *op, SmallVectorImpl<Access> &accesses) {
  if (auto call = dyn_cast<func::CallOp>(op))
    return addCall(call, accesses);
  if (isMoveOrPrefetch(op))
    return;
  auto interface = dyn_cast<MemoryEffectOpInterface>(op);
  if (!interface) {
    // `nvvm.mma.sync` works on registers, but declares no memory effects.
    if (isa<NVVM::MmaOp>(op))
      return;
    // Nested ops declare their own effects.
    if (!op->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
      accesses.push_back({Value(), /*writes=*/true});
    return;
  }
  SmallVector<MemoryEffects::EffectInstance> effects;
  interface.getEffects(effects);
  for (const MemoryEffects::EffectInstance &effect : effects)
    if (!isa<MemoryEffects::Allocate>(effect.getEffect()))
      accesses.push_back({toBuffer(effect.getValue()),
                          !isa<MemoryEffects::Read>(effect.getEffect())});
}

SmallVector<Access> ark::getAccesses(Operation *op) {
  SmallVector<Access> accesses;
  op->walk([&](Operation *inner) { addAccesses(inner, accesses); });
  return accesses;
}

bool ark::conflict(const Access &a, const Access &b) {
  return (a.writes || b.writes) &&
         (!a.buffer || !b.buffer || mayAlias(a.buffer, b.buffer));
}
