package scheduling

import (
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/queue"
)

// InQueue calls yield with all pods in the queue, in no order, until it says no.
func (m *Machine) InQueue(yield func(queue.PendingPod) bool) { m.queue.Each(yield) }

// Rejected calls f for the pods that wait for a change, those of a kind together:
// with the name of their profile, the rules that rejected them, and how many they are.
// It goes through at most that many kinds, beginning with number from, and returns
// where to go on; 0 at the end.
func (m *Machine) Rejected(from, most int, f func(profile string, rules decision.PluginSet, n int)) (next int) {
	return m.queue.UnschedulableGroups(from, most, func(uid string, rules decision.PluginSet, n int) {
		if pod := m.state.Pod(uid); pod != nil {
			f(pod.Spec.SchedulerName, rules, n)
		}
	})
}
