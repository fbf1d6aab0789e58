package pods

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/engine/podlife"
)

// past is what the runtime had of this node's pods when the agent started. It is listed once;
// what comes later is made by the Runner itself.
type past struct {
	mu     sync.Mutex
	loaded bool
	pods   map[types.UID]*found
}

// found is what the runtime has of one pod, the newest first.
type found struct {
	boxes      []*cri.PodSandbox
	containers []*cri.Container
}

// forget drops what was found of a pod that is gone.
func (p *past) forget(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pods, uid)
}

// newest is the newest container of that name; nil if there is none.
func (f *found) newest(name string) *cri.Container {
	if f != nil {
		for _, c := range f.containers {
			if c.GetMetadata().GetName() == name {
				return c
			}
		}
	}
	return nil
}

// attempt is the container of that name and attempt; nil if there is none.
func (f *found) attempt(name string, n uint32) *cri.Container {
	if f != nil {
		for _, c := range f.containers {
			if c.GetMetadata().GetName() == name && c.GetMetadata().GetAttempt() == n {
				return c
			}
		}
	}
	return nil
}

// before is what was there of a pod when the agent started; nil if nothing.
func (r *Runner) before(ctx context.Context, uid types.UID) (*found, error) {
	r.past.mu.Lock()
	defer r.past.mu.Unlock()
	err := r.load(ctx)
	return r.past.pods[uid], err
}

// allBefore is what was there of all pods when the agent started.
func (r *Runner) allBefore(ctx context.Context) (map[types.UID]*found, error) {
	r.past.mu.Lock()
	defer r.past.mu.Unlock()
	err := r.load(ctx)
	return maps.Clone(r.past.pods), err
}

// load lists what is there, once. r.past.mu is held.
func (r *Runner) load(ctx context.Context) error {
	if r.past.loaded {
		return nil
	}
	version, err := r.opts.Service.Version(ctx)
	if err != nil {
		return err
	}
	all, err := r.list(ctx, nil)
	if err == nil {
		r.past.pods, r.past.loaded = all, true
		name := version.GetRuntimeName()
		r.name.Store(&name)
	}
	return err
}

// list is what the runtime has of our pods that have these labels.
func (r *Runner) list(ctx context.Context, labels map[string]string) (map[types.UID]*found, error) {
	selector := map[string]string{nodeLabel: r.opts.NodeName}
	for k, v := range labels {
		selector[k] = v
	}
	boxes, err := r.opts.Service.ListPodSandbox(ctx, &cri.PodSandboxFilter{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	containers, err := r.opts.Service.ListContainers(ctx, &cri.ContainerFilter{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	all := map[types.UID]*found{}
	at := func(labels map[string]string) *found {
		uid := types.UID(labels[uidLabel])
		if all[uid] == nil {
			all[uid] = &found{}
		}
		return all[uid]
	}
	slices.SortFunc(boxes, func(a, b *cri.PodSandbox) int {
		return cmp.Or(cmp.Compare(b.GetMetadata().GetAttempt(), a.GetMetadata().GetAttempt()), cmp.Compare(b.CreatedAt, a.CreatedAt))
	})
	slices.SortFunc(containers, func(a, b *cri.Container) int {
		return cmp.Or(cmp.Compare(b.GetMetadata().GetAttempt(), a.GetMetadata().GetAttempt()), cmp.Compare(b.CreatedAt, a.CreatedAt))
	})
	for _, b := range boxes {
		f := at(b.GetLabels())
		f.boxes = append(f.boxes, b)
	}
	for _, c := range containers {
		f := at(c.GetLabels())
		f.containers = append(f.containers, c)
	}
	return all, nil
}

// recallLimit is how long the agent's loop waits for a runtime that does not answer: then the API's status counts.
// Once it has waited in vain, it waits only secondLimit for the other pods.
const (
	recallLimit = 5 * time.Second
	secondLimit = 50 * time.Millisecond
)

// Recall implements runtime.Runtime.
func (r *Runner) Recall(object *corev1.Pod) (out []podlife.Status) {
	limit := recallLimit
	if r.deaf.Load() {
		limit = secondLimit
	}
	ctx, cancel := context.WithTimeout(r.ctx, limit)
	defer cancel()
	f, err := r.before(ctx, object.UID)
	r.deaf.Store(err != nil)
	if err != nil {
		r.opts.Log.Error(err, "The runtime does not say what it has of a pod; its status counts", "pod", key(object))
		return nil
	}
	if f == nil || r.pod(object.UID) != nil {
		return nil
	}
	p := r.take(object)
	seen := map[string]bool{}
	for _, c := range f.containers {
		name := c.GetMetadata().GetName()
		if seen[name] || c.GetState() == cri.ContainerState_CONTAINER_CREATED {
			continue
		}
		status, err := r.opts.Service.ContainerStatus(ctx, c.GetId())
		if err != nil || brokenOff(status) {
			continue
		}
		seen[name] = true
		out = append(out, p.recalled(status))
	}
	p.countKills()
	return out
}

// recalled is how a container that was found is. One that has ended is known as if this agent had seen it.
func (p *pod) recalled(status *cri.ContainerStatus) podlife.Status {
	name, attempt := status.GetMetadata().GetName(), status.GetMetadata().GetAttempt()
	s := podlife.Status{Name: name, Restarts: int32(attempt)}
	if status.GetState() == cri.ContainerState_CONTAINER_RUNNING {
		s.State, s.Started = podlife.Up, at(status.GetStartedAt())
		return s
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c := &run{pod: p, name: name, attempt: attempt, id: status.GetId(), info: p.runner.info(name, status), state: ended, settled: make(chan struct{})}
	close(c.settled)
	e := p.exited(c, status)
	p.runs[name] = c
	s.State = podlife.Ended
	s.Exit = podlife.Exit{Code: e.Code, Signal: e.Signal, Reason: e.Reason, Message: e.Message, Started: e.Began, Ended: e.At}
	return s
}

// pickUp takes up what the runtime has already of this attempt. done says that nothing is to be started.
func (p *pod) pickUp(ctx context.Context, c *run) (done bool, err error) {
	r := p.runner
	uid := p.seen().UID
	f, err := r.before(ctx, uid)
	if err == nil && c.unsure {
		var all map[types.UID]*found
		all, err = r.list(ctx, map[string]string{uidLabel: string(uid)})
		f = all[uid]
	}
	if err != nil {
		return false, err
	}
	if err := p.adopt(ctx, f); err != nil {
		return false, err
	}
	old := f.attempt(c.name, c.attempt)
	if c.resumed && old == nil {
		old = f.newest(c.name)
	}
	var status *cri.ContainerStatus
	if old != nil && old.GetState() != cri.ContainerState_CONTAINER_CREATED {
		if status, err = r.opts.Service.ContainerStatus(ctx, old.GetId()); err != nil {
			return false, err
		}
	}
	if old == nil || old.GetState() == cri.ContainerState_CONTAINER_CREATED || brokenOff(status) {
		if old != nil {
			if err = r.opts.Service.RemoveContainer(r.ctx, old.GetId()); missing(err) {
				err = nil // by an earlier try
			}
		}
		switch {
		case err != nil:
			return false, err
		case c.resumed:
			p.lost(c)
			return true, nil
		}
		return p.known(c), nil
	}
	p.mu.Lock()
	c.id, c.info, c.launched, c.began, c.attempt = old.GetId(), r.info(c.name, status), true, at(status.GetStartedAt()), status.GetMetadata().GetAttempt()
	if status.GetState() == cri.ContainerState_CONTAINER_EXITED || status.GetState() == cri.ContainerState_CONTAINER_UNKNOWN {
		p.finish(c, p.exited(c, status))
		p.mu.Unlock()
		return true, nil
	}
	if old.GetPodSandboxId() != p.box.id {
		c.stopping, c.killing = true, true // what its sandbox gave it is gone: it runs anew in another one
	}
	p.mu.Unlock()
	r.track(c)
	if err := p.prepare(ctx); err != nil {
		r.opts.Log.Error(err, "Volumes of a pod that runs cannot be taken up", "pod", key(p.seen()))
	}
	return true, nil
}

// brokenOff says that a container was given up before it ran, because who had asked for it was gone: an agent that was
// killed. The words are containerd's; a pod that is not to be started again would be lost to them.
func brokenOff(status *cri.ContainerStatus) bool {
	return status.GetState() == cri.ContainerState_CONTAINER_EXITED && status.GetStartedAt() == 0 && status.GetReason() == "StartError" &&
		strings.HasPrefix(status.GetMessage(), "failed to create containerd task") && strings.Contains(status.GetMessage(), "context canceled")
}

// known notes that nothing runs of a run that was in doubt. done says that nothing is to be started, since it
// was to stop meanwhile.
func (p *pod) known(c *run) (done bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.unsure = false
	if c.stopping {
		p.never(c)
	}
	return c.state == ended
}

// lost ends a run whose container is not there any more.
func (p *pod) lost(c *run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finish(c, podlife.Exited{Container: c.name, Code: killed, Reason: "ContainerStatusUnknown",
		Message: "The container could not be located when the pod was deleted.  The container used to be Running"})
}

// stranger is a pod of which only the runtime knows.
func stranger(uid types.UID, f *found) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}}
	for _, b := range f.boxes {
		p.Name, p.Namespace = b.GetMetadata().GetName(), b.GetMetadata().GetNamespace()
	}
	for _, c := range f.containers {
		p.Name, p.Namespace = c.GetLabels()[nameLabel], c.GetLabels()[namespaceLabel]
	}
	return p
}

// at is a time in CRI's nanoseconds; 0 is none.
func at(nanos int64) time.Time {
	if nanos <= 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos)
}
