package pods

import (
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/agent/runtime"
)

// errorMessage returns the message of a runtime error without gRPC's prefix.
func errorMessage(err error) string {
	if s, ok := status.FromError(err); ok {
		return s.Message()
	}
	return err.Error()
}

// isNotFound reports whether the object of a call does not exist.
func isNotFound(err error) bool { return err != nil && status.Code(err) == codes.NotFound }

// isUnsupported reports whether the runtime does not support a field of the pod.
func isUnsupported(err error) bool { return status.Code(err) == codes.InvalidArgument }

// reasonRefusedByRuntime is the waiting reason of containers that use an unsupported field.
const reasonRefusedByRuntime = "RefusedByRuntime"

// sandboxError returns the error of a sandbox that was not created. Permanent errors get a waiting
// reason instead of ContainerCreating.
func sandboxError(err error) error {
	switch {
	case isUnsupported(err):
		return &WaitingError{Reason: reasonRefusedByRuntime, Message: errorMessage(err)}
	case runtime.IsHostPortInUse(err): // by a pod of another node on this machine: the scheduler prevents conflicts on one node
		return &WaitingError{Reason: "HostPortInUse", Message: errorMessage(err)}
	}
	return fmt.Errorf("failed to create pod sandbox: %w", err)
}

// createError returns the error of a container that was not created.
func createError(err error) error {
	if isUnsupported(err) {
		return &WaitingError{Reason: reasonRefusedByRuntime, Message: errorMessage(err)}
	}
	return &WaitingError{Reason: "CreateContainerError", Message: errorMessage(err)}
}

// isOutcomeUnknown reports whether the runtime did not answer, so that the effect of the call is
// unknown.
func isOutcomeUnknown(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return true
	}
	return false
}

// recordEvent records an event about a pod. It skips orphans of which only the UID is known.
func (r *Runner) recordEvent(pod *corev1.Pod, container, eventType, reason, text string) {
	if pod.Name != "" {
		r.opts.Event(pod, container, eventType, reason, text)
	}
}

// containerID returns the ID with the runtime's name as prefix, as pod statuses have it. The name
// is set when the initial state is loaded, which precedes all other calls.
func (r *Runner) containerID(id string) string {
	if name := r.runtimeName.Load(); name != nil {
		return *name + "://" + id
	}
	return "unknown://" + id
}
