package agent_test

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
)

// TestReplacedPodIsTerminated checks a pod that is deleted and recreated while the watch is down: the
// informer reports one update.
func TestReplacedPodIsTerminated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset()
		a, err := agent.New(agent.Options{
			Client: api, Nodes: []*corev1.Node{agent.NewNode("n0", resource.MustParse("8"), resource.MustParse("16Gi"))}, Log: klog.Background(),
			Runtime: func(report func(runtime.Report)) runtime.Runtime { return simulated.New(report) },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- a.Run(ctx) }()
		pods := api.CoreV1().Pods("default")
		first, second := boundPod("web", "n0", nil), boundPod("web", "n0", nil)
		first.UID, second.UID = "first", "second"
		first.Spec.RestartPolicy, second.Spec.RestartPolicy = corev1.RestartPolicyAlways, corev1.RestartPolicyAlways
		if _, err := pods.Create(ctx, first, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if _, err := pods.Update(ctx, second, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if got := a.Pods("n0"); len(got) != 1 || got[0].UID != "second" {
			t.Errorf("the node has %d pods, want only the second", len(got))
		}
		cancel()
		_ = <-done
	})
}
