package operator_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"

	"github.com/berthproject/berth/berthtest"
	"github.com/berthproject/berth/berthtest/examples/operator"
)

// startWithPool starts a cluster, the operator and a Pool, and waits until the Pool is available.
func startWithPool(t *testing.T, replicas int64, cpu string, options ...berthtest.Option) *berthtest.Cluster {
	t.Helper()
	c := berthtest.Start(t, append(options, berthtest.CRDs("crd"))...)
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- operator.Run(ctx, c.Config) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	client, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	pool := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Pool",
		"metadata": map[string]any{"name": "db"}, "spec": map[string]any{"replicas": replicas, "cpu": cpu}}}
	if _, err := client.Resource(operator.Pools).Namespace("default").Create(t.Context(), pool, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitAvailable(t, c, "True")
	return c
}

// awaitAvailable waits until the condition Available of the Pool has a status.
func awaitAvailable(t *testing.T, c *berthtest.Cluster, status string) {
	t.Helper()
	c.WaitForCondition(operator.Pools, "default", "db", "Available", status)
}

// podsOn returns the names of the pods of the Pool on a node that are not being deleted.
func podsOn(ctx context.Context, c *berthtest.Cluster, node string) (names []string, err error) {
	list, err := c.Client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: operator.PoolLabel + "=db", FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			names = append(names, list.Items[i].Name)
		}
	}
	return names, nil
}

// TestDrain checks that a node can be drained although the disruption budget allows only one eviction at a time: the
// operator replaces each evicted pod.
func TestDrain(t *testing.T) {
	c := startWithPool(t, 4, "100m", berthtest.Nodes(2))
	minAvailable := intstr.FromInt32(3)
	_, err := c.Client.PolicyV1().PodDisruptionBudgets("default").Create(t.Context(), &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &minAvailable, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{operator.PoolLabel: "db"}}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Client.CoreV1().Nodes().Patch(t.Context(), "n1", types.MergePatchType, []byte(`{"spec": {"unschedulable": true}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	rejected := 0
	c.Eventually("node n1 is drained", func(ctx context.Context) error {
		names, err := podsOn(ctx, c, "n1")
		if err != nil {
			return err
		}
		for _, name := range names {
			err := c.Client.CoreV1().Pods("default").EvictV1(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name}})
			if apierrors.IsTooManyRequests(err) {
				rejected++
			} else if err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		if len(names) > 0 {
			return fmt.Errorf("node n1 has pods %v", names)
		}
		return nil
	})
	awaitAvailable(t, c, "True")
	t.Logf("the budget rejected %d evictions", rejected)
}

// TestNodeLoss checks that the operator replaces the pods of an unreachable node.
func TestNodeLoss(t *testing.T) {
	c := startWithPool(t, 4, "100m", berthtest.Nodes(2))
	c.FailNode("n1")
	c.WaitForNode("n1", corev1.NodeReady, corev1.ConditionUnknown)
	c.Eventually("all replicas are on n2", func(ctx context.Context) error {
		names, err := podsOn(ctx, c, "n2")
		if err == nil && len(names) != 4 {
			err = fmt.Errorf("%d replicas are on n2, want 4", len(names))
		}
		return err
	})
	awaitAvailable(t, c, "True")
	c.RecoverNode("n1")
}

// TestPreemption checks that a Pool is not available after the preemption of a pod, and recovers when a node is added.
func TestPreemption(t *testing.T) {
	c := startWithPool(t, 2, "1", berthtest.Node("small", berthtest.Capacity(corev1.ResourceCPU, "2")))
	if _, err := c.Client.SchedulingV1().PriorityClasses().Create(t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "urgent"}, Value: 1000}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := c.Client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "urgent"},
		Spec: corev1.PodSpec{PriorityClassName: "urgent", Containers: []corev1.Container{{Name: "main", Image: "example.com/main",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}}}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.WaitForPod("default", "urgent", corev1.PodReady)
	awaitAvailable(t, c, "False")
	c.AddNode("large")
	awaitAvailable(t, c, "True")
}
