package execution

import (
	"fmt"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
)

// clusterForks are two copies of the cluster that include the moves in progress. On current,
// the evicted pods still occupy their nodes beside their replacements, which is the worst
// case. On after, they are gone. There is one pair for schedulers that honor Holds and one for
// others, without Holds.
type clusterForks struct {
	m              *Machine
	current, after *cluster.State
}

// forksFor returns the forks of a mode; it creates them once per Step.
func (t *step) forksFor(mode planning.Mode) *clusterForks {
	if t.forks[mode] != nil {
		return t.forks[mode]
	}
	out := &clusterForks{m: t.m, current: t.v.State.Fork(), after: t.v.State.Fork()}
	t.forks[mode] = out
	for _, s := range []*cluster.State{out.current, out.after} {
		s.RemoveHolds(func(h *model.Hold) bool {
			return mode == planning.WithoutHolds || !h.Until.After(t.now) || t.m.moveOf(h) != nil
		})
	}
	for _, x := range t.m.moves {
		if x.inProgress() && x.Stage < Placed && !x.Cleanup() {
			out.addReplacement(x)
		}
	}
	return out
}

// addToForks adds the replacement of a move to all existing forks.
func (t *step) addToForks(x *Move) {
	for _, p := range t.forks {
		if p != nil {
			p.addReplacement(x)
		}
	}
}

// addReplacement adds the replacement of a move.
func (p *clusterForks) addReplacement(x *Move) {
	p.after.RemovePod(x.Pod.UID)
	for _, s := range []*cluster.State{p.current, p.after} {
		s.UpsertPod(planning.ExpectedReplacement(x.Pod, x.To))
	}
}

// checkPlacement checks whether the move is still valid on the current cluster. It returns why
// not, and whether earlier moves of the plan cannot change that.
func (p *clusterForks) checkPlacement(now time.Time, x *Move) (reason string, final bool) {
	profile := p.m.o.Profiles[x.Pod.Spec.SchedulerName]
	if profile == nil {
		return fmt.Sprintf("the profile of its scheduler %q is not known", x.Pod.Spec.SchedulerName), true
	}
	if until, reason, ok := p.m.o.Backoff.ActiveFor(now, x.Move); ok {
		return fmt.Sprintf("%s; backing off until %s", reason, until.UTC().Format(time.RFC3339)), true
	}
	pod := p.current.Pod(x.Pod.UID)
	if pod == nil {
		return "it is gone", true
	}
	for _, s := range []*cluster.State{p.current, p.after} {
		s.RemovePod(pod.UID)
	}
	defer func() {
		p.after.UpsertPod(pod)
		p.current.UpsertPod(pod)
	}()
	replacement := planning.ExpectedReplacement(x.Pod, "")
	replacement.NominatedNodeName = x.To
	if rec := placement.Evaluate(p.current, profile, p.m.o.Seed, replacement); !rec.NominatedFirst || rec.Choice != x.To {
		return "node " + x.To + " cannot fit it now", false
	}
	replacement.NominatedNodeName = ""
	if x.Mode == planning.WithHolds {
		if rec := placement.Evaluate(p.after, profile, p.m.o.Seed, replacement); rec.Outcome != decision.Scheduled || rec.Choice == x.From && !x.Emptied {
			return "the scheduler would now put its replacement back on " + x.From, false
		}
		return "", false
	}
	top, choice := planning.TopNodes(p.after, profile, p.m.o.Seed, pod)
	if choice == "" || slices.ContainsFunc(top, func(n string) bool { return !slices.Contains(x.TopNodes, n) }) {
		return fmt.Sprintf("the scheduler may now choose one of %v for its replacement instead of %v as planned", top, x.TopNodes), false
	}
	return "", false
}
