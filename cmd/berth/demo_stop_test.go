package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/berthproject/berth/demo"
)

// The log of a demo that was stopped goes, unless there is more to read about.
func TestOnlyStopped(t *testing.T) {
	act := fmt.Errorf("act 2 (memory): %w", demo.ErrStopped)
	for _, c := range []struct {
		err  error
		want bool
	}{
		{demo.ErrStopped, true},
		{errors.Join(errors.Join(act), nil), true},
		{errors.Join(act, errors.New("removing node berth-demo-1: no answer")), false},
		{errors.New("act 1 (place): no pod"), false},
	} {
		if got := only(c.err, demo.ErrStopped); got != c.want {
			t.Errorf("%v: %t, want %t", c.err, got, c.want)
		}
	}
}

func TestTellLeft(t *testing.T) {
	var out bytes.Buffer
	f := &upNodes{}
	f.settle("/there", false)
	tellLeft(&out, "m", 0, f.left("m"))
	if out.Len() > 0 {
		t.Errorf("of no pods: %q", out.String())
	}
	tellLeft(&out, "m", 2, f.left("m"))
	for _, words := range []string{"node m: 2 pods run on; berth up --real-node --data-dir /there takes up", "--kubeconfig /there/kubeconfig delete pods"} {
		if text := out.String(); !strings.Contains(text, words) {
			t.Errorf("of two: %q, want %q in it", text, words)
		}
	}
	f.settle("/there", true)
	if text := f.left("m"); !strings.Contains(text, "--data-dir /there removes them") {
		t.Errorf("with --ephemeral: %q", text)
	}
}
