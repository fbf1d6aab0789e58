package demo

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/berthproject/berth/engine/nodepressure/usage"
)

// usageIncrease is a running increase of a pod's usage.
type usageIncrease struct {
	err  atomic.Pointer[string]
	stop context.CancelFunc
}

// errorSuffix returns the error of the increase as the end of a message, or "".
func (t *usageIncrease) errorSuffix() string {
	if f := t.err.Load(); f != nil {
		return "; " + *f
	}
	return ""
}

// increaseUsage increases the usage of one pod but not of its replacement. It runs a command in a
// real container, and sets the usage script of a simulated one. The function script returns that
// script for a pod of the given age.
func (s *session) increaseUsage(ctx context.Context, pod *corev1.Pod, command []string, script func(age time.Duration) string) (*usageIncrease, error) {
	ctx, stop := context.WithCancel(ctx)
	t := &usageIncrease{stop: stop}
	if s.RunsProcesses {
		go func() {
			if err := s.exec(ctx, pod.Name, command); err != nil && ctx.Err() == nil {
				message := fmt.Sprintf("the command in %s failed: %v", pod.Name, err)
				t.err.Store(&message)
			}
		}()
		return t, nil
	}
	age := time.Duration(0)
	if c := pod.Status.ContainerStatuses; len(c) > 0 && c[0].State.Running != nil {
		age = max(time.Since(c[0].State.Running.StartedAt.Time), 0)
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, usage.Annotation, script(age.Truncate(time.Millisecond)))
	_, err := s.client.CoreV1().Pods(Namespace).Patch(ctx, pod.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return t, err
}

// exec runs a command in a pod, as kubectl exec does.
func (s *session) exec(ctx context.Context, pod string, command []string) error {
	request := s.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(Namespace).Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: "main", Command: command, Stdout: true, Stderr: true}, scheme.ParameterCodec)
	executor, err := remotecommand.NewWebSocketExecutor(s.Config, "GET", request.URL().String())
	if err != nil {
		return err
	}
	return executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: io.Discard, Stderr: io.Discard})
}
