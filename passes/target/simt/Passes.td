//===- Passes.td - Passes that map bodies to the threads of a CTA --*- tablegen -*-===//

#ifndef ARK_PASSES_TARGET_SIMT_PASSES_TD
#define ARK_PASSES_TARGET_SIMT_PASSES_TD

include "mlir/Pass/PassBase.td"

def HoistInvariantsPass : Pass<"ark-hoist-invariants", "::mlir::ModuleOp"> {
  let summary = "Hoist ops whose results are the same for all vCTAs of a work item out of the loop";
  let description = [{
    Moves a `linalg` op before the loop over vCTAs if its operands do not depend on the vCTA, and
    its result is a temporary that no other op writes. An example is the norm of a row that all
    vCTAs multiply with their weights. Views, loads and receives of LL packets that are the same for
    all vCTAs move as well. Nothing moves in a task of one vCTA that computes a product: the product
    stays beside its epilogue.

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

def FuseElementOpsPass : Pass<"ark-fuse-element-ops", "::mlir::ModuleOp"> {
  let summary = "Fuse all ops that an element of a small result depends on";
  let description = [{
    The combination of the partitions of a split-KV attention consists of several ops: the maximum
    score, the weight of each partition, the sum of the weights, the weighted sum. Without this
    pass, each op would become a loop that ends in a barrier. If the results of consecutive ops have
    no more elements than there are threads, and each op reduces few terms, the pass lets one thread
    compute an element of the result and all values on which the element depends. Every thread
    recomputes values that several elements share, and no intermediate value is stored.

    The pass skips chains in which an op reduces more than 64 terms, an element takes more than 256
    evaluations of op bodies, other ops read a temporary that is not an elementwise result, or an op
    reads memory that the chain writes.

    ```mlir
    linalg.generic ... ins(%m : memref<16xf32>) outs(%max : memref<f32>)             // maximum
    linalg.generic ... ins(%m, %max : ...) outs(%w : memref<16xf32>)                 // exp(m - max)
    linalg.generic ... ins(%w, %x : ..., memref<16x128xf32>) outs(%y : memref<128xf32>) // product
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

def BodiesToLoopsPass : Pass<"ark-bodies-to-loops", "::mlir::ModuleOp"> {
  let summary = "Rewrite structured ops as parallel loops that threads can share";
  let description = [{
    Consecutive `linalg` ops over equal parallel dimensions become one parallel loop. The loop ends
    before an op that reads elements which another iteration writes. Values pass from op to op in
    registers: a temporary that no other op reads is not stored. A reduction to 32-bit values is a
    reducing loop inside of the parallel loop. Other ops stay.

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
  let summary = "Merge the loop over vCTAs with the parallel loop inside of it";
  let description = [{
    If a loop over vCTAs consists of one parallel loop, the two become one parallel loop: small
    tiles would leave most threads idle. The loop over vCTAs stays if a single result occupies all
    threads of a CTA, or if every work item has one vCTA. Iterations beyond the end of a clipped
    vCTA repeat the last iteration without its stores.

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
    Option<"warpSize", "warp-size", "int64_t", /*default=*/"0",
           "Threads of a warp; 0 stands for those of the target">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect",
  ];
}

def SplitReductionsPass : Pass<"ark-split-reductions", "::mlir::ModuleOp"> {
  let summary = "Split reductions among warps where results are contiguous in memory";
  let description = [{
    Applies to parallel loops in which each result is a reduction over elements that are contiguous
    across results, such as values of a KV cache summed over its keys, or the columns of a matrix.
    Threads that shared a result would read elements that lie far apart. Instead, every warp reduces
    a share of the terms of all results, with neighbouring threads on neighbouring results, and a
    second loop combines the partial results. If a warp has more threads than there are results, the
    terms are divided into more shares, if the length is static. The pass skips reductions of a static
    length that read some elements for several results, such as products of matrices.

    ```mlir
    scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
      %sum = scf.parallel (%k) = (%c0) to (%n) step (%c1) init (%zero) -> f32 { ... %v[%k, %i] ... }
      memref.store %sum, %y[%i]
    }
    // =>
    scf.parallel (%p, %i) = (%c0, %c0) to (%c16, %c64) step (%c1, %c1) {
      %partial = scf.parallel (%k) = (%p) to (%n) step (%c16) init (%zero) -> f32 { ... %v[%k, %i] ... }
      memref.store %partial, %t[%p, %i]
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
    Option<"warpSize", "warp-size", "int64_t", /*default=*/"0",
           "Threads of a warp; 0 stands for those of the target">,
  ];
  let statistics = [
    Statistic<"numSplit", "split", "Reductions split among warps">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect",
  ];
}

def UnrollAndJamPass : Pass<"ark-unroll-and-jam", "::mlir::ModuleOp"> {
  let summary = "Unroll and jam loops so that one load serves several results";
  let description = [{
    Unroll-and-jam (register blocking) of parallel loops with reductions inside: several iterations
    become one iteration, which reduces to several values. The iterations are

    - up to eight neighbours whose operand one load of 16 bytes fetches, if their alignment is
      known;
    - else up to eight iterations that share an operand, such as the rows of a batch that are
      multiplied by the same weights;
    - both, if the length of a reduction is known at run time only;
    - two iterations along a dimension whose extent is known at run time only. The second one may
      lie beyond the end.

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
  let summary = "Vectorise loops over elements";
  let description = [{
    Applies to parallel loops that load, compute and store elements. Up to eight iterations along
    the last dimension become one iteration, if the extent is a multiple of their number, and the
    elements that they load and store are contiguous and aligned. One access replaces several, and
    its address is computed once. The pass chooses the number of iterations that minimises the time
    of the busiest thread. With few elements, every thread keeps one. A store to global memory has
    at most 16 bytes: several instructions would each store a half of every sector of 32 bytes.

    Loads of neighbours may also lie at most two elements apart, at any alignment, as in the copy of
    the windows of a convolution. Each neighbour then has a load of its own.

    An `scf.for` inside, with the same number of iterations for all neighbours and without stores,
    carries the values of all neighbours. An `scf.if` whose condition is the same for all neighbours
    stays one branch.

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
    Statistic<"numLoops", "loops", "Loops vectorised">,
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
    All threads follow the control flow of a body and compute its scalars. Iterations of a parallel
    loop are divided: consecutive threads execute consecutive iterations, the last dimension
    fastest. If their number is known at run time only, a thread loads the operands of up to four
    iterations before it stores a result. Thread 0 executes all other writes. An `scf.forall` has
    one iteration for every thread. Ops move up to the ops that they depend on, and a barrier
    precedes each op that conflicts with an access since the last barrier. Short loops between two
    barriers run on different threads, so that their memory latencies overlap.

    If a parallel loop contains reductions, all threads of the CTA are divided evenly among its
    iterations. The threads of an iteration belong to several warps only if the number of iterations
    is constant. A thread loads contiguous values at once if their alignment is known, and issues
    eight such loads before it waits, or four for the remainder. If registers do not suffice,
    elements of small buffers are loaded when they are used, and again for the next result. The
    threads combine their values in a fixed order.

    The thread id is read again before and after a loop marked `ark.high_register_pressure`, which
    needs most registers. If a loop is marked `ark.full_register_pressure`, the ids of vCTA and
    thread are made opaque to compilers in every vCTA, so that derived values are recomputed per
    vCTA instead of kept live.

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
    Option<"warpSize", "warp-size", "int64_t", /*default=*/"0",
           "Threads of a warp; 0 stands for those of the target">,
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

def AllocateVoteSlotsPass : Pass<"ark-allocate-vote-slots", "::mlir::ModuleOp"> {
  let summary = "Reserve shared memory for votes of the warps of a CTA";
  let description = [{
    An AMD GPU has no barrier with a vote, which tells if a condition holds in any thread. If a
    kernel declares `@ark_vote_slots`, shared memory begins with one word per warp for such votes,
    and `@ark_warps` returns the number of warps.

    ```mlir
    func.func private @ark_vote_slots() -> !llvm.ptr<3>
    // =>
    func.func private @ark_vote_slots() -> !llvm.ptr<3> {
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

def HideThreadIdsPass : Pass<"ark-hide-thread-ids", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Hide from LLVM that all work items of a thread have the same thread id";
  let description = [{
    A kernel runs its work items in one loop. LLVM moves out of this loop whatever depends only on
    the thread id: masks of threads, such as those of a loop's last iteration, and distances. These
    values then occupy registers during all bodies. An AMD GPU has 102 scalar registers, of which a
    mask takes two, so LLVM spills them.

    The pass reads the id of every body at its start, by inline assembly that LLVM cannot move. The
    body then computes these values once for each work item. Functions that only bodies call are
    changed in the same way.

    ```mlir
    func.func private @body(...) attributes {ark.work_item_vctas = 1 : i64} {
      %thread = gpu.thread_id x
    // =>
    func.func private @body(...) attributes {ark.work_item_vctas = 1 : i64} {
      %id = gpu.thread_id x
      %0 = arith.index_cast %id : index to i32
      %1 = llvm.inline_asm has_side_effects "", "=v,0" %0 : (i32) -> i32
      %2 = arith.andi %1, %c255_i32 : i32
      %thread = arith.index_castui %2 : i32 to index
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"256", "Threads of a CTA">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect",
  ];
  let statistics = [
    Statistic<"numHidden", "hidden", "Thread ids replaced">,
  ];
}

def PlaceInSharedMemoryPass
    : Pass<"ark-place-in-shared-memory", "::mlir::ModuleOp"> {
  let summary = "Place the temporaries of bodies in shared memory";
  let description = [{
    A temporary becomes a range of the dynamic shared memory of the launch. An SM runs one body
    after the other, so the temporaries of all bodies begin at the same offset.

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

#endif // ARK_PASSES_TARGET_SIMT_PASSES_TD
