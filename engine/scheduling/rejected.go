package scheduling

import "github.com/berthproject/berth/engine/decision"

// Rejected calls f for the pods that wait for a change, those of a kind together:
// with the name of their profile, the rules that rejected them, and how many they are.
func (m *Machine) Rejected(f func(profile string, rules decision.RuleSet, n int)) {
	m.queue.Rejected(func(uid string, rules decision.RuleSet, n int) {
		if pod := m.state.Pod(uid); pod != nil {
			f(pod.Spec.SchedulerName, rules, n)
		}
	})
}
