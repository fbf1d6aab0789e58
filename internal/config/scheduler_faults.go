package config

import (
	"errors"
	"fmt"
)

// faults collects what is wrong with a file, so that it is told at once.
type faults struct{ errs []error }

func (f *faults) add(format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf(format, args...))
}

func (f *faults) join() error { return errors.Join(f.errs...) }

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
