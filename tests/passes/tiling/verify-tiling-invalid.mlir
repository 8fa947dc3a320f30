// RUN: ark-opt %s --ark-verify-tiling --split-input-file --verify-diagnostics

ark.program @opOutsideOfATask(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  // expected-error @below {{'ark.exp' op is not a task, view or constant (tiling_c1)}}
  %0 = ark.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  ark.return %0 : tensor<4xf32>
}

// -----

ark.program @groupThatIsNoTask(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  // expected-error @below {{'ark.group' op is not a task, view or constant (tiling_c1)}}
  %0 = ark.group "g" (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    ark.yield %a : tensor<4xf32>
  }
  ark.return %0 : tensor<4xf32>
}

// -----

ark.program @outThatIsAnArgument(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  // expected-error @below {{'ark.task' op 'copy' writes to a tensor that is neither empty nor a state updated in place (tiling_c2)}}
  %0 = ark.task "copy" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) {
  ^bb0(%i: index, %o: tensor<4xf32>):
    ark.yield %o : tensor<4xf32>
  } : tensor<4xf32>
  ark.return %0 : tensor<4xf32>
}

// -----

ark.program @tasksThatShareAnOut(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}, tensor<4xf32> {ark.name = "z"}) {
  %e = tensor.empty() : tensor<4xf32>
  // expected-error @below {{'ark.task' op 'one' writes to a tensor that is neither empty nor a state updated in place (tiling_c2)}}
  %0 = ark.task "one" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>)
      outs(%e[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a : tensor<4xf32>
  } : tensor<4xf32>
  %1 = ark.task "two" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>)
      outs(%e[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a : tensor<4xf32>
  } : tensor<4xf32>
  ark.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

ark.program @inPlaceUpdateOfATensorThatIsNoState(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %p: tensor<4xf32> {ark.kind = #ark.kind<parameter>, ark.name = "p"}) {
  // expected-error @below {{'ark.task' op 'push' writes to a tensor that is neither empty nor a state updated in place (tiling_c2)}}
  %0 = ark.task "push" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>)
      outs(%p[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a : tensor<4xf32>
  } : tensor<4xf32>
  ark.return
}

// -----

ark.program @resultIsAView(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<2x2xf32> {ark.name = "y"}) {
  %0 = ark.reshape %x shape = [2, 2] : (tensor<4xf32>) -> tensor<2x2xf32>
  // expected-error @below {{'ark.return' op result 'y' is not produced by a separate task (tiling_c3)}}
  ark.return %0 : tensor<2x2xf32>
}

// -----

ark.program @resultIsAState(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %s: tensor<4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  %0 = ark.task "push" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>)
      outs(%s[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a : tensor<4xf32>
  } : tensor<4xf32>
  // expected-error @below {{'ark.return' op result 'y' is not produced by a separate task (tiling_c3)}}
  ark.return %0 : tensor<4xf32>
}

// -----

ark.program @taskGivesTwoResultsOfTheProgram(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}, tensor<4xf32> {ark.name = "z"}) {
  %e = tensor.empty() : tensor<4xf32>
  %0 = ark.task "copy" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>)
      outs(%e[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a : tensor<4xf32>
  } : tensor<4xf32>
  // expected-error @below {{'ark.return' op result 'z' is not produced by a separate task (tiling_c3)}}
  ark.return %0, %0 : tensor<4xf32>, tensor<4xf32>
}

// -----

ark.program @graphOpInABody(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  %e = tensor.empty() : tensor<4xf32>
  %0 = ark.task "act" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>)
      outs(%e[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    // expected-error @below {{'ark.exp' op cannot be part of the body of task 'act' (tiling_c4)}}
    %1 = ark.exp %a : (tensor<4xf32>) -> tensor<4xf32>
    ark.yield %1 : tensor<4xf32>
  } : tensor<4xf32>
  ark.return %0 : tensor<4xf32>
}

// -----

// The memref dialect is allowed, but not for buffers.
ark.program @bufferInABody(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  %e = tensor.empty() : tensor<4xf32>
  %0 = ark.task "act" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>)
      outs(%e[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    %zero = arith.constant 0.0 : f32
    // expected-error @below {{'memref.alloca' op cannot be part of the body of task 'act' (tiling_c4)}}
    %m = memref.alloca() : memref<4xf32>
    linalg.fill ins(%zero : f32) outs(%m : memref<4xf32>)
    ark.yield %a : tensor<4xf32>
  } : tensor<4xf32>
  ark.return %0 : tensor<4xf32>
}

// -----

ark.program @readOfAStateAfterItsUpdate(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %s: tensor<4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"})
    -> (tensor<2x2xf32> {ark.name = "y"}) {
  // expected-note @below {{the update is here}}
  %0 = ark.task "push" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>)
      outs(%s[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a : tensor<4xf32>
  } : tensor<4xf32>
  %v = ark.reshape %s shape = [2, 2] : (tensor<4xf32>) -> tensor<2x2xf32>
  %e = tensor.empty() : tensor<2x2xf32>
  // expected-error @below {{'ark.task' op 'late' reads a state after its update (tiling_c5)}}
  %1 = ark.task "late" grid [1] ins(%v[#ark.region<(d0) -> (0, 0), [2, 2]>] : tensor<2x2xf32>)
      outs(%e[#ark.region<(d0) -> (0, 0), [2, 2]>] : tensor<2x2xf32>) {
  ^bb0(%i: index, %a: tensor<2x2xf32>, %o: tensor<2x2xf32>):
    ark.yield %a : tensor<2x2xf32>
  } : tensor<2x2xf32>
  ark.return %1 : tensor<2x2xf32>
}

// -----

// An update may view its state under another shape, but not in another order.
ark.program @transposedState(
    %x: tensor<2x4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %s: tensor<4x2xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) {
  %t = ark.transpose %s perm = [1, 0] : (tensor<4x2xf32>) -> tensor<2x4xf32>
  // expected-error @below {{'ark.task' op 'push' writes to a tensor that is neither empty nor a state updated in place (tiling_c2)}}
  %0 = ark.task "push" grid [1] ins(%x[#ark.region<(d0) -> (0, 0), [2, 4]>] : tensor<2x4xf32>)
      outs(%t[#ark.region<(d0) -> (0, 0), [2, 4]>] : tensor<2x4xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: tensor<2x4xf32>, %o: tensor<2x4xf32>):
    ark.yield %a : tensor<2x4xf32>
  } : tensor<2x4xf32>
  ark.return
}

// -----

ark.program @readAfterAnUpdateUnderAnotherShape(
    %x: tensor<2x2xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %s: tensor<4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  %v = ark.reshape %s shape = [2, 2] : (tensor<4xf32>) -> tensor<2x2xf32>
  // expected-note @below {{the update is here}}
  %0 = ark.task "push" grid [1] ins(%x[#ark.region<(d0) -> (0, 0), [2, 2]>] : tensor<2x2xf32>)
      outs(%v[#ark.region<(d0) -> (0, 0), [2, 2]>] : tensor<2x2xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: tensor<2x2xf32>, %o: tensor<2x2xf32>):
    ark.yield %a : tensor<2x2xf32>
  } : tensor<2x2xf32>
  %e = tensor.empty() : tensor<4xf32>
  // expected-error @below {{'ark.task' op 'late' reads a state after its update (tiling_c5)}}
  %1 = ark.task "late" grid [1] ins(%s[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>)
      outs(%e[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a : tensor<4xf32>
  } : tensor<4xf32>
  ark.return %1 : tensor<4xf32>
}
