// RUN: ark-opt %s --split-input-file --ark-build-tables --verify-diagnostics -o /dev/null

ark.program @first() {
  ark.return
}
// expected-error @below {{is the second program of its module; a kernel is made of one}}
ark.program @second() {
  ark.return
}

// -----

// expected-error @below {{has no schedule: the scheduling and synchronization stages come before the kernel}}
ark.program @noSchedule() {
  ark.return
}

// -----

ark.program @bodyStillInTheTask() {
  // expected-error @below {{has no outlined body: run ark-outline-bodies first}}
  ark.task "t" grid [1] ins() outs() {
  ^bb0(%i: index):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "t" [0, 1]
    }
  }
  ark.return
}

// -----

// expected-error @below {{has a task with body @body, which is not an outlined body}}
ark.program @bodyThatIsNoFunction() {
  ark.task "t" grid [1] ins() outs() attributes {ark.body = @body} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "t" [0, 1]
    }
  }
  ark.return
}

// -----

// expected-error @below {{has a task with body @body, which is not an outlined body}}
ark.program @bodyWithoutARange() {
  ark.task "t" grid [1] ins() outs() attributes {ark.body = @body} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "t" [0, 1]
    }
  }
  ark.return
}
func.func private @body(index, index, index)

// -----

ark.program @unplannedBuffer() {
  %0 = memref.alloc() : memref<4xf32>
  // expected-error @below {{works on a buffer that is neither an argument nor part of the arena}}
  ark.task "t" grid [1] ins() outs(%0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) attributes {ark.body = @body} {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "t" [0, 1]
    }
  }
  ark.return
}
func.func private @body(index, index, index, memref<4xi64>, memref<4xf32>)

// -----

// A wait without a matching signal has no predicted end.
ark.program @hang(%x: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  ark.task "t" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) attributes {ark.body = @body} {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @s arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      // expected-error @below {{never ends: lanes of the schedule wait for each other}}
      ark.wait @s
      ark.signal @s
      ark.run "t" [0, 1]
    }
  }
  ark.return
}
func.func private @body(index, index, index, memref<4xi64>, memref<4xf32>)

// -----

// expected-error @below {{ends its launch by state 'done', which no task writes}}
ark.program @stopThatNoTaskWrites(
    %done: memref<i32> {ark.kind = #ark.kind<state>, ark.name = "done", ark.stop}) {
  ark.schedule "hand" sms = 1 {
  }
  ark.return
}

// -----

ark.program @stopThatSeveralTasksWrite(
    %done: memref<i32> {ark.kind = #ark.kind<state>, ark.name = "done", ark.stop}) {
  // expected-error @below {{writes the state that ends the launch and has 2 vCTAs, not one}}
  ark.task "t" grid [2] ins() outs(%done[#ark.region<(d0) -> (), []>] : memref<i32>)
      attributes {ark.body = @body, in_place} {
  ^bb0(%i: index, %a: memref<i32, strided<[], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "t" [0, 2]
    }
  }
  ark.return
}

// -----

// expected-error @below {{constant 'c' of type 'memref<140737488355328xi8>' would take more than 2147483648 bytes of the bundle}}
ark.program @constantBeyondAnyFile(
    %c: memref<140737488355328xi8> {ark.kind = #ark.kind<constant>, ark.name = "c", ark.value = dense<0> : tensor<140737488355328xi8>}) {
  ark.schedule "hand" sms = 1 {
  }
  ark.return
}
