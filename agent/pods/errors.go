package pods

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// message is what a runtime's error says, without what gRPC adds.
func message(err error) string {
	if s, ok := status.FromError(err); ok && err != nil {
		return s.Message()
	}
	return err.Error()
}

// missing says that what was asked for is not there.
func missing(err error) bool { return err != nil && status.Code(err) == codes.NotFound }

// away says that the runtime did not answer: what it did is not known.
func away(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return true
	}
	return false
}

// event records an event about a pod of which more than the uid is known.
func (r *Runner) event(pod *corev1.Pod, container, eventType, reason, text string) {
	if pod.Name != "" {
		r.opts.Event(pod, container, eventType, reason, text)
	}
}

// runtimeName is what ids begin with, such as containerd.
type runtimeName struct {
	mu   sync.Mutex
	name string
}

// containerID is an id as statuses have it.
func (r *Runner) containerID(id string) string { return r.runtime() + "://" + id }

// runtime is the runtime's name, asked once.
func (r *Runner) runtime() string {
	r.name.mu.Lock()
	defer r.name.mu.Unlock()
	if r.name.name == "" {
		v, err := r.opts.Service.Version(context.WithoutCancel(r.ctx))
		if err != nil {
			return "unknown"
		}
		r.name.name = v.GetRuntimeName()
	}
	return r.name.name
}
