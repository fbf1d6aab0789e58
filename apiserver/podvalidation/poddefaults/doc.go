// Package poddefaults sets the API defaults of pods and pod templates.
//
// Defaulting is idempotent: stored objects are defaulted again on every read.
package poddefaults
