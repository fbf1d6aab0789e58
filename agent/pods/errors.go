package pods

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/berthproject/berth/agent/network"
)

// errorMessage is what a runtime's error says, without what gRPC adds.
func errorMessage(err error) string {
	if s, ok := status.FromError(err); ok && err != nil {
		return s.Message()
	}
	return err.Error()
}

// isNotFound says that what was asked for is not there.
func isNotFound(err error) bool { return err != nil && status.Code(err) == codes.NotFound }

// isUnsupported says that the runtime does not run pods that ask for this.
func isUnsupported(err error) bool { return status.Code(err) == codes.InvalidArgument }

// reasonRefusedByRuntime is what the state of a container says that waits for something which its runtime does not do.
const reasonRefusedByRuntime = "RefusedByRuntime"

// isPortTaken says that a host port leads to a pod of another node of the machine. This one's are kept apart by the scheduler.
func isPortTaken(err error) bool { return errors.Is(err, network.ErrPortTaken) }

// sandboxError is why there is no sandbox. What will not pass by itself the pod's state says: ContainerCreating would have people wait.
func sandboxError(err error) error {
	switch {
	case isUnsupported(err):
		return &WaitingError{Reason: reasonRefusedByRuntime, Message: errorMessage(err)}
	case isPortTaken(err):
		return &WaitingError{Reason: "HostPortInUse", Message: errorMessage(err)}
	}
	return fmt.Errorf("failed to create pod sandbox: %w", err)
}

// createError is why there is no container.
func createError(err error) error {
	if isUnsupported(err) {
		return &WaitingError{Reason: reasonRefusedByRuntime, Message: errorMessage(err)}
	}
	return &WaitingError{Reason: "CreateContainerError", Message: errorMessage(err)}
}

// isOutcomeUnknown says that the runtime did not answer: what it did is not known.
func isOutcomeUnknown(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return true
	}
	return false
}

// recordEvent records an event about a pod of which more than the uid is known.
func (r *Runner) recordEvent(pod *corev1.Pod, container, eventType, reason, text string) {
	if pod.Name != "" {
		r.opts.Event(pod, container, eventType, reason, text)
	}
}

// containerID is an id as statuses have it, with the runtime's name before it. The name is known once the
// runtime has said what it has, which comes before all else.
func (r *Runner) containerID(id string) string {
	if name := r.runtimeName.Load(); name != nil {
		return *name + "://" + id
	}
	return "unknown://" + id
}
