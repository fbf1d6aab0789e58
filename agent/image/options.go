package image

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/agent/runtime"
)

// The kubelet's pauses after a failed pull.
const (
	firstPause = 10 * time.Second
	maxPause   = 5 * time.Minute
)

// Options of a Puller. Service must be given.
type Options struct {
	Service runtime.Images
	// Secret reads a pull secret; without it pod's imagePullSecrets are not used.
	Secret func(ctx context.Context, namespace, name string) (*corev1.Secret, error)
	// Event records an event about a container of a pod; optional.
	Event func(pod *corev1.Pod, container, eventType, reason, message string)
	// Changed is told when an image has come; optional.
	Changed func()
	// Parallel is how many pulls may be under way at once: 1 (serializeImagePulls) when 0,
	// any number when negative.
	Parallel int
	// Now is the time; time.Now when nil.
	Now func() time.Time
	// Metrics are optional.
	Metrics *Metrics
}

func (o Options) complete() Options {
	if o.Secret == nil {
		o.Secret = func(context.Context, string, string) (*corev1.Secret, error) { return nil, errNoSecrets }
	}
	if o.Event == nil {
		o.Event = func(*corev1.Pod, string, string, string, string) {}
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	if o.Parallel == 0 {
		o.Parallel = 1
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
	return o
}
