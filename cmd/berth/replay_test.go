package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/controllers/scheduler"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/internal/recording"
)

// recordRun records a run that binds one pod. If altered is set, the recorded Bind names another node.
func recordRun(t *testing.T, dir string, altered bool) {
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

func runReplay(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := replayCommand()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	err := cmd.Execute()
	return out.String(), err
}

func TestReplayPrintsWakeUpDifference(t *testing.T) {
	var text strings.Builder
	out := replayOutput{Runs: []*recording.Result{{Steps: 3, Difference: &recording.Difference{Step: 3, Recorded: "wake-up at 1", Replayed: "wake-up at 2"}}}}
	if err := out.print(&text); err != nil || !strings.Contains(text.String(), "the wake-up time differs") || strings.Contains(text.String(), "effect 0") {
		t.Errorf("got %q, %v, want a different wake-up time", text.String(), err)
	}
}

func TestReplayCommand(t *testing.T) {
	same, altered := t.TempDir(), t.TempDir()
	recordRun(t, same, false)
	recordRun(t, altered, true)
	if out, err := runReplay(t, "--journal", same); err != nil || !strings.Contains(out, "1 steps with 2 events\n  all 1 decisions and requests are identical") {
		t.Errorf("got %q, %v; want identical decisions", out, err)
	}
	out, err := runReplay(t, "--journal", altered, "-o", "json")
	if err == nil {
		t.Error("altered decision: got no error, want one")
	}
	var result replayOutput
	if i := strings.LastIndexByte(out, '}'); json.Unmarshal([]byte(out[:i+1]), &result) != nil || result.Equal || !strings.Contains(result.Runs[0].Difference.Recorded, `"Node":"n2"`) || !strings.Contains(result.Runs[0].Difference.Replayed, `"Node":"n1"`) {
		t.Errorf("got %s, want a difference between n2 and n1", out)
	}
	if _, err := runReplay(t, "--journal", t.TempDir()); err == nil || !strings.Contains(err.Error(), "has no inputs of a scheduler") {
		t.Errorf("an empty journal: got %v, want an error", err)
	}
}
