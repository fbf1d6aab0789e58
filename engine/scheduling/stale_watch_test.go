package scheduling

import "testing"

// RefreshPod reads the API, which may be ahead of the watch.
func TestStaleWatchDoesNotUnbindRefreshedPod(t *testing.T) {
	s := newMachineTest(t)
	s.step("bind:a:n1", small("a", ""))
	s.step("refresh:a", s.answer(0, Unknown))
	seen := s.answer(0, Done)
	seen.Pod = small("a", "n1")
	s.step("bound:a:n1", seen)
	s.step("", small("a", "")) // older than the refreshed pod
	if p := s.m.state.Pod("a"); p.NodeName != "n1" {
		t.Errorf("pod a is on %q, want n1", p.NodeName)
	}
}
