package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/berthproject/berth/demo"
)

// TestIsOnly checks which errors keep the log of an interrupted demo.
func TestIsOnly(t *testing.T) {
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
		if got := isOnly(c.err, demo.ErrStopped); got != c.want {
			t.Errorf("%v: %t, want %t", c.err, got, c.want)
		}
	}
}

func TestPrintRemainingPods(t *testing.T) {
	var out bytes.Buffer
	f := &upLocalNodes{}
	f.setDefaults("/data", false)
	printRemainingPods(&out, "m", 0, f.remainingPodsHint("m"))
	if out.Len() > 0 {
		t.Errorf("without pods: got %q, want no output", out.String())
	}
	printRemainingPods(&out, "m", 2, f.remainingPodsHint("m"))
	for _, want := range []string{"node m: 2 pods keep running; berth up --real-node --data-dir /data continues", "--kubeconfig /data/kubeconfig delete pods"} {
		if text := out.String(); !strings.Contains(text, want) {
			t.Errorf("with two pods: got %q, want %q in it", text, want)
		}
	}
	f.setDefaults("/data", true)
	if text := f.remainingPodsHint("m"); !strings.Contains(text, "--data-dir /data removes them") {
		t.Errorf("with --ephemeral: got %q, want that the next start removes the pods", text)
	}
}
