package executor

import (
	"strings"
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/scheduling"
)

func TestMissedWakeupEvent(t *testing.T) {
	x, _ := newTestExecutor(nil)
	x.Execute(t.Context(), scheduling.MissedWakeup{ID: 3, Pod: web, Node: "n7", RejectedBy: decision.PluginSet(0).With(decision.TaintToleration).With(decision.NodePorts)})
	ev := <-x.o.Events.queue
	if ev.Reason != "MissedWakeUp" || ev.Type != "Warning" || ev.Regarding.Name != "web" || !strings.Contains(ev.Note, "fits on node n7") || !strings.Contains(ev.Note, "its rejection by TaintToleration, NodePorts ") {
		t.Errorf("event %+v, want a MissedWakeUp warning with the node and the plugins", ev)
	}
}
