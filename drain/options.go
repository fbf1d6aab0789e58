package drain

import "github.com/berthproject/berth/engine/evacuation"

// Options correspond to the flags of kubectl drain.
type Options = evacuation.DrainOptions
