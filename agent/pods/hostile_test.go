package pods

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	clientset "k8s.io/client-go/kubernetes/fake"

	"github.com/berthproject/berth/agent/probe"
	"github.com/berthproject/berth/internal/testkit/container"
)

// TestProbeOfHostilePod checks that an exec probe with timeoutSeconds 5 fails in a pod that stops all its processes.
// The pod becomes unready and can be deleted.
func TestProbeOfHostilePod(t *testing.T) {
	for name, user := range map[string]int64{"root": 0, "user": 1000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			embedded := container.StartEmbedded(t, true, nil)
			var current atomic.Pointer[Runner]
			prober := probe.New(probe.Options{
				Exec: func(ctx context.Context, id string, command []string, timeout time.Duration) (int, string, error) {
					return current.Load().Exec(ctx, id, command, timeout)
				},
				Report: func(r probe.Result) { current.Load().HandleProbeResult(r) },
			})
			h := newRealHarness(t, clientset.NewClientset(), &realRuntime{Harness: embedded.Harness}, func(o *Options) { o.Prober = prober })
			current.Store(h.runner)
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() { defer close(done); prober.Run(ctx) }()
			t.Cleanup(func() { cancel(); <-done })

			pod := realPod("stopped", map[string][]string{"a": nil})
			a := &pod.Spec.Containers[0]
			a.Command = []string{"/bin/sh", "-c", "while [ ! -e /dev/shm/go ]; do sleep 0.05; done; exec /workload -attack=stop"}
			a.SecurityContext = &corev1.SecurityContext{RunAsUser: &user, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
			a.ReadinessProbe = &corev1.Probe{TimeoutSeconds: 5, PeriodSeconds: 1, SuccessThreshold: 1, FailureThreshold: 1,
				ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"/bin/true"}}}}
			h.admit(pod)
			ready := func() bool {
				_, cs := h.lifecycles[pod.UID].machine.Statuses()
				return cs[0].Ready
			}
			h.waitUntil("the pod is ready", ready)
			p, _ := h.runner.Pod(pod.Namespace, pod.Name)
			c, _ := p.Container("a")
			if _, err := embedded.Service.ExecSync(context.Background(), c.ID, []string{"touch", "/dev/shm/go"}, 20*time.Second); err != nil {
				t.Fatal(err)
			}
			h.waitUntil("the pod is unready", func() bool { return !ready() })
			h.delete(pod, time.Second)
			h.waitUntil("the pod is released", func() bool { return h.lifecycles[pod.UID].released })
		})
	}
}
