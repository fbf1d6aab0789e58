package displacement_test

import (
	"fmt"
	"time"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
)

func ExampleRecord_Message() {
	grace := int64(30)
	r := displacement.Record{
		Cause:   displacement.Taint,
		Victim:  &model.Pod{Namespace: "default", Name: "web", UID: "1", Spec: &model.PodSpec{}},
		Node:    "n1",
		Rule:    "taint node.kubernetes.io/unreachable:NoExecute tolerated for 300 s",
		Grace:   &grace,
		Entries: []displacement.Entry{{Budget: "web", Overruled: true}},
	}
	fmt.Println(r.Message())
	// Output:
}

// Each time a replacement is evicted again, the owner's pods avoid the node for twice as long.
func ExampleBackoff_Avoid() {
	start := time.Unix(0, 0)
	b := displacement.Backoff{First: time.Minute, Max: time.Hour}
	evictions := []displacement.Eviction{
		{UID: "a", Cause: displacement.Pressure, Created: start, At: start.Add(time.Minute)},
		{UID: "b", Cause: displacement.Pressure, Created: start.Add(2 * time.Minute), At: start.Add(3 * time.Minute)},
	}
	a, _ := b.Avoid(evictions)
	fmt.Println(a.Count, "evictions, avoid for", a.Until.Sub(a.Since))
	// Output:
}

func ExampleMatchReplacements() {
	start := time.Unix(0, 0)
	displaced := []displacement.DisplacedPod{{UID: "old", Name: "db-0", Node: "n1", At: start}}
	pods := []displacement.OwnerPod{
		{UID: "other", Name: "db-1", Node: "n2", Created: start.Add(time.Second)},
		{UID: "new", Name: "db-0", Node: "n3", Created: start.Add(2 * time.Second)},
	}
	fmt.Println(displacement.MatchReplacements("StatefulSet", displaced, pods))
	// Output:
}
