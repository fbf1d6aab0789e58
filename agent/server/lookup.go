package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Labels that every CRI client sets on sandboxes and containers.
const (
	uidLabel       = "io.kubernetes.pod.uid"
	containerLabel = "io.kubernetes.container.name"
)

// statusError is an error with an HTTP status.
type statusError struct {
	code    int
	message string
}

func (e statusError) Error() string { return e.message }

func newStatusError(code int, format string, args ...any) error {
	return statusError{code, fmt.Sprintf(format, args...)}
}

func writeError(w http.ResponseWriter, err error) {
	code := http.StatusInternalServerError
	if e := (statusError{}); errors.As(err, &e) {
		code = e.code
	} else if status.Code(err) == codes.NotFound {
		code = http.StatusNotFound
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, err.Error()) // no newline: the API server uses it as Status.message
}

// findPod returns the pod in the request's path. unsupported completes the error for simulated
// pods.
func findPod(r *http.Request, n *Node, unsupported string) (*corev1.Pod, error) {
	namespace, name, uid := r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("uid")
	for _, p := range n.Pods() {
		if p.Namespace == namespace && p.Name == name && (uid == "" || string(p.UID) == uid) {
			if n.Runtime == nil {
				return nil, newStatusError(http.StatusBadRequest, "pod %q on node %q is simulated: %s", name, n.Name, unsupported)
			}
			return p, nil
		}
	}
	return nil, newStatusError(http.StatusNotFound, "pod %q in namespace %q is not on node %q", name, namespace, n.Name)
}

// findContainer returns the container in the request's path and whether it has a TTY.
func findContainer(r *http.Request, p *corev1.Pod) (name string, tty bool, err error) {
	name = r.PathValue("container")
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		if c.Name == name {
			return name, c.TTY, nil
		}
	}
	for _, c := range p.Spec.EphemeralContainers {
		if c.Name == name {
			return name, c.TTY, nil
		}
	}
	return "", false, newStatusError(http.StatusNotFound, "container %q not found in pod %q", name, p.Name)
}

// listAttempts returns the CRI containers of a container of the pod, newest first.
func listAttempts(ctx context.Context, n *Node, p *corev1.Pod, name string) ([]*cri.Container, error) {
	attempts, err := n.Runtime.ListContainers(ctx, &cri.ContainerFilter{LabelSelector: map[string]string{uidLabel: string(p.UID), containerLabel: name}})
	slices.SortStableFunc(attempts, func(a, b *cri.Container) int {
		return cmp.Or(cmp.Compare(b.GetMetadata().GetAttempt(), a.GetMetadata().GetAttempt()), cmp.Compare(b.CreatedAt, a.CreatedAt))
	})
	return attempts, err
}

// runningContainer returns the ID of the running CRI container.
func runningContainer(ctx context.Context, n *Node, p *corev1.Pod, name string) (string, error) {
	attempts, err := listAttempts(ctx, n, p, name)
	if err != nil {
		return "", err
	}
	for _, c := range attempts {
		if c.State == cri.ContainerState_CONTAINER_RUNNING {
			return c.Id, nil
		}
	}
	return "", newStatusError(http.StatusBadRequest, "container %q in pod %q is not running", name, p.Name)
}

// readySandbox returns the ID of the pod's ready sandbox.
func readySandbox(ctx context.Context, n *Node, p *corev1.Pod) (string, error) {
	sandboxes, err := n.Runtime.ListPodSandbox(ctx, &cri.PodSandboxFilter{LabelSelector: map[string]string{uidLabel: string(p.UID)},
		State: &cri.PodSandboxStateValue{State: cri.PodSandboxState_SANDBOX_READY}})
	if err != nil {
		return "", err
	}
	if len(sandboxes) == 0 {
		return "", newStatusError(http.StatusBadRequest, "pod %q is not running", p.Name)
	}
	return slices.MaxFunc(sandboxes, func(a, b *cri.PodSandbox) int { return cmp.Compare(a.CreatedAt, b.CreatedAt) }).Id, nil
}
