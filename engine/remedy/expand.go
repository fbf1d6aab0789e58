package remedy

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
)

// expand opens the trials that could undo what stands in a trial's way.
func (f *finder) expand(t *trial) {
	switch {
	case t.rec.Outcome == decision.Gated:
		f.follow(t, "", []Change{ungate(t.rec.PreEnqueue.Rule)})
	case t.rec.Outcome != decision.Infeasible:
	case t.rec.PreFilter != nil:
		for _, step := range f.claims() {
			f.follow(t, "", step)
		}
		if t.pod.Spec.NodeSelector.HasRequired {
			f.follow(t, "", []Change{{Kind: DropNodeAffinity}})
		}
	default:
		for _, n := range f.roots(t) {
			for _, step := range f.undo(t, n) {
				f.follow(t, n.Name, step)
			}
		}
	}
}

func ungate(r decision.Rule) Change {
	switch r {
	case decision.DynamicResources:
		return Change{Kind: DropDeviceClaims}
	case decision.GangScheduling:
		return Change{Kind: DropGroup}
	}
	return Change{Kind: RemoveGates}
}

// roots are the nodes whose verdicts are followed: the trial's own, or the most
// promising of each kind of verdict.
func (f *finder) roots(t *trial) []*decision.NodeRecord {
	if t.node != "" {
		i := slices.IndexFunc(t.rec.Nodes, func(n decision.NodeRecord) bool { return n.Name == t.node })
		if i < 0 {
			return nil
		}
		return []*decision.NodeRecord{&t.rec.Nodes[i]}
	}
	all := make([]*decision.NodeRecord, len(t.rec.Nodes))
	gaps := map[string]int64{}
	for i := range t.rec.Nodes {
		all[i] = &t.rec.Nodes[i]
		gaps[all[i].Name] = gap(t.state, t.pod, all[i].Name)
	}
	slices.SortStableFunc(all, func(a, b *decision.NodeRecord) int { return cmp.Compare(gaps[a.Name], gaps[b.Name]) })
	alike := map[string]int{}
	var out []*decision.NodeRecord
	for _, n := range all {
		if k := kindOf(&n.Verdict); alike[k] < likeNodes && len(out) < mostNodes {
			alike[k]++
			out = append(out, n)
		}
	}
	return out
}

// gap is how much the pod asks for beyond what is left on a node, in thousandths of
// what it asks for, summed over cpu, memory and the others.
func gap(s *cluster.State, pod *model.Pod, node string) int64 {
	id, ok := s.NodeID(node)
	if !ok {
		return 0
	}
	info := s.Node(id)
	var sum int64
	short := func(want, used, have int64) {
		if missing := want - (have - used); want > 0 && missing > 0 {
			sum += max(1, missing/max(1, want/1000))
		}
	}
	want, used, have := &pod.Spec.Requests, &info.Used, &info.Model.Allocatable
	short(want.MilliCPU, used.MilliCPU, have.MilliCPU)
	short(want.Memory, used.Memory, have.Memory)
	short(want.Ephemeral, used.Ephemeral, have.Ephemeral)
	for _, sc := range want.Scalars {
		short(sc.Amount, used.Scalar(sc.Name), have.Scalar(sc.Name))
	}
	return sum
}

// kindOf tells verdicts apart by what would undo them.
func kindOf(v *decision.Verdict) string {
	var b strings.Builder
	b.WriteString(v.Rule.String())
	for i := range v.Reasons {
		r := &v.Reasons[i]
		b.WriteString("|" + strconv.Itoa(int(r.Why)) + r.Subject + strconv.FormatBool(r.Want > r.Have))
	}
	return b.String()
}

// undo are the choices of changes that would undo a node's verdict.
func (f *finder) undo(t *trial, rec *decision.NodeRecord) [][]Change {
	v := &rec.Verdict
	id, ok := t.state.NodeID(rec.Name)
	if !ok {
		return nil
	}
	if v.Rule == decision.PreFilterResult {
		return one(Change{Kind: DropNodeAffinity})
	}
	info := t.state.Node(id)
	if v.Rule == decision.NodeResourcesFit {
		return f.room(t, info, v.Reasons)
	}
	var out [][]Change
	for i := range v.Reasons {
		out = append(out, f.answer(t, info, &v.Reasons[i])...)
	}
	return out
}

// answer are the choices of changes that would undo a reason.
func (f *finder) answer(t *trial, info *cluster.NodeInfo, r *decision.Reason) [][]Change {
	n := info.Model
	switch r.Why {
	case decision.WhyUnschedulable:
		return one(Change{Kind: Uncordon, Node: n.Name})
	case decision.WhyTaint:
		return taint(n, r.Subject)
	case decision.WhyNodeAffinity, decision.WhyEnforcedAffinity:
		return f.selector(t, n, r)
	case decision.WhyPorts:
		return append(f.leave(t, r.Who), []Change{{Kind: DropHostPorts}})
	case decision.WhyDiskConflict, decision.WhyReadWriteOncePod:
		return f.leave(t, r.Who)
	case decision.WhyMaxVolumes:
		return attached(info)
	case decision.WhyDriverMissing, decision.WhyNoVolumeToBind, decision.WhyNoStorage:
		return f.storage(n.Name, r)
	case decision.WhySpread:
		return f.spread(t, r)
	case decision.WhySpreadLabel:
		out := f.domainLabel(n, r.Subject)
		for i := range t.pod.Spec.Spread {
			if c := &t.pod.Spec.Spread[i]; c.Hard && c.TopologyKey == r.Subject {
				out = append(out, []Change{{Kind: SoftenSpread, Key: c.TopologyKey, Amount: int64(i)}})
			}
		}
		return out
	case decision.WhyAffinity:
		return f.affinity(t, n, r.Subject)
	case decision.WhyAntiAffinity, decision.WhyExistingAntiAffinity:
		return f.apart(t, r)
	case decision.WhyAvoid:
		return one(Change{Kind: EndHold, Node: n.Name, Key: r.Who})
	case decision.WhyText:
		return f.claims()
	}
	return nil
}

// empty are the verdicts on the nodes as if nothing ran there, when they all
// refuse the pod for what no leaving of pods can change.
func (f *finder) empty(rec *decision.Record) []decision.NodeRecord {
	if rec.Outcome != decision.Infeasible || rec.PreFilter != nil {
		return nil
	}
	bare := f.state.Fork()
	for _, id := range bare.NodeIDs() {
		for _, p := range slices.Clone(bare.Node(id).Pods) {
			bare.RemovePod(p.UID)
		}
	}
	got := placement.Evaluate(bare, f.profile, f.seed, f.pod)
	if got.Outcome != decision.Infeasible || got.PreFilter != nil || slices.ContainsFunc(got.Nodes, func(n decision.NodeRecord) bool {
		return n.Verdict.Rule == decision.InterPodAffinity || n.Verdict.Rule == decision.PodTopologySpread
	}) {
		return nil
	}
	return got.Nodes
}
