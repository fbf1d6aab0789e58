// Package informer converts what a simulated watch delivers to events of the scheduling machine, as
// package informers does for a real watch.
package informer
