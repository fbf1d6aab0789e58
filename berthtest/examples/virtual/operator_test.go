package virtual_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/berthtest"
	"github.com/berthproject/berth/berthtest/examples/virtual"
)

// TestNodeLoss loses the node of a worker. The operator has informers, a work queue and goroutines. The pod has the
// default tolerations, so six minutes of virtual time pass until it is replaced. The test does not wait for them.
func TestNodeLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := berthtest.StartVirtual(t, berthtest.Nodes(2))
		startOperator(t, c)
		_, err := c.Client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "billing", Labels: map[string]string{virtual.WorkerLabel: "billing"}}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		lost := nodeOfWorker(t, c, "")
		c.FailNode(lost)
		failed := c.Elapsed()
		c.Advance(5 * time.Minute)
		if node := nodeOfWorker(t, c, ""); node != lost {
			t.Errorf("the worker moved from %s to %s within 5 minutes", lost, node)
		}
		nodeOfWorker(t, c, lost)
		if d := c.Elapsed() - failed; d < 340*time.Second || d > 370*time.Second {
			t.Errorf("the worker moved after %v, want the 50 s until the node is unreachable and the 300 s of the default toleration", d)
		}
	})
}

// TestDeletion checks that the worker is deleted with its ConfigMap.
func TestDeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := berthtest.StartVirtual(t)
		startOperator(t, c)
		configs := c.Client.CoreV1().ConfigMaps("default")
		if _, err := configs.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "billing", Labels: map[string]string{virtual.WorkerLabel: "billing"}}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		nodeOfWorker(t, c, "")
		if err := configs.Delete(t.Context(), "billing", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Minute)
		if list, err := c.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
			t.Errorf("%d pods, %v, want none", len(list.Items), err)
		}
	})
}

// startOperator runs the operator until the end of the test.
func startOperator(t *testing.T, c *berthtest.VirtualCluster) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- virtual.Run(ctx, c.Client) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}

// nodeOfWorker waits until a worker runs on a node other than except, and returns the node.
func nodeOfWorker(t *testing.T, c *berthtest.VirtualCluster, except string) (node string) {
	t.Helper()
	c.Eventually("a worker runs on a node other than "+fmt.Sprintf("%q", except), func(ctx context.Context) error {
		list, err := c.Client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: virtual.WorkerLabel})
		if err != nil {
			return err
		}
		for i := range list.Items {
			if p := &list.Items[i]; p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning && p.Spec.NodeName != except {
				node = p.Spec.NodeName
				return nil
			}
		}
		return errors.New("there is none")
	})
	return node
}
