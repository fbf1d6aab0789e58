package apiserver_test

import (
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestEvictionIsCountedOnce(t *testing.T) {
	e := newEvictionTest(t)
	evictions := func() int {
		text, err := e.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if value, ok := strings.CutPrefix(line, `berth_displacements_total{budgets="obeyed",cause="API"} `); ok {
				n, err := strconv.Atoi(strings.TrimSpace(value))
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
		}
		return -1
	}
	before := evictions()
	e.pod("a")
	if err := e.evict("a", &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Fatal(err)
	}
	if got := evictions(); got != before {
		t.Errorf("got %d evictions after a dry run, want %d", got, before)
	}
	for range 2 {
		if err := e.evict("a", nil); err != nil && !strings.Contains(err.Error(), "not found") {
			t.Fatal(err)
		}
	}
	if after := evictions(); before < 0 || after != before+1 {
		t.Errorf("got %d evictions after a repeated request, want one more than %d", after, before)
	}
}
