package scheduling

import "testing"

// TestStaleWatchDoesNotUnbindRefreshedPod checks that an event older than a RefreshPod is ignored.
func TestStaleWatchDoesNotUnbindRefreshedPod(t *testing.T) {
	s := newMachineTest(t)
	s.step("bind:a:n1", smallPod("a", ""))
	s.step("refresh:a", s.outcome(0, Unknown))
	refreshed := s.outcome(0, Done)
	refreshed.Pod = smallPod("a", "n1")
	s.step("bound:a:n1", refreshed)
	s.step("", smallPod("a", "")) // older than the refreshed pod
	if p := s.m.state.Pod("a"); p.NodeName != "n1" {
		t.Errorf("pod a is on %q, want n1", p.NodeName)
	}
}
