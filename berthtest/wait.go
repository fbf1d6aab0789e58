package berthtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// waiter waits for conditions of a cluster.
type waiter struct {
	t       testing.TB
	dynamic dynamic.Interface
	timeout time.Duration
	// wait calls condition until it returns nil, and returns the last error when ctx ends.
	wait func(ctx context.Context, condition func(ctx context.Context) error) error
}

// pollInterval is the time between two checks of a condition.
const pollInterval = 20 * time.Millisecond

// Eventually calls condition until it returns nil. After the timeout it fails the test with the description of the
// condition and the last error.
func (c *waiter) Eventually(description string, condition func(ctx context.Context) error) {
	c.t.Helper()
	if err := c.poll(c.t.Context(), condition); err != nil {
		c.fatalf("waiting until %s: %v", description, err)
	}
}

// WaitForCondition waits until an object has a condition with this status: True, False or Unknown. namespace is
// empty for kinds without namespace.
func (c *waiter) WaitForCondition(resource schema.GroupVersionResource, namespace, name, condition, status string) {
	c.t.Helper()
	if err := c.awaitCondition(c.t.Context(), resource, namespace, name, condition, status); err != nil {
		c.fatalf("waiting for %s %s: %v", resource.GroupResource(), name, err)
	}
}

// WaitForNode waits until a node has a condition with this status.
func (c *waiter) WaitForNode(name string, condition corev1.NodeConditionType, status corev1.ConditionStatus) {
	c.t.Helper()
	c.WaitForCondition(corev1.SchemeGroupVersion.WithResource("nodes"), "", name, string(condition), string(status))
}

// WaitForPod waits until a pod has a condition that is True.
func (c *waiter) WaitForPod(namespace, name string, condition corev1.PodConditionType) {
	c.t.Helper()
	c.WaitForCondition(corev1.SchemeGroupVersion.WithResource("pods"), namespace, name, string(condition), string(corev1.ConditionTrue))
}

// awaitCondition waits for a condition of an object.
func (c *waiter) awaitCondition(ctx context.Context, resource schema.GroupVersionResource, namespace, name, condition, status string) error {
	objects := c.dynamic.Resource(resource).Namespace(namespace)
	return c.poll(ctx, func(ctx context.Context) error {
		object, err := objects.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got := conditionStatus(object, condition); got != status {
			return fmt.Errorf("condition %s is %q, not %q", condition, got, status)
		}
		return nil
	})
}

// conditionStatus returns the status of a condition, or "".
func conditionStatus(object *unstructured.Unstructured, condition string) string {
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, item := range list {
		if fields, ok := item.(map[string]any); ok && fields["type"] == condition {
			status, _ := fields["status"].(string)
			return status
		}
	}
	return ""
}

// poll calls condition until it returns nil. It returns the last error after the timeout or when ctx ends.
func (c *waiter) poll(ctx context.Context, condition func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var last error
	err := c.wait(ctx, func(ctx context.Context) error {
		err := condition(ctx)
		if err != nil && (ctx.Err() == nil || last == nil) {
			last = err // not an error about the end of ctx
		}
		return err
	})
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w (timed out after at most %v)", last, c.timeout)
}

// waitInterval calls condition every pollInterval until it returns nil, and returns the last error when ctx ends.
func waitInterval(ctx context.Context, condition func(ctx context.Context) error) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		err := condition(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-ticker.C:
		}
	}
}

func (c *waiter) fatalf(format string, args ...any) {
	c.t.Helper()
	c.t.Fatal("berthtest: " + fmt.Sprintf(format, args...))
}
