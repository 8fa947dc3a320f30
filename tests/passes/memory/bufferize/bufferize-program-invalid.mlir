// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-bufferize-program))' --verify-diagnostics

ark.program @oldValueNeededAfterUpdate(%s: tensor<4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) -> (tensor<4xf32> {ark.name = "y"}) {
  // expected-note @below {{updated here}}
  %0 = ark.task "update" grid [1] ins() outs(%s[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {in_place} {
  ^bb0(%i: index, %o: tensor<4xf32>):
    ark.yield %o : tensor<4xf32>
  } : tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  // expected-error @below {{needs a value that is updated in place before it can run: read the result of the update, or copy the value}}
  %1 = ark.task "both" grid [1] ins(%0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>, %s[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>)
      outs(%e[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) {
  ^bb0(%i: index, %a: tensor<4xf32>, %b: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a : tensor<4xf32>
  } : tensor<4xf32>
  ark.return %1 : tensor<4xf32>
}

// -----

ark.program @twoUpdatesOfOneValue(%s: tensor<4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) {
  // expected-note @below {{updated here}}
  %0 = ark.task "first" grid [1] ins() outs(%s[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {in_place} {
  ^bb0(%i: index, %o: tensor<4xf32>):
    ark.yield %o : tensor<4xf32>
  } : tensor<4xf32>
  // expected-error @below {{needs a value that is updated in place before it can run}}
  %1 = ark.task "second" grid [1] ins() outs(%s[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {in_place} {
  ^bb0(%i: index, %o: tensor<4xf32>):
    ark.yield %o : tensor<4xf32>
  } : tensor<4xf32>
  ark.return
}

// -----

ark.program @updateOfAParameter(%w: tensor<4xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) {
  // expected-error @below {{updates in place a tensor that is neither a state nor the result of a task}}
  %0 = ark.task "t" grid [1] ins() outs(%w[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {in_place} {
  ^bb0(%i: index, %o: tensor<4xf32>):
    ark.yield %o : tensor<4xf32>
  } : tensor<4xf32>
  ark.return
}

// -----

ark.program @updateOfAPartOfAState(%s: tensor<4x4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) {
  %0 = ark.slice %s starts = [0, 0] stops = [2, 4] steps = [1, 1] : (tensor<4x4xf32>) -> tensor<2x4xf32>
  // expected-error @below {{updates in place a tensor that is neither a state nor the result of a task}}
  %1 = ark.task "t" grid [1] ins() outs(%0[#ark.region<(d0) -> (0, 0), [2, 4]>] : tensor<2x4xf32>) attributes {in_place} {
  ^bb0(%i: index, %o: tensor<2x4xf32>):
    ark.yield %o : tensor<2x4xf32>
  } : tensor<2x4xf32>
  ark.return
}

// -----

ark.program @notInPlace(%s: tensor<4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) {
  // expected-error @below {{writes over a tensor without being in_place: outs of other tasks are tensor.empty}}
  %0 = ark.task "t" grid [1] ins() outs(%s[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) {
  ^bb0(%i: index, %o: tensor<4xf32>):
    ark.yield %o : tensor<4xf32>
  } : tensor<4xf32>
  ark.return
}

// -----

ark.program @readsATensorThatNoTaskFills() -> (tensor<4xf32> {ark.name = "y"}) {
  %e = tensor.empty() : tensor<4xf32>
  %f = tensor.empty() : tensor<4xf32>
  // expected-error @below {{reads a tensor that no task fills}}
  %0 = ark.task "t" grid [1] ins(%f[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>)
      outs(%e[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a : tensor<4xf32>
  } : tensor<4xf32>
  ark.return %0 : tensor<4xf32>
}

// -----

ark.program @opOutsideOfTasks(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<4xf32> {ark.name = "y"}) {
  // expected-error @below {{is not allowed between tasks: only tasks, views, constants and tensor.empty are}}
  %0 = ark.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  ark.return %0 : tensor<4xf32>
}

// -----

// ark-resolve-views would insert a copy for this view.
ark.program @viewWithoutStrides(%x: tensor<4x6xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<24xf32> {ark.name = "y"}) {
  %0 = ark.transpose %x perm = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
  // expected-error @below {{strides cannot express this view: run ark-resolve-views first}}
  %1 = ark.reshape %0 shape = [24] : (tensor<6x4xf32>) -> tensor<24xf32>
  %e = tensor.empty() : tensor<24xf32>
  %2 = ark.task "t" grid [1] ins(%1[#ark.region<(d0) -> (0), [24]>] : tensor<24xf32>)
      outs(%e[#ark.region<(d0) -> (0), [24]>] : tensor<24xf32>) {
  ^bb0(%i: index, %a: tensor<24xf32>, %o: tensor<24xf32>):
    ark.yield %a : tensor<24xf32>
  } : tensor<24xf32>
  ark.return %2 : tensor<24xf32>
}

// -----

ark.program @resultThatNoTaskFills(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<4xf32> {ark.name = "y"}) {
  // expected-error @below {{result 0 is not filled by a task for this result alone: run ark-resolve-views first}}
  ark.return %x : tensor<4xf32>
}

// -----

// expected-error @below {{has an argument or a result of type 'memref<4xf32>', which is not a tensor of static shape}}
ark.program @resultThatIsABuffer(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (memref<4xf32> {ark.name = "y"}) {
  %0 = bufferization.to_buffer %x : tensor<4xf32> to memref<4xf32>
  ark.return %0 : memref<4xf32>
}
