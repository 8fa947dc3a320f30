// RUN: ark-opt %s --ark-verify-graph --split-input-file --verify-diagnostics

ark.program @opOutsideOfAGroup(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  // expected-error @below {{'ark.exp' op is not part of a group (graph_c1)}}
  %0 = ark.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  ark.return %0 : tensor<4xf32>
}

// -----

ark.program @groupWithTwoResults(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}, tensor<4xf32> {ark.name = "z"}) {
  // expected-error @below {{'ark.group' op 'two' has 2 results instead of one (graph_c2)}}
  %0:2 = ark.group "two" (%a = %x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %1 = ark.exp %a : (tensor<4xf32>) -> tensor<4xf32>
    ark.yield %1, %1 : tensor<4xf32>, tensor<4xf32>
  }
  ark.return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

ark.program @groupWithTwoAnchors(
    %x: tensor<4x4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x4xf32> {ark.name = "y"}) {
  %0 = ark.group "mlp" (%a = %x) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
    // expected-note @below {{the first one is here}}
    %1 = ark.softmax %a axis = 1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
    // expected-error @below {{'ark.matmul' op is the second anchor of 'mlp' (graph_c2)}}
    %2 = ark.matmul %1, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    ark.yield %2 : tensor<4x4xf32>
  }
  ark.return %0 : tensor<4x4xf32>
}

// -----

// A gather of rows is an anchor; one of the matrices that the product multiplies by would not be counted.
ark.program @gatherOfRowsIsAnAnchor(
    %x: tensor<4x4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %i: tensor<4xi32> {ark.kind = #ark.kind<input>, ark.name = "i"})
    -> (tensor<4x4xf32> {ark.name = "y"}) {
  %0 = ark.group "mlp" (%a = %x, %b = %i) : (tensor<4x4xf32>, tensor<4xi32>) -> tensor<4x4xf32> {
    // expected-note @below {{the first one is here}}
    %1 = ark.gather %a, %b axis = 0 : (tensor<4x4xf32>, tensor<4xi32>) -> tensor<4x4xf32>
    // expected-error @below {{'ark.matmul' op is the second anchor of 'mlp' (graph_c2)}}
    %2 = ark.matmul %a, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    ark.yield %2 : tensor<4x4xf32>
  }
  ark.return %0 : tensor<4x4xf32>
}

// -----

// A concat counts as the anchor of its group.
ark.program @concatIsAnAnchor(
    %x: tensor<4x4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  %0 = ark.group "join" (%a = %x) : (tensor<4x4xf32>) -> tensor<4x8xf32> {
    // expected-note @below {{the first one is here}}
    %1 = ark.softmax %a axis = 1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
    // expected-error @below {{'ark.concat' op is the second anchor of 'join' (graph_c2)}}
    %2 = ark.concat %1, %a axis = 1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
    ark.yield %2 : tensor<4x8xf32>
  }
  ark.return %0 : tensor<4x8xf32>
}

// -----

ark.program @viewInsideOfAGroup(
    %x: tensor<2x4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x2xf32> {ark.name = "y"}) {
  %0 = ark.group "view" (%a = %x) : (tensor<2x4xf32>) -> tensor<4x2xf32> {
    // expected-error @below {{'ark.transpose' op cannot be part of a group (graph_c2)}}
    %1 = ark.transpose %a perm = [1, 0] : (tensor<2x4xf32>) -> tensor<4x2xf32>
    ark.yield %1 : tensor<4x2xf32>
  }
  ark.return %0 : tensor<4x2xf32>
}

// -----

ark.program @tableInsideOfAGroup(
    %x: tensor<2xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<2xf32> {ark.name = "y"}) {
  %0 = ark.group "add" (%a = %x) : (tensor<2xf32>) -> tensor<2xf32> {
    // expected-error @below {{'ark.constant' op inside of a group is not a splat (graph_c2)}}
    %1 = ark.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %2 = ark.add %a, %1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    ark.yield %2 : tensor<2xf32>
  }
  ark.return %0 : tensor<2xf32>
}

// -----

ark.program @resultIsAView(
    %x: tensor<2x4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xf32> {ark.name = "y"}) {
  %0 = ark.group "act" (%a = %x) : (tensor<2x4xf32>) -> tensor<2x4xf32> {
    %1 = ark.exp %a : (tensor<2x4xf32>) -> tensor<2x4xf32>
    ark.yield %1 : tensor<2x4xf32>
  }
  %2 = ark.reshape %0 shape = [8] : (tensor<2x4xf32>) -> tensor<8xf32>
  // expected-error @below {{'ark.return' op result 'y' is not produced by a separate group (graph_c3)}}
  ark.return %2 : tensor<8xf32>
}

// -----

ark.program @groupGivesTwoResultsOfTheProgram(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}, tensor<4xf32> {ark.name = "z"}) {
  %0 = ark.group "act" (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    %1 = ark.exp %a : (tensor<4xf32>) -> tensor<4xf32>
    ark.yield %1 : tensor<4xf32>
  }
  // expected-error @below {{'ark.return' op result 'z' is not produced by a separate group (graph_c3)}}
  ark.return %0, %0 : tensor<4xf32>, tensor<4xf32>
}

// -----

ark.program @resultIsAnUpdatedState(
    %x: tensor<2xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %s: tensor<4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  %0 = ark.group "push" (%a = %s, %b = %x) : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32> {
    %1 = ark.update %b into %a [0] : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
    ark.yield %1 : tensor<4xf32>
  }
  // expected-error @below {{'ark.return' op result 'y' is not produced by a separate group (graph_c3)}}
  ark.return %0 : tensor<4xf32>
}

// -----

// The read goes through a view.
ark.program @readOfAStateAfterItsUpdate(
    %x: tensor<2xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %s: tensor<4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"})
    -> (tensor<2x2xf32> {ark.name = "y"}) {
  // expected-note @below {{the update is here}}
  %0 = ark.group "push" (%a = %s, %b = %x) : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32> {
    %1 = ark.update %b into %a [0] : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
    ark.yield %1 : tensor<4xf32>
  }
  %2 = ark.reshape %s shape = [2, 2] : (tensor<4xf32>) -> tensor<2x2xf32>
  // expected-error @below {{'ark.group' op 'late' reads a state after its update (graph_c4)}}
  %3 = ark.group "late" (%a = %2) : (tensor<2x2xf32>) -> tensor<2x2xf32> {
    %4 = ark.exp %a : (tensor<2x2xf32>) -> tensor<2x2xf32>
    ark.yield %4 : tensor<2x2xf32>
  }
  ark.return %3 : tensor<2x2xf32>
}

// -----

ark.program @groupsWithOneName(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  // expected-note @below {{the other one is here}}
  %0 = ark.group "act" (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    %1 = ark.exp %a : (tensor<4xf32>) -> tensor<4xf32>
    ark.yield %1 : tensor<4xf32>
  }
  // expected-error @below {{'ark.group' op has the name of another group, 'act' (graph_c5)}}
  %2 = ark.group "act" (%a = %0) : (tensor<4xf32>) -> tensor<4xf32> {
    %3 = ark.exp %a : (tensor<4xf32>) -> tensor<4xf32>
    ark.yield %3 : tensor<4xf32>
  }
  ark.return %2 : tensor<4xf32>
}

// -----

ark.program @identityWithDependences(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  %0 = ark.group "act" (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    %1 = ark.exp %a : (tensor<4xf32>) -> tensor<4xf32>
    ark.yield %1 : tensor<4xf32>
  }
  // expected-error @below {{'ark.identity' op still carries dependences (graph_c6)}}
  %2 = ark.identity %x after %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  ark.return %0 : tensor<4xf32>
}

// -----

ark.program @noopOfAnArgument(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  // expected-error @below {{'ark.noop' op keeps a value that is not the result of a group (graph_c7)}}
  ark.noop %x : tensor<4xf32>
  %0 = ark.group "act" (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    %1 = ark.exp %a : (tensor<4xf32>) -> tensor<4xf32>
    ark.yield %1 : tensor<4xf32>
  }
  ark.return %0 : tensor<4xf32>
}
