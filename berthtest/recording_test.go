package berthtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
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
	nodes, cpus, pods, soak := 4, "8", 32, os.Getenv("BERTH_SOAK") != ""
	if soak {
		nodes, cpus, pods = 25, "32", 1000 // few large nodes: each node sends heartbeats
	}
	dir := t.TempDir()
	r, err := recording.Open(dir, recording.Options{Writer: "up"})
	if err != nil {
		t.Fatal(err)
	}
	opts := []Option{Timeout(3 * time.Minute), func(o *options) error {
		o.inputs = r
		return nil
	}}
	for i := range nodes {
		opts = append(opts, Node(fmt.Sprintf("n%d", i+1), Capacity("cpu", cpus)))
	}
	c := Start(t, opts...)
	c.deployPods("low", "", int32(pods), "750m") // 10 of them fit on a node
	c.waitForBound("low", pods)
	if _, err := c.Client.SchedulingV1().PriorityClasses().Create(t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.deployPods("high", "high", int32(pods/4), "1500m")
	c.waitForBound("high", pods/4)
	drained := c.evacuate("n1")
	c.PressureNode("n2", corev1.NodeMemoryPressure)
	c.Eventually("node n2 evicts a pod", func(ctx context.Context) error {
		list, err := c.Client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=n2,status.phase=Failed"})
		if err == nil && len(list.Items) == 0 {
			err = errors.New("no pod failed")
		}
		return err
	})
	if soak {
		c.FailNode("n3")
		c.Eventually("pods of the failed node are evicted", func(ctx context.Context) error {
			list, err := c.Client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=n3"})
			if err == nil && slices.ContainsFunc(list.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp == nil }) {
				err = errors.New("a pod is not deleted")
			}
			return err
		})
	}
	// The scheduler keeps running, so the recording ends at its last write, as after kill -9.
	c.waitForRecordedPods(dir)
	segments, err := recording.Segments(dir)
	if err != nil {
		t.Fatal(err)
	}
	result, err := recording.Replay(t.Context(), segments, scheduler.NewRecordedMachine)
	if err != nil {
		t.Fatal(err)
	}
	// Each pod was bound once. Replacements of drained and evicted pods may still be pending.
	if result.Difference != nil || result.Incomplete != "" || result.Decisions < pods+pods/4 {
		t.Errorf("got %+v with difference %+v, want the recorded decisions, at least %d", result, result.Difference, pods+pods/4)
	}
	stats := r.Stats()
	fmt.Printf("soak: %d pods, %d with a higher priority, %d drained, a node under pressure: %d decisions in %d steps are equal in a replay; %d steps dropped, %d KiB\n",
		pods, pods/4, drained, result.Decisions, result.Steps, stats.DroppedSteps, stats.Bytes>>10)
}

// waitForRecordedPods waits until a recording has the pods of the API on their nodes.
func (c *Cluster) waitForRecordedPods(dir string) {
	c.t.Helper()
	c.Eventually("the recording has the pods of the API", func(ctx context.Context) error {
		segments, err := recording.Segments(dir)
		if err != nil {
			return err
		}
		state, err := recording.StateAt(segments, time.Now())
		if err != nil {
			return err
		}
		nodes := map[string]string{}
		for _, p := range state.Pods() {
			nodes[p.UID] = p.NodeName
		}
		list, err := c.Client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, p := range list.Items {
			node, ok := nodes[string(p.UID)]
			if p.Status.Phase != corev1.PodFailed && (!ok || node != p.Spec.NodeName) {
				return fmt.Errorf("pod %s on node %q is recorded: %v, on node %q", p.Name, p.Spec.NodeName, ok, node)
			}
		}
		return nil
	})
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

// evacuate cordons a node and evicts its pods, as a drain does. It returns the number of pods.
func (c *Cluster) evacuate(node string) (evicted int) {
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
	return len(pods.Items)
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
