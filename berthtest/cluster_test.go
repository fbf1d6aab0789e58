package berthtest_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"regexp"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"

	"github.com/berthproject/berth/berthtest"
)

// deploy creates a Deployment and waits until it is available.
func deploy(t *testing.T, c *berthtest.Cluster, name string, replicas int32) {
	t.Helper()
	labels := map[string]string{"app": name}
	_, err := c.Client.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{Replicas: ptr.To(replicas), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.com/web"}}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	awaitReady(t, c, name, int(replicas))
}

// awaitReady waits until count pods of a Deployment are ready and not being deleted, none of them on a node in
// except.
func awaitReady(t *testing.T, c *berthtest.Cluster, name string, count int, except ...string) {
	t.Helper()
	c.Eventually(fmt.Sprintf("%d pods of %s are ready outside of %v", count, name, except), func(ctx context.Context) error {
		list, err := c.Client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=" + name})
		if err != nil {
			return err
		}
		ready, lines := 0, ""
		for i := range list.Items {
			p := &list.Items[i]
			lines += fmt.Sprintf("; %s on %s is %s", p.Name, p.Spec.NodeName, p.Status.Phase)
			if isReady(p) && p.DeletionTimestamp == nil && !strings.Contains(" "+strings.Join(except, " ")+" ", " "+p.Spec.NodeName+" ") {
				ready++
			}
		}
		if ready != count {
			return fmt.Errorf("%d pods are ready%s", ready, lines)
		}
		return nil
	})
}

func isReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func TestClusterRunsPods(t *testing.T) {
	c := berthtest.Start(t, berthtest.Nodes(2), berthtest.Node("gpu", berthtest.Label("zone", "a"),
		berthtest.Taint("gpu", "only", corev1.TaintEffectNoSchedule), berthtest.Capacity("example.com/gpu", "4")))
	deploy(t, c, "web", 3)
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	n, err := client.CoreV1().Nodes().Get(t.Context(), "gpu", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if gpus := n.Status.Allocatable["example.com/gpu"]; gpus.Value() != 4 || n.Labels["zone"] != "a" || len(n.Spec.Taints) != 1 {
		t.Errorf("node gpu has labels %v, taints %v, allocatable %v, want zone=a, one taint and 4 GPUs", n.Labels, n.Spec.Taints, n.Status.Allocatable)
	}
	pods, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=gpu"})
	if err != nil || len(pods.Items) > 0 {
		t.Errorf("%d pods on the tainted node, %v, want 0", len(pods.Items), err)
	}
}

func TestInvalidOptions(t *testing.T) {
	for name, tc := range map[string]struct {
		option berthtest.Option
		want   string
	}{
		"node name": {berthtest.Node("N_1"), `node "N_1"`},
		"nodes":     {berthtest.Nodes(-1), "nodes: -1: must be 0 or more"},
		"twice":     {berthtest.Node("n1"), `node "n1": added twice`},
		"capacity":  {berthtest.Node("n2", berthtest.Capacity("cpu", "many")), `capacity cpu: "many": must be a quantity`},
		"timeout":   {berthtest.Timeout(-time.Second), "must be positive"},
		"no file":   {berthtest.CRDs("testdata/missing.yaml"), "testdata/missing.yaml"},
		"kind":      {berthtest.CRDs("testdata/webhook.yaml"), `kind "ValidatingWebhookConfiguration": must be one of`},
	} {
		f := &failure{TB: t}
		done := make(chan struct{})
		go func() {
			defer close(done)
			berthtest.Start(f, berthtest.Nodes(1), tc.option)
		}()
		<-done
		if !strings.Contains(f.message, tc.want) {
			t.Errorf("%s: Start failed with %q, want %q in it", name, f.message, tc.want)
		}
	}
}

// failure is a testing.TB that records the message of Fatalf.
type failure struct {
	testing.TB
	message string
}

func (f *failure) Helper() {}

func (f *failure) Fatalf(format string, args ...any) {
	f.message = fmt.Sprintf(format, args...)
	goruntime.Goexit()
}

// TestClusterReleasesResources checks that no goroutine, port or file of a cluster remains. Goroutines of libraries
// may remain after the first cluster, but a further cluster must add none.
func TestClusterReleasesResources(t *testing.T) {
	var address, kubeconfig string
	run := func(t *testing.T) {
		start := time.Now()
		c := berthtest.Start(t)
		t.Logf("started in %v", time.Since(start).Round(time.Millisecond))
		deploy(t, c, "web", 2)
		var m goruntime.MemStats
		goruntime.ReadMemStats(&m)
		t.Logf("memory from the operating system %d MiB, live heap at most %d MiB", (m.Sys-m.HeapReleased)>>20, m.HeapAlloc>>20)
		address, kubeconfig = strings.TrimPrefix(c.Config.Host, "https://"), c.Kubeconfig
	}
	t.Run("first", run)
	settled := settle(nil)
	t.Logf("goroutines of libraries: %v", settled)
	t.Run("second", run)
	after := settle(settled)
	for creator, count := range after {
		if count > settled[creator] {
			t.Errorf("%d goroutines more than before the second cluster: %s", count-settled[creator], creator)
		}
	}
	if conn, err := net.Dial("tcp", address); err == nil {
		_ = conn.Close()
		t.Errorf("the API server still listens at %s", address)
	}
	if _, err := os.Stat(kubeconfig); !os.IsNotExist(err) {
		t.Errorf("kubeconfig %s: %v, want it deleted", kubeconfig, err)
	}
}

// settle returns the number of goroutines by their creator. It waits until there are no more than before, or until the
// number has not changed for 15 seconds. If before is nil, it waits until the number has not changed for two seconds.
func settle(before map[string]int) map[string]int {
	unchanged := 15 * time.Second
	if before == nil {
		unchanged = 2 * time.Second
	}
	last, since := goroutines(), time.Now()
	for time.Since(since) < unchanged {
		time.Sleep(20 * time.Millisecond)
		current := goroutines()
		if !maps.Equal(current, last) {
			last, since = current, time.Now()
		}
		added := before == nil
		for creator, count := range current {
			added = added || count > before[creator]
		}
		if !added {
			return current
		}
	}
	return last
}

var createdBy = regexp.MustCompile(`created by (\S+)`)

// goroutines counts the goroutines by the function that created them.
func goroutines() map[string]int {
	buffer := make([]byte, 16<<20)
	counts := map[string]int{}
	for stack := range strings.SplitSeq(string(buffer[:goruntime.Stack(buffer, true)]), "\n\n") {
		if m := createdBy.FindStringSubmatch(stack); m != nil {
			counts[m[1]]++
		}
	}
	return counts
}
