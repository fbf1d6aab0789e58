// Package podfields reads and iterates over fields of pods. Validation, defaulting, strategies and
// warnings share it.
package podfields
