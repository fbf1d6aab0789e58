package explain

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodelifecycle"
)

func TestZonesText(t *testing.T) {
	now := time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)
	ago := func(s int) time.Time { return now.Add(-time.Duration(s) * time.Second) }
	node := func(name, zone string, ready nodelifecycle.Status, since int, tainted int) nodelifecycle.Node {
		n := nodelifecycle.Node{Name: name, Zone: zone, Conditions: []nodelifecycle.Condition{{Type: nodelifecycle.Ready, Status: ready, Transition: ago(since)}}}
		if tainted > 0 {
			n.Taints = []model.TimedTaint{{Taint: model.Taint{Key: nodelifecycle.TaintUnreachable, Effect: model.NoExecute}, Added: ago(tainted)}}
		}
		return n
	}
	nodes := []nodelifecycle.Node{
		node("a1", "r/a", nodelifecycle.True, 100, 0), node("a2", "r/a", nodelifecycle.Unknown, 30, 4), node("a3", "r/a", nodelifecycle.Unknown, 20, 0), node("a4", "r/a", nodelifecycle.False, 25, 0),
		node("b1", "r/b", nodelifecycle.Unknown, 50, 0), node("b2", "r/b", nodelifecycle.Unknown, 40, 0), node("c1", "", nodelifecycle.True, 40, 0),
	}
	for name, tc := range map[string]struct {
		nodes []nodelifecycle.Node
		want  string
	}{
		"some nodes are unready": {nodes, `
ZONE       STATE              READY   TAINTED  QUEUED  RATE
(no zone)  Normal             1 of 1  0        0       1 node per 10s
r/a        PartialDisruption  1 of 4  1        2       none: 50 nodes or fewer,
                                                       and 55 % or more are not
                                                       ready
r/b        FullDisruption     0 of 2  0        2       1 node per 10s

UNREADY NODE  ZONE  READY    FOR  NOEXECUTE TAINT
a2            r/a   Unknown  30s  for 4s
a4            r/a   False    25s  position 1, not before the rate changes
a3            r/a   Unknown  20s  position 2, not before the rate changes
b1            r/b   Unknown  50s  position 1, now
b2            r/b   Unknown  40s  position 2, in 10s
`},
		"all nodes are unready": {nodes[4:6], `
No zone has a ready node: no node is tainted and no pod evicted.
ZONE  STATE           READY   TAINTED  QUEUED  RATE
r/b   FullDisruption  0 of 2  0        2       none: no zone has a ready node

UNREADY NODE  ZONE  READY    FOR  NOEXECUTE TAINT
b1            r/b   Unknown  50s  position 1, not before the rate changes
b2            r/b   Unknown  40s  position 2, not before the rate changes
`},
		"no node": {nil, "\nZONE  STATE  READY  TAINTED  QUEUED  RATE\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			if err := ZonesText(&b, ZonesOf(tc.nodes, nodelifecycle.Defaults(), now), TextOptions{Now: now}); err != nil {
				t.Fatal(err)
			}
			if got := "\n" + b.String(); got != tc.want {
				t.Errorf("got %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestZonesJSON(t *testing.T) {
	js, err := json.Marshal(ZonesOf(nil, nodelifecycle.Defaults(), time.Time{}))
	if err != nil || !strings.Contains(string(js), `"zones":[]`) {
		t.Errorf("got error %v and %s, want an empty list of zones", err, js)
	}
}
