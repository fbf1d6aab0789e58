package queue

import "github.com/berthproject/berth/engine/decision"

// Rejected calls f for the pods of the unschedulable pool, those that wait for the
// same together: with one of them, the rules that rejected them, and how many they are.
// Its cost grows with the kinds of pods and not with the pods.
func (q *Queue) Rejected(f func(uid string, rules decision.RuleSet, n int)) {
	for _, g := range q.unschedulable.groups {
		if head := g.members.head(); head != nil {
			f(head.UID, g.rules, len(g.members.items))
		}
	}
}
