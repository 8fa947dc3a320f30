// RUN: ark-opt %s --split-input-file --ark-lower-check-index --verify-diagnostics -o /dev/null

func.func @notABody(%index: index, %bound: index) -> index {
  // expected-error @below {{is not in the body of a task}}
  %valid = ark.check_index %index below %bound
  return %valid : index
}
