package plugins_test

import (
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/placement/plugins"
)

func TestEveryDefaultPluginRegistersEvents(t *testing.T) {
	for _, plugin := range framework.DefaultConfig().Filter {
		if plugins.Events(plugin) == decision.NoEvent || plugins.Events(plugin)&decision.NodeAdded == 0 {
			t.Errorf("%s registers %b, want NodeAdded included", plugin, plugins.Events(plugin))
		}
	}
	if got := plugins.EventsToRegister(0); got != decision.AnyEvent {
		t.Errorf("EventsToRegister of no plugin: %b, want all events, %b", got, decision.AnyEvent)
	}
	if got, want := plugins.EventsToRegister(decision.PluginSet(0).With(decision.NodeName).With(decision.NodePorts)), decision.NodeAdded|decision.PodRemoved; got != want {
		t.Errorf("EventsToRegister of NodeName and NodePorts: %b, want %b", got, want)
	}
}
