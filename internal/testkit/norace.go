//go:build !race

package testkit

// Race says that the race detector is on, under which more is allocated.
const Race = false
