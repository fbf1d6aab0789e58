// Package informer converts the changes of a simulated watch to events of the scheduling machine, as
// package informers does for a real watch.
package informer
