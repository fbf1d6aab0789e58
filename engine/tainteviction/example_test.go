package tainteviction_test

import (
	"fmt"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/tainteviction"
)

// A pod that tolerates the taint for 300 s is evicted after that time.
func ExampleMachine_Step() {
	start := time.Unix(1000, 0)
	m := tainteviction.New(tainteviction.Options{}, start)
	seconds := int64(300)
	taint := model.Taint{Key: "example.com/maintenance", Effect: model.NoExecute}
	_, wake := m.Step(start, []tainteviction.Event{
		tainteviction.Node{Name: "n1", Taints: []model.TimedTaint{{Taint: taint, Added: start}}},
		tainteviction.Pod{Namespace: "default", Name: "web", UID: "1", Node: "n1", Bound: start,
			Tolerations: []model.Toleration{{Key: taint.Key, Op: model.TolExists, Seconds: &seconds}}},
	})
	fmt.Println("due after", wake.Sub(start))
	effects, _ := m.Step(wake, nil)
	fmt.Println("evict", effects[0].(tainteviction.Evict).Pod.Name)
	// Output:
	// due after 5m0s
	// evict web
}
