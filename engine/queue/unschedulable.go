package queue

import "github.com/berthproject/berth/engine/decision"

// UnschedulableGroups calls f for groups of unschedulable pods with one pod, the plugins
// that rejected it and the number of pods. It visits at most maxGroups groups, starting at
// index from, and returns the index to continue at, or 0 at the end. If the queue changes
// between calls, groups may be visited twice or not at all.
func (q *Queue) UnschedulableGroups(from, maxGroups int, f func(uid string, plugins decision.PluginSet, n int)) (next int) {
	groups := q.unschedulable.groups
	to := min(from+maxGroups, len(groups))
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
