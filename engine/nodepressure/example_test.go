package nodepressure_test

import (
	"fmt"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodepressure"
)

// The pod that exceeds its memory request is evicted.
func ExampleMachine_Step() {
	hard := nodepressure.Threshold{Signal: nodepressure.MemoryAvailable, Value: nodepressure.Value{Quantity: nodepressure.Bytes(100 << 20)}}
	m := nodepressure.New(nodepressure.Config{Thresholds: []nodepressure.Threshold{hard}, TransitionPeriod: 5 * time.Minute})

	pod := func(name string, request, use int64) nodepressure.Pod {
		spec := &model.PodSpec{Requests: model.Resources{Memory: request}}
		return nodepressure.Pod{Pod: &model.Pod{Namespace: "default", Name: name, UID: name, Spec: spec},
			Stats: &nodepressure.PodStats{MemoryKnown: true, Memory: use}}
	}
	var o nodepressure.Observation
	o.Signals[nodepressure.MemoryAvailable] = nodepressure.Stat{Known: true, Available: 50 << 20, Capacity: 4 << 30}
	o.Pods = func() []nodepressure.Pod {
		return []nodepressure.Pod{pod("within-request", 2<<30, 1<<30), pod("over-request", 1<<30, 2<<30)}
	}
	effects, _ := m.Step(time.Unix(0, 0), &o)
	for _, e := range effects {
		switch e := e.(type) {
		case nodepressure.ConditionChanged:
			fmt.Println(nodepressure.ConditionType(e.Pressure), m.Conditions()[e.Pressure].True)
		case nodepressure.Evict:
			fmt.Println("evict", e.Pod.Name)
		}
	}
	// Output:
	// MemoryPressure true
	// evict over-request
}
