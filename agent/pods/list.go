package pods

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Pod is one that is here, as others ask about it.
type Pod struct {
	Object  *corev1.Pod // do not change it
	Cgroup  string      // of the pod; those of its containers are below it, called by their ids
	Sandbox string      // id; empty: none
	LogDir  string
	// Containers are the newest runs, in order of names.
	Containers []Container
}

// Container is the newest run of a container of a pod.
type Container struct {
	Name    string
	ID      string // without the runtime's name; empty: there is none yet
	Attempt uint32
	Running bool
	Started time.Time
	LogPath string
}

// Pods are all that are here, in order of their uids.
func (r *Runner) Pods() []Pod {
	r.mu.Lock()
	all := make([]*pod, 0, len(r.pods))
	for _, p := range r.pods {
		all = append(all, p)
	}
	r.mu.Unlock()
	out := make([]Pod, 0, len(all))
	for _, p := range all {
		out = append(out, p.snapshot())
	}
	slices.SortFunc(out, func(a, b Pod) int { return cmp.Compare(a.Object.UID, b.Object.UID) })
	return out
}

// Pod is the one of that namespace and name; of several, that which came last. ok is false if there is none.
func (r *Runner) Pod(namespace, name string) (found Pod, ok bool) {
	for _, p := range r.Pods() {
		if o := p.Object; o.Namespace == namespace && o.Name == name && (!ok || found.Object.CreationTimestamp.Before(&o.CreationTimestamp)) {
			found, ok = p, true
		}
	}
	return found, ok
}

// Container is that of the pod with that name.
func (p *Pod) Container(name string) (Container, bool) {
	i := slices.IndexFunc(p.Containers, func(c Container) bool { return c.Name == name })
	if i < 0 {
		return Container{}, false
	}
	return p.Containers[i], true
}

func (p *pod) snapshot() Pod {
	r := p.runner
	p.mu.Lock()
	defer p.mu.Unlock()
	v := Pod{Object: p.object, Cgroup: Cgroup(r.opts.CgroupRoot, p.object), Sandbox: p.sandbox.id, LogDir: LogDir(r.opts.Logs, p.object)}
	for _, c := range p.runs {
		v.Containers = append(v.Containers, Container{Name: c.name, ID: c.id, Attempt: c.attempt, Running: c.started && c.state != stateExited,
			Started: c.startedAt, LogPath: filepath.Join(v.LogDir, logPath(c.name, c.attempt))})
	}
	slices.SortFunc(v.Containers, func(a, b Container) int { return cmp.Compare(a.Name, b.Name) })
	return v
}

// DeadContainer is a container that has ended, for who decides how long it is kept.
type DeadContainer struct {
	ID        string
	Pod       types.UID
	Container string
	Attempt   uint32
	Created   time.Time
	// PodDeleted says that its pod is no longer here: nobody will ask for its log. It is not said before the
	// pods of the API are known.
	PodDeleted bool
}

// Dead are all of this node's containers that have ended, oldest first.
func (r *Runner) Dead(ctx context.Context) ([]DeadContainer, error) {
	all, err := r.opts.Service.ListContainers(ctx, &cri.ContainerFilter{LabelSelector: map[string]string{nodeLabel: r.opts.NodeName},
		State: &cri.ContainerStateValue{State: cri.ContainerState_CONTAINER_EXITED}})
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	swept := r.podsSynced
	r.mu.Unlock()
	var out []DeadContainer
	for _, c := range all {
		uid := types.UID(c.GetLabels()[podUIDLabel])
		out = append(out, DeadContainer{ID: c.GetId(), Pod: uid, Container: c.GetMetadata().GetName(), Attempt: c.GetMetadata().GetAttempt(), Created: timeFromNanos(c.GetCreatedAt()), PodDeleted: swept && r.lookup(uid) == nil})
	}
	slices.SortFunc(out, func(a, b DeadContainer) int { return a.Created.Compare(b.Created) })
	return out, nil
}

// RemoveDead removes a container that has ended, with its log.
func (r *Runner) RemoveDead(ctx context.Context, d DeadContainer) error {
	if err := r.opts.Service.RemoveContainer(ctx, d.ID); err != nil && !isNotFound(err) {
		return err
	}
	p := r.lookup(d.Pod)
	if p == nil {
		return nil
	}
	path := filepath.Join(LogDir(r.opts.Logs, p.latest()), logPath(d.Container, d.Attempt))
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	return removeOldLogs(path, 0)
}
