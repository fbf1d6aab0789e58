package preemption

import (
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
)

// QoS is a pod's quality of service class.
type QoS uint8

// The classes, in the order in which a node spares them.
const (
	BestEffort QoS = iota
	Burstable
	Guaranteed
)

// need is how much of a resource is missing.
type need struct {
	resource string
	amount   int64
}

// ForCritical says which pods a node ends so that it can take a critical pod that it has
// too little room for: as few Guaranteed ones as can be, then as few Burstable, then
// BestEffort, and of each class again and again the one that leaves the least missing. The node
// has no budgets to obey and no other node to look at. critical says which pods may not be
// ended but by a pod of higher priority. ok is false when all together would not make room.
func ForCritical(n *cluster.NodeInfo, pod *model.Pod, missing []placement.Denial, class func(*model.Pod) QoS, critical func(*model.Pod) bool) (victims []*model.Pod, ok bool) {
	var by [3][]*model.Pod
	for _, p := range n.Pods {
		if p.Spec.Priority < pod.Spec.Priority || !critical(p) {
			by[class(p)] = append(by[class(p)], p)
		}
	}
	var needs []need
	for _, d := range missing {
		needs = append(needs, need{d.Resource, d.Missing})
	}
	best, burst, guaranteed := by[BestEffort], by[Burstable], by[Guaranteed]
	if len(without(needs, best, burst, guaranteed)) > 0 {
		return nil, false
	}
	guaranteed = nearest(guaranteed, without(needs, best, burst))
	burst = nearest(burst, without(needs, best, guaranteed))
	best = nearest(best, without(needs, burst, guaranteed))
	return slices.Concat(best, burst, guaranteed), true
}

// nearest takes pods until nothing is missing; they are enough.
func nearest(pods []*model.Pod, needs []need) (taken []*model.Pod) {
	pods = slices.Clone(pods)
	for len(needs) > 0 && len(pods) > 0 {
		at := 0
		for i := range pods {
			d, least := distance(needs, pods[i]), distance(needs, pods[at])
			if d < least || d == least && smaller(pods[i], pods[at]) {
				at = i
			}
		}
		taken = append(taken, pods[at])
		needs = without(needs, pods[at:at+1])
		pods = slices.Delete(pods, at, at+1)
	}
	return taken
}

// distance is the sum of the squared parts of each need that would still be missing.
func distance(needs []need, p *model.Pod) (sum float64) {
	for _, n := range needs {
		if left := n.amount - asks(p, n.resource); left > 0 {
			part := float64(left) / float64(n.amount)
			sum += float64(part * part)
		}
	}
	return sum
}

// smaller says that a asks for less than b: of memory, and then of cpu.
func smaller(a, b *model.Pod) bool {
	x, y := &a.Spec.Requests, &b.Spec.Requests
	if x.Memory != y.Memory {
		return x.Memory < y.Memory
	}
	return x.MilliCPU < y.MilliCPU
}

// without is what is missing when pods are gone.
func without(needs []need, gone ...[]*model.Pod) (left []need) {
	for _, n := range needs {
		for _, pods := range gone {
			for _, p := range pods {
				n.amount -= asks(p, n.resource)
			}
		}
		if n.amount > 0 {
			left = append(left, n)
		}
	}
	return left
}

func asks(p *model.Pod, resource string) int64 {
	if resource == "pods" {
		return 1
	}
	return p.Spec.Requests.Of(resource)
}
