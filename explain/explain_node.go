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

// NodeExplanation is the result of ExplainNode.
type NodeExplanation struct {
	Node       *model.Node
	Conditions []Condition // from the API
	Pods       []*model.Pod
	Used       model.Resources
	Nominated  []*model.Pod // nominated pods, without placeholders
	Holds      []*model.Hold
	// Fits are the keys of pending pods that fit the node. Rejected are the others with their
	// verdicts.
	Fits     []string
	Rejected []RejectedPod
	// NotEvaluated is the number of pending pods beyond maxEvaluated. Pods without a profile are
	// not counted anywhere.
	NotEvaluated int
}

// Condition is a node condition.
type Condition struct {
	Type, Status, Reason, Message string
	Since                         time.Time
}

// RejectedPod is a pending pod that a node rejects.
type RejectedPod struct {
	Pod     string
	Verdict decision.Verdict
}

// maxEvaluated is the maximum number of different pending pods that ExplainNode evaluates, each on the whole cluster.
const maxEvaluated = 200

// ExplainNode explains a node. It returns nil if the node does not exist. profileOf
// returns the profile of a pod, or nil. pods are all pods of the cluster.
func ExplainNode(s *cluster.State, profileOf func(*model.Pod) *framework.Profile, seed uint64, name string, pods []*model.Pod) *NodeExplanation {
	nodeID, ok := s.NodeID(name)
	if !ok {
		return nil
	}
	info := s.Node(nodeID)
	e := &NodeExplanation{Node: info.Model, Used: info.Used, Pods: slices.Clone(info.Pods)}
	slices.SortStableFunc(e.Pods, func(x, y *model.Pod) int {
		return cmp.Or(cmp.Compare(dominantShare(y, info.Model), dominantShare(x, info.Model)), cmp.Compare(x.Key(), y.Key()))
	})
	for _, p := range s.Nominated(nodeID) {
		if !p.Placeholder {
			e.Nominated = append(e.Nominated, p)
		}
	}
	for _, h := range s.Holds() {
		if h.Node == name {
			e.Holds = append(e.Holds, h)
		}
	}
	e.evaluatePending(s, profileOf, seed, pods)
	return e
}

// dominantShare returns the larger of the fractions of a node's CPU and memory that a pod requests.
func dominantShare(p *model.Pod, n *model.Node) float64 {
	share := func(requested, allocatable int64) float64 { return float64(requested) / float64(max(allocatable, 1)) }
	r, allocatable := &p.Spec.Requests, &n.Allocatable
	return max(share(r.MilliCPU, allocatable.MilliCPU), share(r.Memory, allocatable.Memory))
}

// evaluatePending evaluates the pending pods on the node, equal pods only once.
func (e *NodeExplanation) evaluatePending(s *cluster.State, profileOf func(*model.Pod) *framework.Profile, seed uint64, pods []*model.Pod) {
	type equivalenceKey struct {
		spec             *model.PodSpec
		namespace, owner string
		labels           string
	}
	verdicts := map[equivalenceKey]decision.Verdict{}
	for _, p := range sortByPriority(pendingPods(pods)) {
		profile := profileOf(p)
		if profile == nil {
			continue
		}
		k := equivalenceKey{p.Spec, p.Namespace, p.Owner.UID, labelsKey(p.Labels)}
		v, ok := verdicts[k]
		if !ok {
			if len(verdicts) == maxEvaluated {
				e.NotEvaluated++
				continue
			}
			v = verdictForNode(placement.Evaluate(s, profile, seed, p.WithoutNomination()), e.Node.Name)
			verdicts[k] = v
		}
		if v.IsSuccess() {
			e.Fits = append(e.Fits, p.Key())
		} else {
			e.Rejected = append(e.Rejected, RejectedPod{p.Key(), v})
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

// pendingPods returns the unassigned pods that are neither finished nor terminating.
func pendingPods(pods []*model.Pod) []*model.Pod {
	var out []*model.Pod
	for _, p := range pods {
		if p.NodeName == "" && !p.Finished() && !p.Deleting {
			out = append(out, p)
		}
	}
	return out
}

// sortByPriority sorts pods by priority, highest first, then by age.
func sortByPriority(pods []*model.Pod) []*model.Pod {
	slices.SortStableFunc(pods, func(a, b *model.Pod) int {
		return cmp.Or(cmp.Compare(b.Spec.Priority, a.Spec.Priority), a.Created.Compare(b.Created), cmp.Compare(a.Key(), b.Key()))
	})
	return pods
}
