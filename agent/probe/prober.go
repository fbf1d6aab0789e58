package probe

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/podlife"
)

// Target is a probe of a container that has started.
type Target struct {
	Pod       *corev1.Pod
	Container *corev1.Container
	Probe     podlife.Probes // one, which the container has
	Attempt   int32          // of the container; comes back with results
	ID        string         // the runtime's
	Address   string         // the pod's IP
	Started   time.Time      // the container
}

// Result is a verdict on a container.
type Result struct {
	Pod       types.UID
	Container string
	Probe     podlife.Probes
	Attempt   int32
	OK        bool
	Message   string // the last answer
}

// Options of a Prober.
type Options struct {
	// Exec runs a command in a container: its exit code and output. When timeout is over it
	// ends with context.DeadlineExceeded or a DeadlineExceeded status.
	Exec func(ctx context.Context, id string, command []string, timeout time.Duration) (code int, output string, err error)
	// Report takes verdicts, one at a time. It must not call the Prober.
	Report func(Result)
	// Event tells of each failed answer, with the reasons and messages of the kubelet; may be nil.
	Event func(pod *corev1.Pod, container, eventType, reason, message string)
}

// Prober runs the probes of a node's containers.
type Prober struct{ opts Options }

// New makes a Prober.
func New(opts Options) *Prober { return &Prober{opts: opts} }

// Run asks until ctx ends.
func (p *Prober) Run(ctx context.Context) { <-ctx.Done() }

// Start begins with a probe of a container, in place of the same one of a former run of it.
func (p *Prober) Start(t Target) {}

// Stop ends a probe of a container.
func (p *Prober) Stop(pod types.UID, container string, probe podlife.Probes) {}
