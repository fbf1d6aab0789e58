//go:build !linux

package bench

import "time"

// busy returns wall-clock time where CPU time is not available.
func busy() time.Duration { return wall() }
