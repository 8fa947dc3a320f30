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
    there is none, `sin`, `cos` and `powf` are computed in f64.

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
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def ExpandFloatsPass : Pass<"ark-expand-floats", "::mlir::func::FuncOp"> {
  let summary = "Write conversions of narrow floats as integer arithmetic";
  let description = [{
    For bf16 and the 8-bit floats always, for f16 where `halves` asks for it; from
    and to each other, f32 and integers, by way of f32. Rounds to nearest even; what is too large becomes infinity, or NaN in
    f8E4M3FN, which has no infinity.

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
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
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

def FlashAttentionPass : Pass<"ark-flash-attention", "::mlir::ModuleOp"> {
  let summary = "Compute attention of few rows in one pass over the keys";
  let description = [{
    Scores, their softmax and the sum of values, for up to 8 rows of queries that share
    keys, of bf16 or f16, as `ark.attention` and `ark.partial_attention` leave them in a
    body. Each of those ops is a loop of its own, with a barrier and a trip to shared memory
    behind it. Instead, a warp takes 16 keys a step, every n-th step, and carries the largest
    score of each row, and the sums of powers and of values relative to it, in registers.
    Tensor cores multiply. The first product has queries by keys, the second one values by
    queries, so that a lane has powers of those keys that it needs; they enter as sums of
    numbers of the values' type that are exact. A second loop puts together what the
    warps have, always in the same order, and does the elementwise ops behind.

    A key beyond the length counts for nothing, whatever it holds. Masks, and what becomes
    of rows without any key, are the ops' own; numbers differ from theirs by rounding.

    Ops that are not in such an order stay, as do more rows, depths of more than 128,
    rows that are not aligned to 16 bytes, and what would take more than 40 KB of shared
    memory. Where no lane runs two such vCTAs at once, the loop over them goes.

    ```mlir
    linalg.generic ... ins(%q, %k : memref<4x64xbf16>, memref<?x64xbf16, ...>) outs(%s : memref<4x?xf32, ...>)
    ... // mask, maximum, exp, sum
    linalg.generic ... ins(%s, %v : ...) outs(%t : memref<4x64xf32>)
    linalg.generic ... ins(%r, %t : memref<4xf32>, memref<4x64xf32>) outs(%y : memref<4x64xbf16, ...>)
    // =>
    scf.forall (%thread) in (512) {
      scf.for %key = ... { ... vector.load %k ... nvvm.mma.sync ... math.exp ... nvvm.mma.sync ... }
      memref.store ..., %maxima[...] ... %sums[...] ... vector.store ..., %products[...]
    } {mapping = [#gpu.thread<linear_dim_0>]}
    scf.forall (%thread) in (512) { ... memref.store ..., %y[...] }
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
  ];
  let statistics = [
    Statistic<"numAttentions", "attentions", "Attentions done in one pass">,
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect",
    "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect",
  ];
}

def HoistInvariantsPass : Pass<"ark-hoist-invariants", "::mlir::ModuleOp"> {
  let summary = "Do once for a run of vCTAs what all of them share";
  let description = [{
    A `linalg` op whose operands do not depend on the vCTA, and whose result is a
    temporary that nothing else writes, moves before the loop over vCTAs: a norm
    of the row that all of them multiply with their weights, for one. So do views of
    what all of them share, and packets that all of them receive.

    ```mlir
    scf.for %v = %begin to %end step %c1 {
      linalg.map { math.rsqrt } ins(%x : memref<64xf32>) outs(%t : memref<64xf32>)
      ... %t, %v ...
    }
    // =>
    linalg.map { math.rsqrt } ins(%x : memref<64xf32>) outs(%t : memref<64xf32>)
    scf.for %v = %begin to %end step %c1 {
      ... %t, %v ...
    }
    ```
  }];
  let statistics = [
    Statistic<"numHoisted", "hoisted", "Ops moved before the loop over vCTAs">,
  ];
}

def ReceivePacketsPass : Pass<"ark-receive-packets", "::mlir::ModuleOp"> {
  let summary = "Poll for packets with all threads of a CTA";
  let description = [{
    Each thread loads four packets at once, and again until all have the epoch of this
    iteration; meanwhile the first thread of every warp asks for parameters to come, and
    looks now and then whether it took too long. The values end up in a temporary.

    ```mlir
    ark.receive_packets %x to %values : memref<1x2048xi32> to memref<1x2048xbf16>
    // =>
    call @ark_receive_2048_bf16(%x, %values) {cooperative = 1}
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
  ];
  let statistics = [
    Statistic<"numReceived", "received", "Places at which packets are received">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect",
    "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect",
  ];
}

def SendPacketsPass : Pass<"ark-send-packets", "::mlir::ModuleOp"> {
  let summary = "Store packets so that others see them as a whole and at once";
  let description = [{
    Stores to buffers of packets become relaxed ones at the scope of the GPU, and the epoch
    is read from where the walk over instructions puts it.

    ```mlir
    %epoch = ark.epoch : i32
    memref.store %packet, %x[%i] : memref<2048xi32>
    // =>
    %epoch = call @ark_packet_epoch() : () -> i32
    call @ark_send_packet(%place, %packet) : (!llvm.ptr, i32) -> ()
    ```
  }];
  let statistics = [
    Statistic<"numStores", "stores", "Stores of packets">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect",
  ];
}

def UseTensorCoresPass : Pass<"ark-use-tensor-cores", "::mlir::ModuleOp"> {
  let summary = "Multiply matrices by tensor cores";
  let description = [{
    A product of a tile of activations, 2 to 128 rows, with up to 128 rows of a
    weight, both of bf16 or f16 and contiguous in what is summed over, with sums in
    f32. A thread loads 16 bytes of a row at once, which serve two instructions: these
    want other elements, but both operands agree about their order. As soon as what
    was loaded is used, a thread asks for what comes some steps later.

    Of up to 16 rows a warp has all, with 16 rows of weights and a part of the
    depth; products of the same activations in one vCTA are one loop. Of more rows a
    warp has 32, with 32 rows of weights or 16 rows of two, or fewer where there are
    memory and warps for it. Such tiles go through shared memory, if they are whole: the
    threads copy what comes next while the warps multiply. Where warps have parts of the
    depth, a reduction adds them up, always in the same order; without memory for
    them there is one part, which is added to the result.

    On sm_90a, whole tiles of 64 rows and more are multiplied by warpgroups, four
    warps together, straight from shared memory (`wgmma`): up to 128 by 256 or 256 by
    128, or two products of half of it, with the depth a multiple of 64. The threads copy
    stages of 64 elements a row, in the layout that the instructions read, two stages
    ahead. The sums go to the same memory in the end; they take the place of the
    temporary that was to hold the product.

    Rows beyond the end read the last one again; what is beyond the end of the
    depth is zero. Products with unaligned rows stay, and those of other types.

    ```mlir
    linalg.generic ... ins(%x, %w : memref<8x2048xbf16>, memref<16x2048xbf16, strided<...>>) outs(%t : memref<8x16xf32>)
    // =>
    %parts = memref.alloca() : memref<16x8x20xf32>
    scf.forall (%thread) in (512) {
      ... vector.load %w ... vector.load %x ...
      nvvm.mma.sync A[...] B[...] C[...] ...
      memref.store %sum, %parts[%part, %m, %n]
    } {mapping = [#gpu.thread<linear_dim_0>]}
    linalg.generic ... ins(%parts_view : memref<16x8x16xf32, strided<...>>) outs(%t : memref<8x16xf32>)
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
  ];
  let statistics = [
    Statistic<"numProducts", "products", "Products done by tensor cores">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect",
  ];
}

def StreamParametersPass
    : Pass<"ark-stream-parameters", "::mlir::ModuleOp"> {
  let summary = "Copy parameters to shared memory before the runs that read them";
  let description = [{
    A product of one row with rows of a parameter, of which every vCTA has its
    own, reads each byte once, and what a lane will read is known when it starts.
    From sm_90 on, every warp has a ring of slots in shared memory and asks for
    pieces of parameters in the order in which it reads them, across tasks, with
    copies that run by themselves. So memory stays busy while lanes wait for each
    other. A function for each product adds up all rows of a run; the loop over
    vCTAs reads the sums. `CudaStream.mlir` has what is the same for all products.

    ```mlir
    scf.for %v = %begin to %end step %c1 {
      %w = memref.subview %arg5[%v * 16, 0] [16, 2048] [1, 1] : ...
      linalg.generic ... ins(%x, %w : memref<1x2048xbf16>, memref<16x2048xbf16, ...>) outs(%t : memref<1x16xf32>)
    }
    // =>
    func.call @ark_stream_run(%c1_i32) : (i32) -> ()
    func.call @body_stream(%begin, %end, %x, %sums) {cooperative = 1 : i64} : (index, index, memref<1x2048xbf16>, memref<2x16xf32>) -> ()
    scf.for %v = %begin to %end step %c1 {
      %s0 = memref.subview %sums[0, (%v - %begin) * 16] [1, 16] [1, 1] : ...
      %s1 = memref.subview %sums[1, (%v - %begin) * 16] [1, 16] [1, 1] : ...
      linalg.generic ... ins(%s0, %s1 : memref<1x16xf32, ...>, memref<1x16xf32, ...>) outs(%t : memref<1x16xf32>)
    }
    ```

    Where a norm or the like makes the row, each warp computes it by itself; what
    ops after the product read of arguments is asked for before it.
  }];
  let options = [
    Option<"maxDepth", "max-depth", "int64_t", /*default=*/"5",
           "Slots of a warp, at most; 0: do not stream">,
    Option<"pace", "pace", "int64_t", /*default=*/"130",
           "Clocks between two pieces that an SM asks for ahead of their run">,
    Option<"tableBytes", "table-bytes", "int64_t", /*default=*/"16384",
           "Shared memory that is left to the kernel's tables">,
  ];
  let statistics = [
    Statistic<"numProducts", "products", "Products whose parameters are streamed">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

def WarpRowsPass : Pass<"ark-warp-rows", "::mlir::ModuleOp"> {
  let summary = "Have each warp make rows that the vCTAs of a run share";
  let description = [{
    What is done once for a run, before its loop over vCTAs, ends in a barrier for each of its
    ops, and the rows that a norm reads are loaded as often. Where ops like these make rows
    of the body's arguments, `memref<MxK>`, one or several warps make each row instead, with all
    loads at once: all of them add up the whole row, and each writes its part. Before that they ask
    the L2 for the beginning of the large tiles that the first vCTA reads.

    Rows stay as they are where there are more than warps, where they are no multiple of what
    the threads of a warp load at once, or longer than their registers hold.

    ```mlir
    linalg.generic ... ins(%x : memref<8x2048xbf16>) outs(%sum : memref<8xf32>)
    linalg.generic ... outs(%sum : memref<8xf32>)
    linalg.generic ... ins(%x, %sum, %g : ...) outs(%row : memref<8x2048xbf16>)
    scf.for %v = %begin to %end step %c1 { ... %row ... }
    // =>
    scf.forall (%thread) in (512) {
      llvm.inline_asm "prefetch.global.L2 [$0];" %first_tile_of_w
      ... vector.load %x[%warp / 2, ...] ... gpu.shuffle xor ...
      vector.store %part, %row[%warp / 2, ...]
    } {mapping = [#gpu.thread<linear_dim_0>]}
    scf.for %v = %begin to %end step %c1 { ... %row ... }
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
  ];
  let statistics = [
    Statistic<"numRows", "rows", "Rows that warps make">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def BodiesToLoopsPass : Pass<"ark-bodies-to-loops", "::mlir::ModuleOp"> {
  let summary = "Write structured ops as parallel loops that threads can share";
  let description = [{
    `linalg` ops that follow each other over equal parallel dimensions become one
    parallel loop, as long as every iteration reads of what the loop writes only
    what it has written itself. Values go from op to op in registers: a temporary
    that nobody else reads is not stored. A reduction to 32-bit values is a
    reducing loop inside. Other ops stay.

    ```mlir
    linalg.reduce ins(%x : memref<4x64xf32>) outs(%t : memref<4xf32>) ...
    linalg.map { math.rsqrt } ins(%t : memref<4xf32>) outs(%y : memref<4xf32>)
    // =>
    scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
      %old = memref.load %t[%i] : memref<4xf32>
      %sum = scf.parallel (%j) = (%c0) to (%c64) step (%c1) init (%zero) -> f32 {
        %e = memref.load %x[%i, %j] : memref<4x64xf32>
        scf.reduce(%e : f32) { ... arith.addf ... }
      }
      %new = arith.addf %old, %sum : f32
      %root = math.rsqrt %new : f32
      memref.store %root, %y[%i] : memref<4xf32>
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect",
  ];
}

def MergeVctasPass : Pass<"ark-merge-vctas", "::mlir::ModuleOp"> {
  let summary = "Let the vCTAs of a run share the threads of a CTA";
  let description = [{
    A loop over vCTAs that consists of one parallel loop becomes part of it:
    small tiles would leave most threads idle. It stays where one result alone
    has work for all of them, or a run is one vCTA. Iterations beyond the end of a
    vCTA that is cut short do its last one again and store nothing.

    ```mlir
    scf.for %v = %begin to %end step %c1 {
      %rows = affine.min affine_map<(d0) -> (3, 8 - d0 * 3)>(%v)
      scf.parallel (%i) = (%c0) to (%rows) step (%c1) { ... }
    }
    // =>
    scf.parallel (%v, %i) = (%begin, %c0) to (%end, %c3) step (%c1, %c1) {
      %rows = affine.min affine_map<(d0) -> (3, 8 - d0 * 3)>(%v)
      ...
    }
    ```
  }];
  let options = [
    Option<"warpSize", "warp-size", "int64_t", /*default=*/"32",
           "Threads of a warp">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect",
  ];
}

def SplitReductionsPass : Pass<"ark-split-reductions", "::mlir::ModuleOp"> {
  let summary = "Let every warp reduce a part where results lie side by side";
  let description = [{
    Where each result of a parallel loop is a reduction whose length is known at
    run time only, over what lies side by side for neighbouring results (values of
    a cache, summed over its keys), threads that share a result would read far
    apart. Instead every warp reduces a part for all results, neighbours by
    neighbouring threads, and a second loop combines the parts.

    ```mlir
    scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
      %sum = scf.parallel (%k) = (%c0) to (%n) step (%c1) init (%zero) -> f32 { ... %v[%k, %i] ... }
      memref.store %sum, %y[%i]
    }
    // =>
    scf.parallel (%p, %i) = (%c0, %c0) to (%c16, %c64) step (%c1, %c1) {
      %part = scf.parallel (%k) = (%p) to (%n) step (%c16) init (%zero) -> f32 { ... %v[%k, %i] ... }
      memref.store %part, %t[%p, %i]
    }
    scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
      %sum = scf.parallel (%p) = (%c0) to (%c16) step (%c1) init (%zero) -> f32 { ... %t[%p, %i] ... }
      memref.store %sum, %y[%i]
    }
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
    Option<"warpSize", "warp-size", "int64_t", /*default=*/"32",
           "Threads of a warp">,
  ];
  let statistics = [
    Statistic<"numSplit", "split", "Reductions done in parts">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect",
  ];
}

def JamResultsPass : Pass<"ark-jam-results", "::mlir::ModuleOp"> {
  let summary = "Let one load serve several results";
  let description = [{
    Iterations of a parallel loop with reductions inside become one, which reduces
    to several values: up to eight neighbours whose operand one load of 16 bytes
    brings, where their alignment is known; else up to eight that share an
    operand, such as the rows of a batch that are multiplied by the same weights.
    Both, where the length of a reduction is only known at run time; two along a
    dimension of which only that is known, the last of which may not be there.

    ```mlir
    scf.parallel (%m, %n) = (%c0, %c0) to (%c4, %n_end) step (%c1, %c1) {
      %sum = scf.parallel (%k) = ... init (%zero) -> f32 { ... %x[%m, %k] ... %w[%n, %k] ... }
      memref.store %sum, %y[%m, %n]
    }
    // =>
    scf.parallel (%m, %n) = (%c0, %c0) to (%c1, %n_end) step (%c1, %c1) {
      %sums:4 = scf.parallel (%k) = ... init (%zero, %zero, %zero, %zero) -> (f32, f32, f32, f32) { ... }
      memref.store %sums#0, %y[%m0, %n]
      ...
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect",
  ];
}

def MapToThreadsPass : Pass<"ark-map-to-threads", "::mlir::ModuleOp"> {
  let summary = "Divide the work of a body among the threads of a CTA";
  let description = [{
    All threads follow the control flow of a body and compute its scalars.
    Iterations of a parallel loop are divided: consecutive threads take
    consecutive ones, the last dimension fastest. Any other write is left to
    thread 0, and an `scf.forall` with an iteration for every thread is what each of
    them does. Ops move up to what they depend on, and a barrier comes before what
    depends on anything since the last one; short loops between two barriers have
    threads of their own, so that they wait for memory at the same time.

    Of a parallel loop with reducing ones inside, an iteration is shared by as
    many threads as there are for each; several warps only where their number of
    iterations is known. A thread loads neighbouring values at once where their
    alignment is known, and eight times before it waits, or four times for what is
    left in the end. Where registers are too few for that, small buffers are read when
    they are needed, and again for the next result. They combine in an order that is
    always the same.

    ```mlir
    scf.parallel (%i, %j) = (%c0, %c0) to (%c4, %c64) step (%c1, %c1) {
      ...
    }
    // =>
    %thread = gpu.thread_id x
    scf.for %n = %thread to %c256 step %c512 {
      %ij:2 = affine.delinearize_index %n into (4, 64) : index, index
      ...
    }
    gpu.barrier
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
    Option<"warpSize", "warp-size", "int64_t", /*default=*/"32",
           "Threads of a warp">,
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect",
  ];
}

def PlaceVotesPass : Pass<"ark-place-votes", "::mlir::ModuleOp"> {
  let summary = "Give the warps of a CTA memory to vote in";
  let description = [{
    An AMD GPU has no barrier that tells whether something holds in any thread.
    Where a kernel declares `@ark_votes`, shared memory begins with a word for every
    warp, and `@ark_warps` says how many there are.

    ```mlir
    func.func private @ark_votes() -> !llvm.ptr<3>
    // =>
    func.func private @ark_votes() -> !llvm.ptr<3> {
      %0 = llvm.mlir.addressof @ark_shared_memory : !llvm.ptr<3>
      ...
      return %1 : !llvm.ptr<3>
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect",
  ];
}

def PlaceInSharedMemoryPass
    : Pass<"ark-place-in-shared-memory", "::mlir::ModuleOp"> {
  let summary = "Put the temporaries of bodies where all threads of a CTA see them";
  let description = [{
    A temporary becomes a part of the dynamic shared memory of the launch. The
    bodies of an SM run one after the other, so that each begins at offset 0.

    ```mlir
    %t = memref.alloca() : memref<64xf32>
    // =>
    %0 = llvm.mlir.addressof @ark_shared_memory : !llvm.ptr<3>
    %1 = llvm.getelementptr %0[128] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %2 = llvm.addrspacecast %1 : !llvm.ptr<3> to !llvm.ptr
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def CacheTablesPass : Pass<"ark-cache-tables", "::mlir::ModuleOp"> {
  let summary = "Keep the kernel's tables in shared memory";
  let description = [{
    When a CTA starts, its threads copy the context, and of the tables that it
    points to as many as there is room for; from then on the kernel uses those.
    What a lane reads between two tasks would come from the L2 otherwise, one
    load after the other: what it acquires empties the L1.

    ```mlir
    func.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
      ... %context ...
    // =>
    func.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
      %0 = llvm.mlir.addressof @ark_shared_memory : !llvm.ptr<3>
      ...
      gpu.barrier
      ... %cached ...
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
    Option<"maxBytes", "max-bytes", "int64_t", /*default=*/"49152",
           "Shared memory that context and tables may take">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::scf::SCFDialect",
  ];
}

def BuildGpuModulePass : Pass<"ark-build-gpu-module", "::mlir::ModuleOp"> {
  let summary = "Make the kernel that a GPU launches, in a gpu.module";
  let description = [{
    Functions move to a `gpu.module` for the target's architecture. CTA `i` of
    the kernel runs lane `i`; its thread 0 writes what the lane returned to the
    context's `codes`. For hip the shared memory gets its size here: it is part of
    the code object.

    ```mlir
    func.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 { ... }
    // =>
    gpu.module @ark_gpu [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx86">] {
      func.func private @ark_walk(%context: !llvm.ptr, %lane: i64) -> i32 { ... }
      gpu.func @ark_kernel(%context: !llvm.ptr) kernel { ... }
    }
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect",
    "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect",
    "::mlir::ROCDL::ROCDLDialect",
  ];
}

def NumberLinesPass : Pass<"ark-number-lines", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Give code of a GPU lines, and say which op each of them stands for";
  let description = [{
    Line information of PTX has room for a file, a line and a column, but many ops are
    made by one line of Python. So every place gets a number, which LLVM takes for
    a line, and the module a table of them: an op's name, or else the function's, with
    file, line and column. The backend writes them into the PTX. Code of functions that
    bodies call is that of the op which calls.

    ```mlir
    llvm.func @body_matmul_add(...) { ... loc("fc1"("mlp.py":7:9)) ... }
    // =>
    gpu.module @ark_gpu attributes {
        places = [["body_matmul_add", "mlp.py", 7, 9], ["fc1", "mlp.py", 7, 9], ...]} ...
    llvm.func @body_matmul_add(...) { ... loc("ark-places":2:0) ... }
    ```

    Scopes are of the kind `DebugDirectivesOnly`, which leaves the code as it is.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let statistics = [Statistic<"numPlaces", "places", "Rows of the table">];
}

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
  }];
}

#endif // ARK_PASSES_TARGET_PASSES_TD
