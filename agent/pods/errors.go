package pods

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/berthproject/berth/agent/network"
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

// refusedReason is what the state of a container says that waits for something which its runtime does not do.
const refusedReason = "RefusedByRuntime"

// portTaken says that a host port leads to a pod of another node of the machine. This one's are kept apart by the scheduler.
func portTaken(err error) bool { return errors.Is(err, network.ErrPortTaken) }

// notMade is why there is no sandbox. What will not pass by itself the pod's state says: ContainerCreating would have people wait.
func notMade(err error) error {
	switch {
	case refused(err):
		return &Wait{Reason: refusedReason, Message: message(err)}
	case portTaken(err):
		return &Wait{Reason: "HostPortInUse", Message: message(err)}
	}
	return fmt.Errorf("failed to create pod sandbox: %w", err)
}

// notCreated is why there is no container.
func notCreated(err error) error {
	if refused(err) {
		return &Wait{Reason: refusedReason, Message: message(err)}
	}
	return &Wait{Reason: "CreateContainerError", Message: message(err)}
}

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
