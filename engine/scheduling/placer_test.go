package scheduling

import (
	"fmt"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling/profiles"
)

// firstFit is a simple Placer and Explainer with cpu, priorities, one budget and provisioned
// claims.
type firstFit struct{ s *cluster.State }

func (f firstFit) Gate(p *model.Pod) *decision.Verdict {
	if len(p.Spec.Gates) == 0 {
		return nil
	}
	return &decision.Verdict{Plugin: decision.SchedulingGates, Code: decision.UnschedulableAndUnresolvable}
}

func (f firstFit) Decide(p *model.Pod, out *decision.Summary) {
	ids := f.s.NodeIDs()
	if id, ok := f.s.NodeID(p.NominatedNodeName); ok { // the nominated node comes first
		ids = append([]cluster.NodeID{id}, ids...)
	}
	for _, id := range ids {
		if f.canProvision(p, id) && f.free(id, p, nil) >= p.Spec.Requests.MilliCPU {
			out.Outcome, out.Choice = decision.Scheduled, f.s.Node(id).Model.Name
			return
		}
	}
	out.Outcome = decision.Infeasible
	out.UnschedulablePlugins = out.UnschedulablePlugins.With(decision.NodeResourcesFit)
	if len(p.Spec.Claims) > 0 {
		out.UnschedulablePlugins = out.UnschedulablePlugins.With(decision.VolumeBinding)
	}
}

// free returns the free millicores of a node for a pod, besides nominated pods and without excluded
// pods.
func (f firstFit) free(id cluster.NodeID, p *model.Pod, excluded []*model.Pod) int64 {
	n := f.s.Node(id)
	remaining := n.Model.Allocatable.MilliCPU - n.Used.MilliCPU
	for _, q := range f.s.Nominated(id) {
		if q.UID != p.UID && q.Spec.Priority >= p.Spec.Priority {
			remaining -= q.Spec.Requests.MilliCPU
		}
	}
	for _, v := range excluded {
		remaining += v.Spec.Requests.MilliCPU
	}
	return remaining
}

// canProvision reports whether the pod's claims can be provisioned on a node.
func (f firstFit) canProvision(p *model.Pod, id cluster.NodeID) bool {
	for _, c := range p.Spec.Claims {
		claim, ok := f.s.PVC(p.Namespace, c.Claim)
		if !ok || claim.HasSelectedNode && claim.SelectedNode != f.s.Node(id).Model.Name {
			return false
		}
	}
	return true
}

func (f firstFit) VolumePlan(p *model.Pod, node string) (*model.VolumePlan, error) {
	for _, c := range p.Spec.Claims {
		claim, ok := f.s.PVC(p.Namespace, c.Claim)
		if !ok {
			return nil, fmt.Errorf("claim %s does not exist", c.Claim)
		}
		if !claim.Bound {
			return &model.VolumePlan{Node: node, BindTimeout: 10 * time.Minute, Provision: []*model.PersistentVolumeClaim{claim}}, nil
		}
	}
	return nil, nil
}

func (f firstFit) Preempt(p *model.Pod, _ *decision.Summary) *decision.Preemption {
	if p.Spec.NeverPreempts {
		return &decision.Preemption{Outcome: decision.PreemptionPolicyNever}
	}
	out := &decision.Preemption{Outcome: decision.PreemptionNoCandidates, Nodes: f.s.NumNodes(), ClearNomination: p.NominatedNodeName != ""}
	if id, ok := f.s.NodeID(p.NominatedNodeName); ok && slices.ContainsFunc(f.s.Node(id).Pods, func(v *model.Pod) bool {
		return v.Spec.Priority < p.Spec.Priority && displacement.Preemption.IsTerminating(v)
	}) {
		return &decision.Preemption{Outcome: decision.PreemptionVictimsTerminating}
	}
	for _, id := range f.s.NodeIDs() {
		victims := f.victims(p, id)
		if victims == nil || out.Victims != nil && len(victims) >= len(out.Victims) {
			continue
		}
		out.Outcome, out.Node, out.Victims, out.ClearNomination = decision.PreemptionNominated, f.s.Node(id).Model.Name, victims, false
	}
	f.debit(out)
	return out
}

// victims returns the fewest of the least important pods whose eviction makes the pod fit, or nil.
func (f firstFit) victims(p *model.Pod, id cluster.NodeID) []*model.Pod {
	if !f.canProvision(p, id) {
		return nil
	}
	lower := slices.DeleteFunc(slices.Clone(f.s.Node(id).Pods), func(v *model.Pod) bool { return v.Spec.Priority >= p.Spec.Priority })
	slices.SortStableFunc(lower, func(a, b *model.Pod) int { return int(a.Spec.Priority - b.Spec.Priority) })
	for n := 1; n <= len(lower); n++ {
		if f.free(id, p, lower[:n]) >= p.Spec.Requests.MilliCPU {
			return lower[:n]
		}
	}
	return nil
}

func (f firstFit) debit(out *decision.Preemption) {
	for _, b := range f.s.Budgets("ns") {
		d := decision.Debit{Budget: b}
		for _, v := range out.Victims {
			switch {
			case slices.Contains(b.Disrupted, v.Name):
			case len(d.Granted) < int(b.DisruptionsAllowed):
				d.Granted = append(d.Granted, v.Name)
			default:
				d.Overruled = append(d.Overruled, v.Name)
			}
		}
		if len(out.Victims) > 0 {
			out.Debits = append(out.Debits, d)
		}
	}
}

// The methods of Explainer.

func (f firstFit) Explain(p *model.Pod) *decision.Record {
	rec := &decision.Record{Outcome: decision.Infeasible}
	for _, id := range f.s.NodeIDs() {
		n := decision.NodeRecord{Name: f.s.Node(id).Model.Name, Total: 1}
		if !f.Fits(p, n.Name) {
			n.Verdict = decision.Verdict{Plugin: decision.NodeResourcesFit, Code: decision.Unschedulable}
			rec.UnschedulablePlugins = rec.UnschedulablePlugins.With(decision.NodeResourcesFit).With(decision.VolumeBinding)
		} else {
			rec.Outcome, rec.Choice = decision.Scheduled, n.Name
		}
		rec.Nodes = append(rec.Nodes, n)
	}
	return rec
}

func (f firstFit) Fits(p *model.Pod, node string) bool {
	id, ok := f.s.NodeID(node)
	return ok && f.canProvision(p, id) && f.free(id, p, nil) >= p.Spec.Requests.MilliCPU
}

func (f firstFit) SelectHost(_ *model.Pod, nodes []profiles.NodeScore) string {
	return slices.MaxFunc(nodes, func(a, b profiles.NodeScore) int { return int(a.Score - b.Score) }).Node
}

func (f firstFit) FindCandidates(p *model.Pod, rec *decision.Record) ([]profiles.Candidate, *decision.Preemption) {
	best := f.Preempt(p, nil)
	var out []profiles.Candidate
	for _, n := range rec.Nodes {
		id, _ := f.s.NodeID(n.Name)
		if victims := f.victims(p, id); victims != nil && n.Verdict.Code == decision.Unschedulable {
			out = append(out, profiles.Candidate{Node: n.Name, Victims: victims})
		}
	}
	return out, best
}

func (f firstFit) SelectCandidate(p *model.Pod, remaining []profiles.Candidate) *decision.Preemption {
	out := &decision.Preemption{Outcome: decision.PreemptionNoCandidates, ClearNomination: p.NominatedNodeName != ""}
	for _, c := range remaining {
		if out.Victims == nil || len(c.Victims) < len(out.Victims) {
			out.Outcome, out.Node, out.Victims, out.ClearNomination = decision.PreemptionNominated, c.Node, c.Victims, false
		}
	}
	f.debit(out)
	return out
}
