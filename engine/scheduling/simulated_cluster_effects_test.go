package scheduling

import (
	"fmt"
	"slices"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling/profiles"
)

// fails reports whether to inject a fault: in one of n calls on average.
func (c *simulatedCluster) fails(n int) bool { return !c.noFaults && c.r.Intn(n) == 0 }

// checkReservedResources checks that a bind does not use resources reserved for a pod of higher
// priority.
func (c *simulatedCluster) checkReservedResources(b Bind) {
	id, ok := c.m.state.NodeID(b.Node)
	if a := c.m.attempts[b.Pod.UID]; !ok || b.Retry || a == nil || a.volumePlan != nil {
		return // the pod used the resources before
	}
	reason := ""
	sum := c.m.state.Node(id).Used.MilliCPU
	for _, uid := range c.order {
		p := c.m.state.Pod(uid)
		if p != nil && !p.Deleting && c.nominated[uid] == b.Node && uid != b.Pod.UID && p.NodeName == "" && p.Spec.Priority > b.Pod.Spec.Priority {
			sum += p.Spec.Requests.MilliCPU
			reason += fmt.Sprintf(" %s (API %+v, nomination %+v)", uid, c.pods[uid], c.m.nominations[uid])
		}
	}
	if sum > c.nodes[b.Node] {
		c.t.Fatalf("pod %s of priority %d is bound to %s, where %d of %d are used or reserved for higher priorities:%s",
			b.Pod.UID, b.Pod.Spec.Priority, b.Node, sum, c.nodes[b.Node], reason)
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

// executePreempt executes a Preempt in full, in part or not at all, with or without an outcome.
func (c *simulatedCluster) executePreempt(e Preempt) {
	for _, v := range e.Plan.Victims {
		if v.Spec.Priority >= e.Pod.Spec.Priority {
			c.t.Fatalf("pod %s of priority %d is a victim of %s, which has %d", v.UID, v.Spec.Priority, e.Pod.UID, e.Pod.Spec.Priority)
		}
		if displacement.Preemption.IsTerminating(v) {
			c.t.Fatalf("pod %s is evicted twice", v.UID)
		}
	}
	c.nominated[e.Pod.UID] = e.Plan.Node
	choice := c.r.Intn(12)
	if c.noFaults {
		choice = 11
	}
	o := Outcome{ID: e.ID}
	switch choice {
	case 0:
		o.Result = Unknown
	case 1: // only the first steps are executed
		o.Result = Unknown
		c.displace(e, c.r.Intn(4))
	case 2:
		o = c.displace(e, 4)
		o.ID, o.Result = e.ID, Unknown
	case 3: // executed, without an outcome
		c.displace(e, 4)
		return
	case 4:
		o.Result = Conflict
	case 5:
		o.Result, o.Reason = Refused, "forbidden"
	default:
		o = c.displace(e, 4)
		o.ID = e.ID
	}
	c.pendingOutcomes = append(c.pendingOutcomes, o)
}

// displace executes the first steps of a Preempt: nominate, debit, set the condition, delete.
func (c *simulatedCluster) displace(e Preempt, steps int) Outcome {
	p := c.pods[e.Pod.UID]
	if p == nil {
		return Outcome{Result: Conflict}
	}
	if steps > 0 {
		c.change(p.UID, func(p *model.Pod) { p.NominatedNodeName = e.Plan.Node })
	}
	if steps > 1 {
		if o := c.debit(e); o.Result != Done {
			return o
		}
	}
	for _, step := range []struct {
		after  int // number of steps before this one
		change func(*model.Pod)
	}{
		{2, func(p *model.Pod) { p.DisruptionReason = displacement.Preemption.Reason() }},
		{3, func(p *model.Pod) { p.Deleting = true }},
	} {
		for _, v := range e.Plan.Victims {
			if steps > step.after && c.pods[v.UID] != nil {
				c.change(v.UID, step.change)
			}
		}
	}
	return Outcome{}
}

// replyTo returns the outcome of extenders: an error, or the nodes with some of them refused.
func (c *simulatedCluster) replyTo(e CallExtenders) Outcome {
	o := Outcome{ID: e.ID, ExtenderResult: &ExtenderResult{}}
	if c.fails(5) {
		o.Result = Result(1 + c.r.Intn(3))
		return o
	}
	for _, n := range e.Nodes {
		if c.fails(4) {
			o.ExtenderResult.FailedNodes = append(o.ExtenderResult.FailedNodes, FailedNode{Node: n.Node, Reason: "refused"})
		} else {
			o.ExtenderResult.Nodes = append(o.ExtenderResult.Nodes, profiles.NodeScore{Node: n.Node, Score: c.r.Int63n(100)})
		}
	}
	return o
}

func (c *simulatedCluster) replyToPreemption(e CallPreemptionExtenders) Outcome {
	o := Outcome{ID: e.ID}
	if c.fails(5) {
		o.Result = Result(1 + c.r.Intn(3))
	}
	for _, candidate := range e.Candidates {
		if !c.fails(4) {
			o.Candidates = append(o.Candidates, candidate)
		}
	}
	return o
}

func (c *simulatedCluster) debit(e Preempt) Outcome {
	b := c.budget
	b.Disrupted = slices.Clone(b.Disrupted)
	for _, d := range e.Plan.Debits {
		remaining := slices.DeleteFunc(slices.Clone(d.Granted), func(n string) bool { return slices.Contains(b.Disrupted, n) })
		if int(b.DisruptionsAllowed) < len(remaining) && !displacement.Preemption.Policy().Overrules(e.Choice) {
			return Outcome{Result: Refused, Reason: "budget", Budgets: []*model.Budget{&b}}
		}
		b.DisruptionsAllowed = max(0, b.DisruptionsAllowed-int32(len(remaining)))
		b.Disrupted = append(append(b.Disrupted, remaining...), d.Overruled...)
	}
	slices.Sort(b.Disrupted)
	c.setBudget(b)
	return Outcome{}
}

func (c *simulatedCluster) setBudget(b model.Budget) {
	c.budget = b
	c.pendingEvents = append(c.pendingEvents, &b)
}

func (c *simulatedCluster) clearNomination(e ClearNomination) Result {
	if c.fails(4) {
		return Unknown
	}
	if c.pods[e.Pod.UID] == nil {
		return Conflict
	}
	c.change(e.Pod.UID, func(p *model.Pod) { p.NominatedNodeName = "" })
	return Done
}

// executeBindVolumes assigns claims to nodes; the watch delivers the volumes later.
func (c *simulatedCluster) executeBindVolumes(e BindVolumes) {
	o := Outcome{ID: e.ID, Result: Unknown}
	if c.fails(3) {
		o.Result = Result(c.r.Intn(4))
	}
	claim := c.claims[e.Pod.UID]
	switch {
	case claim == nil || claim.HasSelectedNode && claim.SelectedNode != e.Node:
		o.Result = Conflict
	case o.Result == Done || o.Result == Unknown && !c.fails(2):
		updated := *claim
		updated.HasSelectedNode, updated.SelectedNode = true, e.Node
		c.claims[e.Pod.UID] = &updated
		c.pendingEvents = append(c.pendingEvents, &updated)
		if !c.fails(5) { // otherwise the provisioner never acts
			bound := updated
			bound.VolumeName, bound.Bound = "v"+claim.Name, true
			c.claims[e.Pod.UID] = &bound
			c.pendingEvents = append(c.pendingEvents, volumeOf(&bound), &bound)
		}
		if c.noFaults {
			o.Result = Done
		}
	}
	c.pendingOutcomes = append(c.pendingOutcomes, o)
}

func (c *simulatedCluster) completeDeletions() {
	for _, uid := range c.order {
		if p := c.pods[uid]; p != nil && p.Deleting && c.r.Intn(8) == 0 {
			c.removePod(uid)
		}
	}
}

func volumeOf(c *model.PersistentVolumeClaim) *model.PersistentVolume {
	return &model.PersistentVolume{Name: c.VolumeName, Claim: model.ClaimRef{Namespace: "ns", Name: c.Name, UID: c.UID}}
}
