//go:build race

package testkit

// Race is true if the race detector is on. With it a program allocates more memory.
const Race = true
