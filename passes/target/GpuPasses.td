//===- GpuPasses.td - Passes of the lowerings for GPUs -----*- tablegen -*-===//
//
// First to last. Passes.td includes them.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_PASSES_TARGET_GPUPASSES_TD
#define ARK_PASSES_TARGET_GPUPASSES_TD

include "mlir/Pass/PassBase.td"

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

def ElementChainsPass : Pass<"ark-element-chains", "::mlir::ModuleOp"> {
  let summary = "Have a thread do all that an element of a small result needs";
  let description = [{
    Pieces of an attention are put together by several loops with a barrier between each two: the
    largest score, what each piece counts for, their sum, the sum of products. Where the results
    of ops that follow each other have no more elements than there are threads, and are made of a few
    terms each, a thread computes one of them with all that it is made of, from the operands alone:
    numbers that elements share are computed by each, and none of them is stored.

    Ops stay as they are where one of them sums up more than 64 terms, or an element takes more than
    256 computations, where something reads a temporary that they make, or where they read what they write.

    ```mlir
    linalg.generic ... ins(%m : memref<16xf32>) outs(%max : memref<f32>)             // maximum
    linalg.generic ... ins(%m, %max : ...) outs(%w : memref<16xf32>)                 // exp(m - max)
    linalg.generic ... ins(%w, %x : ..., memref<16x128xf32>) outs(%y : memref<128xf32>) // sums
    // =>
    scf.parallel (%i) = (%c0) to (%c128) step (%c1) {
      ... memref.load %m[%c0] ... memref.load %m[%c15] ... arith.maximumf ... math.exp ...
      ... memref.load %x[%c0, %i] ... memref.load %x[%c15, %i] ...
      memref.store %sum, %y[%i] : memref<128xf32>
    }
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
  ];
  let statistics = [
    Statistic<"numChains", "chains", "Chains that became one loop">,
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect",
  ];
}

def SendPacketsPass : Pass<"ark-send-packets", "::mlir::ModuleOp"> {
  let summary = "Store packets so that others see them as a whole and at once";
  let description = [{
    Stores to buffers of packets become relaxed ones at the scope of the GPU, and the epoch
    is read from where the walk over instructions puts it. Any other access to packets is an
    error. Arguments keep `ark.packets`, by which `ark-verify-target` looks at the code.

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

def WidenElementsPass : Pass<"ark-widen-elements", "::mlir::ModuleOp"> {
  let summary = "Let a thread do neighbouring elements at once";
  let description = [{
    Of a parallel loop that loads, computes and stores elements, up to eight iterations along
    the last dimension become one, where its extent is a multiple of their number, and
    what they load and store is side by side and aligned: one access instead of several, and
    one computation of its place. As many as let all threads end first: of few
    elements, each thread still has one.

    ```mlir
    scf.parallel (%m, %n) = (%c0, %c0) to (%c64, %c128) step (%c1, %c1) {
      %0 = memref.load %x[%m, %n] : memref<64x128xf16>
      %1 = arith.addf %0, %0 : f16
      memref.store %1, %y[%m, %n] : memref<64x128xf16>
    }
    // =>
    scf.parallel (%m, %i) = (%c0, %c0) to (%c64, %c16) step (%c1, %c1) {
      %n = arith.muli %i, %c8 : index
      %0 = vector.load %x[%m, %n] {alignment = 16} : memref<64x128xf16>, vector<8xf16>
      ...
      vector.store %9, %y[%m, %n] {alignment = 16} : memref<64x128xf16>, vector<8xf16>
    }
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
  ];
  let statistics = [
    Statistic<"numLoops", "loops", "Loops that do several elements at once">,
  ];
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

    Loops over threads may need most registers. Around one that is marked so, the number of the thread is read
    anew; where it leaves none for what vCTAs have in common, each vCTA begins with numbers, its own and
    the thread's, that compilers do not know, so that nothing computed from them is kept for the next one.

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
    load after the other: what it acquires empties the L1. The table of operands
    becomes one of addresses. Functions of the kernel that read rows get bodies
    that read these.

    ```mlir
    func.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
      ... %context ...
    }
    func.func private @ark_operand(%context: !llvm.ptr, %operand: i64) -> !llvm.ptr {
      ...
    // =>
    func.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
      %0 = llvm.mlir.addressof @ark_shared_memory : !llvm.ptr<3>
      ...
      gpu.barrier
      ... %cached ...
    }
    func.func private @ark_operand(%context: !llvm.ptr, %operand: i64) -> !llvm.ptr {
      ...
      %place = llvm.getelementptr %addresses[%operand] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
      %address = llvm.load %place : !llvm.ptr -> !llvm.ptr
      return %address : !llvm.ptr
    }
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
    the code object. Where a body has instructions of warpgroups, such bodies are inlined
    into the kernel, and the others are not: ptxas waits for each of these instructions in a
    function that is called.

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

#endif // ARK_PASSES_TARGET_GPUPASSES_TD
