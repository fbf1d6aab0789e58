package placement

import (
	"testing"

	"github.com/berthproject/berth/engine/decision"
)

func TestEveryDefaultPluginRegistersEvents(t *testing.T) {
	for _, r := range DefaultConfig().Filter {
		if Events(r) == decision.NoEvent || Events(r)&decision.NodeAdded == 0 {
			t.Errorf("%s: no new node wakes it: %b", r, Events(r))
		}
	}
	if EventsToRegister(0) != decision.AnyEvent {
		t.Error("a rejection by nobody must be woken by anything")
	}
	if got, want := EventsToRegister(decision.PluginSet(0).With(decision.NodeName).With(decision.NodePorts)), decision.NodeAdded|decision.PodRemoved; got != want {
		t.Errorf("two rules care for %b, want %b", got, want)
	}
}
