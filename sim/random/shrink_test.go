package random

import (
	"strings"
	"testing"
)

// TestShrink: of two hundred lines those are left without which the pod is not
// bound and then moved.
func TestShrink(t *testing.T) {
	text := Generate(4, 100)
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "until ") {
			lines[i] = "at 3000s pod mover priority=1000000\nat 3010s move mover elsewhere\n"
		}
	}
	less, err := Shrink(strings.Join(lines, ""), 3000)
	if violatedInvariant(err) != "NeverMoves" {
		t.Fatalf("it fails with %v, want NeverMoves", err)
	}
	if n := strings.Count(less, "\n"); n > 4 || !strings.Contains(less, "move mover elsewhere") {
		t.Errorf("%d lines are left:\n%s", n, less)
	}
	if again := Run(less); violatedInvariant(again) != "NeverMoves" {
		t.Errorf("what is left ends with %v", again)
	}
}

// TestGenerateIsDeterministic: seeds alone decide.
func TestGenerateIsDeterministic(t *testing.T) {
	if Generate(7, events) != Generate(7, events) {
		t.Error("two texts of one seed differ")
	}
	if Generate(7, events) == Generate(8, events) {
		t.Error("two seeds make the same text")
	}
}

// TestGenerateCoversAllEvents: the generator reaches every verb that it is made for.
func TestGenerateCoversAllEvents(t *testing.T) {
	var all strings.Builder
	for seed := range int64(60) {
		all.WriteString(Generate(seed, events))
	}
	for _, want := range []string{"kill scheduler", "kill agent", "kill disruption", "kill taints", "kill records", "evict p", "drain n", "NoExecute", "condition n", "tolerate p", "replicaset w", "statefulset s", "deployment e", "image e", "daemonset d", "scale w", "always", "start agent", "drop scheduler", "repeat scheduler", "fault delayed bind",
		"fault partial preempt", "ungate", "bind p", "budget b", "delete node", "delete pod", "resize", "cordon", "untaint", "label node", "label pod",
		"claims=", "spread=", "anti=", "affinity=", "ports=", "never", "replace", "grace="} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("sixty simulations never say %q", want)
		}
	}
}
