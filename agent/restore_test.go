package agent

import (
	"testing"

	"github.com/berthproject/berth/engine/podlifecycle"
)

func TestMergeStatuses(t *testing.T) {
	terminated := func(restarts int32, reason string) podlifecycle.Status {
		return podlifecycle.Status{Name: "a", State: podlifecycle.ContainerTerminated, Restarts: restarts, Exit: podlifecycle.Exit{Code: 137, Reason: reason}}
	}
	running := podlifecycle.Status{Name: "a", State: podlifecycle.ContainerRunning}
	for name, tc := range map[string]struct {
		stored, existing podlifecycle.Status
		want             string
	}{
		"the same termination":                {terminated(2, "OOMKilled"), terminated(2, ""), "OOMKilled"},
		"a later termination":                 {terminated(2, "OOMKilled"), terminated(3, ""), ""},
		"a termination during the restart":    {running, terminated(0, "OOMKilled"), "OOMKilled"},
		"a termination that was not reported": {podlifecycle.Status{Name: "b"}, terminated(0, "OOMKilled"), "OOMKilled"},
	} {
		got := mergeStatuses([]podlifecycle.Status{tc.stored}, []podlifecycle.Status{tc.existing})
		if s := got[len(got)-1]; s.Name != "a" || s.State != podlifecycle.ContainerTerminated || s.Exit.Reason != tc.want {
			t.Errorf("%s: %+v, want a termination with %q", name, s, tc.want)
		}
	}
}
