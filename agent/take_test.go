package agent

import (
	"testing"

	"github.com/berthproject/berth/engine/podlife"
)

func TestWhatWasToldOfAnEndStays(t *testing.T) {
	ended := func(restarts int32, reason string) podlife.Status {
		return podlife.Status{Name: "a", State: podlife.Ended, Restarts: restarts, Exit: podlife.Exit{Code: 137, Reason: reason}}
	}
	up := podlife.Status{Name: "a", State: podlife.Up}
	for name, tc := range map[string]struct {
		was, found podlife.Status
		want       string
	}{
		"the same end":  {ended(2, "OOMKilled"), ended(2, ""), "OOMKilled"},
		"a later end":   {ended(2, "OOMKilled"), ended(3, ""), ""},
		"an end since":  {up, ended(0, "OOMKilled"), "OOMKilled"},
		"an end untold": {podlife.Status{Name: "b"}, ended(0, "OOMKilled"), "OOMKilled"},
	} {
		got := merge([]podlife.Status{tc.was}, []podlife.Status{tc.found})
		if s := got[len(got)-1]; s.Name != "a" || s.State != podlife.Ended || s.Exit.Reason != tc.want {
			t.Errorf("%s: %+v, want an end with %q", name, s, tc.want)
		}
	}
}
