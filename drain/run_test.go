package drain

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/engine/evacuation"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/conversion"
)

// fakeCluster is a cluster with a fake API. It deletes evicted pods immediately and creates Ready
// replacements on n2.
type fakeCluster struct {
	*fake.Clientset
	mu     sync.Mutex
	serial int
	refuse func(pod string) error // returns the response to an eviction, or nil to evict

	scheduler Scheduler
}

func newFakeCluster(t *testing.T, objects ...runtime.Object) *fakeCluster {
	c := &fakeCluster{Clientset: fake.NewClientset(objects...), refuse: func(string) error { return nil }, scheduler: clusterOf(t).Scheduler}
	c.PrependReactor("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.GetSubresource() != "eviction" {
			return false, nil, nil
		}
		e := a.(clienttesting.CreateAction).GetObject().(*policyv1.Eviction)
		return true, nil, c.evict(t, e.Namespace, e.Name)
	})
	return c
}

func (c *fakeCluster) evict(t *testing.T, namespace, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.refuse(name); err != nil {
		return err
	}
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	o, err := c.Tracker().Get(pods, namespace, name)
	if err != nil {
		return err
	}
	p := o.(*corev1.Pod).DeepCopy()
	if err := c.Tracker().Delete(pods, namespace, name); err != nil {
		t.Error(err)
	}
	if p.OwnerReferences == nil {
		return nil
	}
	c.serial++
	p.Name, p.Spec.NodeName = fmt.Sprintf("%s-%d", p.Labels["app"], c.serial), "n2"
	p.UID = types.UID("new-" + p.Name)
	return c.Tracker().Add(p)
}

func (c *fakeCluster) drain(o Options) *Drain {
	return &Drain{Env: runner.Production(), Client: c, Scheduler: c.scheduler, Nodes: []string{"n1"}, Options: o}
}

func TestRun(t *testing.T) {
	c := newFakeCluster(t, apiNode("n1"), apiNode("n2"), apiPod("web", "web-a", "n1"), apiPod("web", "web-b", "n1"), apiPod("db", "db-a", "n1"))
	var progress []string
	d := c.drain(Options{})
	d.OnProgress = func(s string) { progress = append(progress, s) }
	r, err := d.Run(t.Context())
	if err != nil || r.ExitCode() != 0 || r.Count(OutcomeMoved) != 3 || r.Rounds != 2 {
		t.Fatalf("error %v, result %+v; want 3 moved pods in 2 rounds", err, r)
	}
	n, _ := c.CoreV1().Nodes().Get(t.Context(), "n1", metav1.GetOptions{})
	if !n.Spec.Unschedulable || progress[0] != "node n1 is cordoned" || !strings.HasPrefix(progress[len(progress)-1], "[3/3] default/web-b is replaced by default/web-") {
		t.Errorf("cordoned: %v, want true; progress\n%s\nwant the cordon first and the replacement of web-b last", n.Spec.Unschedulable, strings.Join(progress, "\n"))
	}
}

func TestForbiddenEvictionEndsRun(t *testing.T) {
	c := newFakeCluster(t, apiNode("n1"), apiNode("n2"), apiPod("web", "web-a", "n1"), apiPod("db", "db-a", "n1"))
	c.refuse = func(name string) error {
		if name == "db-a" {
			return apierrors.NewForbidden(corev1.Resource("pods"), name, errors.New("forbidden by policy"))
		}
		return nil
	}
	r, err := c.drain(Options{}).Run(t.Context())
	if err != nil || r.ExitCode() != 4 || r.Count(OutcomeMoved) != 1 || r.Pods[1].Block == nil || !strings.Contains(r.Pods[1].Block.Reason, "forbidden by policy") {
		t.Errorf("error %v, result %+v; want exit code 4 and a block with the message of the refusal", err, r)
	}
}

func TestRunStopsWithContext(t *testing.T) {
	c := newFakeCluster(t, apiNode("n1"), apiNode("n2"), apiPod("web", "web-a", "n1"))
	ctx, cancel := context.WithCancel(t.Context())
	c.refuse = func(name string) error {
		cancel()
		return apierrors.NewTooManyRequests("not now", 10)
	}
	r, err := c.drain(Options{}).Run(ctx)
	if !errors.Is(err, context.Canceled) || r.Count(OutcomeBlocked) != 1 || r.ExitCode() != 3 {
		t.Errorf("error %v, result %+v; want %v, one blocked pod and exit code 3", err, r, context.Canceled)
	}
	c.refuse = func(string) error { return nil } // the next drain continues
	if r, err = c.drain(Options{}).Run(t.Context()); err != nil || r.ExitCode() != 0 {
		t.Errorf("second drain: error %v, result %+v; want exit code 0", err, r)
	}
}

func TestRunTimeout(t *testing.T) {
	c := newFakeCluster(t, apiNode("n1"), apiNode("n2"), apiPod("web", "web-a", "n1"))
	c.refuse = func(name string) error { return apierrors.NewTooManyRequests("not now", 10) }
	d := c.drain(Options{})
	d.Timeout = 200 * time.Millisecond
	if r, err := d.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "--timeout") || r != nil && r.ExitCode() != 3 {
		t.Errorf("error %v, result %+v; want an error that names --timeout, and exit code 3", err, r)
	}
}

// TestLeftoverSurgeIsUndone checks that the next drain of the node scales the owner down, unless another
// client has changed the replicas in the meantime.
func TestLeftoverSurgeIsUndone(t *testing.T) {
	for name, tc := range map[string]struct {
		node, surgeReplicas string
		replicas, after     int32
		keepsAnnotations    bool
	}{
		"unchanged":                   {node: "n1", surgeReplicas: "3", replicas: 3, after: 2},
		"scaled down already":         {node: "n1", surgeReplicas: "4", replicas: 3, after: 3},
		"scaled up by another client": {node: "n1", surgeReplicas: "4", replicas: 9, after: 9},
		"for another node":            {node: "n7", surgeReplicas: "3", replicas: 3, after: 3, keepsAnnotations: true},
	} {
		t.Run(name, func(t *testing.T) {
			meta := metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "rs-web", Labels: map[string]string{SurgeLabel: "deleted-pod"},
				Annotations: map[string]string{SurgeNode: tc.node, SurgeReplicas: tc.surgeReplicas, "other": "x"}}
			c := newFakeCluster(t, apiNode("n1"), apiNode("n2"), &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: &tc.replicas}})
			conflicts := 1 // a controller updates the ReplicaSet concurrently
			c.PrependReactor("patch", "replicasets", func(clienttesting.Action) (bool, runtime.Object, error) {
				conflicts--
				return conflicts >= 0, nil, apierrors.NewConflict(appsv1.Resource("replicasets"), "web", errors.New("it has changed"))
			})
			if _, err := c.drain(Options{}).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			got, err := c.AppsV1().ReplicaSets("default").Get(t.Context(), "web", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if n := len(got.Labels) + len(got.Annotations) - 1; *got.Spec.Replicas != tc.after || tc.keepsAnnotations != (n == 3) || !tc.keepsAnnotations && n != 0 {
				t.Errorf("%d replicas, want %d; labels %v, annotations %v, want those of the surge: %v", *got.Spec.Replicas, tc.after, got.Labels, got.Annotations, tc.keepsAnnotations)
			}
		})
	}
}

// TestSurgeScalesUpAndDown checks that the drain scales up once and scales down once, and that it scales
// down only from the value that it set.
func TestSurgeScalesUpAndDown(t *testing.T) {
	replicas := int32(2)
	c := newFakeCluster(t, &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db"}, Spec: appsv1.StatefulSetSpec{Replicas: &replicas}})
	var progress []string
	d := c.drain(Options{})
	d.OnProgress = func(s string) { progress = append(progress, s) }
	p := &model.Pod{Namespace: "default", Name: "db-0", UID: "db-0", NodeName: "n1", Owner: model.Owner{Kind: "StatefulSet", Name: "db"}}
	get := func() *appsv1.StatefulSet {
		o, err := c.AppsV1().StatefulSets("default").Get(t.Context(), "db", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	scale := func(step string, change func(context.Context, *model.Pod) error, want int32) {
		t.Helper()
		if err := change(t.Context(), p); err != nil {
			t.Error(err)
		}
		if n := *get().Spec.Replicas; n != want {
			t.Errorf("%s: %d replicas, want %d", step, n, want)
		}
	}
	scale("up", d.scaleUp, 3)
	scale("up again", d.scaleUp, 3)
	scale("down", d.scaleDown, 2)
	scale("down again", d.scaleDown, 2)
	scale("surge for the second pod", d.scaleUp, 3)
	set := get()
	set.Spec.Replicas = &replicas
	if _, err := c.AppsV1().StatefulSets("default").Update(t.Context(), set, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	scale("down from a value that another client has set", d.scaleDown, 2)
	if o := get(); len(o.Labels)+len(o.Annotations) != 0 || !strings.Contains(progress[len(progress)-1], "keeps its 2 replicas") {
		t.Errorf("labels %v, annotations %v, progress %q; want none, and a message that the replicas are kept", o.Labels, o.Annotations, progress)
	}
}

func apiNode(name string) *corev1.Node {
	capacity := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("110")}
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Allocatable: capacity, Capacity: capacity,
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
}

func apiPod(app, name, node string) *corev1.Pod {
	isController := true
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Labels: map[string]string{"app": app},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app, UID: types.UID("rs-" + app), Controller: &isController}}},
		Spec:   corev1.PodSpec{NodeName: node, SchedulerName: corev1.DefaultSchedulerName, Containers: []corev1.Container{{Name: "main", Image: "main"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

// TestReplacementAnnotation checks that a pod has the annotation when its eviction is requested, and
// that the annotation is removed if the pod is not evicted.
func TestReplacementAnnotation(t *testing.T) {
	for name, tc := range map[string]struct {
		owner     string
		refuse    error
		annotated string // value of the annotation when its eviction is requested
	}{
		"evicted":     {"web", nil, "web-b@7"},
		"not evicted": {"web", apierrors.NewTooManyRequests("not now", 10), "web-b@7"},
		"other owner": {"deleted-owner", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newFakeCluster(t, apiNode("n1"), apiPod("web", "web-a", "n1"), &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", Generation: 7}})
			annotation := func() string {
				o, err := c.Tracker().Get(corev1.SchemeGroupVersion.WithResource("pods"), "default", "web-a")
				if err != nil {
					t.Error(err)
					return ""
				}
				return o.(*corev1.Pod).Annotations[conversion.ExpectedReplacementAnnotation]
			}
			c.refuse = func(string) error {
				if got := annotation(); got != tc.annotated {
					t.Errorf("annotation before the eviction: %q, want %q", got, tc.annotated)
				}
				return tc.refuse
			}
			d := c.drain(Options{})
			d.OnProgress = func(s string) { t.Errorf("got progress message %q, want none", s) }
			p := &model.Pod{Namespace: "default", Name: "web-a", UID: "web-a", Owner: model.Owner{Kind: "ReplicaSet", Name: tc.owner}}
			r := d.execute(t.Context(), &evacuation.Action{Move: &evacuation.Move{Pod: p}, SurgePod: &model.Pod{Name: "web-b"}})
			if r.Done != (tc.refuse == nil) {
				t.Errorf("got result %+v, want done: %v", r, tc.refuse == nil)
			}
			if tc.refuse != nil && annotation() != "" {
				t.Errorf("a pod that was not evicted has annotation %q, want none", annotation())
			}
		})
	}
}

// TestReplacementAnnotationOfDeletedPod checks that a pod that no longer exists is not an error.
func TestReplacementAnnotationOfDeletedPod(t *testing.T) {
	d := newFakeCluster(t, &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}).drain(Options{})
	p := &model.Pod{Namespace: "default", Name: "web-a", UID: "web-a", Owner: model.Owner{Kind: "ReplicaSet", Name: "web"}}
	if err := d.annotateReplacement(t.Context(), p, &model.Pod{Name: "web-b"}); err != nil {
		t.Error(err)
	}
}
