package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/internal/journal"
)

// protectedApp is an application of ten pods with a budget. minHealthy is computed by hand.
type protectedApp struct {
	name       string
	spec       policyv1.PodDisruptionBudgetSpec
	apps       []string // covered by the budget
	minHealthy int
	never      bool // the budget never allows a disruption
}

// protectedApps returns 20 budgets of all forms over 20 applications. The last one covers
// two.
func protectedApps() (out []protectedApp) {
	forms := []struct {
		min, max   string
		minHealthy int
	}{{"", "1", 9}, {"", "20%", 8}, {"8", "", 8}, {"85%", "", 9}, {"", "15%", 8}}
	for i := range 20 {
		f := forms[i%len(forms)]
		s := protectedApp{name: fmt.Sprintf("app-%02d", i), minHealthy: f.minHealthy}
		s.apps = []string{s.name}
		switch i {
		case 18:
			f.min, f.max, s.minHealthy, s.never = "", "0", 10, true
		case 19: // also covers app-17: two budgets over each of its pods
			s.apps, s.minHealthy = []string{"app-17", "app-19"}, 18
			f.min, f.max = "18", ""
		}
		if f.min != "" {
			v := intstr.Parse(f.min)
			s.spec.MinAvailable = &v
		} else {
			v := intstr.Parse(f.max)
			s.spec.MaxUnavailable = &v
		}
		s.spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: s.apps}}}
		out = append(out, s)
	}
	return out
}

func createProtectedApps(t *testing.T, client kubernetes.Interface, all []protectedApp) {
	t.Helper()
	for _, s := range all {
		replicas, labels := int32(10), map[string]string{"app": s.name}
		rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: s.name}, Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "main:1"}}}}}}
		if _, err := client.AppsV1().ReplicaSets("default").Create(t.Context(), rs, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := client.PolicyV1().PodDisruptionBudgets("default").Create(t.Context(), &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: s.name}, Spec: s.spec}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// budgetRecounter watches all changes of pods, one after the other, and counts all budgets
// after each.
type budgetRecounter struct {
	all []protectedApp

	mu         sync.Mutex
	pods       map[string]*corev1.Pod // existing pods by name
	deleting   map[string]*corev1.Pod // pods being deleted, by UID
	violations []string
	counts     int
	ended      error // why the watch ended; nil while it runs
}

func (r *budgetRecounter) healthy(s *protectedApp) (n int) {
	for _, p := range r.pods {
		if p.DeletionTimestamp == nil && slices.Contains(s.apps, p.Labels["app"]) && readyPod(p) {
			n++
		}
	}
	return n
}

func readyPod(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// watch starts to observe all pods until ctx is done.
func (r *budgetRecounter) watch(ctx context.Context, t *testing.T, client kubernetes.Interface) {
	t.Helper()
	list, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r.pods, r.deleting = map[string]*corev1.Pod{}, map[string]*corev1.Pod{}
	for i := range list.Items {
		r.pods[list.Items[i].Name] = &list.Items[i]
	}
	w, err := client.CoreV1().Pods("default").Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer w.Stop()
		for e := range w.ResultChan() {
			p, ok := e.Object.(*corev1.Pod)
			if !ok {
				break
			}
			r.observe(p, e.Type == "DELETED")
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ended = fmt.Errorf("the watch ended")
	}()
}

func (r *budgetRecounter) observe(p *corev1.Pod, deleted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pods[p.Name] = p; deleted {
		delete(r.pods, p.Name)
	}
	if deleted || p.DeletionTimestamp != nil {
		r.deleting[string(p.UID)] = p
	}
	for i := range r.all {
		r.counts++
		if s := &r.all[i]; r.healthy(s) < s.minHealthy {
			r.violations = append(r.violations, fmt.Sprintf("after pod %s (deleted %v): budget %s requires %d, %d are healthy", p.Name, deleted, s.name, s.minHealthy, r.healthy(s)))
		}
	}
}

// TestDrain checks that kubectl drains three of ten nodes at once, with 200 pods and 20 budgets, without violating a
// budget at any moment. All pods whose budgets allow it must be evicted. For the others the reason must be reported.
func TestDrain(t *testing.T) {
	t.Parallel()
	c := newTestHome(t).up("--nodes", "10")
	client := c.client()
	all := protectedApps()
	createProtectedApps(t, client, all)
	eventually(t, 2*eventTimeout, func() error { return c.checkSettled(all) })
	r := &budgetRecounter{all: all}
	r.watch(t.Context(), t, client)

	nodes := []string{"n1", "n2", "n3"}
	results := make([]result, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() { results[i] = c.kubectl("drain", n, "--timeout=180s") })
	}
	wg.Wait()
	protected := 0
	for i, n := range nodes {
		remaining := 0
		for _, p := range c.pods() {
			if p.Spec.NodeName == n && p.DeletionTimestamp == nil {
				remaining++
				if p.Labels["app"] != "app-18" {
					t.Errorf("pod %s remains on %s, want only pods of app-18", p.Name, n)
				}
			}
		}
		protected += remaining
		if (results[i].code != 0) != (remaining > 0) {
			t.Errorf("drain of %s with %d remaining pods: got %s, want an error only if pods remain", n, remaining, results[i])
		}
		if remaining > 0 {
			expectContains(t, results[i].stderr, "error when evicting pods", "The disruption budget app-18 can never allow it: spec.maxUnavailable is 0: raise it")
		}
	}
	if protected == 0 {
		t.Error("no pod of app-18 ran on the drained nodes, want at least one")
	}
	eventually(t, eventTimeout, func() error { return c.checkSettled(all) })
	r.check(t, client)
}

// checkSettled returns an error unless all pods exist and are ready, and the budgets have counted
// them.
func (c *cluster) checkSettled(all []protectedApp) error {
	ready := map[string]int{}
	for _, p := range c.pods() {
		if p.DeletionTimestamp == nil && readyPod(&p) {
			ready[p.Labels["app"]]++
		}
	}
	var list policyv1.PodDisruptionBudgetList
	c.json(&list, "get", "pdb")
	for _, b := range list.Items {
		i := slices.IndexFunc(all, func(s protectedApp) bool { return s.name == b.Name })
		want := 10 * len(all[i].apps)
		numReady := 0
		for _, app := range all[i].apps {
			numReady += ready[app]
		}
		if s := b.Status; numReady != want || int(s.CurrentHealthy) != want || int(s.DesiredHealthy) != all[i].minHealthy || int(s.DisruptionsAllowed) != want-all[i].minHealthy {
			return fmt.Errorf("budget %s: %d of %d pods are ready, status %+v", b.Name, numReady, want, s)
		}
	}
	return nil
}

// check checks that no budget was violated, and compares the observed evictions with the records.
func (r *budgetRecounter) check(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	list, err := client.EventsV1().Events("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	records := map[string]int{}
	for _, e := range list.Items {
		if e.Annotations[journal.Annotation] != "" && e.Reason == "EvictionByEvictionAPI" {
			records[string(e.Regarding.UID)]++
		}
	}
	eventually(t, eventTimeout, func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.ended != nil {
			t.Fatal(r.ended)
		}
		if len(r.deleting) < len(records) {
			return fmt.Errorf("%d of %d records arrived in the watch, want all", len(r.deleting), len(records))
		}
		return nil
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.violations) > 0 {
		t.Errorf("%d violations of budgets, want none; the first ones:\n%s", len(r.violations), strings.Join(r.violations[:min(5, len(r.violations))], "\n"))
	}
	for uid, p := range r.deleting {
		target := slices.IndexFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == "EvictionByEvictionAPI"
		})
		if target < 0 || records[uid] != 1 {
			t.Errorf("evicted pod %s: got conditions %+v and %d records, want DisruptionTarget and 1", p.Name, p.Status.Conditions, records[uid])
		}
	}
	if len(r.deleting) < 40 {
		t.Errorf("%d pods were evicted, want at least 40: %v", len(r.deleting), slices.Collect(maps.Keys(r.deleting)))
	}
	t.Logf("%d pods were evicted; %d counts of budgets", len(r.deleting), r.counts)
}
