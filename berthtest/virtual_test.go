package berthtest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/berthproject/berth/berthtest"
)

// virtual runs a test with a virtual cluster in a synctest bubble.
func virtual(t *testing.T, test func(t *testing.T, c *berthtest.VirtualCluster), opts ...berthtest.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, berthtest.StartVirtual(t, opts...)) })
}

// deployVirtual creates a Deployment and waits until its pods are ready.
func deployVirtual(t *testing.T, c *berthtest.VirtualCluster, name string, replicas int32) {
	t.Helper()
	labels := map[string]string{"app": name}
	_, err := c.Client.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{Replicas: ptr.To(replicas), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.com/web"}}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Eventually(name+" is available", func(ctx context.Context) error { return available(ctx, c, name, int(replicas)) })
}

// available returns an error unless count pods of a Deployment are ready outside of the nodes in except.
func available(ctx context.Context, c *berthtest.VirtualCluster, name string, count int, except ...string) error {
	list, err := c.Client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=" + name})
	if err != nil {
		return err
	}
	ready := 0
	for i := range list.Items {
		if p := &list.Items[i]; isReady(p) && p.DeletionTimestamp == nil && !slices.Contains(except, p.Spec.NodeName) {
			ready++
		}
	}
	if ready != count {
		return fmt.Errorf("%d of %d pods are ready, want %d", ready, len(list.Items), count)
	}
	return nil
}

func TestVirtualNodeLossMovesPodsAfterTheDefaultToleration(t *testing.T) {
	virtual(t, func(t *testing.T, c *berthtest.VirtualCluster) {
		deployVirtual(t, c, "web", 4)
		c.FailNode("n1")
		failed := c.Elapsed()
		c.WaitForNode("n1", corev1.NodeReady, corev1.ConditionUnknown)
		if d := c.Elapsed() - failed; d < 40*time.Second || d > time.Minute {
			t.Errorf("the node is unreachable after %v, want about 50 s", d)
		}
		c.Eventually("the pods are elsewhere", func(ctx context.Context) error { return available(ctx, c, "web", 4, "n1") })
		if d := c.Elapsed() - failed; d < 340*time.Second || d > 370*time.Second {
			t.Errorf("the pods moved after %v, want about 350 s", d)
		}
		c.RecoverNode("n1")
		c.WaitForNode("n1", corev1.NodeReady, corev1.ConditionTrue)
	}, berthtest.Nodes(2))
}

func TestVirtualPressureEvicts(t *testing.T) {
	virtual(t, func(t *testing.T, c *berthtest.VirtualCluster) {
		deployVirtual(t, c, "web", 4)
		c.PressureNode("n2", corev1.NodeMemoryPressure)
		c.Eventually("the pods are elsewhere", func(ctx context.Context) error { return available(ctx, c, "web", 4, "n2") })
		c.RelieveNode("n2")
		relieved := c.Elapsed()
		c.WaitForNode("n2", corev1.NodeMemoryPressure, corev1.ConditionFalse)
		if d := c.Elapsed() - relieved; d < 4*time.Minute || d > 6*time.Minute {
			t.Errorf("the condition ended after %v, want about 5 minutes", d)
		}
	}, berthtest.Nodes(2))
}

func TestVirtualEvictionsObeyBudgets(t *testing.T) {
	virtual(t, func(t *testing.T, c *berthtest.VirtualCluster) {
		deployVirtual(t, c, "web", 2)
		_, err := c.Client.PolicyV1().PodDisruptionBudgets("default").Create(t.Context(), &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Second)
		pods, err := c.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		if err != nil || len(pods.Items) != 2 {
			t.Fatalf("%d pods, %v", len(pods.Items), err)
		}
		evict := func(i int) error {
			return c.Client.CoreV1().Pods("default").EvictV1(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pods.Items[i].Name}})
		}
		if err := evict(0); err != nil {
			t.Fatal(err)
		}
		if err := evict(1); !apierrors.IsTooManyRequests(err) {
			t.Errorf("the second eviction returned %v, want too many requests", err)
		}
		c.Advance(2 * time.Minute)
		if err := evict(1); err != nil {
			t.Errorf("after the replacement: %v", err)
		}
	})
}

// TestVirtualRunsRepeat checks that two runs with the same seed have the same timeline, and that a run with another seed
// does not. Each run simulates hours with failures of nodes.
func TestVirtualRunsRepeat(t *testing.T) {
	timeline := func(seed uint64) (lines []string) {
		virtual(t, func(t *testing.T, c *berthtest.VirtualCluster) {
			deployVirtual(t, c, "web", 20)
			for i := range 6 {
				node := fmt.Sprintf("n%d", i+1)
				c.FailNode(node)
				c.Advance(10 * time.Minute)
				c.RecoverNode(node)
				c.Advance(20 * time.Minute)
			}
			if err := available(t.Context(), c, "web", 20); err != nil || c.Elapsed() < 3*time.Hour {
				t.Errorf("after %v: %v", c.Elapsed(), err)
			}
		}, berthtest.Nodes(6), berthtest.Seed(seed), berthtest.Timeline(func(line string) { lines = append(lines, line) }))
		return lines
	}
	start := time.Now()
	first, second, other := timeline(7), timeline(7), timeline(8)
	if !slices.Equal(first, second) || len(first) < 100 {
		t.Errorf("two runs of one seed have different timelines of %d and %d lines, or fewer than 100", len(first), len(second))
	}
	if slices.Equal(first, other) {
		t.Error("runs with different seeds have the same timeline")
	}
	t.Logf("9 h of virtual time took %v; %d lines each", time.Since(start).Round(time.Millisecond), len(first))
}

func TestVirtualInformers(t *testing.T) {
	virtual(t, func(t *testing.T, c *berthtest.VirtualCluster) {
		ctx, stop := context.WithCancel(t.Context())
		factory := informers.NewSharedInformerFactory(c.Client, 0)
		pods, lister := factory.Core().V1().Pods().Informer(), factory.Core().V1().Pods().Lister().Pods("default")
		var deleted atomic.Int32
		if _, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(any) { deleted.Add(1) }}); err != nil {
			t.Fatal(err)
		}
		factory.Start(ctx.Done())
		defer func() { stop(); factory.Shutdown() }()
		factory.WaitForCacheSync(ctx.Done())
		deployVirtual(t, c, "web", 3)
		scale, err := c.Client.AppsV1().Deployments("default").GetScale(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		scale.Spec.Replicas = 1
		if _, err := c.Client.AppsV1().Deployments("default").UpdateScale(t.Context(), "web", scale, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Minute)
		if deleted.Load() != 2 {
			t.Errorf("the informer reported %d deletions, want 2", deleted.Load())
		}
		if err := c.Client.AppsV1().Deployments("default").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Minute)
		if p, err := lister.Get("web"); deleted.Load() != 3 || !apierrors.IsNotFound(err) {
			t.Errorf("%d deletions, pod %v, want 3 after the deletion of the Deployment", deleted.Load(), p)
		}
	})
}

func TestVirtualAddAndRemoveNode(t *testing.T) {
	virtual(t, func(t *testing.T, c *berthtest.VirtualCluster) {
		c.AddNode("added", berthtest.Capacity(corev1.ResourceCPU, "2"), berthtest.Label("zone", "a"))
		deployVirtual(t, c, "web", 1)
		if _, err := c.Client.CoreV1().Nodes().Patch(t.Context(), "added", types.StrategicMergePatchType, []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		c.RemoveNode("added")
		c.AddNode("other")
		c.Eventually("the pod moves", func(ctx context.Context) error { return available(ctx, c, "web", 1, "added") })
	}, berthtest.Nodes(0))
}

func TestInvalidUseOfVirtualTime(t *testing.T) {
	for want, option := range map[string]berthtest.Option{"only Start has them": berthtest.Webhooks("testdata/webhook.yaml"), "synctest.Test": berthtest.Nodes(1)} {
		f := &failure{TB: t}
		done := make(chan struct{})
		go func() {
			defer close(done)
			berthtest.StartVirtual(f, option)
		}()
		<-done
		if !strings.Contains(f.message, want) {
			t.Errorf("StartVirtual failed with %q, want %q in it", f.message, want)
		}
	}
}
