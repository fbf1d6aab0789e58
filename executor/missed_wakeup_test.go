package executor

import (
	"strings"
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/scheduling"
)

func TestMissedWakeupEvent(t *testing.T) {
	a, _ := newTestExecutor(nil)
	a.execute(t.Context(), scheduling.MissedWakeup{ID: 3, Pod: web, Node: "n7", RejectedBy: decision.PluginSet(0).With(decision.TaintToleration).With(decision.NodePorts)})
	ev := <-a.o.Events.queue
	if ev.Reason != "MissedWakeUp" || ev.Type != "Warning" || ev.Regarding.Name != "web" || !strings.Contains(ev.Note, "fits on node n7") || !strings.Contains(ev.Note, "its rejection by TaintToleration, NodePorts ") {
		t.Errorf("%+v", ev)
	}
}
