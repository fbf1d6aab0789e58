package berthtest

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/berthproject/berth/controllers/scheduler"
	"github.com/berthproject/berth/internal/recording"
)

// TestReplayOfABusyCluster records a cluster with preemption, a drain and node pressure. A replay must give the recorded
// decisions. With BERTH_SOAK it has 1,000 pods.
func TestReplayOfABusyCluster(t *testing.T) {
	nodes, pods, soak := 4, 32, os.Getenv("BERTH_SOAK") != ""
	if soak {
		nodes, pods = 100, 1000
	}
	dir := t.TempDir()
	r, err := recording.Open(dir, recording.Options{Writer: "up"})
	if err != nil {
		t.Fatal(err)
	}
	c := Start(t, Nodes(nodes), func(o *options) error {
		o.inputs = r
		return nil
	})
	c.deployPods("low", "", int32(pods), "750m") // 10 of them fit on a node
	c.waitForBound("low", pods)
	if _, err := c.Client.SchedulingV1().PriorityClasses().Create(t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.deployPods("high", "high", int32(pods/4), "1500m")
	c.waitForBound("high", pods/4)
	c.evacuate("n1")
	c.PressureNode("n2", corev1.NodeMemoryPressure)
	if soak {
		c.FailNode("n3")
		time.Sleep(2 * GracePeriod) // its pods are evicted and get other nodes
	}
	// The scheduler is not stopped: as after kill -9, the recording ends where it was written last.
	time.Sleep(2 * recording.FlushInterval)
	segments, err := recording.Segments(dir)
	if err != nil {
		t.Fatal(err)
	}
	result, err := recording.Replay(t.Context(), segments, scheduler.NewRecordedMachine)
	if err != nil {
		t.Fatal(err)
	}
	if result.Difference != nil || result.Incomplete != "" || result.Decisions < pods+pods/4+10 {
		t.Errorf("got %+v with difference %+v, want the recorded decisions, at least %d", result, result.Difference, pods+pods/4+10)
	}
	if age := time.Since(result.To); age > 10*time.Second+2*recording.FlushInterval {
		t.Errorf("the last recorded step is %v old", age)
	}
	t.Logf("%+v, %+v", *result, r.Stats())
}

// deployPods creates a Deployment.
func (c *Cluster) deployPods(name, class string, replicas int32, cpu string) {
	c.t.Helper()
	labels := map[string]string{"app": name}
	_, err := c.Client.AppsV1().Deployments("default").Create(c.t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{Replicas: ptr.To(replicas), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{PriorityClassName: class, TerminationGracePeriodSeconds: ptr.To[int64](0), Containers: []corev1.Container{{Name: "c", Image: "example.com/web",
					Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}}}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		c.fatalf("%v", err)
	}
}

// evacuate cordons a node and evicts its pods, as a drain does.
func (c *Cluster) evacuate(node string) {
	c.t.Helper()
	_, err := c.Client.CoreV1().Nodes().Patch(c.t.Context(), node, types.MergePatchType, []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{})
	if err != nil {
		c.fatalf("%v", err)
	}
	pods, err := c.Client.CoreV1().Pods("default").List(c.t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	if err != nil || len(pods.Items) == 0 {
		c.fatalf("node %s has %d pods to evict, %v", node, len(pods.Items), err)
	}
	for _, p := range pods.Items {
		if err := c.Client.CoreV1().Pods("default").EvictV1(c.t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: p.Name}}); err != nil && !apierrors.IsNotFound(err) {
			c.fatalf("%v", err)
		}
	}
}

// waitForBound waits until count pods of a Deployment have nodes.
func (c *Cluster) waitForBound(name string, count int) {
	c.t.Helper()
	c.Eventually(fmt.Sprintf("%d pods of %s have nodes", count, name), func(ctx context.Context) error {
		list, err := c.Client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=" + name})
		bound := 0
		for i := range list.Items {
			if list.Items[i].Spec.NodeName != "" {
				bound++
			}
		}
		if err == nil && bound < count {
			err = fmt.Errorf("%d pods have nodes", bound)
		}
		return err
	})
}
