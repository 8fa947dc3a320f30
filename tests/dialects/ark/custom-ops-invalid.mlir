// RUN: ark-opt %s --split-input-file --verify-diagnostics

func.func @custom_c1_noGrid() {
  // expected-error @below {{needs a grid of positive extents with at most 4194304 vCTAs (custom_c1)}}
  %0 = ark.custom grid [] ins() out <() -> (0), [4]> {
  ^bb0(%o: tensor<4xf32>):
    ark.yield %o : tensor<4xf32>
  } : tensor<4xf32>
  return
}

// -----

func.func @custom_c1_tooLarge() {
  // expected-error @below {{needs a grid of positive extents with at most 4194304 vCTAs (custom_c1)}}
  %0 = ark.custom grid [4096, 4096] ins() out <(d0, d1) -> (0), [4]> {
  ^bb0(%i: index, %j: index, %o: tensor<4xf32>):
    ark.yield %o : tensor<4xf32>
  } : tensor<4xf32>
  return
}

// -----

func.func @custom_c2_grid(%x: tensor<8xf32>) {
  // expected-error @below {{of input 0 does not fit a grid of rank 1 and 'tensor<8xf32>' (custom_c2)}}
  %0 = ark.custom grid [2] ins(%x[#ark.region<(d0, d1) -> (d0 * 4), [4]>] : tensor<8xf32>)
      out <(d0) -> (d0 * 4), [4]> {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a : tensor<4xf32>
  } : tensor<8xf32>
  return
}

// -----

func.func @custom_c2_rank() {
  // expected-error @below {{of the result does not fit a grid of rank 1 and 'tensor<8x2xf32>' (custom_c2)}}
  %0 = ark.custom grid [2] ins() out <(d0) -> (d0 * 4), [4]> {
  ^bb0(%i: index, %o: tensor<4xf32>):
    ark.yield %o : tensor<4xf32>
  } : tensor<8x2xf32>
  return
}

// -----

func.func @custom_c2_empty(%x: tensor<8x0xf32>) {
  // expected-error @below {{input 0 is 'tensor<8x0xf32>', without a static shape or without elements (custom_c2)}}
  %0 = ark.custom grid [2] ins(%x[#ark.region<(d0) -> (d0 * 4, 0), [4, 1]>] : tensor<8x0xf32>)
      out <(d0) -> (d0 * 4), [4]> {
  ^bb0(%i: index, %a: tensor<4x?xf32>, %o: tensor<4xf32>):
    ark.yield %o : tensor<4xf32>
  } : tensor<8xf32>
  return
}

// -----

func.func @custom_c3(%x: tensor<8xf32>) {
  // expected-error @below {{of input 0 starts at 8 in dimension 0 of 'tensor<8xf32>' (custom_c3)}}
  %0 = ark.custom grid [2] ins(%x[#ark.region<(d0) -> (d0 * 8), [4]>] : tensor<8xf32>)
      out <(d0) -> (d0 * 4), [4]> {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a : tensor<4xf32>
  } : tensor<8xf32>
  return
}

// -----

func.func @custom_c3_negative() {
  // expected-error @below {{of the result starts at -4 in dimension 0 of 'tensor<8xf32>' (custom_c3)}}
  %0 = ark.custom grid [2] ins() out <(d0) -> (d0 * 4 - 4), [4]> {
  ^bb0(%i: index, %o: tensor<4xf32>):
    ark.yield %o : tensor<4xf32>
  } : tensor<8xf32>
  return
}

// -----

func.func @custom_c4_count(%x: tensor<8xf32>) {
  // expected-error @below {{body needs 1 indices and 2 tiles (custom_c4)}}
  %0 = ark.custom grid [2] ins(%x[#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<8xf32>)
      out <(d0) -> (d0 * 4), [4]> {
  ^bb0(%i: index, %a: tensor<4xf32>):
    ark.yield %a : tensor<4xf32>
  } : tensor<8xf32>
  return
}

// -----

func.func @custom_c4_type(%x: tensor<10xf32>) {
  // expected-error @below {{tile 'tensor<4xf32>' of input 0 is not 'tensor<?xf32>' (custom_c4)}}
  %0 = ark.custom grid [3] ins(%x[#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<10xf32>)
      out <(d0) -> (d0 * 4), [4]> {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<?xf32>):
    ark.yield %o : tensor<?xf32>
  } : tensor<10xf32>
  return
}

// -----

func.func @custom_c5(%x: tensor<8xf32>) {
  // expected-error @below {{body yields 'tensor<4xf16>', not the tile 'tensor<4xf32>' of the result (custom_c5)}}
  %0 = ark.custom grid [2] ins(%x[#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<8xf32>)
      out <(d0) -> (d0 * 4), [4]> {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    %1 = ark.cast %a to f16 : (tensor<4xf32>) -> tensor<4xf16>
    ark.yield %1 : tensor<4xf16>
  } : tensor<8xf32>
  return
}

// -----

func.func @custom_c5_nothing() {
  // expected-error @below {{body must yield one tensor (custom_c5)}}
  %0 = ark.custom grid [2] ins() out <(d0) -> (d0 * 4), [4]> {
  ^bb0(%i: index, %o: tensor<4xf32>):
    ark.yield
  } : tensor<8xf32>
  return
}
