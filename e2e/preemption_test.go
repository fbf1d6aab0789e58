package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// victims records the displaced pods and the nominations that a watch has observed.
type victims struct {
	mu         sync.Mutex
	conditions map[types.UID]map[string]bool // texts of the DisruptionTarget conditions
	names      map[types.UID]string          // of the pods with a condition
	nominated  map[string]string             // the first nomination of a pod, by name
	deleted    map[types.UID]bool
}

// watchVictims records the victims until ctx is done.
func watchVictims(ctx context.Context, t *testing.T, client kubernetes.Interface) *victims {
	t.Helper()
	v := &victims{conditions: map[types.UID]map[string]bool{}, names: map[types.UID]string{}, nominated: map[string]string{}, deleted: map[types.UID]bool{}}
	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.Core().V1().Pods().Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: v.observe, UpdateFunc: func(_, obj any) { v.observe(obj) },
		DeleteFunc: func(obj any) {
			if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = tombstone.Obj
			}
			v.observe(obj)
			v.mu.Lock()
			defer v.mu.Unlock()
			v.deleted[obj.(*corev1.Pod).UID] = true
		}}); err != nil {
		t.Fatal(err)
	}
	factory.Start(ctx.Done())
	cache.WaitForCacheSync(ctx.Done(), informer.HasSynced)
	return v
}

func (v *victims) observe(obj any) {
	p := obj.(*corev1.Pod)
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range p.Status.Conditions {
		c := &p.Status.Conditions[i]
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			if v.conditions[p.UID] == nil {
				v.conditions[p.UID] = map[string]bool{}
			}
			v.conditions[p.UID][c.Reason+" "+c.LastTransitionTime.String()+" "+c.Message] = true
			v.names[p.UID] = p.Name
		}
	}
	if n := p.Status.NominatedNodeName; n != "" && v.nominated[p.Name] == "" {
		v.nominated[p.Name] = n
	}
}

// checkVictims checks that each victim had one DisruptionTarget condition and one Preempted event, and was
// deleted. It returns the number of victims.
func (v *victims) checkVictims(t *testing.T, client kubernetes.Interface) int {
	t.Helper()
	list, err := client.EventsV1().Events("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	events := map[types.UID][]eventsv1.Event{}
	for _, e := range list.Items {
		if e.Reason == "Preempted" {
			events[e.Regarding.UID] = append(events[e.Regarding.UID], e)
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for uid, texts := range v.conditions {
		if len(texts) != 1 || len(events[uid]) != 1 || !v.deleted[uid] {
			t.Errorf("victim %s: conditions %v, %d Preempted events, deleted %v; want one condition, one event and its deletion", v.names[uid], texts, len(events[uid]), v.deleted[uid])
		}
	}
	for uid, es := range events {
		if len(v.conditions[uid]) == 0 {
			t.Errorf("pod %s has a Preempted event, but no DisruptionTarget condition was observed, want one", es[0].Regarding.Name)
		}
	}
	return len(v.conditions)
}

// newSizedPod returns a pod that requests an amount of CPU. class is its priority class, or empty.
func newSizedPod(name, cpu, class string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: corev1.PodSpec{PriorityClassName: class,
		Containers: []corev1.Container{{Name: "main", Image: "main:1", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu)}}}}}}
}

func createPod(t *testing.T, client kubernetes.Interface, p *corev1.Pod) {
	t.Helper()
	if _, err := client.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// createHighClass creates the priority class high.
func createHighClass(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	if _, err := client.SchedulingV1().PriorityClasses().Create(t.Context(),
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestPreemption checks that a pod with a higher priority preempts, on full nodes, only the pod that no
// disruption budget protects.
func TestPreemption(t *testing.T) {
	t.Parallel()
	c := newTestHome(t).up("--nodes", "2", "--node-cpu", "2")
	client := c.client()
	createHighClass(t, client)
	observed := watchVictims(t.Context(), t, client)
	selector := metav1.LabelSelector{MatchLabels: map[string]string{"app": "protected"}}
	if _, err := client.PolicyV1().PodDisruptionBudgets("default").Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "protected"}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: &selector}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		app := "protected"
		if i == 2 {
			app = "unprotected"
		}
		createPod(t, client, newSizedPod(fmt.Sprintf("low-%d", i), "900m", "", map[string]string{"app": app}))
	}
	c.mustKubectl("wait", "--for=condition=Ready", "pod", "--all", "--timeout=180s")

	createPod(t, client, newSizedPod("high", "1", "high", nil))
	c.mustKubectl("wait", "--for=condition=Ready", "pod/high", "--timeout=180s")
	var high corev1.Pod
	c.json(&high, "get", "pod", "high")
	observed.mu.Lock()
	if node := observed.nominated["high"]; node == "" || node != high.Spec.NodeName || high.Status.NominatedNodeName != "" {
		t.Errorf("pod high: got first nomination %q, node %q and nomination %q; want equal nodes and no nomination after binding", node, high.Spec.NodeName, high.Status.NominatedNodeName)
	}
	for uid := range observed.conditions {
		if observed.names[uid] != "low-2" {
			t.Errorf("pod %s was displaced, want low-2, which has no budget", observed.names[uid])
		}
	}
	observed.mu.Unlock()
	if n := observed.checkVictims(t, client); n != 1 {
		t.Errorf("%d pods were displaced, want 1", n)
	}
	checkNodeCapacity(t, c.pods(), c.nodes())
}
