package evacuation

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
// case. On after, they are removed. There is one pair for schedulers that honor Holds and one,
// without Holds, for schedulers that do not.
type clusterForks struct {
	d              *Planned
	current, after *cluster.State
}

// forksFor returns the forks of a mode; it creates them once per Step.
func (d *Planned) forksFor(t *step, mode planning.Mode) *clusterForks {
	if f := d.step.forks[mode]; f != nil {
		return f
	}
	out := &clusterForks{d: d, current: d.view.State.Fork(), after: d.view.State.Fork()}
	d.step.forks[mode] = out
	for _, s := range []*cluster.State{out.current, out.after} {
		s.RemoveHolds(func(h *model.Hold) bool {
			return mode == planning.WithoutHolds || !h.Until.After(t.now) || d.moveOf(h) != nil
		})
	}
	for _, x := range d.moves {
		if x.inProgress() && x.Stage < Placed && !x.Cleanup() {
			out.addReplacement(x)
		}
	}
	return out
}

func (f *clusterForks) addReplacement(x *Move) {
	f.after.RemovePod(x.Pod.UID)
	for _, s := range []*cluster.State{f.current, f.after} {
		s.UpsertPod(planning.ExpectedReplacement(x.Pod, x.Planned.To))
	}
}

// checkPlacement checks whether the move is still valid on the current cluster. If not,
// it returns the reason, and final if no earlier move of the plan can change that.
func (f *clusterForks) checkPlacement(now time.Time, x *Move) (reason string, final bool) {
	profile := f.d.o.Profiles[x.Pod.Spec.SchedulerName]
	if profile == nil {
		return fmt.Sprintf("the profile of its scheduler %q is not known", x.Pod.Spec.SchedulerName), true
	}
	if until, reason, ok := f.d.o.Backoff.ActiveFor(now, x.Planned); ok {
		return fmt.Sprintf("%s; backing off until %s", reason, until.UTC().Format(time.RFC3339)), true
	}
	pod := f.current.Pod(x.Pod.UID)
	if pod == nil {
		return "the pod was deleted", true
	}
	for _, s := range []*cluster.State{f.current, f.after} {
		s.RemovePod(pod.UID)
	}
	defer func() {
		f.after.UpsertPod(pod)
		f.current.UpsertPod(pod)
	}()
	replacement := planning.ExpectedReplacement(x.Pod, "")
	replacement.NominatedNodeName = x.Planned.To
	if rec := placement.Evaluate(f.current, profile, f.d.o.Seed, replacement); !rec.NominatedFirst || rec.Choice != x.Planned.To {
		return "node " + x.Planned.To + " cannot fit it now", false
	}
	replacement.NominatedNodeName = ""
	if x.Planned.Mode == planning.WithHolds {
		if rec := placement.Evaluate(f.after, profile, f.d.o.Seed, replacement); rec.Outcome != decision.Scheduled || rec.Choice == x.From && !x.Planned.Emptied {
			return "the scheduler would now put its replacement back on " + x.From, false
		}
		return "", false
	}
	top, choice := planning.TopNodes(f.after, profile, f.d.o.Seed, pod)
	if choice == "" || slices.ContainsFunc(top, func(n string) bool { return !slices.Contains(x.Planned.TopNodes, n) }) {
		return fmt.Sprintf("the scheduler may now choose one of %v for its replacement instead of %v as planned", top, x.Planned.TopNodes), false
	}
	return "", false
}
