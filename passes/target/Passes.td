//===- Passes.td - Passes of the target stage --------------*- tablegen -*-===//
//
// Passes of the lowering for cpu come before those for GPUs. CpuLowering.cpp gives the order in
// which the former run.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_PASSES_TARGET_PASSES_TD
#define ARK_PASSES_TARGET_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerToTargetPass : Pass<"ark-lower-to-target", "::mlir::ModuleOp"> {
  let summary = "Run the lowering of the module's target";
  let description = [{
    Produces functions in the LLVM dialect for `cpu`, a `gpu.module` in the LLVM and NVVM dialects
    for `cuda`, and a `gpu.module` in the LLVM and ROCDL dialects for `hip`. The attribute
    `ark.target` of the module selects the lowering, so that the compilation of a file of an earlier
    stage goes on without a flag.

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
  let summary = "Rewrite contractions on buffers as register-blocked vector loops";
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
  let summary = "Allow reductions to reassociate sums and products";
  let description = [{
    The implementation chooses the order of a reduction, and LLVM vectorises a loop that adds floats
    only if their order is free. The pass assumes nothing about NaN, infinities or signs of zero.

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
  let summary = "Expand math functions to arithmetic that vectorises";
  let description = [{
    `exp`, `tanh`, `erf` and `log` on f32 become polynomials, accurate to two units in the last
    place. Other functions call the maths library later. Without a maths library, `sin`, `cos` and
    `powf` are computed in f64. With an instruction for powers of two, `exp` is that instruction and
    a few more steps.

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
  let summary = "Expand conversions of narrow floats to integer arithmetic";
  let description = [{
    Expands conversions of bf16 and 8-bit floats, and with the option `halves` those of f16: from
    and to each other, f32 and integers, by way of f32. Rounds to nearest even. Overflow becomes
    infinity, or NaN in f8E4M3FN, which has no infinity. With the option `eights`, instructions of
    NVIDIA GPUs widen 8-bit floats, two neighbours of a vector at once. The instructions that narrow
    round differently and are not used. A conversion of a single bit becomes a select between two
    constants, for every type of float.

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
    If the processor has no instructions for bf16, LLVM moves a vector of bf16 by way of f32 and a
    function of the compiler's runtime library, which a kernel cannot have. Integers move without a
    conversion.

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
  let summary = "Load and store booleans as bytes";
  let description = [{
    LLVM does not vectorise loops that load or store single bits.

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
  let summary = "Store LL packets by atomic stores with release";
  let description = [{
    A reader that sees the epoch in a packet must see the data of the packet, and everything that
    the lane of the writer did before. So the store of the packet becomes atomic, with release. A
    body has one such store, to the argument that carries `ark.packets`.

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
  let summary = "Give all functions of a kernel but its entry internal linkage";
  let description = [{
    Functions with a body get internal linkage. Bodies of tasks are not inlined into the dispatch
    loop, so that each has a frame of its own and profiles name it. The entry and the bodies that
    the kernel names must exist.

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
    Changes nothing. Checks a module with an `ark.kernel`:

    - (target_c1) all other ops are of the LLVM dialect, and for cuda of NVVM, for hip of ROCDL.
    - (target_c2) for a GPU these ops are in one `gpu.module`, which names its target.
    - (target_c3) the entry has code, the type of docs/bundle.md, and is visible.
    - (target_c4) every body has code.
    - (target_c5) for hip every function that is called has code.
    - (target_c6) arguments of bodies carry `ark.packets` where the tables say that they are
      packets, and only packet instructions use values that are computed from their addresses: for
      cuda the relaxed stores and loads of CudaPackets.mlir, for cpu stores of 64 bits with release.
    - (target_c7) assembly and intrinsics are those of the backend: no PTX for hip, none at all for
      cpu.
    - (target_c8) the shared memory of a CTA is no more than an SM has.
  }];
}

#endif // ARK_PASSES_TARGET_PASSES_TD
