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

// restorePods adds the pods that exist when the agent starts. Pods admitted earlier come first,
// because they hold resources. Both groups are sorted by age.
func (a *Agent) restorePods(pods []*corev1.Pod, nodes []*corev1.Node) {
	for _, p := range pods { // before the nodes, because handleNode creates missing mirror pods
		if a.nodes[p.Spec.NodeName] != nil && a.isMirrorPod(p) {
			a.handleMirrorPod(p, false)
		}
	}
	for _, object := range nodes {
		if n := a.nodes[object.Name]; n != nil { // before pods are admitted
			n.restoreConditions(object.Status.Conditions)
		}
		a.handleNode(object)
	}
	existing := map[types.UID]bool{}
	var bound []*corev1.Pod
	for _, p := range pods {
		if a.nodes[p.Spec.NodeName] != nil && !a.isMirrorPod(p) {
			existing[p.UID] = true
			bound = append(bound, p)
		}
	}
	for uid := range a.pods { // static pods
		existing[uid] = true
	}
	a.removeOrphans(existing)
	slices.SortFunc(bound, func(x, y *corev1.Pod) int {
		if admitted := wasAdmitted(x); admitted != wasAdmitted(y) {
			if admitted {
				return -1
			}
			return 1
		}
		return cmp.Or(x.CreationTimestamp.Compare(y.CreationTimestamp.Time), compareByName(x, y))
	})
	for _, p := range bound {
		a.handlePod(p)
	}
	for _, p := range bound {
		if p := a.pods[p.UID]; p != nil && (p.resize.allocated != nil || p.resize.actual != nil) {
			a.resumeResize(p)
		}
	}
}

// wasAdmitted reports whether an agent has admitted the pod.
func wasAdmitted(p *corev1.Pod) bool { return p.Status.StartTime != nil }

// addPod adds a pod. A new pod goes through admission. A pod admitted earlier resumes from the
// containers that the runtime finds and from its status.
func (a *Agent) addPod(object *corev1.Pod) *pod {
	n := a.nodes[object.Spec.NodeName]
	p := &pod{object: object, node: n}
	a.pods[object.UID] = p
	if a.static.kept != nil {
		a.static.kept[object.UID] = true
	}
	if !n.hasRuntime {
		p.addresses = n.podIPs.allocate(n.podCIDR(), object)
	}
	spec := conversion.PodLifecycleSpec(&object.Spec)
	spec.MaxBackoff = a.opts.MaxContainerRestartPeriod
	if object.Status.StartTime != nil {
		spec.StartTime = object.Status.StartTime.Time
	}
	existing := a.runtime.ExistingContainers(object)
	finished := object.Status.Phase == corev1.PodSucceeded || object.Status.Phase == corev1.PodFailed
	if !finished && !wasAdmitted(object) && len(existing) == 0 {
		p.lifecycle = podlifecycle.New(spec)
		if object.DeletionTimestamp == nil {
			a.admit(p)
		}
		return p
	}
	if finished {
		existing = nil // the status is final, whatever the runtime reports now
	}
	statuses := mergeStatuses(conversion.PodLifecycleStatuses(&object.Status), existing)
	p.lifecycle = podlifecycle.Resume(spec, conversion.PodLifecyclePhase(object.Status.Phase), statuses)
	p.restoreStatus(&object.Status)
	if finished {
		p.rejected = len(object.Status.InitContainerStatuses)+len(object.Status.ContainerStatuses) == 0 // no container ever ran
		return p
	}
	a.restoreResize(p)
	a.reserveResources(p)
	for _, s := range statuses {
		if s.State == podlifecycle.ContainerRunning {
			a.runtime.Resume(p.podWithAllocated(), s.Name, s)
		}
	}
	if object.DeletionTimestamp == nil && !p.hasStarted() {
		a.waitForClaims(p)
	}
	return p
}

// recheckSysctls returns the event that terminates an admitted pod whose sysctls the node no longer allows. The kubelet
// also rechecks pods after a restart with another allowedUnsafeSysctls.
func (a *Agent) recheckSysctls(p *pod) []podlifecycle.Event {
	if p.rejected || p.lifecycle.Terminal() || p.lifecycle.Failure() != nil || p.object.DeletionTimestamp != nil {
		return nil
	}
	r := checkSysctls(p.object, a.opts.AllowedUnsafeSysctls)
	if r == nil {
		return nil
	}
	a.unblock(p)
	a.recordRejection(p, r)
	return []podlifecycle.Event{podlifecycle.Fail{Reason: r.Reason, Message: RejectionPrefix + r.Message, Grace: terminationGracePeriod(p.object)}}
}

// mergeStatuses merges the statuses of the runtime's existing containers into the pod's stored
// statuses.
func mergeStatuses(stored, existing []podlifecycle.Status) []podlifecycle.Status {
	for _, e := range existing {
		i := slices.IndexFunc(stored, func(s podlifecycle.Status) bool { return s.Name == e.Name })
		if i < 0 {
			stored = append(stored, e)
			continue
		}
		if e.State == podlifecycle.ContainerTerminated && stored[i].State == podlifecycle.ContainerTerminated && e.Restarts == stored[i].Restarts {
			continue // the stored status has the complete termination state
		}
		if e.State == podlifecycle.ContainerRunning && stored[i].State == podlifecycle.ContainerRunning && e.Restarts == stored[i].Restarts {
			e.StartupPassed, e.Ready = stored[i].StartupPassed, stored[i].Ready
		}
		if e.Last == nil && e.Restarts == stored[i].Restarts {
			e.Last = stored[i].Last
		}
		stored[i] = e
	}
	return stored
}

// restoreStatus restores IPs and container IDs from the pod's status.
func (p *pod) restoreStatus(s *corev1.PodStatus) {
	if len(p.addresses) == 0 {
		for _, ip := range s.PodIPs {
			p.addresses = append(p.addresses, ip.IP)
		}
	}
	for _, cs := range [][]corev1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses} {
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

// reserveResources counts the pod's resources on its node.
func (a *Agent) reserveResources(p *pod) {
	a.countResources(p)
	p.node.activePods.put(p.object)
	p.reserved, p.node.allocationsChanged = true, true
	a.opts.Metrics.runningPods.Inc()
}

// waitForClaims blocks the pod until its claims are bound.
func (a *Agent) waitForClaims(p *pod) {
	if usesClaims(p.object) {
		p.blocked = true
		a.claims.add(p.object)
	}
}

// maxGraceSeconds bounds grace periods, so that they do not overflow time.Duration.
const maxGraceSeconds = int64(100 * 365 * 24 * 3600)

// remainingGrace returns the remaining grace period of a deleted pod at a time. If the agent observed the pod before
// its deletion, that is the whole period from now on. Clock skew with the API server then has no effect. Otherwise it
// is computed from the deletion timestamp, which has a resolution of one second.
func remainingGrace(p *corev1.Pod, observed bool, now time.Time) time.Duration {
	remaining := max(p.DeletionTimestamp.Add(time.Second).Sub(now), 0)
	if p.DeletionGracePeriodSeconds == nil {
		return remaining
	}
	grace := time.Duration(min(*p.DeletionGracePeriodSeconds, maxGraceSeconds)) * time.Second
	if observed {
		return grace
	}
	return min(grace, remaining)
}
