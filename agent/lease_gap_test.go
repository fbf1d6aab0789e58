package agent

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"

	agentruntime "github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/runtime/simulated"
)

// TestPartitionedNodeReportsReadyOnReconnect checks that the agent writes the node status long before
// the next regular report.
func TestPartitionedNodeReportsReadyOnReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		api := fake.NewClientset()
		var partitioned atomic.Bool
		api.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			if partitioned.Load() {
				return true, nil, errors.New("no route")
			}
			return false, nil, nil
		})
		a, err := New(Options{Client: api, Nodes: []*corev1.Node{NewNode("n", resource.MustParse("1"), resource.MustParse("1Gi"))}, Log: klog.Background(),
			Runtime: func(report func(agentruntime.Report)) agentruntime.Runtime { return simulated.New(report) }})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() { defer close(done); _ = a.Run(ctx) }()
		time.Sleep(20 * time.Second)
		partitioned.Store(true)
		time.Sleep(time.Minute)
		n, err := api.CoreV1().Nodes().Get(ctx, "n", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range n.Status.Conditions {
			n.Status.Conditions[i].Status = corev1.ConditionUnknown
		}
		if _, err := api.CoreV1().Nodes().UpdateStatus(ctx, n, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		partitioned.Store(false)
		time.Sleep(15 * time.Second)
		if n, err = api.CoreV1().Nodes().Get(ctx, "n", metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, c := range n.Status.Conditions {
			if c.Status == corev1.ConditionUnknown {
				t.Errorf("condition %s is %s, want True or False", c.Type, c.Status)
			}
		}
		cancel()
		<-done
	})
}
