package probe

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Kind is which of a container's probes.
type Kind uint8

// The kinds.
const (
	Startup Kind = iota
	Readiness
	Liveness
)

// Result is a verdict on a container.
type Result struct {
	Pod       types.UID
	Container string
	ID        string // the runtime's, from the Target
	Kind      Kind
	OK        bool
	Message   string // the last answer, when not OK
	// Grace is the probe's terminationGracePeriodSeconds, nil where the pod's counts.
	Grace *time.Duration
}

// Target is a container that has started.
type Target struct {
	Pod       *corev1.Pod
	Container *corev1.Container // with its probes
	ID        string            // the runtime's
	Address   string            // the pod's IP
	Started   time.Time
}

// Options of a Prober.
type Options struct {
	// Exec runs a command in a container: its exit code and output. It ends with
	// context.DeadlineExceeded or a DeadlineExceeded status when timeout is over.
	Exec func(ctx context.Context, id string, command []string, timeout time.Duration) (code int, output string, err error)
	// Report takes verdicts. It must not block for long, and not call the Prober.
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

// Start begins with the probes of a container, in place of those of a former run of it.
func (p *Prober) Start(t Target) {}

// Stop ends the probes of a container.
func (p *Prober) Stop(pod types.UID, container string) {}
