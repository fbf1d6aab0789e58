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

// Pod describes a pod of the Runner.
type Pod struct {
	Object  *corev1.Pod // read-only
	Cgroup  string      // of the pod; container cgroups are its children, named by container ID
	Sandbox string      // ID, or "" if there is none
	LogDir  string
	// Containers are the latest runs, sorted by name.
	Containers []Container
}

// Container is the latest run of a container of a pod.
type Container struct {
	Name    string
	ID      string // without the runtime's prefix; "" before the container is created
	Attempt uint32
	Running bool
	Started time.Time
	LogPath string
}

// Pods returns all pods of the node, sorted by UID.
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

// Pod returns the pod with that namespace and name. If there are several it returns the newest.
func (r *Runner) Pod(namespace, name string) (newest Pod, ok bool) {
	for _, p := range r.Pods() {
		if o := p.Object; o.Namespace == namespace && o.Name == name && (!ok || newest.Object.CreationTimestamp.Before(&o.CreationTimestamp)) {
			newest, ok = p, true
		}
	}
	return newest, ok
}

// Container returns the pod's container with that name.
func (p *Pod) Container(name string) (Container, bool) {
	i := slices.IndexFunc(p.Containers, func(c Container) bool { return c.Name == name })
	if i < 0 {
		return Container{}, false
	}
	return p.Containers[i], true
}

// snapshot returns the current state of the pod, with its containers sorted by name.
func (p *pod) snapshot() Pod {
	r := p.runner
	p.mu.Lock()
	defer p.mu.Unlock()
	out := Pod{Object: p.object, Cgroup: Cgroup(r.opts.CgroupRoot, p.object), Sandbox: p.sandbox.id, LogDir: LogDir(r.opts.Logs, p.object)}
	for _, c := range p.runs {
		out.Containers = append(out.Containers, Container{Name: c.name, ID: c.id, Attempt: c.attempt, Running: c.started && c.state != stateExited,
			Started: c.startedAt, LogPath: filepath.Join(out.LogDir, logPath(c.name, c.attempt))})
	}
	slices.SortFunc(out.Containers, func(a, b Container) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// TerminatedContainer is an exited container, for container garbage collection.
type TerminatedContainer struct {
	ID        string
	Pod       types.UID
	Container string
	Attempt   uint32
	Created   time.Time
	// PodDeleted reports whether the API server no longer has the pod. It is false until the pods of the
	// node are known.
	PodDeleted bool
}

// Terminated returns all exited containers of this node, oldest first.
func (r *Runner) Terminated(ctx context.Context) ([]TerminatedContainer, error) {
	all, err := r.opts.Service.ListContainers(ctx, &cri.ContainerFilter{LabelSelector: map[string]string{nodeLabel: r.opts.NodeName},
		State: &cri.ContainerStateValue{State: cri.ContainerState_CONTAINER_EXITED}})
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	synced := r.podsSynced
	r.mu.Unlock()
	var out []TerminatedContainer
	for _, c := range all {
		uid := types.UID(c.GetLabels()[podUIDLabel])
		out = append(out, TerminatedContainer{ID: c.GetId(), Pod: uid, Container: c.GetMetadata().GetName(), Attempt: c.GetMetadata().GetAttempt(), Created: timeFromNanos(c.GetCreatedAt()), PodDeleted: synced && r.lookup(uid) == nil})
	}
	slices.SortFunc(out, func(a, b TerminatedContainer) int { return a.Created.Compare(b.Created) })
	return out, nil
}

// RemoveTerminated removes an exited container. It also removes the container's log and rotated logs if the
// Runner still has the pod.
func (r *Runner) RemoveTerminated(ctx context.Context, c TerminatedContainer) error {
	if err := r.opts.Service.RemoveContainer(ctx, c.ID); err != nil && !isNotFound(err) {
		return err
	}
	p := r.lookup(c.Pod)
	if p == nil {
		return nil
	}
	path := filepath.Join(LogDir(r.opts.Logs, p.latest()), logPath(c.Container, c.Attempt))
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	return removeOldLogs(path, 0)
}
