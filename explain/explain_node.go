package explain

import (
	"cmp"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/placement/framework"
)

// NodeExplanation is all there is to say about a node.
type NodeExplanation struct {
	Node       *model.Node
	Conditions []Condition // as the API has them
	Pods       []*model.Pod
	Used       model.Resources
	Nominated  []*model.Pod // that room is kept for; without phantoms
	Holds      []*model.Hold
	// Fits are the waiting pods that would fit, by name; Refused those that would not,
	// with the verdicts on this node.
	Fits     []string
	Rejected []RejectedPod
	// NotEvaluated is how many waiting pods were not asked about.
	NotEvaluated int
}

// Condition is a condition of a node.
type Condition struct {
	Type, Status, Reason, Message string
	Since                         time.Time
}

// RejectedPod is a waiting pod that a node refuses.
type RejectedPod struct {
	Pod     string
	Verdict decision.Verdict
}

// maxEvaluated is how many waiting pods a node is asked about: each costs an
// evaluation of the cluster.
const maxEvaluated = 200

// ExplainNode works out what there is to say about a node; nil when it is not known. profileOf
// is the profile of a pod, nil when it has none. Pods are the cluster's.
func ExplainNode(s *cluster.State, profileOf func(*model.Pod) *framework.Profile, seed uint64, name string, pods []*model.Pod) *NodeExplanation {
	id, known := s.NodeID(name)
	if !known {
		return nil
	}
	info := s.Node(id)
	a := &NodeExplanation{Node: info.Model, Used: info.Used, Pods: slices.Clone(info.Pods)}
	slices.SortStableFunc(a.Pods, func(x, y *model.Pod) int {
		return cmp.Or(cmp.Compare(dominantShare(y, info.Model), dominantShare(x, info.Model)), cmp.Compare(x.Key(), y.Key()))
	})
	for _, p := range s.Nominated(id) {
		if !p.Placeholder {
			a.Nominated = append(a.Nominated, p)
		}
	}
	for _, h := range s.Holds() {
		if h.Node == name {
			a.Holds = append(a.Holds, h)
		}
	}
	a.evaluatePending(s, profileOf, seed, pods)
	return a
}

// dominantShare is how much of a node a pod asks for, of what it asks most of.
func dominantShare(p *model.Pod, n *model.Node) float64 {
	share := func(want, have int64) float64 { return float64(want) / float64(max(have, 1)) }
	r, have := &p.Spec.Requests, &n.Allocatable
	return max(share(r.MilliCPU, have.MilliCPU), share(r.Memory, have.Memory))
}

// evaluatePending asks what the node makes of the waiting pods. Pods that are alike are asked
// about once.
func (a *NodeExplanation) evaluatePending(s *cluster.State, profileOf func(*model.Pod) *framework.Profile, seed uint64, pods []*model.Pod) {
	type kind struct {
		spec             *model.PodSpec
		namespace, owner string
		labels           string
	}
	asked := map[kind]decision.Verdict{}
	for _, p := range sortByPriority(pendingPods(pods)) {
		profile := profileOf(p)
		if profile == nil {
			continue
		}
		k := kind{p.Spec, p.Namespace, p.Owner.UID, labelsKey(p.Labels)}
		v, known := asked[k]
		if !known {
			if len(asked) == maxEvaluated {
				a.NotEvaluated++
				continue
			}
			v = verdictForNode(placement.Evaluate(s, profile, seed, p.WithoutNomination()), a.Node.Name)
			asked[k] = v
		}
		if v.IsSuccess() {
			a.Fits = append(a.Fits, p.Key())
		} else {
			a.Rejected = append(a.Rejected, RejectedPod{p.Key(), v})
		}
	}
}

func labelsKey(l model.Labels) string {
	var b []byte
	for _, e := range l {
		b = append(append(append(append(b, e.Key...), 0), e.Value...), 0)
	}
	return string(b)
}

// verdictForNode is what a record says of one node.
func verdictForNode(rec *decision.Record, node string) decision.Verdict {
	switch {
	case rec.PreEnqueue != nil:
		return *rec.PreEnqueue
	case rec.PreFilter != nil:
		return *rec.PreFilter
	case rec.Outcome == decision.Errored:
		return decision.Verdict{Code: decision.UnschedulableAndUnresolvable, Reasons: []decision.Reason{{Kind: decision.ReasonText, Subject: rec.Error}}}
	}
	for i := range rec.Nodes {
		if rec.Nodes[i].Name == node {
			return rec.Nodes[i].Verdict
		}
	}
	return decision.Verdict{Plugin: decision.PreFilterResult, Code: decision.UnschedulableAndUnresolvable}
}

// pendingPods are the pods that have no node and want one.
func pendingPods(pods []*model.Pod) []*model.Pod {
	var out []*model.Pod
	for _, p := range pods {
		if p.NodeName == "" && !p.Finished() && !p.Deleting {
			out = append(out, p)
		}
	}
	return out
}

// sortByPriority sorts pods as they come to be tried: the most important first, then the oldest.
func sortByPriority(pods []*model.Pod) []*model.Pod {
	slices.SortStableFunc(pods, func(a, b *model.Pod) int {
		return cmp.Or(cmp.Compare(b.Spec.Priority, a.Spec.Priority), a.Created.Compare(b.Created), cmp.Compare(a.Key(), b.Key()))
	})
	return pods
}
