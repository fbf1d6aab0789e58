package runtime

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/podlifecycle"
)

// Runtime runs the containers of pods. All methods are called from one goroutine and
// return at once, but Recall; what happens is reported, in order for each pod, through
// the function the runtime was made with.
//
//	Start ─▶ Waiting* ─▶ Started ─▶ Exited        what Start is answered with
//	             └─ Stop or Kill ──▶ Exited       (it never ran: ContainerStatusUnknown, 137)
type Runtime interface {
	// ExistingContainers is what the runtime finds of a pod from before the agent started: the containers
	// that are there, each by its latest attempt. It is asked before anything else is asked of the pod,
	// and what it says is believed more than the API's status. Nil: it remembers nothing.
	ExistingContainers(pod *corev1.Pod) []podlifecycle.Status
	// Start starts a container of the pod and reports Started (when its postStart hook is
	// done), then Exited. While it does not succeed it tries again and reports Waiting. A container
	// that is there already as this attempt is not started twice, but reported.
	Start(pod *corev1.Pod, container string, attempt int32)
	// Resume takes up a container that was running before the agent restarted,
	// and reports Exited when it ends, or that it is not there.
	Resume(pod *corev1.Pod, container string, since podlifecycle.Status)
	// Update tells of a pod whose labels, annotations or specification have changed.
	Update(pod *corev1.Pod)
	// PreStop runs a container's preStop hook and reports PreStopped.
	PreStop(pod *corev1.Pod, container string)
	// Stop asks a container to end by itself; a hook that still runs is left to itself.
	// One that is starting starts no more.
	Stop(pod types.UID, container string)
	// Kill ends a container at once.
	Kill(pod types.UID, container string)
	// StartProbe begins to probe a container and reports Probed: a startup probe once, a liveness probe
	// when it has failed, a readiness probe at each change.
	StartProbe(pod *corev1.Pod, container string, probe podlifecycle.Probes, attempt int32)
	// StopProbe ends a probe; it is also told of those that came to their end.
	StopProbe(pod types.UID, container string, probe podlifecycle.Probes)
	// Release lets go of what a pod holds of which nothing runs any more (sandbox, volumes,
	// cgroup), keeps what its logs need, and reports Released.
	Release(pod *corev1.Pod)
	// Forget drops all that is kept of a pod whose object is gone, and ends what still runs of it.
	Forget(pod types.UID)
	// RemoveOrphans ends and drops the pods that are not among known, which are all that the API has
	// bound here; called once, when they are known.
	RemoveOrphans(known map[types.UID]bool)
}

// Report is what a runtime says has happened to a pod. Fields that are empty say nothing.
type Report struct {
	Pod       types.UID
	Event     podlifecycle.Event
	Addresses []string       // of the pod, the first one its main one
	Container *ContainerInfo // what is known of a container that was made
	Released  bool           // Release has done its work
}

// ContainerInfo tells of a container what only its runtime knows.
type ContainerInfo struct {
	Name    string
	ID      string // such as containerd://1f2e...
	Image   string // as the runtime calls it
	ImageID string // digest, or id
}
