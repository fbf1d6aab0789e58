package podgc_test

import (
	"fmt"
	"time"

	"github.com/berthproject/berth/engine/podgc"
)

// The pods of a deleted node are collected after the quarantine.
func ExampleCollector_Collect() {
	c := podgc.New(podgc.Options{Quarantine: podgc.Quarantine})
	pods := []podgc.Pod{{Namespace: "default", Name: "web", UID: "1", Node: "deleted"}}
	now := time.Unix(0, 0)
	for range 3 {
		for _, r := range c.Collect(now, pods, func(string) (podgc.Node, bool) { return podgc.Node{}, false }) {
			fmt.Println(now.Unix(), r.Pod.Name, r.Reason == podgc.Orphan)
		}
		now = now.Add(podgc.Period)
	}
	// Output:
	// 40 web true
}
