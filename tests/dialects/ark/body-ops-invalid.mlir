// RUN: ark-opt %s --split-input-file --verify-diagnostics

// One map is missing.
func.func @online_attention_c1_missing(%q: memref<2x8xbf16>, %k: memref<16x8xbf16>, %p: memref<2x8xf32>, %r: memref<2xf32>, %t: memref<2xf32>,
    %s: memref<2x16xf32>) {
  // expected-error @below {{needs one map for every operand (online_attention_c1)}}
  ark.online_attention ins(%q, %k, %k : memref<2x8xbf16>, memref<16x8xbf16>, memref<16x8xbf16>)
      outs(%p, %r, %t, %s : memref<2x8xf32>, memref<2xf32>, memref<2xf32>, memref<2x16xf32>)
      maps [affine_map<(m, n, k, c) -> (m, k)>,
            affine_map<(m, n, k, c) -> (n, k)>,
            affine_map<(m, n, k, c) -> (n, c)>,
            affine_map<(m, n, k, c) -> (m, c)>,
            affine_map<(m, n, k, c) -> (m)>,
            affine_map<(m, n, k, c) -> (m)>] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// -----

// The map of the query has a result too few.
func.func @online_attention_c1_results(%q: memref<2x8xbf16>, %k: memref<16x8xbf16>, %p: memref<2x8xf32>, %r: memref<2xf32>, %t: memref<2xf32>,
    %s: memref<2x16xf32>) {
  // expected-error @below {{needs maps from 4 loops to the dimensions of each operand (online_attention_c1)}}
  ark.online_attention ins(%q, %k, %k : memref<2x8xbf16>, memref<16x8xbf16>, memref<16x8xbf16>)
      outs(%p, %r, %t, %s : memref<2x8xf32>, memref<2xf32>, memref<2xf32>, memref<2x16xf32>)
      maps [affine_map<(m, n, k, c) -> (k)>,
            affine_map<(m, n, k, c) -> (n, k)>,
            affine_map<(m, n, k, c) -> (n, c)>,
            affine_map<(m, n, k, c) -> (m, c)>,
            affine_map<(m, n, k, c) -> (m)>,
            affine_map<(m, n, k, c) -> (m)>,
            affine_map<(m, n, k, c) -> (m, n)>] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// -----

// The scores are transposed.
func.func @online_attention_c2(%q: memref<2x8xbf16>, %k: memref<16x8xbf16>, %p: memref<2x8xf32>, %r: memref<2xf32>, %t: memref<2xf32>,
    %s: memref<16x2xf32>) {
  // expected-error @below {{needs the map affine_map<(d0, d1, d2, d3) -> (d0, d1)> for out 3 (online_attention_c2)}}
  ark.online_attention ins(%q, %k, %k : memref<2x8xbf16>, memref<16x8xbf16>, memref<16x8xbf16>)
      outs(%p, %r, %t, %s : memref<2x8xf32>, memref<2xf32>, memref<2xf32>, memref<16x2xf32>)
      maps [affine_map<(m, n, k, c) -> (m, k)>,
            affine_map<(m, n, k, c) -> (n, k)>,
            affine_map<(m, n, k, c) -> (n, c)>,
            affine_map<(m, n, k, c) -> (m, c)>,
            affine_map<(m, n, k, c) -> (m)>,
            affine_map<(m, n, k, c) -> (m)>,
            affine_map<(m, n, k, c) -> (n, m)>] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// -----

// The depth of the keys comes first.
func.func @online_attention_c3_end(%q: memref<2x8xbf16>, %k: memref<16x8xbf16>, %p: memref<2x8xf32>, %r: memref<2xf32>, %t: memref<2xf32>,
    %s: memref<2x16xf32>) {
  // expected-error @below {{cannot read operand 1 by affine_map<(d0, d1, d2, d3) -> (d2, d1)> (online_attention_c3)}}
  ark.online_attention ins(%q, %k, %k : memref<2x8xbf16>, memref<16x8xbf16>, memref<16x8xbf16>)
      outs(%p, %r, %t, %s : memref<2x8xf32>, memref<2xf32>, memref<2xf32>, memref<2x16xf32>)
      maps [affine_map<(m, n, k, c) -> (m, k)>,
            affine_map<(m, n, k, c) -> (k, n)>,
            affine_map<(m, n, k, c) -> (n, c)>,
            affine_map<(m, n, k, c) -> (m, c)>,
            affine_map<(m, n, k, c) -> (m)>,
            affine_map<(m, n, k, c) -> (m)>,
            affine_map<(m, n, k, c) -> (m, n)>] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// -----

// The query depends on the key.
func.func @online_attention_c3_dependence(%q: memref<2x8xbf16>, %k: memref<16x8xbf16>, %p: memref<2x8xf32>, %r: memref<2xf32>, %t: memref<2xf32>,
    %s: memref<2x16xf32>) {
  // expected-error @below {{cannot read operand 0 by affine_map<(d0, d1, d2, d3) -> (d1, d2)> (online_attention_c3)}}
  ark.online_attention ins(%q, %k, %k : memref<2x8xbf16>, memref<16x8xbf16>, memref<16x8xbf16>)
      outs(%p, %r, %t, %s : memref<2x8xf32>, memref<2xf32>, memref<2xf32>, memref<2x16xf32>)
      maps [affine_map<(m, n, k, c) -> (n, k)>,
            affine_map<(m, n, k, c) -> (n, k)>,
            affine_map<(m, n, k, c) -> (n, c)>,
            affine_map<(m, n, k, c) -> (m, c)>,
            affine_map<(m, n, k, c) -> (m)>,
            affine_map<(m, n, k, c) -> (m)>,
            affine_map<(m, n, k, c) -> (m, n)>] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// -----

// Queries and keys have different depths.
func.func @online_attention_c4(%q: memref<2x8xbf16>, %k: memref<16x4xbf16>, %p: memref<2x4xf32>, %r: memref<2xf32>, %t: memref<2xf32>,
    %s: memref<2x16xf32>) {
  // expected-error @below {{has the extents 8 and 4 for loop 2 (online_attention_c4)}}
  ark.online_attention ins(%q, %k, %k : memref<2x8xbf16>, memref<16x4xbf16>, memref<16x4xbf16>)
      outs(%p, %r, %t, %s : memref<2x4xf32>, memref<2xf32>, memref<2xf32>, memref<2x16xf32>)
      maps [affine_map<(m, n, k, c) -> (m, k)>,
            affine_map<(m, n, k, c) -> (n, k)>,
            affine_map<(m, n, k, c) -> (n, c)>,
            affine_map<(m, n, k, c) -> (m, c)>,
            affine_map<(m, n, k, c) -> (m)>,
            affine_map<(m, n, k, c) -> (m)>,
            affine_map<(m, n, k, c) -> (m, n)>] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// -----

// The sums have another type.
func.func @online_attention_c5(%q: memref<2x8xbf16>, %k: memref<16x8xbf16>, %p: memref<2x8xf32>, %r: memref<2xf32>, %t: memref<2xf64>,
    %s: memref<2x16xf32>) {
  // expected-error @below {{needs outs of one float type (online_attention_c5)}}
  ark.online_attention ins(%q, %k, %k : memref<2x8xbf16>, memref<16x8xbf16>, memref<16x8xbf16>)
      outs(%p, %r, %t, %s : memref<2x8xf32>, memref<2xf32>, memref<2xf64>, memref<2x16xf32>)
      maps [affine_map<(m, n, k, c) -> (m, k)>,
            affine_map<(m, n, k, c) -> (n, k)>,
            affine_map<(m, n, k, c) -> (n, c)>,
            affine_map<(m, n, k, c) -> (m, c)>,
            affine_map<(m, n, k, c) -> (m)>,
            affine_map<(m, n, k, c) -> (m)>,
            affine_map<(m, n, k, c) -> (m, n)>] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// -----

// The region lacks the index of the key.
func.func @online_attention_c6_arguments(%q: memref<2x8xbf16>, %k: memref<16x8xbf16>, %p: memref<2x8xf32>, %r: memref<2xf32>, %t: memref<2xf32>,
    %s: memref<2x16xf32>) {
  // expected-error @below {{(online_attention_c6)}}
  ark.online_attention ins(%q, %k, %k : memref<2x8xbf16>, memref<16x8xbf16>, memref<16x8xbf16>)
      outs(%p, %r, %t, %s : memref<2x8xf32>, memref<2xf32>, memref<2xf32>, memref<2x16xf32>)
      maps [affine_map<(m, n, k, c) -> (m, k)>,
            affine_map<(m, n, k, c) -> (n, k)>,
            affine_map<(m, n, k, c) -> (n, c)>,
            affine_map<(m, n, k, c) -> (m, c)>,
            affine_map<(m, n, k, c) -> (m)>,
            affine_map<(m, n, k, c) -> (m)>,
            affine_map<(m, n, k, c) -> (m, n)>] {
  ^bb0(%row: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// -----

// The region yields no score.
func.func @online_attention_c6_yield(%q: memref<2x8xbf16>, %k: memref<16x8xbf16>, %p: memref<2x8xf32>, %r: memref<2xf32>, %t: memref<2xf32>,
    %s: memref<2x16xf32>) {
  // expected-error @below {{needs a region that yields 'f32' (online_attention_c6)}}
  ark.online_attention ins(%q, %k, %k : memref<2x8xbf16>, memref<16x8xbf16>, memref<16x8xbf16>)
      outs(%p, %r, %t, %s : memref<2x8xf32>, memref<2xf32>, memref<2xf32>, memref<2x16xf32>)
      maps [affine_map<(m, n, k, c) -> (m, k)>,
            affine_map<(m, n, k, c) -> (n, k)>,
            affine_map<(m, n, k, c) -> (n, c)>,
            affine_map<(m, n, k, c) -> (m, c)>,
            affine_map<(m, n, k, c) -> (m)>,
            affine_map<(m, n, k, c) -> (m)>,
            affine_map<(m, n, k, c) -> (m, n)>] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %row : index
  }
  return
}

// -----

// The region reads memory.
func.func @online_attention_c6_memory(%q: memref<2x8xbf16>, %k: memref<16x8xbf16>, %p: memref<2x8xf32>, %r: memref<2xf32>, %t: memref<2xf32>,
    %s: memref<2x16xf32>) {
  ark.online_attention ins(%q, %k, %k : memref<2x8xbf16>, memref<16x8xbf16>, memref<16x8xbf16>)
      outs(%p, %r, %t, %s : memref<2x8xf32>, memref<2xf32>, memref<2xf32>, memref<2x16xf32>)
      maps [affine_map<(m, n, k, c) -> (m, k)>,
            affine_map<(m, n, k, c) -> (n, k)>,
            affine_map<(m, n, k, c) -> (n, c)>,
            affine_map<(m, n, k, c) -> (m, c)>,
            affine_map<(m, n, k, c) -> (m)>,
            affine_map<(m, n, k, c) -> (m)>,
            affine_map<(m, n, k, c) -> (m, n)>] {
  ^bb0(%row: index, %key: index, %dot: f32):
    // expected-error @below {{accesses memory in an attention (online_attention_c6)}}
    %score = memref.load %r[%row] : memref<2xf32>
    ark.yield %score : f32
  }
  return
}

// -----

// The query is a tensor.
func.func @online_attention_c7(%q: tensor<2x8xbf16>, %k: memref<16x8xbf16>, %p: memref<2x8xf32>, %r: memref<2xf32>, %t: memref<2xf32>,
    %s: memref<2x16xf32>) {
  // expected-error @below {{needs tensors and a result for each out, or buffers and no results (online_attention_c7)}}
  ark.online_attention ins(%q, %k, %k : tensor<2x8xbf16>, memref<16x8xbf16>, memref<16x8xbf16>)
      outs(%p, %r, %t, %s : memref<2x8xf32>, memref<2xf32>, memref<2xf32>, memref<2x16xf32>)
      maps [affine_map<(m, n, k, c) -> (m, k)>,
            affine_map<(m, n, k, c) -> (n, k)>,
            affine_map<(m, n, k, c) -> (n, c)>,
            affine_map<(m, n, k, c) -> (m, c)>,
            affine_map<(m, n, k, c) -> (m)>,
            affine_map<(m, n, k, c) -> (m)>,
            affine_map<(m, n, k, c) -> (m, n)>] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// -----

// The number of queries is dynamic.
func.func @online_attention_c8(%q: memref<?x8xbf16>, %k: memref<16x8xbf16>, %p: memref<?x8xf32>, %r: memref<?xf32>, %t: memref<?xf32>,
    %s: memref<?x16xf32>) {
  // expected-error @below {{is causal and needs a static number of queries (online_attention_c8)}}
  ark.online_attention ins(%q, %k, %k : memref<?x8xbf16>, memref<16x8xbf16>, memref<16x8xbf16>)
      outs(%p, %r, %t, %s : memref<?x8xf32>, memref<?xf32>, memref<?xf32>, memref<?x16xf32>)
      maps [affine_map<(m, n, k, c) -> (m, k)>,
            affine_map<(m, n, k, c) -> (n, k)>,
            affine_map<(m, n, k, c) -> (n, c)>,
            affine_map<(m, n, k, c) -> (m, c)>,
            affine_map<(m, n, k, c) -> (m)>,
            affine_map<(m, n, k, c) -> (m)>,
            affine_map<(m, n, k, c) -> (m, n)>] causal {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}
