//go:build race

package testkit

// Race reports whether the race detector is on. The detector makes a program allocate more memory.
const Race = true
