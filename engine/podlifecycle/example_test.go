package podlifecycle_test

import (
	"fmt"
	"time"

	"github.com/berthproject/berth/engine/podlifecycle"
)

// The main container starts after the init container has succeeded.
func ExampleMachine_Step() {
	m := podlifecycle.New(podlifecycle.Spec{
		Init:       []podlifecycle.Container{{Name: "setup"}},
		Containers: []podlifecycle.Container{{Name: "main"}},
	})
	now := time.Unix(0, 0).UTC()
	step := func(events ...podlifecycle.Event) {
		effects, _ := m.Step(now, events...)
		for _, e := range effects {
			fmt.Printf("%T %+v\n", e, e)
		}
		now = now.Add(time.Second)
	}
	step()
	step(podlifecycle.Started{Container: "setup"})
	step(podlifecycle.Exited{Container: "setup"})
	step(podlifecycle.Started{Container: "main"})
	fmt.Println("running:", m.Phase() == podlifecycle.Running, "ready:", m.Ready())
	step(podlifecycle.Delete{Grace: time.Minute})
	step(podlifecycle.Exited{Container: "main"})
	// Output:
	// podlifecycle.Start {Container:setup Attempt:0}
	// podlifecycle.Start {Container:main Attempt:0}
	// running: true ready: true
	// podlifecycle.Stop {Container:main Until:1970-01-01 00:01:04 +0000 UTC}
	// podlifecycle.PodStopped {}
	// podlifecycle.PodRemoved {}
}
