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

func (d *diagnostics) warnf(format string, args ...any) {
	d.warnings = append(d.warnings, fmt.Sprintf(format, args...))
}

// errorf adds an error unless it follows from a skipped value.
func (d *diagnostics) errorf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	path, _, _ := strings.Cut(err.Error(), ": ")
	if !slices.Contains(d.skipped, path) {
		d.errs = append(d.errs, err)
	}
}

func (d *diagnostics) requireAtLeast(path string, v, low int64) {
	if v < low {
		d.errorf("%s: %d: must be at least %d", path, v, low)
	}
}

func (d *diagnostics) requireAtMost(path string, v, high int64) {
	if v > high {
		d.errorf("%s: %d: must be at most %d", path, v, high)
	}
}

func (d *diagnostics) requirePercentage(path string, v *int32) {
	if v != nil && (*v < 0 || *v > 100) {
		d.errorf("%s: %d: must be between 0 and 100", path, *v)
	}
}
