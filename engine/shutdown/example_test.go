package shutdown_test

import (
	"fmt"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/shutdown"
)

// Critical pods stop after all other pods.
func ExampleMachine_Step() {
	classes := shutdown.DefaultClasses(30*time.Second, 10*time.Second)
	m := shutdown.New(classes, []shutdown.Pod{
		{UID: "dns", Priority: model.SystemCriticalPriority, Grace: time.Minute},
		{UID: "web", Grace: 30 * time.Second},
	})
	now := time.Unix(0, 0)
	stops, wake, _ := m.Step(now)
	fmt.Println(stops, "next at", wake.Sub(now))
	stops, _, _ = m.Step(now.Add(5*time.Second), "web")
	fmt.Println(stops)
	_, _, done := m.Step(now.Add(6*time.Second), "dns")
	fmt.Println("done:", done)
	// Output:
	// [{web 20s}] next at 20s
	// [{dns 10s}]
	// done: true
}
