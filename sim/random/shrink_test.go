package random

import (
	"strings"
	"testing"
)

// TestShrink checks that of more than a hundred lines only those remain that bind a pod and then move it.
func TestShrink(t *testing.T) {
	text := Generate(4, 100)
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "until ") {
			lines[i] = "at 3000s pod mover priority=1000000\nat 3010s move mover elsewhere\n"
		}
	}
	remaining, err := Shrink(strings.Join(lines, ""), 3000)
	if violatedInvariant(err) != "NeverMoves" {
		t.Fatalf("got %v, want NeverMoves", err)
	}
	if n := strings.Count(remaining, "\n"); n > 4 || !strings.Contains(remaining, "move mover elsewhere") {
		t.Errorf("%d lines remain, want at most 4 with the move:\n%s", n, remaining)
	}
	if rerun := Run(remaining); violatedInvariant(rerun) != "NeverMoves" {
		t.Errorf("the remaining lines give %v, want NeverMoves", rerun)
	}
}

func TestGenerateIsDeterministic(t *testing.T) {
	first, second := Generate(7, events), Generate(7, events)
	if first != second {
		t.Error("equal seeds generated different scenarios")
	}
	if Generate(7, events) == Generate(8, events) {
		t.Error("different seeds generated equal scenarios")
	}
}

// TestGenerateCoversAllEvents checks that the generator uses every verb.
func TestGenerateCoversAllEvents(t *testing.T) {
	var all strings.Builder
	for seed := range int64(60) {
		all.WriteString(Generate(seed, events))
	}
	for _, want := range []string{"kill scheduler", "kill agent", "kill disruption", "kill taints", "kill records", "evict p", "drain n", "NoExecute", "condition n", "tolerate p", "replicaset w", "statefulset s", "deployment e", "image e", "daemonset d", "scale w", "always", "start agent", "drop scheduler", "repeat scheduler", "fault delayed bind",
		"fault partial preempt", "ungate", "bind p", "budget b", "delete node", "delete pod", "resize", "cordon", "untaint", "label node", "label pod",
		"claims=", "spread=", "anti=", "affinity=", "ports=", "never", "replace", "grace="} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("60 scenarios without %q", want)
		}
	}
}
