package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/parity/workload"
)

// scenarioRun runs a scenario: it creates the objects, acts as the kubelet of all pods,
// and records which pods were evicted and created.
type scenarioRun struct {
	c   *cluster
	ctx context.Context
	err error // errors of creating objects

	mu   sync.Mutex
	pods map[types.UID]*podHistory
}

// podHistory contains what the watch reported about a pod.
type podHistory struct {
	owner, node      string
	created, deleted time.Time // deleted is zero if the deletion was not requested
	evicted          bool      // by the eviction API
}

// newScenarioRun starts the watch.
func (c *cluster) newScenarioRun(ctx context.Context) (*scenarioRun, error) {
	t := &scenarioRun{c: c, ctx: ctx, pods: map[types.UID]*podHistory{}}
	factory := informers.NewSharedInformerFactoryWithOptions(c.client, 0, informers.WithNamespace("default"))
	record := func(o any) {
		if p, ok := o.(*corev1.Pod); ok {
			t.observe(p)
		}
	}
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: record, UpdateFunc: func(_, o any) { record(o) }})
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	_, e := c.client.SchedulingV1().PriorityClasses().Create(ctx, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "ten"}, Value: 10}, metav1.CreateOptions{})
	if e != nil && !apierrors.IsAlreadyExists(e) {
		err = errors.Join(err, e)
	}
	return t, err
}

// observe records a pod, sets it running when it has a node, and removes it when it is
// being deleted.
func (t *scenarioRun) observe(p *corev1.Pod) {
	t.mu.Lock()
	s := t.pods[p.UID]
	if s == nil {
		s = &podHistory{created: time.Now()}
		t.pods[p.UID] = s
	}
	if o := metav1.GetControllerOfNoCopy(p); o != nil {
		s.owner = o.Name
	}
	scheduled := p.Spec.NodeName != "" && s.node == ""
	s.node = p.Spec.NodeName
	deleted := p.DeletionTimestamp != nil && s.deleted.IsZero()
	if deleted {
		s.deleted = time.Now()
		s.evicted = slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.DisruptionTarget && c.Reason == "EvictionByEvictionAPI"
		})
	}
	t.mu.Unlock()
	pods := t.c.client.CoreV1().Pods(p.Namespace)
	switch {
	case deleted:
		go func() { _ = pods.Delete(t.ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}) }()
	case scheduled:
		go func() {
			_, _ = pods.Patch(t.ctx, p.Name, types.StrategicMergePatchType, []byte(`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`), metav1.PatchOptions{}, "status")
		}()
	}
}

// score counts the evictions, those whose replacement is on the same node, and those after a given
// time. All pods come from one watch, so a replacement is observed after the evicted pod.
func (t *scenarioRun) score(after time.Time) (out score) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var evicted, created []*podHistory
	for _, s := range t.pods {
		if s.evicted {
			evicted = append(evicted, s)
		}
		created = append(created, s)
	}
	slices.SortFunc(evicted, func(a, b *podHistory) int { return a.deleted.Compare(b.deleted) })
	slices.SortFunc(created, func(a, b *podHistory) int { return a.created.Compare(b.created) })
	matched := map[*podHistory]bool{}
	for _, l := range evicted {
		out.evictions++
		if l.deleted.After(after) {
			out.late++
		}
		for _, s := range created {
			if matched[s] || s.owner != l.owner || s.created.Before(l.deleted) || s == l || s.node == "" {
				continue
			}
			matched[s] = true
			if s.node == l.node {
				out.returned++
			}
			break
		}
	}
	return out
}

func (t *scenarioRun) createNode(name, cpu string, labels map[string]string) {
	size := corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse("64Gi"), "pods": resource.MustParse("110")}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{workload.Host: name}},
		Status: corev1.NodeStatus{Capacity: size, Allocatable: size, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	maps.Copy(n.Labels, labels)
	_, err := t.c.client.CoreV1().Nodes().Create(t.ctx, n, metav1.CreateOptions{})
	t.err = errors.Join(t.err, err)
}

func (t *scenarioRun) taint(ctx context.Context, node string, taint corev1.Taint) {
	n, err := t.c.client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err == nil {
		n.Spec.Taints = append(n.Spec.Taints, taint)
		_, err = t.c.client.CoreV1().Nodes().Update(ctx, n, metav1.UpdateOptions{})
	}
	t.err = errors.Join(t.err, err)
}

// createReplicaSet creates a ReplicaSet whose pods have the priority 0 or 10.
func (t *scenarioRun) createReplicaSet(name string, replicas int32, cpu string, priority int, change func(*corev1.PodSpec)) {
	labels := map[string]string{"app": name}
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "pause", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}}}}
	if priority > 0 {
		spec.PriorityClassName = "ten"
	}
	if change != nil {
		change(&spec)
	}
	_, err := t.c.client.AppsV1().ReplicaSets("default").Create(t.ctx, &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec}}}, metav1.CreateOptions{})
	t.err = errors.Join(t.err, err)
}

// settle waits until all ReplicaSets have all their pods ready.
func (t *scenarioRun) settle(ctx context.Context) error {
	for from := time.Now(); t.err == nil; time.Sleep(200 * time.Millisecond) {
		sets, err := t.c.client.AppsV1().ReplicaSets("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(sets.Items, func(s appsv1.ReplicaSet) bool { return s.Status.ReadyReplicas != *s.Spec.Replicas }) {
			return nil
		}
		if time.Since(from) > time.Minute {
			t.err = fmt.Errorf("not all replica sets have their pods Ready after %v", time.Since(from))
		}
	}
	return t.err
}

// antiAffinity keeps a pod off nodes with pods of an app: always if hard, otherwise as a
// preference.
func antiAffinity(app string, hard bool) func(*corev1.PodSpec) {
	term := corev1.PodAffinityTerm{TopologyKey: workload.Host, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}
	return func(s *corev1.PodSpec) {
		a := &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 100, PodAffinityTerm: term}}}
		if hard {
			a = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}
		}
		s.Affinity = &corev1.Affinity{PodAntiAffinity: a}
	}
}

func preferPool(pool string) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) {
		s.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 100,
			Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "pool", Operator: corev1.NodeSelectorOpIn, Values: []string{pool}}}}}}}}
	}
}
