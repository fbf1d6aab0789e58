package scheduler

import "github.com/berthproject/berth/engine/scheduling"

// Stepped is the notice of a step, before its effects are executed.
type Stepped struct{ Effects []scheduling.Effect }
