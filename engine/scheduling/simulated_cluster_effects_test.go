package scheduling

import (
	"fmt"
	"slices"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling/profiles"
)

// fails reports a fault, once in n calls.
func (w *simulatedCluster) fails(n int) bool { return !w.noFaults && w.r.Intn(n) == 0 }

// checkReservedResources checks that a bind does not use resources reserved for a pod of higher
// priority.
func (w *simulatedCluster) checkReservedResources(b Bind) {
	id, ok := w.m.state.NodeID(b.Node)
	if a := w.m.attempts[b.Pod.UID]; !ok || b.Retry || a == nil || a.volumePlan != nil { // it used the resources before
		return
	}
	reason := ""
	sum := w.m.state.Node(id).Used.MilliCPU
	for _, uid := range w.order {
		p := w.m.state.Pod(uid)
		if p != nil && !p.Deleting && w.nominated[uid] == b.Node && uid != b.Pod.UID && p.NodeName == "" && p.Spec.Priority > b.Pod.Spec.Priority {
			sum += p.Spec.Requests.MilliCPU
			reason += fmt.Sprintf(" %s (API %+v, nomination %+v)", uid, w.pods[uid], w.m.nominations[uid])
		}
	}
	if sum > w.nodes[b.Node] {
		w.t.Fatalf("pod %s of priority %d is bound to %s, where %d of %d are used or reserved for higher priorities:%s",
			b.Pod.UID, b.Pod.Spec.Priority, b.Node, sum, w.nodes[b.Node], reason)
	}
}

// countAssumingEffects counts the effects that assume a pod.
func countAssumingEffects(effects []Effect) (n int) {
	for _, e := range effects {
		switch e.(type) {
		case Bind, BindVolumes:
			n++
		}
	}
	return n
}

// carryOutPreempt carries out a Preempt in full, in part or not at all, with or without an outcome.
func (w *simulatedCluster) carryOutPreempt(e Preempt) {
	for _, v := range e.Plan.Victims {
		if v.Spec.Priority >= e.Pod.Spec.Priority {
			w.t.Fatalf("pod %s of priority %d is a victim of %s, which has %d", v.UID, v.Spec.Priority, e.Pod.UID, e.Pod.Spec.Priority)
		}
		if displacement.Preemption.IsTerminating(v) {
			w.t.Fatalf("pod %s is evicted twice", v.UID)
		}
	}
	w.nominated[e.Pod.UID] = e.Plan.Node
	choice := w.r.Intn(12)
	if w.noFaults {
		choice = 11
	}
	o := Outcome{ID: e.ID}
	switch choice {
	case 0:
		o.Result = Unknown
	case 1: // it stops part way
		o.Result = Unknown
		w.displace(e, w.r.Intn(4))
	case 2:
		o = w.displace(e, 4)
		o.ID, o.Result = e.ID, Unknown
	case 3: // done, without an outcome
		w.displace(e, 4)
		return
	case 4:
		o.Result = Conflict
	case 5:
		o.Result, o.Reason = Refused, "forbidden"
	default:
		o = w.displace(e, 4)
		o.ID = e.ID
	}
	w.due = append(w.due, o)
}

// displace does the first steps of a Preempt: nominate, debit, mark, delete.
func (w *simulatedCluster) displace(e Preempt, steps int) Outcome {
	p := w.pods[e.Pod.UID]
	if p == nil {
		return Outcome{Result: Conflict}
	}
	if steps > 0 {
		w.change(p.UID, func(p *model.Pod) { p.NominatedNodeName = e.Plan.Node })
	}
	if steps > 1 {
		if o := w.debit(e); o.Result != Done {
			return o
		}
	}
	for _, step := range []struct {
		from int
		do   func(*model.Pod)
	}{
		{2, func(p *model.Pod) { p.DisruptionReason = displacement.Preemption.Reason() }},
		{3, func(p *model.Pod) { p.Deleting = true }},
	} {
		for _, v := range e.Plan.Victims {
			if steps > step.from && w.pods[v.UID] != nil {
				w.change(v.UID, step.do)
			}
		}
	}
	return Outcome{}
}

// answer returns the extenders' answer: some nodes removed, an error, or a delay.
func (w *simulatedCluster) answer(e CallExtenders) Outcome {
	o := Outcome{ID: e.ID, ExtenderResult: &ExtenderResult{}}
	if w.fails(5) {
		o.Result = Result(1 + w.r.Intn(3))
		return o
	}
	for _, n := range e.Nodes {
		if w.fails(4) {
			o.ExtenderResult.FailedNodes = append(o.ExtenderResult.FailedNodes, FailedNode{Node: n.Node, Reason: "no"})
		} else {
			o.ExtenderResult.Nodes = append(o.ExtenderResult.Nodes, profiles.NodeScore{Node: n.Node, Score: w.r.Int63n(100)})
		}
	}
	return o
}

func (w *simulatedCluster) answerVictims(e CallPreemptionExtenders) Outcome {
	o := Outcome{ID: e.ID}
	if w.fails(5) {
		o.Result = Result(1 + w.r.Intn(3))
	}
	for _, c := range e.Candidates {
		if !w.fails(4) {
			o.Candidates = append(o.Candidates, c)
		}
	}
	return o
}

// debit debits the budget.
func (w *simulatedCluster) debit(e Preempt) Outcome {
	b := w.budget
	b.Disrupted = slices.Clone(b.Disrupted)
	for _, d := range e.Plan.Debits {
		undebited := slices.DeleteFunc(slices.Clone(d.Granted), func(n string) bool { return slices.Contains(b.Disrupted, n) })
		if int(b.DisruptionsAllowed) < len(undebited) && !displacement.Preemption.Policy().Overrules(e.Choice) {
			return Outcome{Result: Refused, Reason: "budget", Budgets: []*model.Budget{&b}}
		}
		b.DisruptionsAllowed = max(0, b.DisruptionsAllowed-int32(len(undebited)))
		b.Disrupted = append(append(b.Disrupted, undebited...), d.Overruled...)
	}
	slices.Sort(b.Disrupted)
	w.setBudget(b)
	return Outcome{}
}

func (w *simulatedCluster) setBudget(b model.Budget) {
	w.budget = b
	w.lag = append(w.lag, &b)
}

func (w *simulatedCluster) unnominate(e ClearNomination) Result {
	if w.fails(4) {
		return Unknown
	}
	if w.pods[e.Pod.UID] == nil {
		return Conflict
	}
	w.change(e.Pod.UID, func(p *model.Pod) { p.NominatedNodeName = "" })
	return Done
}

// carryOutPrepare assigns claims to nodes; volumes appear in the watch.
func (w *simulatedCluster) carryOutPrepare(e BindVolumes) {
	o := Outcome{ID: e.ID, Result: Unknown}
	if w.fails(3) {
		o.Result = Result(w.r.Intn(4))
	}
	claim := w.claims[e.Pod.UID]
	switch {
	case claim == nil || claim.HasSelectedNode && claim.SelectedNode != e.Node:
		o.Result = Conflict
	case o.Result == Done || o.Result == Unknown && !w.fails(2):
		next := *claim
		next.HasSelectedNode, next.SelectedNode = true, e.Node
		w.lag = append(w.lag, &next)
		if !w.fails(5) { // otherwise the provisioner never acts
			bound := next
			bound.VolumeName, bound.Bound = "v"+claim.Name, true
			next = bound
			w.lag = append(w.lag, volumeOf(&bound), &bound)
		}
		w.claims[e.Pod.UID] = &next
		if w.noFaults {
			o.Result = Done
		}
	}
	w.due = append(w.due, o)
}

// completeDeletions completes some deletions.
func (w *simulatedCluster) completeDeletions() {
	for _, uid := range w.order {
		if p := w.pods[uid]; p != nil && p.Deleting && w.r.Intn(8) == 0 {
			w.removePod(uid)
		}
	}
}

func volumeOf(c *model.PersistentVolumeClaim) *model.PersistentVolume {
	return &model.PersistentVolume{Name: c.VolumeName, Claim: model.ClaimRef{Namespace: "ns", Name: c.Name, UID: c.UID}}
}
