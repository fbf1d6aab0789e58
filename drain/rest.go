package drain

import (
	"strings"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
)

// unrest watches the pods that wait for a node.
type unrest struct {
	sign  string    // of who waits, and what is known of each
	since time.Time // when it changed last
}

func (u *unrest) observe(now time.Time, v *View) {
	var b strings.Builder
	for _, p := range v.Pending() {
		b.WriteString(p.UID + "/" + p.Nominated + "/" + p.Unscheduled + "\n")
	}
	if s := b.String(); s != u.sign || u.since.IsZero() {
		u.sign, u.since = s, now
	}
}

// mostAsked is how many waiting pods are looked at, beginning with the oldest.
const mostAsked = 200

// atRest says whether the scheduler has nothing to do: all pods that wait are known to fit
// nowhere, and nobody is making room for one. A pod that still waits after Patience.Rest
// without news is not waited for any more, as when the scheduler's rules are not ours.
func (m *Machine) atRest(now time.Time, v *View) (wake time.Time, ok bool) {
	until := m.unrest.since.Add(m.patience.Rest)
	for i, p := range v.Pending() {
		if i == mostAsked {
			break
		}
		if m.odd[p.UID] || m.rests(p) {
			continue
		}
		if now.Before(until) {
			return until, false
		}
		m.odd[p.UID] = true
	}
	return time.Time{}, true
}

// rests says that a waiting pod has been looked at and could get no node now.
func (m *Machine) rests(p *model.Pod) bool {
	placer := m.placers[p.Spec.SchedulerName]
	if placer == nil || p.Deleting || placer.Gate(p) != nil {
		return true
	}
	if p.Unscheduled == "" || p.Nominated != "" {
		return false
	}
	var s decision.Summary
	placer.Decide(p, &s)
	if s.Outcome != decision.Infeasible {
		return s.Outcome != decision.Scheduled
	}
	plan := placer.Preempt(p, &s)
	return plan == nil || plan.Tried != decision.Nominated
}

// decide is the node that a pod would get; empty: none.
func decide(placer scheduling.Placer, p *model.Pod) string {
	var s decision.Summary
	placer.Decide(p, &s)
	if s.Outcome != decision.Scheduled {
		return ""
	}
	return s.Choice
}

// replica is a copy of a pod as its owner makes one.
func replica(p *model.Pod, name, uid string) *model.Pod {
	return &model.Pod{Namespace: p.Namespace, Name: name, UID: uid, Labels: p.Labels, Spec: p.Spec, Owner: p.Owner, LocalData: p.LocalData}
}
