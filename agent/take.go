package agent

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/engine/podlife"
	"github.com/berthproject/berth/internal/intake"
)

// begin takes up what the API has when the agent starts: first the pods that were taken before,
// which have their room, then the others by age.
func (a *Agent) begin(pods, nodes []any) {
	for _, o := range nodes {
		if n, ok := o.(*corev1.Node); ok && a.nodes[n.Name] != nil {
			a.nodeChanged(n)
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
	a.runtime.Sweep(known)
	slices.SortFunc(list, func(x, y *corev1.Pod) int {
		if taken(x) != taken(y) {
			return map[bool]int{true: -1, false: 1}[taken(x)]
		}
		return cmp.Or(x.CreationTimestamp.Compare(y.CreationTimestamp.Time), byName(x, y))
	})
	for _, p := range list {
		a.changed(p)
	}
}

// taken says that an agent has taken the pod.
func taken(p *corev1.Pod) bool { return p.Status.StartTime != nil }

// take takes up a pod: one that is new is judged, one that was taken before resumes its life from what
// its runtime finds, and from its status.
func (a *Agent) take(object *corev1.Pod) *pod {
	n := a.nodes[object.Spec.NodeName]
	p := &pod{object: object, node: n}
	a.pods[object.UID] = p
	if !n.real {
		p.addresses = n.addrs.take(n.want.Spec.PodCIDR, object)
	}
	spec := intake.LifeSpec(&object.Spec)
	spec.MaxDelay = a.opts.MaxRestartDelay
	if object.Status.StartTime != nil {
		spec.Since = object.Status.StartTime.Time
	}
	found := a.runtime.Recall(object)
	finished := object.Status.Phase == corev1.PodSucceeded || object.Status.Phase == corev1.PodFailed
	if !finished && !taken(object) && len(found) == 0 {
		p.life = podlife.New(spec)
		if object.DeletionTimestamp == nil {
			a.judge(p)
		}
		return p
	}
	if finished {
		found = nil // what was written at last stays, whatever a runtime that was away makes of it now
	}
	was := merge(intake.LifeStatuses(&object.Status), found)
	p.life = podlife.Resume(spec, intake.LifePhase(object.Status.Phase), was)
	p.remember(&object.Status)
	if finished {
		p.refused = len(object.Status.InitContainerStatuses)+len(object.Status.ContainerStatuses) == 0 // nothing of it ever ran
		return p
	}
	a.accept(p)
	for _, s := range was {
		if s.State == podlife.Up {
			a.runtime.Resume(object, s.Name, s)
		}
	}
	if object.DeletionTimestamp == nil && !p.begun() {
		a.await(p)
	}
	return p
}

// merge puts what a runtime has found over what the status says.
func merge(was, found []podlife.Status) []podlife.Status {
	for _, f := range found {
		i := slices.IndexFunc(was, func(s podlife.Status) bool { return s.Name == f.Name })
		if i < 0 {
			was = append(was, f)
			continue
		}
		if f.State == podlife.Ended && was[i].State == podlife.Ended && f.Restarts == was[i].Restarts {
			continue // it was told how it ended, by evidence that may be gone
		}
		if f.State == podlife.Up && was[i].State == podlife.Up && f.Restarts == was[i].Restarts {
			f.Launched, f.Ready = was[i].Launched, was[i].Ready
		}
		if f.Last == nil && f.Restarts == was[i].Restarts {
			f.Last = was[i].Last
		}
		was[i] = f
	}
	return was
}

// remember takes over from a status what only the runtime could tell.
func (p *pod) remember(s *corev1.PodStatus) {
	if len(p.addresses) == 0 {
		for _, ip := range s.PodIPs {
			p.addresses = append(p.addresses, ip.IP)
		}
	}
	for _, cs := range [][]corev1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for i := range cs {
			c := &cs[i]
			if t := c.LastTerminationState.Terminated; t != nil && t.ContainerID != c.ContainerID {
				p.note(&runtime.ContainerInfo{Name: c.Name, ID: t.ContainerID})
			}
			if c.ContainerID != "" {
				p.note(&runtime.ContainerInfo{Name: c.Name, ID: c.ContainerID, Image: c.Image, ImageID: c.ImageID})
			}
		}
	}
}

// accept gives a pod its room on the node.
func (a *Agent) accept(p *pod) {
	a.state.UpsertPod(a.intake.Pod(p.object))
	p.node.active.put(p.object)
	p.counted = true
	a.opts.Metrics.running.Inc()
}

// await holds a pod until its claims are bound, if it has any.
func (a *Agent) await(p *pod) {
	if claiming(p.object) {
		p.held = true
		a.claims.add(p.object)
	}
}

// longestGrace is one, in seconds, above which it makes no difference.
const longestGrace = int64(100 * 365 * 24 * 3600)

// grace is what a pod that is deleted has left: all of it from when that is seen, whatever the API server's clock
// says; of a pod that was not known, what is left by its timestamp, which has whole seconds.
func grace(p *corev1.Pod, known bool) time.Duration {
	left := max(time.Until(p.DeletionTimestamp.Add(time.Second)), 0)
	if p.DeletionGracePeriodSeconds == nil {
		return left
	}
	all := time.Duration(min(*p.DeletionGracePeriodSeconds, longestGrace)) * time.Second
	if known {
		return all
	}
	return min(all, left)
}
