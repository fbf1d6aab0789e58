package preemption

import (
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
)

// QoS is a pod's quality of service class.
type QoS uint8

// The classes, in the order of eviction.
const (
	BestEffort QoS = iota
	Burstable
	Guaranteed
)

// shortage is a missing amount of a resource.
type shortage struct {
	resource string
	amount   int64
}

// VictimsForCriticalPod returns the pods that a node evicts to admit a critical pod, as the kubelet
// selects them. It selects as few Guaranteed pods as possible, then as few Burstable, then as few
// BestEffort pods. Within a class it repeatedly selects the pod that leaves the smallest shortage.
// Budgets do not apply. critical reports whether a pod may be evicted only for a higher priority.
// ok is false if evicting all eligible pods is not enough.
func VictimsForCriticalPod(n *cluster.NodeInfo, pod *model.Pod, missing []placement.AdmissionResult, class func(*model.Pod) QoS, critical func(*model.Pod) bool) (victims []*model.Pod, ok bool) {
	var byClass [3][]*model.Pod
	for _, p := range n.Pods {
		if p.Spec.Priority < pod.Spec.Priority || !critical(p) {
			byClass[class(p)] = append(byClass[class(p)], p)
		}
	}
	var shortages []shortage
	for _, d := range missing {
		shortages = append(shortages, shortage{d.Resource, d.Missing})
	}
	bestEffort, burstable, guaranteed := byClass[BestEffort], byClass[Burstable], byClass[Guaranteed]
	if len(subtractRequests(shortages, bestEffort, burstable, guaranteed)) > 0 {
		return nil, false
	}
	guaranteed = closestVictims(guaranteed, subtractRequests(shortages, bestEffort, burstable))
	burstable = closestVictims(burstable, subtractRequests(shortages, bestEffort, guaranteed))
	bestEffort = closestVictims(bestEffort, subtractRequests(shortages, burstable, guaranteed))
	return slices.Concat(bestEffort, burstable, guaranteed), true
}

// closestVictims selects pods until there is no shortage: repeatedly the pod with the smallest
// distance.
func closestVictims(pods []*model.Pod, shortages []shortage) (victims []*model.Pod) {
	pods = slices.Clone(pods)
	for len(shortages) > 0 && len(pods) > 0 {
		best := 0
		for i := range pods {
			current, lowest := distance(shortages, pods[i]), distance(shortages, pods[best])
			if current < lowest || current == lowest && smallerRequest(pods[i], pods[best]) {
				best = i
			}
		}
		victims = append(victims, pods[best])
		shortages = subtractRequests(shortages, pods[best:best+1])
		pods = slices.Delete(pods, best, best+1)
	}
	return victims
}

// distance returns the sum of the squared shares of each shortage that would remain without p.
func distance(shortages []shortage, p *model.Pod) (sum float64) {
	for _, s := range shortages {
		if remaining := s.amount - requestOf(p, s.resource); remaining > 0 {
			share := float64(remaining) / float64(s.amount)
			sum += float64(share * share) // the conversion prevents a fused multiply-add, which only some architectures have
		}
	}
	return sum
}

// smallerRequest reports whether a requests less than b: of memory, then of cpu.
func smallerRequest(a, b *model.Pod) bool {
	x, y := &a.Spec.Requests, &b.Spec.Requests
	if x.Memory != y.Memory {
		return x.Memory < y.Memory
	}
	return x.MilliCPU < y.MilliCPU
}

// subtractRequests returns the shortages that remain without the given pods.
func subtractRequests(shortages []shortage, victims ...[]*model.Pod) (remaining []shortage) {
	for _, s := range shortages {
		for _, pods := range victims {
			for _, p := range pods {
				s.amount -= requestOf(p, s.resource)
			}
		}
		if s.amount > 0 {
			remaining = append(remaining, s)
		}
	}
	return remaining
}

func requestOf(p *model.Pod, resource string) int64 {
	if resource == "pods" {
		return 1
	}
	return p.Spec.Requests.Amount(resource)
}
