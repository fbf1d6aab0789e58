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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/runtime/simulated"
)

// TestPodFinished checks that podFinished returns true only for pods with a final phase, and only once the agent has
// listed its pods.
func TestPodFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pod := func(name string, phase corev1.PodPhase) *corev1.Pod {
			start := metav1.Now()
			return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)},
				Spec:   corev1.PodSpec{NodeName: "n", RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c"}}},
				Status: corev1.PodStatus{Phase: phase, StartTime: &start}}
		}
		running, failed := pod("running", corev1.PodRunning), pod("failed", corev1.PodFailed)
		a, err := agent.New(agent.Options{Client: fake.NewClientset(running, failed), Log: klog.Background(),
			Nodes:   []*corev1.Node{agent.NewNode("n", resource.MustParse("8"), resource.MustParse("16Gi"))},
			Runtime: func(report func(runtime.Report)) runtime.Runtime { return simulated.New(report) }})
		if err != nil {
			t.Fatal(err)
		}
		n := &node{opts: Options{Name: "n"}, agent: a}
		if n.podFinished("running") || n.podFinished("failed") {
			t.Error("podFinished is true before the agent has listed its pods, want false")
		}
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error)
		go func() { stopped <- a.Run(ctx) }()
		time.Sleep(time.Second)
		if n.podFinished("running") || !n.podFinished("failed") || n.podFinished("unknown") {
			t.Errorf("podFinished: running %v, failed %v, unknown %v, want true only for failed", n.podFinished("running"), n.podFinished("failed"), n.podFinished("unknown"))
		}
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}
