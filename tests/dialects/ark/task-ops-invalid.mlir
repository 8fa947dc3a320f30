// RUN: ark-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{argument 0 needs ark.kind and ark.name (program_c1)}}
ark.program @program_c1(%x: tensor<4xf32>) {
  ark.return
}

// -----

// expected-error @below {{has two arguments named 'x' (program_c1)}}
ark.program @program_c1_twice(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) {
  ark.return
}

// -----

// expected-error @below {{argument 'x' is not a tensor or buffer of static shape (program_c1)}}
ark.program @program_c1_dynamic(%x: tensor<?xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) {
  ark.return
}

// -----

// expected-error @below {{scalar 'p' is 'tensor<1xi32>', not a rank-zero tensor of i32 or i64 (program_c2)}}
ark.program @program_c2(%p: tensor<1xi32> {ark.kind = #ark.kind<scalar>, ark.name = "p"}) {
  ark.return
}

// -----

// expected-error @below {{argument 's' of type 'tensor<2xi32>' cannot end a launch: it is not a state of one i32 (program_c6)}}
ark.program @program_c6(%s: tensor<2xi32> {ark.kind = #ark.kind<state>, ark.name = "s", ark.stop}) {
  ark.return
}

// -----

// expected-error @below {{argument 's' of type 'tensor<1xf32>' cannot end a launch: it is not a state of one i32 (program_c6)}}
ark.program @program_c6_float(%s: tensor<1xf32> {ark.kind = #ark.kind<state>, ark.name = "s", ark.stop}) {
  ark.return
}

// -----

// expected-error @below {{argument 's' of type 'tensor<i32>' cannot end a launch: it is not a state of one i32 (program_c6)}}
ark.program @program_c6_input(%s: tensor<i32> {ark.kind = #ark.kind<input>, ark.name = "s", ark.stop}) {
  ark.return
}

// -----

// expected-error @below {{arguments 's' and 't' both end a launch (program_c6)}}
ark.program @program_c6_two(%s: tensor<i32> {ark.kind = #ark.kind<state>, ark.name = "s", ark.stop},
                            %t: tensor<1xi32> {ark.kind = #ark.kind<state>, ark.name = "t", ark.stop}) {
  ark.return
}

// -----

// expected-error @below {{argument 0: attribute '"ark.stop"' must be a unit}}
ark.program @stopAttributeIsNoUnit(%s: tensor<i32> {ark.kind = #ark.kind<state>, ark.name = "s", ark.stop = 1 : i64}) {
  ark.return
}

// -----

// expected-error @below {{result 0 needs an ark.name that no other result has (program_c3)}}
ark.program @program_c3(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> tensor<4xf32> {
  ark.return %x : tensor<4xf32>
}

// -----

// expected-error @below {{argument 0 has unknown attribute 'ark.colour'}}
ark.program @unknownAttribute(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x", ark.colour = 1 : i64}) {
  ark.return
}

// -----

ark.program @return_c1(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<5xf32> {ark.name = "y"}) {
  // expected-error @below {{operand types differ from the results of '@return_c1' (return_c1)}}
  ark.return %x : tensor<4xf32>
}

// -----

func.func @group_c1(%x: tensor<4xf32>) {
  // expected-error @below {{body arguments differ from the operands (group_c1)}}
  %0 = "ark.group"(%x) <{name = "g"}> ({
  ^bb0(%a: tensor<5xf32>):
    ark.yield %a : tensor<5xf32>
  }) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @group_c2(%x: tensor<4xf32>) {
  // expected-error @below {{must end in ark.yield of its result types (group_c2)}}
  %0 = ark.group "g" (%a = %x) : (tensor<4xf32>) -> tensor<5xf32> {
    ark.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @tile_offset_c1(%x: tensor<4xf32>) {
  %0 = ark.group "g" (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @below {{names dimension 1, which the result of its group does not have (tile_offset_c1)}}
    %1 = ark.tile_offset 1
    ark.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @group_c3(%x: tensor<4xf32>) {
  // expected-error @below {{tile needs one positive entry for every dimension of the result (group_c3)}}
  %0 = ark.group "g" (%a = %x) attributes {tile = array<i64: 2, 2>} : (tensor<4xf32>) -> tensor<4xf32> {
    ark.yield %a : tensor<4xf32>
  }
  return
}

// -----

// expected-error @below {{region has 1 offsets for 2 sizes}}
func.func private @region_c1() attributes {r = #ark.region<(d0) -> (d0), [1, 2]>}

// -----

// expected-error @below {{region has 1 offsets for 1 sizes}}
func.func private @region_c1_symbol() attributes {r = #ark.region<(d0)[s0] -> (d0 + s0), [1]>}

// -----

// expected-error @below {{region size 0 is not positive}}
func.func private @region_c2() attributes {r = #ark.region<(d0) -> (d0), [0]>}

// -----

// expected-error @below {{target has sms = 0; it must be positive}}
module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 0, warps = 1,
    shared_memory = 0, bandwidth = 1, flops = 1, handoff = 0, barrier = 0, overhead = 0>} {}

// -----

func.func @task_c1(%x: memref<32xf32>) {
  // expected-error @below {{does not fit grid of rank 2 and operand 'memref<32xf32>' (task_c1)}}
  ark.task "t" grid [2, 1] ins() outs(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) {
  ^bb0(%i: index, %j: index, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  return
}

// -----

func.func @task_c2(%x: memref<32xf32>) {
  // expected-error @below {{leaves operand 'memref<32xf32>' in dimension 0 (task_c2)}}
  ark.task "t" grid [3] ins() outs(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) {
  ^bb0(%i: index, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  return
}

// -----

// The largest offset belongs to a vCTA other than the last.
func.func @task_c2_mod(%x: memref<2xf32>) {
  // expected-error @below {{leaves operand 'memref<2xf32>' in dimension 0 (task_c2)}}
  ark.task "t" grid [5] ins() outs(%x[#ark.region<(d0) -> (d0 mod 4), [1]>] : memref<2xf32>) {
  ^bb0(%i: index, %b: memref<1xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  return
}

// -----

// The smallest offset belongs to a vCTA other than the first.
func.func @task_c2_difference(%x: memref<4xf32>) {
  // expected-error @below {{leaves operand 'memref<4xf32>' in dimension 0 (task_c2)}}
  ark.task "t" grid [2, 3] ins() outs(%x[#ark.region<(d0, d1) -> (d1 - d0 * 2), [1]>] : memref<4xf32>) {
  ^bb0(%i: index, %j: index, %b: memref<1xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  return
}

// -----

func.func @task_c3(%x: memref<40xf32>) {
  // expected-error @below {{does not fit region #ark.region<(d0) -> (d0 * 16), [16]> of 'memref<40xf32>' in dimension 0 (task_c3)}}
  ark.task "t" grid [3] ins() outs(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<40xf32>) {
  ^bb0(%i: index, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  return
}

// -----

// Offset plus size overflows an i64: the tile is clipped.
func.func @task_c3_overflow(%x: memref<40xf32>) {
  // expected-error @below {{does not fit region #ark.region<(d0) -> (d0 * 16), [9223372036854775800]> of 'memref<40xf32>' in dimension 0 (task_c3)}}
  ark.task "t" grid [3] ins() outs(%x[#ark.region<(d0) -> (d0 * 16), [9223372036854775800]>] : memref<40xf32>) {
  ^bb0(%i: index, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  return
}

// -----

func.func @task_c3_missing_index(%x: memref<32xf32>) {
  // expected-error @below {{body needs 1 indices and 1 tiles (task_c3)}}
  ark.task "t" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) {
  ^bb0(%b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  return
}

// -----

func.func @task_c4(%x: tensor<32xf32>) {
  // expected-error @below {{must yield the types of the tiles of outs, or nothing on buffers (task_c4)}}
  %0 = ark.task "t" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : tensor<32xf32>) {
  ^bb0(%i: index, %b: tensor<16xf32>):
    ark.yield
  } : tensor<32xf32>
  return
}

// -----

func.func @task_c5(%x: memref<32xf32>) {
  // expected-error @below {{needs a positive grid, positive warps and shared memory of zero or more (task_c5)}}
  ark.task "t" grid [0] ins() outs(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) {
  ^bb0(%i: index, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  return
}

// -----

ark.program @program_c4(%x: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  ark.task "t" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-error @below {{has the name of another task, 't' (program_c4)}}
  ark.task "t" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}

// -----

// expected-error @below {{target has sms = 65537; at most 65536 are supported}}
module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 65537, warps = 1,
    shared_memory = 0, bandwidth = 1, flops = 1, handoff = 0, barrier = 0, overhead = 0>} {}

// -----

func.func @task_c5_many(%x: memref<8388608xf32>) {
  // expected-error @below {{has more than 4194304 vCTAs (task_c5)}}
  ark.task "t" grid [8388608] ins() outs(%x[#ark.region<(d0) -> (d0), [1]>] : memref<8388608xf32>) {
  ^bb0(%i: index, %b: memref<1xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  return
}

// -----

func.func @task_c5_overflow(%x: memref<8xf32>) {
  // expected-error @below {{has more than 4194304 vCTAs (task_c5)}}
  ark.task "t" grid [4294967296, 4294967296] ins()
      outs(%x[#ark.region<(d0, d1) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %j: index, %b: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  return
}

// -----

func.func @task_c7(%x: memref<35184372088833xf32>) {
  // expected-error @below {{operand 0 of type 'memref<35184372088833xf32>' takes more than 2^47 bytes (task_c7)}}
  ark.task "t" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [1]>] : memref<35184372088833xf32>) {
  ^bb0(%i: index, %b: memref<1xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  return
}

// -----

func.func @task_c7_strided(%x: memref<2x4xi8, strided<[4611686018427387904, 4611686018427387904]>>) {
  // expected-error @below {{takes more than 2^47 bytes (task_c7)}}
  ark.task "t" grid [1] ins()
      outs(%x[#ark.region<(d0) -> (0, 0), [2, 4]>]
        : memref<2x4xi8, strided<[4611686018427387904, 4611686018427387904]>>) {
  ^bb0(%i: index, %b: memref<2x4xi8, strided<[4611686018427387904, 4611686018427387904], offset: ?>>):
    ark.yield
  }
  return
}

// -----

func.func @task_c7_on_tensors(%x: tensor<9223372036854775807xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{operand 0 of type 'tensor<9223372036854775807xf32>' takes more than 2^47 bytes (task_c7)}}
  %0 = ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : tensor<9223372036854775807xf32>)
      outs(%y[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) {
  ^bb0(%i: index, %a: tensor<4xf32>, %b: tensor<4xf32>):
    ark.yield %a : tensor<4xf32>
  } : tensor<4xf32>
  return
}

// -----

func.func @group_c4(%x: tensor<9223372036854775807x0xf32>) {
  // expected-error @below {{'g' reads 'tensor<9223372036854775807x0xf32>', more than 2^47 bytes (group_c4)}}
  %0 = ark.group "g" (%a = %x) : (tensor<9223372036854775807x0xf32>) -> tensor<9223372036854775807x0xf32> {
    ark.yield %a : tensor<9223372036854775807x0xf32>
  }
  return
}

// -----

func.func @group_c4_inside(%x: tensor<16777216x1xf32>, %y: tensor<16777216xf32>) {
  %0 = ark.group "g" (%a = %x, %b = %y)
      : (tensor<16777216x1xf32>, tensor<16777216xf32>) -> tensor<16777216x1xf32> {
    // expected-error @below {{in group 'g' makes 'tensor<16777216x16777216xf32>', more than 2^47 bytes (group_c4)}}
    %1 = ark.add %a, %b : (tensor<16777216x1xf32>, tensor<16777216xf32>) -> tensor<16777216x16777216xf32>
    %2 = ark.reduce_sum %1 axes = [1] keepdims = true
      : (tensor<16777216x16777216xf32>) -> tensor<16777216x1xf32>
    ark.yield %2 : tensor<16777216x1xf32>
  }
  return
}

// -----

// expected-error @below {{argument 'x' of type 'tensor<9223372036854775807xf32>' takes more than 2^47 bytes (program_c5)}}
ark.program @program_c5(
    %x: tensor<9223372036854775807xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) {
  ark.return
}

// -----

ark.program @arena_c1() {
  // expected-error @below {{takes more than 2^47 bytes (arena_c1)}}
  %0 = ark.arena : memref<140737488355329xi8>
  ark.return
}

// -----

func.func @task_c8(%x: tensor<8xf32>) {
  %0 = ark.task "t" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [8]>] : tensor<8xf32>) {
  ^bb0(%i: index, %a: tensor<8xf32>):
    // expected-error @below {{'tensor.extract_slice' op has a stride that is not positive (task_c8)}}
    %1 = tensor.extract_slice %a[0] [4] [0] : tensor<8xf32> to tensor<4xf32>
    %2 = tensor.insert_slice %1 into %a[0] [4] [1] : tensor<4xf32> into tensor<8xf32>
    ark.yield %2 : tensor<8xf32>
  } : tensor<8xf32>
  return
}

// -----

func.func @task_c8_on_buffers(%x: memref<8xf32>) {
  ark.task "t" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>):
    // expected-error @below {{'memref.subview' op has a stride that is not positive (task_c8)}}
    %0 = memref.subview %a[7] [4] [-1]
      : memref<8xf32, strided<[1], offset: ?>> to memref<4xf32, strided<[-1], offset: ?>>
    ark.yield
  }
  return
}

// -----

func.func @task_c9_not_in_place(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{needs in_place, and fresh_outs with ascending indices of some, not all, of its 2 outs (task_c9)}}
  ark.task "t" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>,
      %y[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) attributes {fresh_outs = array<i64: 0>} {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  return
}

// -----

func.func @task_c9_all(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{needs in_place, and fresh_outs with ascending indices of some, not all, of its 2 outs (task_c9)}}
  ark.task "t" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>,
      %y[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) attributes {in_place, fresh_outs = array<i64: 0, 1>} {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  return
}

// -----

func.func @task_c9_none(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{needs in_place, and fresh_outs with ascending indices of some, not all, of its 2 outs (task_c9)}}
  ark.task "t" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>,
      %y[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) attributes {in_place, fresh_outs = array<i64>} {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  return
}

// -----

func.func @task_c9_order(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{needs in_place, and fresh_outs with ascending indices of some, not all, of its 2 outs (task_c9)}}
  ark.task "t" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>,
      %y[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) attributes {in_place, fresh_outs = array<i64: 1, 0>} {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  return
}

// -----

func.func @task_c9_position(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{needs in_place, and fresh_outs with ascending indices of some, not all, of its 2 outs (task_c9)}}
  ark.task "t" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>,
      %y[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) attributes {in_place, fresh_outs = array<i64: 2>} {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  return
}

// -----

// expected-error @below {{result 'y' is not a tensor of static shape (program_c3)}}
ark.program @program_c3_channel() -> (!ark.channel {ark.name = "y"}) {
  %c = ark.channel.open peer = 1 tag = 0 : !ark.channel
  ark.return %c : !ark.channel
}

// -----

// expected-error @below {{has world_size = 9223372036854775807; expected 1 to 65536 (program_c7)}}
ark.program @program_c7() attributes {world_size = 9223372036854775807 : i64} {
  ark.return
}

// -----

// expected-error @below {{has world_size = 2147483647; expected 1 to 65536 (program_c7)}}
ark.program @program_c7_of_one_rank() attributes {rank = 0 : i64, world_size = 2147483647 : i64} {
  ark.return
}

// -----

// expected-error @below {{has world_size = 0; expected 1 to 65536 (program_c7)}}
ark.program @program_c7_no_ranks() attributes {world_size = 0 : i64} {
  ark.return
}

// -----

// expected-error @below {{has rank = 2, which is not one of 2 ranks (program_c7)}}
ark.program @program_c7_outside() attributes {rank = 2 : i64, world_size = 2 : i64} {
  ark.return
}

// -----

// expected-error @below {{has rank = -1, which is not one of 2 ranks (program_c7)}}
ark.program @program_c7_negative() attributes {rank = -1 : i64, world_size = 2 : i64} {
  ark.return
}

// -----

// expected-error @below {{has rank = 0, which is not one of 0 ranks (program_c7)}}
ark.program @program_c7_alone() attributes {rank = 0 : i64} {
  ark.return
}

// -----

// expected-error @below {{argument 'x' has 33 dimensions; at most 32 are possible (program_c8)}}
ark.program @program_c8(%x: tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) {
  ark.return
}

// -----

// expected-error @below {{result 'y' has 33 dimensions; at most 32 are possible (program_c8)}}
ark.program @program_c8_result() -> (tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32> {ark.name = "y"}) {
  %0 = tensor.empty() : tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>
  ark.return %0 : tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>
}
