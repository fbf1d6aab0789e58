package queue

import "github.com/berthproject/berth/engine/decision"

// Each calls yield with all pods, in no order at all, until it says no. It is for
// readers who sort by themselves, elsewhere.
func (q *Queue) Each(yield func(PendingPod) bool) {
	for _, e := range q.pods {
		if !yield(q.pendingPod(e)) {
			return
		}
	}
}

// UnschedulableGroups calls f for the pods of the unschedulable pool, those that wait for the
// same together: with one of them, the rules that rejected them, and how many they are.
// It goes through at most that many kinds of pods, beginning with number from, and
// returns where to go on; 0 at the end. What happens between two calls may have a kind
// told twice or not at all.
func (q *Queue) UnschedulableGroups(from, most int, f func(uid string, plugins decision.PluginSet, n int)) (next int) {
	groups := q.unschedulable.groups
	to := min(from+most, len(groups))
	for i := from; i < to; i++ {
		if head := groups[i].members.head(); head != nil {
			f(head.UID, groups[i].plugins, len(groups[i].members.items))
		}
	}
	if to == len(groups) {
		return 0
	}
	return max(to, 0)
}
