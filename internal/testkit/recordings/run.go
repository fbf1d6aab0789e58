package recordings

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/berthproject/berth/controllers/scheduler"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/internal/recording"
)

// Run records a run that binds one pod. If altered is set, the recorded Bind names another node.
func Run(t testing.TB, dir string, altered bool) {
	t.Helper()
	r, err := recording.Open(dir, recording.Options{Writer: "up"})
	if err != nil {
		t.Fatal(err)
	}
	now, options := time.Unix(1000, 0), map[string]any{"Seed": 1, "VictimsTimeout": time.Minute}
	if err := r.Start(now, options); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	m, err := scheduler.NewRecordedMachine(data)
	if err != nil {
		t.Fatal(err)
	}
	events := []scheduling.Event{&model.Node{Name: "n1", Allocatable: model.Resources{MilliCPU: 1000, Memory: 1 << 30}, AllocatablePods: 10, Ready: true},
		&model.Pod{Namespace: "shop", Name: "web", UID: "u1", Spec: &model.PodSpec{SchedulerName: "default-scheduler"}}}
	effects, wake := m.Step(now, events, 10)
	if altered {
		b := effects[0].(scheduling.Bind)
		b.Node = "n2"
		effects = []scheduling.Effect{b}
	}
	r.Add(now, events, 10, effects, wake)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}
