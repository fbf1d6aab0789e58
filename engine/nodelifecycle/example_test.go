package nodelifecycle_test

import (
	"fmt"
	"time"

	"github.com/berthproject/berth/engine/nodelifecycle"
)

func readyNode(name string, s nodelifecycle.Status) nodelifecycle.Node {
	return nodelifecycle.Node{Name: name, UID: name, Zone: "eu/a",
		Conditions: []nodelifecycle.Condition{{Type: nodelifecycle.Ready, Status: s}}}
}

// A node without a heartbeat becomes Unknown after the grace period.
func ExampleMachine_Step() {
	start := time.Unix(0, 0)
	m := nodelifecycle.New(nodelifecycle.Defaults(), start)
	_, wake := m.Step(start, []nodelifecycle.Event{readyNode("n1", nodelifecycle.True)})
	for range 20 {
		now := wake
		var effects []nodelifecycle.Effect
		effects, wake = m.Step(now, nil)
		for _, e := range effects {
			if effect, ok := e.(nodelifecycle.MarkUnknown); ok {
				fmt.Println(effect.Node, "has been silent since", effect.SilentSince.Sub(start), "at", now.Sub(start).Round(time.Second))
				return
			}
		}
	}
	// Output:
	// n1 has been silent since 0s at 50s
}

func ExampleComputeZones() {
	nodes := []nodelifecycle.Node{readyNode("n1", nodelifecycle.True), readyNode("n2", nodelifecycle.Unknown)}
	zones, allDown := nodelifecycle.ComputeZones(nodes, nodelifecycle.Defaults(), time.Unix(0, 0))
	fmt.Println(zones[0].Name, zones[0].State, "queued:", zones[0].Queue[0].Node, "all down:", allDown)
	// Output:
	// eu/a Normal queued: n2 all down: false
}
