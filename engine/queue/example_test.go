package queue_test

import (
	"fmt"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/queue"
)

func ExampleQueue_Pop() {
	q := queue.New(queue.DefaultConfig())
	now := time.Unix(0, 0)
	q.Add(now, queue.Pod{UID: "1", Namespace: "default", Name: "low", Priority: 0})
	q.Add(now, queue.Pod{UID: "2", Namespace: "default", Name: "high", Priority: 100})
	for {
		p, ok := q.Pop(now)
		if !ok {
			break
		}
		fmt.Println(p.Key(), p.Attempts)
		q.Remove(p.UID)
	}
	// Output:
	// default/high 1
	// default/low 1
}

func ExampleQueue_HandleEvent() {
	cfg := queue.DefaultConfig()
	cfg.InitialBackoff = 0
	cfg.EventsToRegister = func(decision.PluginSet) decision.ClusterEvents { return decision.NodeAdded }
	q := queue.New(cfg)
	now := time.Unix(0, 0)
	q.Add(now, queue.Pod{UID: "1", Namespace: "default", Name: "web"})
	p, _ := q.Pop(now)
	q.RequeueUnschedulable(now, p.UID, decision.PluginSet(0).With(decision.NodeResourcesFit))
	fmt.Println(q.PoolOf("1"))

	q.HandleEvent(now, decision.Delta{Events: decision.PodRemoved})
	fmt.Println(q.PoolOf("1"))
	q.HandleEvent(now, decision.Delta{Events: decision.NodeAdded})
	fmt.Println(q.PoolOf("1"))
	// Output:
	// unschedulable
	// unschedulable
	// active
}

func ExampleQueue_Depths() {
	q := queue.New(queue.DefaultConfig())
	now := time.Unix(0, 0)
	q.Add(now, queue.Pod{UID: "1"})
	q.AddGated(now, queue.Pod{UID: "2"}, decision.SchedulingGates)
	d := q.Depths()
	fmt.Println(d.Active, d.Gated)
	// Output: 1 1
}
