// Package trace simulates a given cluster and sums up what came of it: objects of a dump,
// pods that arrive and leave at given times, and a scenario on top.
//
// It is what berth simulate runs; nothing here reads files or a clock.
package trace
