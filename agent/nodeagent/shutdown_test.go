//go:build linux

package nodeagent

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/runtime/simulated"
	"github.com/berthproject/berth/internal/config"
)

// TestShutdownTerminatesPods checks that the agent terminates its pods before it stops during a machine shutdown, and
// leaves them running otherwise.
func TestShutdownTerminatesPods(t *testing.T) {
	for name, tc := range map[string]struct {
		shuttingDown bool
		total        time.Duration
		duration     time.Duration
		phase        corev1.PodPhase
	}{
		"only the agent stops":     {false, 30 * time.Second, 0, corev1.PodRunning},
		"the machine shuts down":   {true, 30 * time.Second, 10 * time.Second, corev1.PodFailed},
		"no grace period for pods": {true, 0, 0, corev1.PodRunning},
		"a pod exceeds the limit":  {true, 5 * time.Second, 5 * time.Second, corev1.PodFailed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := fake.NewClientset(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: "p", UID: "p", Annotations: map[string]string{simulated.StopSeconds: "10"}},
					Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c"}}}})
				n := &node{opts: Options{Name: "n", Log: klog.Background(), Kubelet: config.Kubelet{Shutdown: config.Shutdown{Total: tc.total}}}}
				var err error
				n.agent, err = agent.New(agent.Options{Client: api, Nodes: []*corev1.Node{agent.NewNode("n", resource.MustParse("1"), resource.MustParse("1Gi"))}, Log: klog.Background(),
					Shutdown: shutdownClasses(n.opts.Kubelet.Shutdown), Runtime: func(report func(runtime.Report)) runtime.Runtime { return simulated.New(report) }})
				if err != nil {
					t.Fatal(err)
				}
				parent, stop := context.WithCancel(t.Context())
				ctx, cancel := n.shutdownContext(parent, func() bool { return tc.shuttingDown })
				defer cancel(nil)
				done := make(chan error)
				go func() { done <- n.agent.Run(ctx) }()
				time.Sleep(5 * time.Second)
				stop()
				start := time.Now()
				if err := <-done; err != nil {
					t.Errorf("Run: %v, want no error", err)
				}
				if elapsed := time.Since(start); elapsed < tc.duration || elapsed > tc.duration+5*time.Second {
					t.Errorf("shutdown took %v, want about %v", elapsed, tc.duration)
				}
				p, err := api.CoreV1().Pods("d").Get(t.Context(), "p", metav1.GetOptions{})
				if err != nil || p.Status.Phase != tc.phase {
					t.Errorf("pod %s (%s), %v, want %s", p.Status.Phase, p.Status.Reason, err, tc.phase)
				}
			})
		})
	}
}
