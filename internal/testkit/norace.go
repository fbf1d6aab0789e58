//go:build !race

package testkit

// Race reports whether the race detector is on. It makes a program allocate more memory.
const Race = false
