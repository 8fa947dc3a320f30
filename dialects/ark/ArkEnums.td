//===- ArkEnums.td - Enumerations of the ark dialect ------------*- tablegen -*-===//

#ifndef ARK_ENUMS_TD
#define ARK_ENUMS_TD

include "dialects/ark/ArkDialect.td"
include "mlir/IR/EnumAttr.td"

class Ark_I32Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::ark";
  let genSpecializedAttr = 0;
}

/// The binding of a program argument.
def Ark_ArgumentKind : Ark_I32Enum<"ArgumentKind", "binding of a program argument", [
  I32EnumAttrCase<"Input", 0, "input">,         // bound at every run
  I32EnumAttrCase<"Parameter", 1, "parameter">, // bound once
  I32EnumAttrCase<"State", 2, "state">,         // lives on the device between runs
  I32EnumAttrCase<"Scalar", 3, "scalar">,       // a run-time integer, bounded by `ark.max`
  I32EnumAttrCase<"Output", 4, "output">,       // a result; the `memory` stage adds it
  I32EnumAttrCase<"Constant", 5, "constant">,   // `ark.value`; the `memory` stage adds it
]>;
def Ark_ArgumentKindAttr : EnumAttr<Ark_Dialect, Ark_ArgumentKind, "kind"> {
  let assemblyFormat = "`<` $value `>`";
}

def Ark_ComparePredicate : Ark_I32Enum<"ComparePredicate", "comparison", [
  I32EnumAttrCase<"EQ", 0, "eq">, I32EnumAttrCase<"NE", 1, "ne">,
  I32EnumAttrCase<"LT", 2, "lt">, I32EnumAttrCase<"LE", 3, "le">,
  I32EnumAttrCase<"GT", 4, "gt">, I32EnumAttrCase<"GE", 5, "ge">,
]>;
def Ark_ComparePredicateAttr
    : EnumAttr<Ark_Dialect, Ark_ComparePredicate, "predicate">;

def Ark_GeluApproximation : Ark_I32Enum<"GeluApproximation", "form of gelu", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Tanh", 1, "tanh">,
]>;
def Ark_GeluApproximationAttr
    : EnumAttr<Ark_Dialect, Ark_GeluApproximation, "approximation">;

def Ark_ReductionKind : Ark_I32Enum<"ReductionKind", "combiner of a collective", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">,
  I32EnumAttrCase<"Min", 2, "min">,
]>;
def Ark_ReductionKindAttr : EnumAttr<Ark_Dialect, Ark_ReductionKind, "reduction">;

/// The mechanism by which data pass from one lane to another.
def Ark_HandoffKind : Ark_I32Enum<"HandoffKind", "kind of a hand-off", [
  I32EnumAttrCase<"Counter", 0, "counter">, // counter semaphore in global memory
  I32EnumAttrCase<"Barrier", 1, "barrier">, // grid barrier: every lane arrives and waits
  I32EnumAttrCase<"Packet", 2, "packet">,   // the value carries its epoch
  I32EnumAttrCase<"Cluster", 3, "cluster">, // distributed shared memory
  I32EnumAttrCase<"Peer", 4, "peer">,       // another GPU
]>;
def Ark_HandoffKindAttr : EnumAttr<Ark_Dialect, Ark_HandoffKind, "handoff">;

/// A family of matrix instructions.
def Ark_MmaKind : Ark_I32Enum<"MmaKind", "family of matrix instructions", [
  I32EnumAttrCase<"MmaSync", 0, "mma_sync">, // `mma.sync` of NVIDIA
  I32EnumAttrCase<"Wgmma", 1, "wgmma">,      // `wgmma` of NVIDIA
  I32EnumAttrCase<"Mfma", 2, "mfma">,        // `v_mfma` of AMD
  I32EnumAttrCase<"Other", 3, "other">,      // a family that no lowering of ark creates
]>;

/// The operands of a matrix instruction, and its accumulators.
def Ark_MmaOperands : Ark_I32Enum<"MmaOperands", "operands of matrix instructions", [
  I32EnumAttrCase<"Float16", 0, "f16">, // f16 or bf16, added in f32
  I32EnumAttrCase<"Float8", 1, "f8">,   // both f8E4M3FN or both f8E5M2, added in f32
  I32EnumAttrCase<"Int8", 2, "i8">,     // signed, added in i32 with wraparound
]>;

/// An asynchronous copy from global to shared memory.
def Ark_CopyKind : Ark_I32Enum<"CopyKind", "copy to shared memory", [
  I32EnumAttrCase<"CpAsync", 0, "cp_async">,     // 4 to 16 bytes per thread
  I32EnumAttrCase<"Bulk", 1, "bulk">,            // contiguous bytes
  I32EnumAttrCase<"TensorMap", 2, "tensor_map">, // a box of a tensor (TMA copy)
  I32EnumAttrCase<"LoadLds", 3, "load_lds">,     // 16 bytes per thread, a warp to one place
]>;

#endif // ARK_ENUMS_TD
