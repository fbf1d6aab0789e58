package pods

import (
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

// refused says that the runtime does not run pods that ask for this.
func refused(err error) bool { return status.Code(err) == codes.InvalidArgument }

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

// containerID is an id as statuses have it, with the runtime's name before it. The name is known once the
// runtime has said what it has, which comes before all else.
func (r *Runner) containerID(id string) string {
	if name := r.name.Load(); name != nil {
		return *name + "://" + id
	}
	return "unknown://" + id
}
