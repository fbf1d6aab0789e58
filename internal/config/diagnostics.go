package config

import (
	"fmt"
	"slices"
	"strings"
)

// diagnostics collects the errors and warnings of a file.
type diagnostics struct {
	errs     []error
	warnings []string
	skipped  []string // paths of values that were skipped because of their type
}

func (f *diagnostics) warnf(format string, args ...any) {
	f.warnings = append(f.warnings, fmt.Sprintf(format, args...))
}

// errorf adds an error unless it follows from a skipped value.
func (f *diagnostics) errorf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	path, _, _ := strings.Cut(err.Error(), ": ")
	if !slices.Contains(f.skipped, path) {
		f.errs = append(f.errs, err)
	}
}

func (f *diagnostics) requireAtLeast(path string, v, low int64) {
	if v < low {
		f.errorf("%s: %d: must be at least %d", path, v, low)
	}
}

func (f *diagnostics) requireAtMost(path string, v, high int64) {
	if v > high {
		f.errorf("%s: %d: must be at most %d", path, v, high)
	}
}

func (f *diagnostics) requirePercentage(path string, v *int32) {
	if v != nil && (*v < 0 || *v > 100) {
		f.errorf("%s: %d: must be between 0 and 100", path, *v)
	}
}
