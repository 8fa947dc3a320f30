// RUN: ark-opt %s --split-input-file --verify-diagnostics

// One map is missing.
func.func @blocked_attention_gradient_c1_missing(%q: memref<2x8xf32>, %k: memref<16x8xf32>, %g: memref<2x6xf32>, %v: memref<16x6xf32>, %s: memref<2xf32>, %dq: memref<2x8xf32>, %w: memref<2x4xf32>, %t: memref<2x4xf32>) {
  // expected-error @below {{needs one map for every operand (blocked_attention_gradient_c1)}}
  ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %s, %s : memref<2x8xf32>, memref<16x8xf32>, memref<2x6xf32>, memref<16x6xf32>, memref<2xf32>, memref<2xf32>)
      outs(%dq : memref<2x8xf32>) memory(%w, %t : memref<2x4xf32>, memref<2x4xf32>)
      maps [affine_map<(r, o, d, c, b) -> (r, d)>, affine_map<(r, o, d, c, b) -> (o, d)>,
            affine_map<(r, o, d, c, b) -> (r, c)>, affine_map<(r, o, d, c, b) -> (o, c)>,
            affine_map<(r, o, d, c, b) -> (r)>, affine_map<(r, o, d, c, b) -> (r)>,
            affine_map<(r, o, d, c, b) -> (r, d)>, affine_map<(r, o, d, c, b) -> (r, b)>] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// -----

// The map of the queries has a result too few.
func.func @blocked_attention_gradient_c1_results(%q: memref<2x8xf32>, %k: memref<16x8xf32>, %g: memref<2x6xf32>, %v: memref<16x6xf32>, %s: memref<2xf32>, %dq: memref<2x8xf32>, %w: memref<2x4xf32>, %t: memref<2x4xf32>) {
  // expected-error @below {{needs maps from the rows and four or five other loops to the dimensions of each operand (blocked_attention_gradient_c1)}}
  ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %s, %s : memref<2x8xf32>, memref<16x8xf32>, memref<2x6xf32>, memref<16x6xf32>, memref<2xf32>, memref<2xf32>)
      outs(%dq : memref<2x8xf32>) memory(%w, %t : memref<2x4xf32>, memref<2x4xf32>)
      maps [affine_map<(r, o, d, c, b) -> (d)>, affine_map<(r, o, d, c, b) -> (o, d)>,
            affine_map<(r, o, d, c, b) -> (r, c)>, affine_map<(r, o, d, c, b) -> (o, c)>,
            affine_map<(r, o, d, c, b) -> (r)>, affine_map<(r, o, d, c, b) -> (r)>,
            affine_map<(r, o, d, c, b) -> (r, d)>, affine_map<(r, o, d, c, b) -> (r, b)>,
            affine_map<(r, o, d, c, b) -> (r, b)>] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// -----

// There is no loop over the others.
func.func @blocked_attention_gradient_c1_loops(%q: memref<2x8xf32>, %k: memref<2x8xf32>, %g: memref<2x6xf32>, %v: memref<2x6xf32>, %s: memref<2xf32>, %dq: memref<2x8xf32>, %w: memref<2x4xf32>, %t: memref<2x4xf32>) {
  // expected-error @below {{needs maps from the rows and four or five other loops to the dimensions of each operand (blocked_attention_gradient_c1)}}
  ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %s, %s : memref<2x8xf32>, memref<2x8xf32>, memref<2x6xf32>, memref<2x6xf32>, memref<2xf32>, memref<2xf32>)
      outs(%dq : memref<2x8xf32>) memory(%w, %t : memref<2x4xf32>, memref<2x4xf32>)
      maps [affine_map<(r, d, c, b) -> (r, d)>, affine_map<(r, d, c, b) -> (r, d)>,
            affine_map<(r, d, c, b) -> (r, c)>, affine_map<(r, d, c, b) -> (r, c)>,
            affine_map<(r, d, c, b) -> (r)>, affine_map<(r, d, c, b) -> (r)>,
            affine_map<(r, d, c, b) -> (r, d)>, affine_map<(r, d, c, b) -> (r, b)>,
            affine_map<(r, d, c, b) -> (r, b)>] {
  ^bb0(%row: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// -----

// The weights are transposed.
func.func @blocked_attention_gradient_c2(%q: memref<2x8xf32>, %k: memref<16x8xf32>, %g: memref<2x6xf32>, %v: memref<16x6xf32>, %s: memref<2xf32>, %dq: memref<2x8xf32>, %w: memref<4x2xf32>, %t: memref<2x4xf32>) {
  // expected-error @below {{needs the map affine_map<(d0, d1, d2, d3, d4) -> (d0, d4)> for out 1 (blocked_attention_gradient_c2)}}
  ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %s, %s : memref<2x8xf32>, memref<16x8xf32>, memref<2x6xf32>, memref<16x6xf32>, memref<2xf32>, memref<2xf32>)
      outs(%dq : memref<2x8xf32>) memory(%w, %t : memref<4x2xf32>, memref<2x4xf32>)
      maps [affine_map<(r, o, d, c, b) -> (r, d)>, affine_map<(r, o, d, c, b) -> (o, d)>,
            affine_map<(r, o, d, c, b) -> (r, c)>, affine_map<(r, o, d, c, b) -> (o, c)>,
            affine_map<(r, o, d, c, b) -> (r)>, affine_map<(r, o, d, c, b) -> (r)>,
            affine_map<(r, o, d, c, b) -> (r, d)>, affine_map<(r, o, d, c, b) -> (b, r)>,
            affine_map<(r, o, d, c, b) -> (r, b)>] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// -----

// The queries depend on the others.
func.func @blocked_attention_gradient_c3_dependence(%q: memref<16x8xf32>, %k: memref<16x8xf32>, %g: memref<2x6xf32>, %v: memref<16x6xf32>, %s: memref<2xf32>, %dq: memref<2x8xf32>, %w: memref<2x4xf32>, %t: memref<2x4xf32>) {
  // expected-error @below {{cannot read operand 0 by affine_map<(d0, d1, d2, d3, d4) -> (d1, d2)> (blocked_attention_gradient_c3)}}
  ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %s, %s : memref<16x8xf32>, memref<16x8xf32>, memref<2x6xf32>, memref<16x6xf32>, memref<2xf32>, memref<2xf32>)
      outs(%dq : memref<2x8xf32>) memory(%w, %t : memref<2x4xf32>, memref<2x4xf32>)
      maps [affine_map<(r, o, d, c, b) -> (o, d)>, affine_map<(r, o, d, c, b) -> (o, d)>,
            affine_map<(r, o, d, c, b) -> (r, c)>, affine_map<(r, o, d, c, b) -> (o, c)>,
            affine_map<(r, o, d, c, b) -> (r)>, affine_map<(r, o, d, c, b) -> (r)>,
            affine_map<(r, o, d, c, b) -> (r, d)>, affine_map<(r, o, d, c, b) -> (r, b)>,
            affine_map<(r, o, d, c, b) -> (r, b)>] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// -----

// The keys are read in steps.
func.func @blocked_attention_gradient_c3_form(%q: memref<2x8xf32>, %k: memref<16x8xf32>, %g: memref<2x6xf32>, %v: memref<16x6xf32>, %s: memref<2xf32>, %dq: memref<2x8xf32>, %w: memref<2x4xf32>, %t: memref<2x4xf32>) {
  // expected-error @below {{cannot read operand 1 by affine_map<(d0, d1, d2, d3, d4) -> (d1 * 2, d2)> (blocked_attention_gradient_c3)}}
  ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %s, %s : memref<2x8xf32>, memref<16x8xf32>, memref<2x6xf32>, memref<16x6xf32>, memref<2xf32>, memref<2xf32>)
      outs(%dq : memref<2x8xf32>) memory(%w, %t : memref<2x4xf32>, memref<2x4xf32>)
      maps [affine_map<(r, o, d, c, b) -> (r, d)>, affine_map<(r, o, d, c, b) -> (o * 2, d)>,
            affine_map<(r, o, d, c, b) -> (r, c)>, affine_map<(r, o, d, c, b) -> (o, c)>,
            affine_map<(r, o, d, c, b) -> (r)>, affine_map<(r, o, d, c, b) -> (r)>,
            affine_map<(r, o, d, c, b) -> (r, d)>, affine_map<(r, o, d, c, b) -> (r, b)>,
            affine_map<(r, o, d, c, b) -> (r, b)>] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// -----

// Queries and keys have different depths.
func.func @blocked_attention_gradient_c4(%q: memref<2x8xf32>, %k: memref<16x4xf32>, %g: memref<2x6xf32>, %v: memref<16x6xf32>, %s: memref<2xf32>, %dq: memref<2x8xf32>, %w: memref<2x4xf32>, %t: memref<2x4xf32>) {
  // expected-error @below {{has the extents 8 and 4 for loop 2 (blocked_attention_gradient_c4)}}
  ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %s, %s : memref<2x8xf32>, memref<16x4xf32>, memref<2x6xf32>, memref<16x6xf32>, memref<2xf32>, memref<2xf32>)
      outs(%dq : memref<2x8xf32>) memory(%w, %t : memref<2x4xf32>, memref<2x4xf32>)
      maps [affine_map<(r, o, d, c, b) -> (r, d)>, affine_map<(r, o, d, c, b) -> (o, d)>,
            affine_map<(r, o, d, c, b) -> (r, c)>, affine_map<(r, o, d, c, b) -> (o, c)>,
            affine_map<(r, o, d, c, b) -> (r)>, affine_map<(r, o, d, c, b) -> (r)>,
            affine_map<(r, o, d, c, b) -> (r, d)>, affine_map<(r, o, d, c, b) -> (r, b)>,
            affine_map<(r, o, d, c, b) -> (r, b)>] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// -----

// The gradients have another type than the weights.
func.func @blocked_attention_gradient_c5(%q: memref<2x8xf32>, %k: memref<16x8xf32>, %g: memref<2x6xf32>, %v: memref<16x6xf32>, %s: memref<2xf32>, %dq: memref<2x8xf64>, %w: memref<2x4xf32>, %t: memref<2x4xf32>) {
  // expected-error @below {{needs outs of one float type (blocked_attention_gradient_c5)}}
  ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %s, %s : memref<2x8xf32>, memref<16x8xf32>, memref<2x6xf32>, memref<16x6xf32>, memref<2xf32>, memref<2xf32>)
      outs(%dq : memref<2x8xf64>) memory(%w, %t : memref<2x4xf32>, memref<2x4xf32>)
      maps [affine_map<(r, o, d, c, b) -> (r, d)>, affine_map<(r, o, d, c, b) -> (o, d)>,
            affine_map<(r, o, d, c, b) -> (r, c)>, affine_map<(r, o, d, c, b) -> (o, c)>,
            affine_map<(r, o, d, c, b) -> (r)>, affine_map<(r, o, d, c, b) -> (r)>,
            affine_map<(r, o, d, c, b) -> (r, d)>, affine_map<(r, o, d, c, b) -> (r, b)>,
            affine_map<(r, o, d, c, b) -> (r, b)>] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// -----

// The region has no argument for the index of the key.
func.func @blocked_attention_gradient_c6_arguments(%q: memref<2x8xf32>, %k: memref<16x8xf32>, %g: memref<2x6xf32>, %v: memref<16x6xf32>, %s: memref<2xf32>, %dq: memref<2x8xf32>, %w: memref<2x4xf32>, %t: memref<2x4xf32>) {
  // expected-error @below {{needs a region with arguments of the types 'index', 'index', 'f32' (blocked_attention_gradient_c6)}}
  ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %s, %s : memref<2x8xf32>, memref<16x8xf32>, memref<2x6xf32>, memref<16x6xf32>, memref<2xf32>, memref<2xf32>)
      outs(%dq : memref<2x8xf32>) memory(%w, %t : memref<2x4xf32>, memref<2x4xf32>)
      maps [affine_map<(r, o, d, c, b) -> (r, d)>, affine_map<(r, o, d, c, b) -> (o, d)>,
            affine_map<(r, o, d, c, b) -> (r, c)>, affine_map<(r, o, d, c, b) -> (o, c)>,
            affine_map<(r, o, d, c, b) -> (r)>, affine_map<(r, o, d, c, b) -> (r)>,
            affine_map<(r, o, d, c, b) -> (r, d)>, affine_map<(r, o, d, c, b) -> (r, b)>,
            affine_map<(r, o, d, c, b) -> (r, b)>] {
  ^bb0(%row: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// -----

// The region yields an index.
func.func @blocked_attention_gradient_c6_yield(%q: memref<2x8xf32>, %k: memref<16x8xf32>, %g: memref<2x6xf32>, %v: memref<16x6xf32>, %s: memref<2xf32>, %dq: memref<2x8xf32>, %w: memref<2x4xf32>, %t: memref<2x4xf32>) {
  // expected-error @below {{needs a region that yields 'f32' (blocked_attention_gradient_c6)}}
  ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %s, %s : memref<2x8xf32>, memref<16x8xf32>, memref<2x6xf32>, memref<16x6xf32>, memref<2xf32>, memref<2xf32>)
      outs(%dq : memref<2x8xf32>) memory(%w, %t : memref<2x4xf32>, memref<2x4xf32>)
      maps [affine_map<(r, o, d, c, b) -> (r, d)>, affine_map<(r, o, d, c, b) -> (o, d)>,
            affine_map<(r, o, d, c, b) -> (r, c)>, affine_map<(r, o, d, c, b) -> (o, c)>,
            affine_map<(r, o, d, c, b) -> (r)>, affine_map<(r, o, d, c, b) -> (r)>,
            affine_map<(r, o, d, c, b) -> (r, d)>, affine_map<(r, o, d, c, b) -> (r, b)>,
            affine_map<(r, o, d, c, b) -> (r, b)>] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %row : index
  }
  return
}

// -----

// The region loads from memory.
func.func @blocked_attention_gradient_c6_memory(%q: memref<2x8xf32>, %k: memref<16x8xf32>, %g: memref<2x6xf32>, %v: memref<16x6xf32>, %s: memref<2xf32>, %dq: memref<2x8xf32>, %w: memref<2x4xf32>, %t: memref<2x4xf32>) {
  ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %s, %s : memref<2x8xf32>, memref<16x8xf32>, memref<2x6xf32>, memref<16x6xf32>, memref<2xf32>, memref<2xf32>)
      outs(%dq : memref<2x8xf32>) memory(%w, %t : memref<2x4xf32>, memref<2x4xf32>)
      maps [affine_map<(r, o, d, c, b) -> (r, d)>, affine_map<(r, o, d, c, b) -> (o, d)>,
            affine_map<(r, o, d, c, b) -> (r, c)>, affine_map<(r, o, d, c, b) -> (o, c)>,
            affine_map<(r, o, d, c, b) -> (r)>, affine_map<(r, o, d, c, b) -> (r)>,
            affine_map<(r, o, d, c, b) -> (r, d)>, affine_map<(r, o, d, c, b) -> (r, b)>,
            affine_map<(r, o, d, c, b) -> (r, b)>] {
  ^bb0(%row: index, %key: index, %dot: f32):
    // expected-error @below {{accesses memory in the gradient of an attention (blocked_attention_gradient_c6)}}
    %bias = memref.load %s[%row] : memref<2xf32>
    ark.yield %bias : f32
  }
  return
}

// -----

// One operand is a tensor.
func.func @blocked_attention_gradient_c7(%q: tensor<2x8xf32>, %k: memref<16x8xf32>, %g: memref<2x6xf32>, %v: memref<16x6xf32>, %s: memref<2xf32>, %dq: memref<2x8xf32>, %w: memref<2x4xf32>, %t: memref<2x4xf32>) {
  // expected-error @below {{needs tensors and a result for each out, or buffers and no results (blocked_attention_gradient_c7)}}
  ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %s, %s : tensor<2x8xf32>, memref<16x8xf32>, memref<2x6xf32>, memref<16x6xf32>, memref<2xf32>, memref<2xf32>)
      outs(%dq : memref<2x8xf32>) memory(%w, %t : memref<2x4xf32>, memref<2x4xf32>)
      maps [affine_map<(r, o, d, c, b) -> (r, d)>, affine_map<(r, o, d, c, b) -> (o, d)>,
            affine_map<(r, o, d, c, b) -> (r, c)>, affine_map<(r, o, d, c, b) -> (o, c)>,
            affine_map<(r, o, d, c, b) -> (r)>, affine_map<(r, o, d, c, b) -> (r)>,
            affine_map<(r, o, d, c, b) -> (r, d)>, affine_map<(r, o, d, c, b) -> (r, b)>,
            affine_map<(r, o, d, c, b) -> (r, b)>] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// -----

// The number of queries is dynamic.
func.func @blocked_attention_gradient_c8(%q: memref<?x8xf32>, %k: memref<16x8xf32>, %g: memref<?x6xf32>, %v: memref<16x6xf32>, %s: memref<?xf32>, %dq: memref<?x8xf32>, %w: memref<?x4xf32>, %t: memref<?x4xf32>) {
  // expected-error @below {{is causal and needs a static number of rows (blocked_attention_gradient_c8)}}
  ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %s, %s : memref<?x8xf32>, memref<16x8xf32>, memref<?x6xf32>, memref<16x6xf32>, memref<?xf32>, memref<?xf32>)
      outs(%dq : memref<?x8xf32>) memory(%w, %t : memref<?x4xf32>, memref<?x4xf32>)
      maps [affine_map<(r, o, d, c, b) -> (r, d)>, affine_map<(r, o, d, c, b) -> (o, d)>,
            affine_map<(r, o, d, c, b) -> (r, c)>, affine_map<(r, o, d, c, b) -> (o, c)>,
            affine_map<(r, o, d, c, b) -> (r)>, affine_map<(r, o, d, c, b) -> (r)>,
            affine_map<(r, o, d, c, b) -> (r, d)>, affine_map<(r, o, d, c, b) -> (r, b)>,
            affine_map<(r, o, d, c, b) -> (r, b)>] causal {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// -----

// The number of keys in a block is dynamic.
func.func @blocked_attention_gradient_c9(%q: memref<2x8xf32>, %k: memref<16x8xf32>, %g: memref<2x6xf32>, %v: memref<16x6xf32>, %s: memref<2xf32>, %dq: memref<2x8xf32>, %w: memref<2x?xf32>, %t: memref<2x?xf32>) {
  // expected-error @below {{needs a static, positive number of others in a block (blocked_attention_gradient_c9)}}
  ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %s, %s : memref<2x8xf32>, memref<16x8xf32>, memref<2x6xf32>, memref<16x6xf32>, memref<2xf32>, memref<2xf32>)
      outs(%dq : memref<2x8xf32>) memory(%w, %t : memref<2x?xf32>, memref<2x?xf32>)
      maps [affine_map<(r, o, d, c, b) -> (r, d)>, affine_map<(r, o, d, c, b) -> (o, d)>,
            affine_map<(r, o, d, c, b) -> (r, c)>, affine_map<(r, o, d, c, b) -> (o, c)>,
            affine_map<(r, o, d, c, b) -> (r)>, affine_map<(r, o, d, c, b) -> (r)>,
            affine_map<(r, o, d, c, b) -> (r, d)>, affine_map<(r, o, d, c, b) -> (r, b)>,
            affine_map<(r, o, d, c, b) -> (r, b)>] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}
