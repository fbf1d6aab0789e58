package explain

import (
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/nodelifecycle"
)

// TestWideColumns checks the columns that only wide output has.
func TestWideColumns(t *testing.T) {
	zones := ZonesOf([]nodelifecycle.Node{unreadyNode("a1", displacedAt)}, nodelifecycle.Defaults(), displacedAt.Add(time.Minute))
	for _, tc := range []struct {
		name  string
		write func(b *strings.Builder, o TextOptions) error
		want  []string
	}{
		{"queue", func(b *strings.Builder, o TextOptions) error {
			return QueueText(b, []PendingPod{{Pod: "a/p", Scheduler: "gpu-scheduler", State: PendingNominated, Nominated: "n7"}}, o)
		}, []string{"SCHEDULER", "NOMINATED NODE", "gpu-scheduler"}},
		{"evictions", func(b *strings.Builder, o TextOptions) error { return EvictionsText(b, testDisplacements(), o) },
			[]string{"OWNER", "DELETED AFTER", "MESSAGE", "ReplicaSet/web", "The node was low on resource: memory."}},
		{"zones", func(b *strings.Builder, o TextOptions) error { return ZonesText(b, zones, o) },
			[]string{"LAST TAINT", "SINCE", "TAINT AT", displacedAt.Format(time.RFC3339)}},
	} {
		var narrow, wide strings.Builder
		if err := tc.write(&narrow, TextOptions{Now: displacedAt}); err != nil {
			t.Fatal(err)
		}
		if err := tc.write(&wide, TextOptions{Now: displacedAt, Wide: true}); err != nil {
			t.Fatal(err)
		}
		for _, want := range tc.want {
			if strings.Contains(narrow.String(), want) || !strings.Contains(wide.String(), want) {
				t.Errorf("%s: %q is not in the wide output only:\n%s\n%s", tc.name, want, narrow.String(), wide.String())
			}
		}
	}
}

func unreadyNode(name string, since time.Time) nodelifecycle.Node {
	return nodelifecycle.Node{Name: name, Zone: "r/a", Conditions: []nodelifecycle.Condition{{Type: nodelifecycle.Ready, Status: nodelifecycle.Unknown, Transition: since}}}
}
