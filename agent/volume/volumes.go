package volume

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

// Options of the volumes of a node.
type Options struct {
	// Client has the node's rights.
	Client kubernetes.Interface
	// Root is the agent's directory; volumes are in Root/pods.
	Root string
	// Node is the node as it is registered: its labels say which local volumes
	// it reaches, its allocatable is what downward API fields without a limit say.
	Node func() *corev1.Node
	Log  klog.Logger
}

// Volumes are those of all pods of a node. Methods may be called from many
// goroutines, for one pod from one at a time.
type Volumes struct {
	opts Options

	mu   sync.Mutex
	pods map[types.UID]*podVolumes
}

// podVolumes is what is kept of a prepared pod.
type podVolumes struct {
	pod *corev1.Pod
}

// New checks the options.
func New(opts Options) (*Volumes, error) {
	return &Volumes{opts: opts, pods: map[types.UID]*podVolumes{}}, nil
}

// Error is why a pod's volumes are not ready; Message is as the kubelet's event has it.
type Error struct {
	Reason  string // of the event: FailedMount
	Message string
}

func (e *Error) Error() string { return e.Message }

// Run keeps the files of prepared pods current until ctx ends.
func (v *Volumes) Run(ctx context.Context) { <-ctx.Done() }

// Prepare makes the volumes that the pod's containers use, once; who gets an error
// (an *Error where the pod should tell) calls again after a while. After a
// restart of the agent it is called for running pods too, and changes nothing
// of what they have.
func (v *Volumes) Prepare(ctx context.Context, pod *corev1.Pod) error { return nil }

// Changed takes in a newer version of a prepared pod: its labels and annotations
// may stand in files.
func (v *Volumes) Changed(pod *corev1.Pod) {}

// Teardown unmounts and removes the volumes of a pod whose containers are
// gone, prepared or not. On an error it may be called again.
func (v *Volumes) Teardown(uid types.UID) error { return nil }

// Pods are those that have a directory under Root/pods.
func (v *Volumes) Pods() ([]types.UID, error) { return nil, nil }
