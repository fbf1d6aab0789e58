package agent

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/engine/podlifecycle"
	"github.com/berthproject/berth/internal/conversion"
)

// restorePods takes up what the API has when the agent starts: first the pods that were taken before,
// which have their room, then the others by age.
func (a *Agent) restorePods(pods, nodes []any) {
	for _, o := range nodes {
		if n, ok := o.(*corev1.Node); ok && a.nodes[n.Name] != nil {
			a.handleNode(n)
		}
	}
	known := map[types.UID]bool{}
	var list []*corev1.Pod
	for _, o := range pods {
		if p, ok := o.(*corev1.Pod); ok && a.nodes[p.Spec.NodeName] != nil {
			known[p.UID] = true
			list = append(list, p)
		}
	}
	a.runtime.RemoveOrphans(known)
	slices.SortFunc(list, func(x, y *corev1.Pod) int {
		if wasAdmitted(x) != wasAdmitted(y) {
			return map[bool]int{true: -1, false: 1}[wasAdmitted(x)]
		}
		return cmp.Or(x.CreationTimestamp.Compare(y.CreationTimestamp.Time), compareByName(x, y))
	})
	for _, p := range list {
		a.handlePod(p)
	}
}

// wasAdmitted says that an agent has taken the pod.
func wasAdmitted(p *corev1.Pod) bool { return p.Status.StartTime != nil }

// addPod takes up a pod: one that is new is judged, one that was taken before resumes its life from what
// its runtime finds, and from its status.
func (a *Agent) addPod(object *corev1.Pod) *pod {
	n := a.nodes[object.Spec.NodeName]
	p := &pod{object: object, node: n}
	a.pods[object.UID] = p
	if !n.hasRuntime {
		p.addresses = n.podIPs.allocate(n.manifest.Spec.PodCIDR, object)
	}
	spec := conversion.PodLifecycleSpec(&object.Spec)
	spec.MaxBackoff = a.opts.MaxContainerRestartPeriod
	if object.Status.StartTime != nil {
		spec.StartTime = object.Status.StartTime.Time
	}
	found := a.runtime.ExistingContainers(object)
	finished := object.Status.Phase == corev1.PodSucceeded || object.Status.Phase == corev1.PodFailed
	if !finished && !wasAdmitted(object) && len(found) == 0 {
		p.lifecycle = podlifecycle.New(spec)
		if object.DeletionTimestamp == nil {
			a.admit(p)
		}
		return p
	}
	if finished {
		found = nil // what was written at last stays, whatever a runtime that was away makes of it now
	}
	was := mergeStatuses(conversion.PodLifecycleStatuses(&object.Status), found)
	p.lifecycle = podlifecycle.Resume(spec, conversion.PodLifecyclePhase(object.Status.Phase), was)
	p.restoreStatus(&object.Status)
	if finished {
		p.rejected = len(object.Status.InitContainerStatuses)+len(object.Status.ContainerStatuses) == 0 // nothing of it ever ran
		return p
	}
	a.reserveResources(p)
	for _, s := range was {
		if s.State == podlifecycle.ContainerRunning {
			a.runtime.Resume(object, s.Name, s)
		}
	}
	if object.DeletionTimestamp == nil && !p.hasStarted() {
		a.waitForClaims(p)
	}
	return p
}

// mergeStatuses puts what a runtime has found over what the status says.
func mergeStatuses(was, found []podlifecycle.Status) []podlifecycle.Status {
	for _, f := range found {
		i := slices.IndexFunc(was, func(s podlifecycle.Status) bool { return s.Name == f.Name })
		if i < 0 {
			was = append(was, f)
			continue
		}
		if f.State == podlifecycle.ContainerTerminated && was[i].State == podlifecycle.ContainerTerminated && f.Restarts == was[i].Restarts {
			continue // it was told how it ended, by evidence that may be gone
		}
		if f.State == podlifecycle.ContainerRunning && was[i].State == podlifecycle.ContainerRunning && f.Restarts == was[i].Restarts {
			f.StartupPassed, f.Ready = was[i].StartupPassed, was[i].Ready
		}
		if f.Last == nil && f.Restarts == was[i].Restarts {
			f.Last = was[i].Last
		}
		was[i] = f
	}
	return was
}

// restoreStatus takes over from a status what only the runtime could tell.
func (p *pod) restoreStatus(s *corev1.PodStatus) {
	if len(p.addresses) == 0 {
		for _, ip := range s.PodIPs {
			p.addresses = append(p.addresses, ip.IP)
		}
	}
	for _, cs := range [][]corev1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for i := range cs {
			c := &cs[i]
			if t := c.LastTerminationState.Terminated; t != nil && t.ContainerID != c.ContainerID {
				p.setContainerInfo(&runtime.ContainerInfo{Name: c.Name, ID: t.ContainerID})
			}
			if c.ContainerID != "" {
				p.setContainerInfo(&runtime.ContainerInfo{Name: c.Name, ID: c.ContainerID, Image: c.Image, ImageID: c.ImageID})
			}
		}
	}
}

// reserveResources gives a pod its room on the node.
func (a *Agent) reserveResources(p *pod) {
	a.state.UpsertPod(a.converter.Pod(p.object))
	p.node.activePods.put(p.object)
	p.reserved = true
	a.opts.Metrics.runningPods.Inc()
}

// waitForClaims holds a pod until its claims are bound, if it has any.
func (a *Agent) waitForClaims(p *pod) {
	if usesClaims(p.object) {
		p.blocked = true
		a.claims.add(p.object)
	}
}

// maxGraceSeconds is one, in seconds, above which it makes no difference.
const maxGraceSeconds = int64(100 * 365 * 24 * 3600)

// remainingGrace is what a pod that is deleted has left: all of it from when that is seen, whatever the API server's clock
// says; of a pod that was not known, what is left by its timestamp, which has whole seconds.
func remainingGrace(p *corev1.Pod, known bool) time.Duration {
	left := max(time.Until(p.DeletionTimestamp.Add(time.Second)), 0)
	if p.DeletionGracePeriodSeconds == nil {
		return left
	}
	all := time.Duration(min(*p.DeletionGracePeriodSeconds, maxGraceSeconds)) * time.Second
	if known {
		return all
	}
	return min(all, left)
}
