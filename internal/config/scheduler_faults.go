package config

import (
	"fmt"
	"slices"
	"strings"
)

// faults collects what is wrong with a file, so that it is told at once, and
// what is accepted without having an effect.
type faults struct {
	errs     []error
	warnings []string
	left     []string // paths of values that were left out as being of the wrong type
}

func (f *faults) warn(format string, args ...any) {
	f.warnings = append(f.warnings, fmt.Sprintf(format, args...))
}

// add tells a fault, but not the consequences of a value that was left out.
func (f *faults) add(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	path, _, _ := strings.Cut(err.Error(), ": ")
	if !slices.Contains(f.left, path) {
		f.errs = append(f.errs, err)
	}
}

func (f *faults) atLeast(path string, v, low int64) {
	if v < low {
		f.add("%s: %d: must be at least %d", path, v, low)
	}
}

func (f *faults) atMost(path string, v, high int64) {
	if v > high {
		f.add("%s: %d: must be at most %d", path, v, high)
	}
}

func (f *faults) percentage(path string, v *int32) {
	if v != nil && (*v < 0 || *v > 100) {
		f.add("%s: %d: must be between 0 and 100", path, *v)
	}
}
