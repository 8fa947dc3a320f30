//===- ArkTypes.td - Types and type constraints of ark ----------*- tablegen -*-===//

#ifndef ARK_TYPES_TD
#define ARK_TYPES_TD

include "dialects/ark/ArkDialect.td"
include "mlir/IR/AttrTypeBase.td"

class Ark_Type<string name, string typeMnemonic, list<Trait> traits = []>
    : TypeDef<Ark_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
}

def Ark_ChannelType : Ark_Type<"Channel", "channel"> {
  let summary = "A connection to a peer rank";
  let description = [{
    Both ends put tensors to the channel and take tensors from it. Channels exist only in the `graph`
    stage: `ark-join-ranks` replaces them by groups that copy tensors to buffers of the other rank.
  }];
}

// Element types. Signed integers are signless, as everywhere upstream. Unsigned integers carry
// their signedness, because division, comparison and conversion differ.
def Ark_Float : AnyTypeOf<[F32, F16, BF16], "f32, f16 or bf16">;
def Ark_Float8 : AnyTypeOf<[F8E4M3FN, F8E5M2], "8-bit float">;
def Ark_Integer : AnyTypeOf<[I8, I32, I64, UI<8>, UI<32>], "integer">;
def Ark_Bool : TypeAlias<I1, "bool">;
def Ark_Number : AnyTypeOf<[F32, F16, BF16, I8, I32, I64, UI<8>, UI<32>], "number">;
def Ark_Element
    : AnyTypeOf<[F32, F16, BF16, F8E4M3FN, F8E5M2, I8, I32, I64, UI<8>, UI<32>, I1],
                "element">;

// The limit is that of arrays at run time: kMaxDimensions of ArkLimits.h.
class Ark_TensorOf<list<Type> elements>
    : RankedTensorOf<elements,
                     [HasStaticShapePred,
                      CPred<"::llvm::cast<::mlir::ShapedType>($_self).getRank() <= 32">],
                     "statically shaped tensor (at most 32 dimensions)">;

def Ark_Tensor : Ark_TensorOf<[Ark_Element]>;
def Ark_FloatTensor : Ark_TensorOf<[Ark_Float]>;
def Ark_NumberTensor : Ark_TensorOf<[Ark_Number]>;
def Ark_MatrixTensor : Ark_TensorOf<[Ark_Float, Ark_Float8, Ark_Integer]>;
def Ark_BoolTensor : Ark_TensorOf<[Ark_Bool]>;
def Ark_IndexTensor : Ark_TensorOf<[I32, I64]>;
def Ark_ScalarTensor : 0DTensorOf<[I32, I64]>;
def Ark_I64Tensor : Ark_TensorOf<[I64]>;
def Ark_F32Tensor : Ark_TensorOf<[F32]>;

/// A task works on tensors until the `memory` stage and on buffers after it.
def Ark_TensorOrBuffer : AnyTypeOf<[AnyRankedTensor, AnyMemRef]>;

#endif // ARK_TYPES_TD
