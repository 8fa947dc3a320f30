//===- Passes.td - Passes of the target stage --------------*- tablegen -*-===//
//
// What the stage runs, first to last, with the passes of the lowering for cpu
// before those of the ones for GPUs.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_PASSES_TARGET_PASSES_TD
#define ARK_PASSES_TARGET_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerToTargetPass : Pass<"ark-lower-to-target", "::mlir::ModuleOp"> {
  let summary = "Run the passes below that make code for the module's target";
  let description = [{
    For `cpu`, functions in the LLVM dialect; for `cuda`, a `gpu.module` in the
    LLVM and NVVM dialects; for `hip`, one in the LLVM and ROCDL dialects. Which passes run is data, the `ark.target` of the
    module, so that a file of an earlier stage needs no flag to go on.

    ```mlir
    module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", ...>} {
      func.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 { ... }
    }
    // =>
    gpu.module @ark_gpu [#nvvm.target<O = 3, chip = "sm_90a", ...>] {
      llvm.func @ark_kernel(%context: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} { ... }
    }
    ```
  }];
  let options = [
    Option<"vectorLanes", "vector-lanes", "int64_t", /*default=*/"0",
           "f32 lanes of a vector register on cpu; 0: of this machine">,
  ];
}

def ArkVectorizeContractionsPass
    : Pass<"ark-vectorize-contractions", "::mlir::func::FuncOp"> {
  let summary = "Contractions on buffers become register-blocked vector loops";
  let description = [{
    Rewrites `linalg` contractions with an f32 result (inputs f32, f16 or bf16)
    whose result is contiguous in one of its parallel dimensions, `n`:

    - many rows: a block of rows by two vectors of columns stays in registers
      while `k` runs. Where the right operand is contiguous in `k` instead of
      `n` (a weight stored `[out, in]`), a panel of it is transposed first, once
      for all rows of the tile;
    - few rows, both operands contiguous in `k`: dot products, which read the
      right operand once and need no panel.

    Other contractions stay as they are and become loops later.

    ```mlir
    linalg.matmul ins(%a, %b : memref<64x384xf32>, memref<384x128xf32>) outs(%c : memref<64x128xf32>)
    // becomes loops over columns, rows and k around vector.fma
    ```
  }];
  let options = [
    Option<"vectorLanes", "vector-lanes", "int64_t", /*default=*/"16",
           "f32 lanes of one vector register: 16 for AVX-512, 8 for AVX2, 4 for SSE and NEON">,
  ];
  let statistics = [
    Statistic<"numBlocked", "blocked", "contractions lowered to register blocks">,
    Statistic<"numDots", "dots", "contractions lowered to dot products">,
    Statistic<"numLeft", "left", "contractions left to plain loops">,
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect",
  ];
}

def RelaxReductionsPass : Pass<"ark-relax-reductions", "::mlir::func::FuncOp"> {
  let summary = "Let sums and products be computed in any order";
  let description = [{
    The order of a reduction is the implementation's choice, and LLVM vectorises
    a loop that adds floats only when it is told so. Nothing is assumed about
    NaN, infinities or signs of zero.

    ```mlir
    %2 = arith.mulf %in, %in : f32
    %3 = arith.addf %2, %out : f32
    // =>
    %2 = arith.mulf %in, %in fastmath<contract> : f32
    %3 = arith.addf %2, %out fastmath<reassoc,contract> : f32
    ```
  }];
  let statistics = [
    Statistic<"numRelaxed", "relaxed", "Reductions that may be reordered">,
  ];
}

def ExpandMathPass : Pass<"ark-expand-math", "::mlir::func::FuncOp"> {
  let summary = "Write functions as arithmetic that vectorises";
  let description = [{
    `exp`, `tanh`, `erf` and `log` on f32 become polynomials, accurate to two
    units in the last place; what is left calls the maths library later. Where
    there is none, `sin`, `cos` and `powf` are computed in f64. With an instruction for powers of
    two, `exp` is one of them and a few steps more.

    ```mlir
    %1 = math.exp %0 : f32
    // =>
    %t = math.fma %0, %log2e, %magic : f32
    ...
    %1 = arith.mulf %p, %scale : f32
    ```
  }];
  let options = [
    Option<"fma", "fma", "bool", /*default=*/"true",
           "Whether the processor can multiply and add in one instruction">,
    Option<"library", "library", "bool", /*default=*/"true",
           "Whether there is a maths library for what is left">,
    Option<"exp2", "exp2", "bool", /*default=*/"false",
           "Whether there is an instruction for powers of two">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def ExpandFloatsPass : Pass<"ark-expand-floats", "::mlir::func::FuncOp"> {
  let summary = "Write conversions of narrow floats as integer arithmetic";
  let description = [{
    For bf16 and the 8-bit floats always, for f16 where `halves` asks for it; from
    and to each other, f32 and integers, by way of f32. Rounds to nearest even; what is too large becomes infinity, or NaN in
    f8E4M3FN, which has no infinity. With `eights`, instructions of NVIDIA GPUs widen
    8-bit floats, two neighbours of a vector at once; they round to something else, so that nothing is
    narrowed by them. A bit becomes one of two constants, in any float.

    ```mlir
    %1 = arith.extf %0 : bf16 to f32
    // =>
    %b = arith.bitcast %0 : bf16 to i16
    %w = arith.extui %b : i16 to i32
    %s = arith.shli %w, %c16 : i32
    %1 = arith.bitcast %s : i32 to f32
    ```
  }];
  let options = [
    Option<"halves", "halves", "bool", /*default=*/"false",
           "Expand conversions of f16 too: the processor has no instruction for them">,
    Option<"roundings", "roundings", "bool", /*default=*/"true",
           "Expand roundings from f32 to bf16: the processor has no instruction for them">,
    Option<"eights", "eights", "bool", /*default=*/"false",
           "Whether the processor has the instructions of sm_89 that widen 8-bit floats">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::vector::VectorDialect",
  ];
}

def MoveBitsPass : Pass<"ark-move-bits", "::mlir::ModuleOp"> {
  let summary = "Load and store 16-bit floats as integers";
  let description = [{
    Where the processor has no instructions for bf16, LLVM moves a vector of it
    by way of f32 and a function of the compiler's own library, which a kernel
    cannot have. Integers just move.

    ```mlir
    %1 = llvm.load %0 : !llvm.ptr -> bf16
    // =>
    %b = llvm.load %0 : !llvm.ptr -> i16
    %1 = llvm.bitcast %b : i16 to bf16
    ```
  }];
  let statistics = [
    Statistic<"numMoved", "moved", "Loads and stores changed">,
  ];
}

def WidenBooleansPass : Pass<"ark-widen-booleans", "::mlir::ModuleOp"> {
  let summary = "Load and store bools as bytes";
  let description = [{
    LLVM vectorises no loop that loads or stores single bits.

    ```mlir
    %1 = llvm.load %0 : !llvm.ptr -> i1
    // =>
    %b = llvm.load %0 : !llvm.ptr -> i8
    %1 = llvm.icmp "ne" %b, %c0 : i8
    ```
  }];
  let statistics = [
    Statistic<"numWidened", "widened", "Loads and stores changed">,
  ];
}

def ReleasePacketsPass : Pass<"ark-release-packets", "::mlir::ModuleOp"> {
  let summary = "Store packets at once, after all that came before";
  let description = [{
    A reader that sees the epoch in a packet sees its data, and what the lane of the writer
    did before: the store is atomic and releases. The body has one, and its packets
    are the argument that carries `ark.packets`.

    ```mlir
    llvm.store %packet, %address : i64, !llvm.ptr
    // =>
    llvm.store %packet, %address atomic release {alignment = 8 : i64} : i64, !llvm.ptr
    ```
  }];
  let statistics = [
    Statistic<"numReleased", "released", "Stores changed">,
  ];
}

def SetLinkagePass : Pass<"ark-set-linkage", "::mlir::ModuleOp"> {
  let summary = "Keep all functions of a kernel but its entry inside of the object";
  let description = [{
    Functions with a body get internal linkage. Bodies of tasks are not inlined
    into the dispatch: each has a frame of its own, and profiles name it. Entry
    and bodies that the kernel names must be there.

    ```mlir
    ark.kernel @mlp {bodies = [{function = @body_relu, ...}, ...], entry = @ark_kernel, ...}
    llvm.func @body_relu(...) { ... }
    // =>
    llvm.func internal @body_relu(...) attributes {no_inline} { ... }
    ```
  }];
}

include "passes/target/CudaPasses.td"
include "passes/target/GpuPasses.td"

def VerifyTargetPass : Pass<"ark-verify-target", "::mlir::ModuleOp"> {
  let summary = "Check that the output of the target stage can become code";
  let description = [{
    Changes nothing. Of a module with an `ark.kernel`:

    - (target_c1) beside it there are ops of the LLVM dialect only, and for cuda
      of NVVM, for hip of ROCDL.
    - (target_c2) for a GPU they are in one `gpu.module`, which names its target.
    - (target_c3) the entry has code, the type of docs/bundle.md, and is visible.
    - (target_c4) every body has code.
    - (target_c5) for hip every function that is called has code.
    - (target_c6) arguments of bodies carry `ark.packets` where the tables say that they are packets, and
      nothing but packet instructions uses what is computed from their addresses: for cuda the relaxed
      stores and loads of CudaPackets.mlir, for cpu stores of 64 bits that release.
    - (target_c7) assembly and intrinsics are those of the backend: no PTX for hip, none at all for cpu.
    - (target_c8) the shared memory of a CTA is no more than an SM has.
  }];
}

#endif // ARK_PASSES_TARGET_PASSES_TD
