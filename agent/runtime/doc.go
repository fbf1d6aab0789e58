// Package runtime says what the agent needs of something that runs containers.
package runtime

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/podlife"
)

// Runtime runs the containers of pods. All methods return at once; what happens
// is reported, in order for each pod, through the function the runtime was made
// with.
type Runtime interface {
	// Start starts a container of the pod and reports Started, then Exited.
	Start(pod *corev1.Pod, container string)
	// Resume takes up a container that was running before the agent restarted,
	// and reports Exited when it ends.
	Resume(pod *corev1.Pod, container string, since podlife.Status)
	// PreStop runs a container's preStop hook and reports PreStopped.
	PreStop(pod *corev1.Pod, container string)
	// Stop asks a container to end by itself; a hook that still runs is left to itself.
	Stop(pod types.UID, container string)
	// Kill ends a container at once.
	Kill(pod types.UID, container string)
	// Forget drops all that is kept of a pod that is gone.
	Forget(pod types.UID)
}

// Report is what a runtime says has happened to a pod.
type Report struct {
	Pod   types.UID
	Event podlife.Event
}
