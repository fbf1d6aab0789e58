// Package order has the comparisons that the engine's state machines share.
package order
