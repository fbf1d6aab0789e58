//go:build !linux

package bench

import "time"

// busy is the time on the wall, where that of the processor is not known.
func busy() time.Duration { return wall() }
