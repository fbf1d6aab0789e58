package remediation

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

// expand enqueues trials that may resolve the verdicts of a failed trial.
func (f *finder) expand(t *trial) {
	switch {
	case t.rec.Outcome == decision.Gated:
		f.enqueue(t, "", []Change{ungateChange(t.rec.PreEnqueue.Plugin)})
	case t.rec.Outcome != decision.Infeasible:
	case t.rec.PreFilter != nil:
		for _, step := range f.claimChanges() {
			f.enqueue(t, "", step)
		}
		if t.pod.Spec.NodeSelector.HasRequired {
			f.enqueue(t, "", []Change{{Kind: DropNodeAffinity}})
		}
	default:
		for _, n := range f.nodesToFollow(t) {
			for _, step := range f.changesFor(t, n) {
				f.enqueue(t, n.Name, step)
			}
		}
	}
}

// ungateChange returns the change that resolves a verdict of a PreEnqueue plugin.
func ungateChange(plugin decision.Plugin) Change {
	switch plugin {
	case decision.DynamicResources:
		return Change{Kind: DropDeviceClaims}
	case decision.GangScheduling:
		return Change{Kind: DropGroup}
	}
	return Change{Kind: RemoveGates}
}

// nodesToFollow returns the nodes whose verdicts are followed: the node of the trial, or for each
// kind of verdict the nodes with the smallest shortfall.
func (f *finder) nodesToFollow(t *trial) []*decision.NodeRecord {
	if t.node != "" {
		i := slices.IndexFunc(t.rec.Nodes, func(n decision.NodeRecord) bool { return n.Name == t.node })
		if i < 0 {
			return nil
		}
		return []*decision.NodeRecord{&t.rec.Nodes[i]}
	}
	records := make([]*decision.NodeRecord, len(t.rec.Nodes))
	gaps := map[string]int64{}
	for i := range t.rec.Nodes {
		records[i] = &t.rec.Nodes[i]
		gaps[records[i].Name] = shortfall(t.state, t.pod, records[i].Name)
	}
	slices.SortStableFunc(records, func(a, b *decision.NodeRecord) int { return cmp.Compare(gaps[a.Name], gaps[b.Name]) })
	perKind := map[string]int{}
	var out []*decision.NodeRecord
	for _, n := range records {
		if k := kindOf(&n.Verdict); perKind[k] < nodesPerKind && len(out) < maxNodes {
			perKind[k]++
			out = append(out, n)
		}
	}
	return out
}

// shortfall returns how much of the pod's requests does not fit the node's free resources, in
// thousandths of the requests, summed over all resources.
func shortfall(s *cluster.State, pod *model.Pod, node string) int64 {
	id, ok := s.NodeID(node)
	if !ok {
		return 0
	}
	info := s.Node(id)
	var sum int64
	add := func(requested, used, allocatable int64) {
		if missing := requested - (allocatable - used); requested > 0 && missing > 0 {
			sum += max(1, missing/max(1, requested/1000))
		}
	}
	requests, used, allocatable := &pod.Spec.Requests, &info.Used, &info.Model.Allocatable
	add(requests.MilliCPU, used.MilliCPU, allocatable.MilliCPU)
	add(requests.Memory, used.Memory, allocatable.Memory)
	add(requests.Ephemeral, used.Ephemeral, allocatable.Ephemeral)
	for _, sc := range requests.Scalars {
		add(sc.Amount, used.Scalar(sc.Name), allocatable.Scalar(sc.Name))
	}
	return sum
}

// kindOf identifies verdicts that the same changes resolve.
func kindOf(v *decision.Verdict) string {
	var b strings.Builder
	b.WriteString(v.Plugin.String())
	for i := range v.Reasons {
		r := &v.Reasons[i]
		b.WriteString("|" + strconv.Itoa(int(r.Kind)) + r.Subject + strconv.FormatBool(r.Want > r.Have))
	}
	return b.String()
}

// changesFor returns alternatives that may resolve a node's verdict.
func (f *finder) changesFor(t *trial, rec *decision.NodeRecord) [][]Change {
	v := &rec.Verdict
	id, ok := t.state.NodeID(rec.Name)
	if !ok {
		return nil
	}
	if v.Plugin == decision.PreFilterResult {
		return single(Change{Kind: DropNodeAffinity})
	}
	info := t.state.Node(id)
	if v.Plugin == decision.NodeResourcesFit {
		return f.resourceChanges(t, info, v.Reasons)
	}
	var out [][]Change
	for i := range v.Reasons {
		out = append(out, f.changesForReason(t, info, &v.Reasons[i])...)
	}
	return out
}

// changesForReason returns alternatives that may resolve a reason.
func (f *finder) changesForReason(t *trial, info *cluster.NodeInfo, r *decision.Reason) [][]Change {
	n := info.Model
	switch r.Kind {
	case decision.ReasonUnschedulable:
		return single(Change{Kind: Uncordon, Node: n.Name})
	case decision.ReasonTaint:
		return taintChanges(n, r.Subject)
	case decision.ReasonNodeAffinity, decision.ReasonEnforcedAffinity:
		return f.nodeAffinityChanges(t, n, r)
	case decision.ReasonPorts:
		return append(f.removeNamedPod(t, r.Object), []Change{{Kind: DropHostPorts}})
	case decision.ReasonDiskConflict, decision.ReasonReadWriteOncePod:
		return f.removeNamedPod(t, r.Object)
	case decision.ReasonMaxVolumes:
		return volumeLimitChanges(info)
	case decision.ReasonDriverMissing, decision.ReasonNoVolumeToBind, decision.ReasonNoStorage:
		return f.storageChanges(n.Name, r)
	case decision.ReasonTopologySpread:
		return f.spreadChanges(t, r)
	case decision.ReasonTopologySpreadLabel:
		out := f.domainLabelChanges(n, r.Subject)
		for i := range t.pod.Spec.Spread {
			if c := &t.pod.Spec.Spread[i]; c.Hard && c.TopologyKey == r.Subject {
				out = append(out, []Change{{Kind: SoftenSpread, Key: c.TopologyKey, Amount: int64(i)}})
			}
		}
		return out
	case decision.ReasonPodAffinity:
		return f.podAffinityChanges(t, n, r.Subject)
	case decision.ReasonPodAntiAffinity, decision.ReasonExistingAntiAffinity:
		return f.antiAffinityChanges(t, r)
	case decision.ReasonAvoidHold:
		return single(Change{Kind: EndHold, Node: n.Name, Key: r.Object})
	case decision.ReasonText:
		return f.claimChanges()
	}
	return nil
}

// verdictsWhenEmpty returns the verdicts on the nodes without any pods, if all still reject the pod
// for reasons that removing pods cannot change.
func (f *finder) verdictsWhenEmpty(rec *decision.Record) []decision.NodeRecord {
	if rec.Outcome != decision.Infeasible || rec.PreFilter != nil {
		return nil
	}
	empty := f.state.Fork()
	for _, id := range empty.NodeIDs() {
		for _, p := range slices.Clone(empty.Node(id).Pods) {
			empty.RemovePod(p.UID)
		}
	}
	withoutPods := placement.Evaluate(empty, f.profile, f.seed, f.pod)
	if withoutPods.Outcome != decision.Infeasible || withoutPods.PreFilter != nil || slices.ContainsFunc(withoutPods.Nodes, func(n decision.NodeRecord) bool {
		return n.Verdict.Plugin == decision.InterPodAffinity || n.Verdict.Plugin == decision.PodTopologySpread
	}) {
		return nil
	}
	return withoutPods.Nodes
}
