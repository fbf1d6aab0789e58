package installtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// moved is the name of the Deployment whose pod the descheduler moves.
const moved = "moved"

// checkMove creates a Deployment for the scheduler of the image and adds a taint to the node of its pod. It waits until
// the descheduler of the image has evicted the pod and a new pod is ready on the other simulated node.
func (c *cluster) checkMove(t *testing.T) {
	t.Helper()
	labels := map[string]string{"app": moved}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: moved}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			SchedulerName: "berth-scheduler",
			Tolerations:   []corev1.Toleration{{Key: "berth.dev/simulated", Operator: corev1.TolerationOpExists}},
			Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"n1", "n2"}}}}}}}},
			Containers: []corev1.Container{{Name: "main", Image: "none"}},
		}},
	}}
	if _, err := c.client.AppsV1().Deployments("default").Create(t.Context(), deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	first := c.waitMoved(t, []string{"n1", "n2"})
	node, err := c.client.CoreV1().Nodes().Get(t.Context(), first, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "test", Effect: corev1.TaintEffectNoSchedule})
	if _, err := c.client.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.waitMoved(t, slices.DeleteFunc([]string{"n1", "n2"}, func(name string) bool { return name == first }))
}

// waitMoved waits until the only pod of the Deployment is ready on one of the nodes, and returns the node.
func (c *cluster) waitMoved(t *testing.T, nodes []string) (node string) {
	t.Helper()
	waitUntil(t, fmt.Sprintf("the pod is ready on one of nodes %q", nodes), func(ctx context.Context) error {
		pods, err := c.client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=" + moved})
		if err != nil {
			return err
		}
		if len(pods.Items) != 1 {
			return fmt.Errorf("the Deployment has %d pods", len(pods.Items))
		}
		if node = pods.Items[0].Spec.NodeName; !slices.Contains(nodes, node) || pods.Items[0].Status.Phase != corev1.PodRunning {
			return fmt.Errorf("the pod has node %q and phase %s", node, pods.Items[0].Status.Phase)
		}
		return nil
	})
	return node
}

// checkProcesses checks the user and the privileges of the processes of scheduler, controllers and descheduler.
func checkProcesses(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, file := range files {
		arguments, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(string(arguments), "/berth\x00") {
			continue // ended, or another program
		}
		status, err := os.ReadFile(filepath.Join(filepath.Dir(file), "status"))
		if err != nil {
			t.Fatal(err)
		}
		component := strings.Split(string(arguments), "\x00")[1]
		found[component] = true
		for _, want := range []string{`Uid:\s+65532\s+65532\s`, `CapEff:\s+0+\n`, `CapBnd:\s+0+\n`, `NoNewPrivs:\s+1\n`, `Seccomp:\s+2\n`} {
			if !regexp.MustCompile(want).Match(status) {
				t.Errorf("the process of the %s has status\n%s\nwant %s", component, status, want)
			}
		}
	}
	if len(found) != 3 || !found["scheduler"] || !found["controller"] || !found["descheduler"] {
		t.Errorf("found processes of the image %v, want scheduler, controller and descheduler", found)
	}
}

// logs returns the log of a pod of the release.
func (c *cluster) logs(ctx context.Context, pod string) string {
	log, err := c.client.CoreV1().Pods(namespace).GetLogs(pod, &corev1.PodLogOptions{}).DoRaw(ctx)
	if err != nil {
		return err.Error()
	}
	return string(log)
}

// checkLogs checks that the pods of the release have no restarts and log no missing permission.
func (c *cluster) checkLogs(t *testing.T) {
	t.Helper()
	pods, err := c.client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=berth"})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		if restarts := pod.Status.ContainerStatuses[0].RestartCount; restarts != 0 {
			t.Errorf("pod %s has %d restarts, want none", pod.Name, restarts)
		}
		for line := range strings.Lines(c.logs(t.Context(), pod.Name)) {
			failed := strings.Contains(line, "level=ERROR") && !strings.Contains(line, "retrying")
			if failed || strings.Contains(line, "is forbidden") || strings.Contains(line, "read-only file system") || strings.Contains(line, "permission denied") {
				t.Errorf("pod %s logs %s", pod.Name, line)
			}
		}
	}
}

// logPods logs the pods of the release, their events and their logs.
func (c *cluster) logPods(t *testing.T) {
	t.Helper()
	ctx := context.Background() // that of the test is cancelled before the cleanup
	pods, err := c.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Error(err)
	}
	for _, pod := range pods.Items {
		t.Logf("pod %s: %+v\n%s", pod.Name, pod.Status.ContainerStatuses, c.logs(ctx, pod.Name))
	}
	events, err := c.client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Error(err)
	}
	for _, event := range events.Items {
		t.Logf("event of %s: %s: %s", event.InvolvedObject.Name, event.Reason, event.Message)
	}
}
