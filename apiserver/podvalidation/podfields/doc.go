// Package podfields reads, iterates over and defaults fields of pods. Validation, defaulting,
// strategies and warnings share it.
package podfields
