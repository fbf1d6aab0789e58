package berthtest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/berthtest"
)

func TestFailedNodeRecovers(t *testing.T) {
	c := berthtest.Start(t, berthtest.Nodes(2), berthtest.Timeout(2*time.Minute))
	deploy(t, c, "web", 4)
	c.FailNode("n1")
	c.WaitForNode("n1", corev1.NodeReady, corev1.ConditionUnknown)
	awaitReady(t, c, "web", 4, "n1")
	c.RecoverNode("n1")
	c.Eventually("pods of the failed node are deleted", func(ctx context.Context) error {
		list, err := c.Client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=n1"})
		if err == nil && len(list.Items) > 0 {
			err = errors.New(list.Items[0].Name + " still exists")
		}
		return err
	})
}

func TestNodeUnderPressureEvicts(t *testing.T) {
	for _, condition := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure} {
		t.Run(string(condition), func(t *testing.T) {
			t.Parallel()
			c := berthtest.Start(t, berthtest.Nodes(2), berthtest.Timeout(2*time.Minute))
			deploy(t, c, "web", 4)
			c.PressureNode("n2", condition)
			awaitReady(t, c, "web", 4, "n2")
			c.RelieveNode("n2")
			c.WaitForNode("n2", condition, corev1.ConditionFalse)
		})
	}
}

func TestAddAndRemoveNode(t *testing.T) {
	c := berthtest.Start(t, berthtest.Nodes(0))
	c.AddNode("added", berthtest.Capacity(corev1.ResourceCPU, "2"))
	deploy(t, c, "web", 1)
	c.RemoveNode("added")
	c.Eventually("node added is deleted", func(ctx context.Context) error {
		_, err := c.Client.CoreV1().Nodes().Get(ctx, "added", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.New("the Node exists")
	})
	c.AddNode("added")
}
