package image

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/agent/runtime"
)

// The kubelet's backoff after a failed pull.
const (
	initialBackoff = 10 * time.Second
	maxBackoff     = 5 * time.Minute
)

// Options configures a Puller. Only Service is required.
type Options struct {
	Service runtime.Images
	// Secret reads a pull secret; without it imagePullSecrets are unusable.
	Secret func(ctx context.Context, namespace, name string) (*corev1.Secret, error)
	// RecordEvent records an event about a container of a pod.
	RecordEvent func(pod *corev1.Pod, container, eventType, reason, message string)
	// OnChange is called after an image was pulled.
	OnChange func()
	// MaxParallelPulls is the maximum number of concurrent pulls; default 1 (serializeImagePulls),
	// unlimited if negative.
	MaxParallelPulls int
	// Now returns the current time; default time.Now.
	Now func() time.Time
	// Metrics are optional.
	Metrics *Metrics
}

func (o Options) withDefaults() Options {
	if o.Secret == nil {
		o.Secret = func(context.Context, string, string) (*corev1.Secret, error) { return nil, errNoSecrets }
	}
	if o.RecordEvent == nil {
		o.RecordEvent = func(*corev1.Pod, string, string, string, string) {}
	}
	if o.OnChange == nil {
		o.OnChange = func() {}
	}
	if o.MaxParallelPulls == 0 {
		o.MaxParallelPulls = 1
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
	return o
}
