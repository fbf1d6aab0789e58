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

	"github.com/berthproject/berth/engine/podlifecycle"
)

// initialState holds the sandboxes and containers of this node's pods that the runtime had when the agent started.
// loadInitial lists them once.
type initialState struct {
	mu     sync.Mutex
	loaded bool
	pods   map[types.UID]*existingPod
}

// existingPod holds the sandboxes and containers of one pod, newest first.
type existingPod struct {
	sandboxes  []*cri.PodSandbox
	containers []*cri.Container
}

// forget drops the initial state of a removed pod.
func (s *initialState) forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pods, uid)
}

// newestContainer returns the newest container with that name, or nil.
func (e *existingPod) newestContainer(name string) *cri.Container {
	if e != nil {
		for _, c := range e.containers {
			if c.GetMetadata().GetName() == name {
				return c
			}
		}
	}
	return nil
}

// containerAttempt returns the container with that name and attempt, or nil.
func (e *existingPod) containerAttempt(name string, attempt uint32) *cri.Container {
	if e != nil {
		for _, c := range e.containers {
			if c.GetMetadata().GetName() == name && c.GetMetadata().GetAttempt() == attempt {
				return c
			}
		}
	}
	return nil
}

// existingPodOf returns the initial state of a pod, or nil.
func (r *Runner) existingPodOf(ctx context.Context, uid types.UID) (*existingPod, error) {
	r.initial.mu.Lock()
	defer r.initial.mu.Unlock()
	err := r.loadInitial(ctx)
	return r.initial.pods[uid], err
}

// allExisting returns the initial state of all pods.
func (r *Runner) allExisting(ctx context.Context) (map[types.UID]*existingPod, error) {
	r.initial.mu.Lock()
	defer r.initial.mu.Unlock()
	err := r.loadInitial(ctx)
	return maps.Clone(r.initial.pods), err
}

// loadInitial lists the initial state once. r.initial.mu must be held.
func (r *Runner) loadInitial(ctx context.Context) error {
	if r.initial.loaded {
		return nil
	}
	version, err := r.opts.Service.Version(ctx)
	if err != nil {
		return err
	}
	all, err := r.listExisting(ctx, nil)
	if err == nil {
		r.initial.pods, r.initial.loaded = all, true
		name := version.GetRuntimeName()
		r.runtimeName.Store(&name)
	}
	return err
}

// listExisting returns the current sandboxes and containers of this node's pods with the given
// labels.
func (r *Runner) listExisting(ctx context.Context, labels map[string]string) (map[types.UID]*existingPod, error) {
	selector := map[string]string{nodeLabel: r.opts.NodeName}
	for k, v := range labels {
		selector[k] = v
	}
	sandboxes, err := r.opts.Service.ListPodSandbox(ctx, &cri.PodSandboxFilter{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	containers, err := r.opts.Service.ListContainers(ctx, &cri.ContainerFilter{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	byPod := map[types.UID]*existingPod{}
	getOrCreate := func(labels map[string]string) *existingPod {
		uid := types.UID(labels[podUIDLabel])
		if byPod[uid] == nil {
			byPod[uid] = &existingPod{}
		}
		return byPod[uid]
	}
	slices.SortFunc(sandboxes, func(a, b *cri.PodSandbox) int {
		return cmp.Or(cmp.Compare(b.GetMetadata().GetAttempt(), a.GetMetadata().GetAttempt()), cmp.Compare(b.CreatedAt, a.CreatedAt))
	})
	slices.SortFunc(containers, func(a, b *cri.Container) int {
		return cmp.Or(cmp.Compare(b.GetMetadata().GetAttempt(), a.GetMetadata().GetAttempt()), cmp.Compare(b.CreatedAt, a.CreatedAt))
	})
	for _, s := range sandboxes {
		e := getOrCreate(s.GetLabels())
		e.sandboxes = append(e.sandboxes, s)
	}
	for _, c := range containers {
		e := getOrCreate(c.GetLabels())
		e.containers = append(e.containers, c)
	}
	return byPod, nil
}

// statusTimeout is how long the agent waits for the runtime when it reads the state of a pod. After an error it uses
// the status in the API, and waits only statusRetryTimeout for the next pods.
const (
	statusTimeout      = 5 * time.Second
	statusRetryTimeout = 50 * time.Millisecond
)

// ExistingContainers implements runtime.Runtime.
func (r *Runner) ExistingContainers(object *corev1.Pod) (out []podlifecycle.Status) {
	limit := statusTimeout
	if r.statusTimedOut.Load() {
		limit = statusRetryTimeout
	}
	ctx, cancel := context.WithTimeout(r.ctx, limit)
	defer cancel()
	e, err := r.existingPodOf(ctx, object.UID)
	r.statusTimedOut.Store(err != nil)
	if err != nil {
		r.opts.Log.Error(err, "Failed to read containers from the runtime, using the pod's status", "pod", podKey(object))
		return nil
	}
	if e == nil || r.lookup(object.UID) != nil {
		return nil
	}
	p := r.getOrCreate(object)
	seen := map[string]bool{}
	for _, c := range e.containers {
		name := c.GetMetadata().GetName()
		if seen[name] || c.GetState() == cri.ContainerState_CONTAINER_CREATED {
			continue
		}
		status, err := r.opts.Service.ContainerStatus(ctx, c.GetId())
		if err != nil || startWasCanceled(status) {
			continue
		}
		seen[name] = true
		out = append(out, p.existingStatus(status))
	}
	p.resetOOMKillCount()
	return out
}

// existingStatus converts the status of an existing container. An exited container is recorded as
// if this agent had observed its exit.
func (p *pod) existingStatus(status *cri.ContainerStatus) podlifecycle.Status {
	name, attempt := status.GetMetadata().GetName(), status.GetMetadata().GetAttempt()
	s := podlifecycle.Status{Name: name, Restarts: int32(attempt)}
	if status.GetState() == cri.ContainerState_CONTAINER_RUNNING {
		s.State, s.StartedAt = podlifecycle.ContainerRunning, timeFromNanos(status.GetStartedAt())
		return s
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c := &run{pod: p, name: name, attempt: attempt, id: status.GetId(), info: p.runner.containerInfo(name, status), state: stateExited, startDone: make(chan struct{})}
	close(c.startDone)
	e := p.exitEvent(c, status)
	p.runs[name] = c
	s.State = podlifecycle.ContainerTerminated
	s.Exit = podlifecycle.Exit{Code: e.Code, Signal: e.Signal, Reason: e.Reason, Message: e.Message, StartedAt: e.StartedAt, FinishedAt: e.FinishedAt}
	return s
}

// adoptContainer adopts the container that the runtime already has for this attempt. done reports
// whether there is nothing to start.
func (p *pod) adoptContainer(ctx context.Context, c *run) (done bool, err error) {
	r := p.runner
	uid := p.latest().UID
	e, err := r.existingPodOf(ctx, uid)
	if err == nil && c.outcomeUnknown {
		var all map[types.UID]*existingPod
		all, err = r.listExisting(ctx, map[string]string{podUIDLabel: string(uid)})
		e = all[uid]
	}
	if err != nil {
		return false, err
	}
	if err := p.adoptSandbox(ctx, e); err != nil {
		return false, err
	}
	existing := e.containerAttempt(c.name, c.attempt)
	if c.resumed && existing == nil {
		existing = e.newestContainer(c.name)
	}
	var status *cri.ContainerStatus
	if existing != nil && existing.GetState() != cri.ContainerState_CONTAINER_CREATED {
		if status, err = r.opts.Service.ContainerStatus(ctx, existing.GetId()); err != nil {
			return false, err
		}
	}
	if existing == nil || existing.GetState() == cri.ContainerState_CONTAINER_CREATED || startWasCanceled(status) {
		if existing != nil {
			if err = r.opts.Service.RemoveContainer(r.ctx, existing.GetId()); isNotFound(err) {
				err = nil // removed by an earlier attempt
			}
		}
		switch {
		case err != nil:
			return false, err
		case c.resumed:
			p.finishLost(c)
			return true, nil
		}
		return p.confirmNotRunning(c), nil
	}
	p.mu.Lock()
	c.id, c.info, c.started, c.startedAt, c.attempt = existing.GetId(), r.containerInfo(c.name, status), true, timeFromNanos(status.GetStartedAt()), status.GetMetadata().GetAttempt()
	if status.GetState() == cri.ContainerState_CONTAINER_EXITED || status.GetState() == cri.ContainerState_CONTAINER_UNKNOWN {
		p.finish(c, p.exitEvent(c, status))
		p.mu.Unlock()
		return true, nil
	}
	if existing.GetPodSandboxId() != p.sandbox.id {
		c.stopping, c.killing = true, true // its sandbox is lost: restart it in a new one
	}
	p.mu.Unlock()
	r.track(c)
	if err := p.prepare(ctx, c.name); err != nil {
		r.opts.Log.Error(err, "Failed to adopt volumes of running pod", "pod", podKey(p.latest()))
	}
	return true, nil
}

// startWasCanceled reports whether the container never ran because the agent that started it was
// killed. The message is containerd's. Such a start is repeated. Otherwise a pod with
// restartPolicy Never would fail.
func startWasCanceled(status *cri.ContainerStatus) bool {
	return status.GetState() == cri.ContainerState_CONTAINER_EXITED && status.GetStartedAt() == 0 && status.GetReason() == "StartError" &&
		strings.HasPrefix(status.GetMessage(), "failed to create containerd task") && strings.Contains(status.GetMessage(), "context canceled")
}

// confirmNotRunning records that a run of unknown outcome is not running. done reports whether the run
// must not start because it was stopped in the meantime.
func (p *pod) confirmNotRunning(c *run) (done bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.outcomeUnknown = false
	if c.stopping {
		p.finishNotFound(c)
	}
	return c.state == stateExited
}

// finishLost reports the end of a run whose container no longer exists.
func (p *pod) finishLost(c *run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finish(c, podlifecycle.Exited{Container: c.name, Code: exitCodeKilled, Reason: "ContainerStatusUnknown",
		Message: "The container could not be located when the pod was deleted.  The container used to be Running"})
}

// orphanPod returns a minimal object for a pod that only the runtime has.
func orphanPod(uid types.UID, e *existingPod) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}}
	for _, s := range e.sandboxes {
		p.Name, p.Namespace = s.GetMetadata().GetName(), s.GetMetadata().GetNamespace()
	}
	for _, c := range e.containers {
		p.Name, p.Namespace = c.GetLabels()[podNameLabel], c.GetLabels()[podNamespaceLabel]
	}
	return p
}

// timeFromNanos converts a CRI timestamp; 0 becomes the zero time.
func timeFromNanos(nanos int64) time.Time {
	if nanos <= 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos)
}
