package scheduling

import "testing"

// A Look reads the API itself, and the watch may be behind it.
func TestTheWatchDoesNotUnbindWhatALookSaw(t *testing.T) {
	s := newStory(t)
	s.step("bind:a:n1", small("a", ""))
	s.step("look:a", s.answer(0, Unknown))
	seen := s.answer(0, Done)
	seen.Pod = small("a", "n1")
	s.step("bound:a:n1", seen)
	s.step("", small("a", "")) // older than what was seen
	if p := s.m.state.Pod("a"); p.NodeName != "n1" {
		t.Errorf("pod a is on %q, want n1", p.NodeName)
	}
}
