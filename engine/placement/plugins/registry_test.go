package plugins_test

import (
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/placement/plugins"
)

func TestEveryDefaultPluginRegistersEvents(t *testing.T) {
	for _, r := range framework.DefaultConfig().Filter {
		if plugins.Events(r) == decision.NoEvent || plugins.Events(r)&decision.NodeAdded == 0 {
			t.Errorf("%s: no new node wakes it: %b", r, plugins.Events(r))
		}
	}
	if plugins.EventsToRegister(0) != decision.AnyEvent {
		t.Error("a rejection by nobody must be woken by anything")
	}
	if got, want := plugins.EventsToRegister(decision.PluginSet(0).With(decision.NodeName).With(decision.NodePorts)), decision.NodeAdded|decision.PodRemoved; got != want {
		t.Errorf("two rules care for %b, want %b", got, want)
	}
}
