// Package drainactor drains nodes of a simulated cluster as berth drain does those of a real
// one: the third shell around drain's machine. Its requests may be made to fail like all others; it sees the
// cluster as it is, whenever it looks.
package drainactor
