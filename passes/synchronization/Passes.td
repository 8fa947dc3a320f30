//===- Passes.td - Passes of the synchronization stage -----*- tablegen -*-===//

#ifndef ARK_PASSES_SYNCHRONIZATION_PASSES_TD
#define ARK_PASSES_SYNCHRONIZATION_PASSES_TD

include "mlir/Pass/PassBase.td"

def InsertSynchronizationPass
    : Pass<"ark-insert-synchronization", "::mlir::ark::ProgramOp"> {
  let summary = "Order the dependences between lanes with as few waits as possible";
  let description = [{
    Adds semaphores, signals and waits so that every vCTA runs after the vCTAs on which it depends.
    The pass emits no wait that other waits imply, and no signal without waiters. The cost model
    chooses between one semaphore for all waiters of a task, one for every group of waiters with
    equal needs, and a barrier of all lanes. Every lane ends in the barrier `@end`, which separates
    iterations. A schedule that has semaphores is left unchanged.

    ```mlir
    ark.schedule "hand" sms = 2 {
      ark.lane sms = [0, 1] warps = [0, 8] { ark.run "fc" [0, 4] }
      ark.lane sms = [1, 2] warps = [0, 8] { ark.run "relu" [0, 1] }
    }
    // =>
    ark.schedule "hand" sms = 2 {
      ark.semaphore @fc arrivals = 1
      ark.semaphore @end arrivals = 2 handoff = barrier
      ark.lane sms = [0, 1] warps = [0, 8] {
        ark.run "fc" [0, 4]
        ark.signal @fc
        ark.barrier @end
      }
      ark.lane sms = [1, 2] warps = [0, 8] {
        ark.wait @fc
        ark.run "relu" [0, 1]
        ark.barrier @end
      }
    }
    ```
  }];
  let options = [
    Option<"maxSemaphores", "max-semaphores", "unsigned", /*default=*/"32",
           "Maximum number of semaphores between two tasks; with more groups of waiters, they "
           "share semaphores">,
  ];
  let statistics = [
    Statistic<"numWaits", "waits", "Waits of all lanes">,
    Statistic<"numSignals", "signals", "Signals of all lanes">,
    Statistic<"numBarriers", "barriers", "Barriers of all lanes">,
    Statistic<"numSemaphores", "semaphores", "Semaphores, including that of the final barrier">,
    Statistic<"numDependences", "dependences",
              "Pairs of a work item and a producing task in another lane">,
    Statistic<"numImplied", "implied", "Dependences that other waits imply">,
  ];
  let dependentDialects = ["::mlir::ark::ArkDialect"];
}

def VerifySynchronizationPass
    : Pass<"ark-verify-synchronization", "::mlir::ark::ProgramOp"> {
  let summary = "Prove that a schedule neither races nor hangs";
  let description = [{
    The pass runs at every compilation, unless the option `verify` is false. The pass proves the
    following rules. The proof never accepts a wrong schedule. The proof is exact unless the regions
    of a buffer have too many byte intervals, when it may reject a correct schedule. The pass shares
    only the dialect and `lib/support/BufferView` with the schedulers and with the pass that inserts
    synchronisation. docs/schedule.md contains the argument.

    - every operand, and the region of every vCTA in it, lies within its buffer, and the operand
      begins at a multiple of the size of its elements;
    - every lane runs to its end (no deadlock);
    - every two vCTAs that access the same byte, which at least one of them writes, are ordered in
      program order (no race); the vCTAs of one work item are not ordered;
    - no two vCTAs of a task write one byte, unless the task updates it in place;
    - every byte of the arena is written before it is read;
    - every lane ends in one barrier of all lanes, so that semaphores and buffers can be reused
      safely in the next iteration.

    For programs of several ranks, each of which may have a separate GPU:

    - (sharing_c1) ranks have equal shares of the SMs, the arena and the packets;
    - (sharing_c2) a semaphore with items on several ranks has the kind `barrier` if lanes meet at it,
      and otherwise the kind `peer` or `packet`;
    - (sharing_c3) if lanes of several ranks meet at a semaphore, no lane has a signal or a wait of
      this semaphore;
    - (sharing_c4) a vCTA reads its own rank's parts of the arena and the packets;
    - (sharing_c5) a vCTA accesses no argument of another rank, except constants;
    - (network_c1) a task that writes memory of another domain (`ark.domains`) has one vCTA, which
      copies a contiguous buffer in its own rank's part of the arena to a contiguous buffer in the
      arena;
    - (network_c2) a lane that copies to a rank of another domain runs nothing but copies to this rank;
    - (network_c3) only lanes of this rank wait for the signals of the lane, and the lane passes no
      barrier but the last one;
    - (network_c4) at the end of an iteration, a lane of the receiver knows that a copy has ended;
    - (network_c5) the copies of a lane write different bytes, since they may arrive in any order.

    Errors name the vCTAs, the bytes and the source locations. Changes nothing.
  }];
  let statistics = [
    Statistic<"numVCTAs", "vctas", "vCTAs checked">,
    Statistic<"numAccesses", "accesses", "Accesses to cells of buffers checked">,
    Statistic<"numCells", "cells", "Cells: sets of bytes that every vCTA accesses in the same way">,
  ];
}

#endif // ARK_PASSES_SYNCHRONIZATION_PASSES_TD
