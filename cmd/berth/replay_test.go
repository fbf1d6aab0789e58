package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/berthproject/berth/internal/recording"
	"github.com/berthproject/berth/internal/testkit/recordings"
)

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
	recordings.Run(t, same, false)
	recordings.Run(t, altered, true)
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
