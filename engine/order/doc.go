// Package order provides the comparisons of times and booleans that the engine's state machines share.
package order
