package runtime

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/podlifecycle"
)

// Runtime runs the containers of pods. All methods are called from one goroutine. They return
// immediately, except ExistingContainers. The runtime reports events, in order for each pod,
// through the function it was created with.
//
//	Start ─▶ Waiting* ─▶ Started ─▶ Exited        reports after Start
//	             └─ Stop or Kill ──▶ Exited       (never ran: ContainerStatusUnknown, 137)
type Runtime interface {
	// ExistingContainers returns the pod's containers from before the agent started, each with its
	// latest attempt. It is the first call for a pod, and its result takes precedence over the status
	// in the API. Nil means that the runtime keeps no state.
	ExistingContainers(pod *corev1.Pod) []podlifecycle.Status
	// Start starts a container. It reports Waiting while it retries, Started after the postStart
	// hook, then Exited. It does not start an attempt twice; it reports the state of an existing one.
	Start(pod *corev1.Pod, container string, attempt int32)
	// Resume adopts a container that was running before the agent restarted. It reports Exited when
	// the container exits or does not exist.
	Resume(pod *corev1.Pod, container string, since podlifecycle.Status)
	// Update passes a pod whose metadata or specification has changed.
	Update(pod *corev1.Pod)
	// Resize gives the running containers the resources of the pod's specification, except those that
	// must restart for it (ResizeRestarts). actual has the resources that the containers have. Resize
	// reports a ResizeResult when done, and for each failed attempt. A later call replaces the target.
	Resize(pod *corev1.Pod, actual Resources)
	// PreStop runs a container's preStop hook and reports PreStopDone.
	PreStop(pod *corev1.Pod, container string)
	// Stop stops a container gracefully. It does not interrupt hooks. If the container has not
	// started yet, the start is aborted.
	Stop(pod types.UID, container string)
	// Kill kills a container.
	Kill(pod types.UID, container string)
	// StartProbe starts a probe and reports ProbeResult: a startup probe once, a liveness probe after it
	// has failed, a readiness probe at each change.
	StartProbe(pod *corev1.Pod, container string, probe podlifecycle.Probes, attempt int32)
	// StopProbe stops a probe. It is called for completed probes, too.
	StopProbe(pod types.UID, container string, probe podlifecycle.Probes)
	// Release releases the sandbox, volumes and cgroup of a pod without running containers, keeps its
	// logs, and reports Released.
	Release(pod *corev1.Pod)
	// Forget removes all state of a deleted pod and kills its processes.
	Forget(pod types.UID)
	// RemoveOrphans removes all pods that are not in existing. It is called once, when all pods bound to
	// the node are known.
	RemoveOrphans(existing map[types.UID]bool)
}

// Report is an event of a pod. Empty fields carry no information.
type Report struct {
	Pod       types.UID
	Event     podlifecycle.Event
	Addresses []string       // of the pod, primary address first
	Container *ContainerInfo // of a created container
	// Resources are the resources of the container of a Started event. Nil means the resources in
	// the pod passed to Start.
	Resources *corev1.ResourceRequirements
	Resize    *ResizeResult
	Released  bool // Release is done
}

// ResizeResult is the result of an attempt of Resize.
type ResizeResult struct {
	Target *corev1.Pod // as passed to Resize
	// Applied are the resources that the pod and its containers have now.
	Applied Resources
	// Error is why the attempt failed, or empty. The runtime retries.
	Error string
}

// ContainerInfo identifies a container and its image.
type ContainerInfo struct {
	Name    string
	ID      string // for example containerd://1f2e...
	Image   string // the runtime's name of the image
	ImageID string // digest or ID
}
