package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/berthproject/berth/demo"
)

// TestIsOnly checks that isOnly finds other errors next to demo.ErrStopped, joined and wrapped.
func TestIsOnly(t *testing.T) {
	act := fmt.Errorf("act 2 (memory): %w", demo.ErrStopped)
	for _, tc := range []struct {
		err  error
		want bool
	}{
		{demo.ErrStopped, true},
		{errors.Join(errors.Join(act), nil), true},
		{errors.Join(act, errors.New("removing node berth-demo-1: no answer")), false},
		{errors.New("act 1 (place): no pod"), false},
	} {
		if got := isOnly(tc.err, demo.ErrStopped); got != tc.want {
			t.Errorf("isOnly(%v) = %t, want %t", tc.err, got, tc.want)
		}
	}
}
