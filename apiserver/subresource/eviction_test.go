package subresource_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"

	"github.com/berthproject/berth/apiserver/kinds"
	"github.com/berthproject/berth/apiserver/registry"
	"github.com/berthproject/berth/apiserver/scheme"
	"github.com/berthproject/berth/apiserver/store"
	"github.com/berthproject/berth/apiserver/subresource"
	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/internal/eviction"
)

// evictionTest is an EvictionREST with separate stores and recorded displacements.
type evictionTest struct {
	*testing.T
	ctx            context.Context
	pods, budgets  *registry.REST
	recordEviction func(*displacement.Record) error
	*subresource.EvictionREST
}

func newEvictionTest(t *testing.T) *evictionTest {
	backend, err := store.OpenEmbedded(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(backend.Close)
	set, err := scheme.New(kinds.All())
	if err != nil {
		t.Fatal(err)
	}
	e := &evictionTest{T: t, ctx: genericapirequest.WithNamespace(t.Context(), "default"), recordEviction: func(*displacement.Record) error { return nil }}
	c := registry.Config{Options: store.Options{Backend: backend, Scheme: set.Scheme, Codecs: set.Codecs}, Typer: set.Scheme}
	for _, k := range kinds.All() {
		target := map[string]**registry.REST{"pods": &e.pods, "poddisruptionbudgets": &e.budgets}[k.Resource]
		if target == nil || *target != nil {
			continue
		}
		if *target, err = registry.New(k, c); err != nil {
			t.Fatal(err)
		}
		t.Cleanup((*target).Destroy)
		for (*target).Store.Storage.Storage.ReadinessCheck() != nil { // the watch cache
			if t.Context().Err() != nil {
				t.FailNow()
			}
			time.Sleep(time.Millisecond)
		}
	}
	e.EvictionREST = subresource.NewEvictionREST(e.pods.Store, e.budgets.Store, e.pods, func(_ context.Context, r *displacement.Record) error { return e.recordEviction(r) },
		eviction.Options{Refund: true, IncludeReason: true, Rules: budget.Evictions{Recount: true}})
	return e
}

// put stores an object unchanged.
func (e *evictionTest) put(r *registry.REST, name string, obj, out runtime.Object) {
	e.Helper()
	key, err := r.KeyFunc(e.ctx, name)
	if err == nil {
		err = r.Store.Storage.Create(e.ctx, key, obj, out, 0, false)
	}
	if err != nil {
		e.Fatal(err)
	}
}

// pod creates a running, ready pod.
func (e *evictionTest) pod(name string, labels map[string]string) *corev1.Pod {
	e.Helper()
	out := &corev1.Pod{}
	e.put(e.pods, name, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), Labels: labels},
		Spec:   corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "main", Image: "main:1"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}, out)
	return out
}

// budget creates a disruption budget whose status allows disruptions.
func (e *evictionTest) budget(name string, desired int32, selector metav1.LabelSelector) {
	e.Helper()
	minimum := intstr.FromInt32(desired)
	e.put(e.budgets, name, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Generation: 1},
		Spec:   policyv1.PodDisruptionBudgetSpec{MinAvailable: &minimum, Selector: &selector},
		Status: policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DesiredHealthy: desired, CurrentHealthy: 100, ExpectedPods: 100, DisruptionsAllowed: 100 - desired}},
		&policyv1.PodDisruptionBudget{})
}

func (e *evictionTest) evict(name string, p *metav1.Preconditions) error {
	_, err := e.Create(e.ctx, name, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, DeleteOptions: &metav1.DeleteOptions{Preconditions: p}},
		rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	return err
}

func TestEvictionPreconditionsIgnoreOwnCondition(t *testing.T) {
	e := newEvictionTest(t)
	p := e.pod("a", nil)
	records := 0
	e.recordEviction = func(*displacement.Record) error {
		if records++; records < 3 {
			return errors.New("events cannot be created")
		}
		return nil
	}
	if err := e.evict("a", &metav1.Preconditions{ResourceVersion: &p.ResourceVersion}); err != nil || records != 3 {
		t.Errorf("got %d records and error %v, want 3 and no error", records, err)
	}
}

// TestEvictionFailsOnConcurrentChange checks that a concurrent change makes the eviction fail. The eviction
// reverts its changes and keeps those of other clients.
func TestEvictionFailsOnConcurrentChange(t *testing.T) {
	otherCondition := corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "PreemptionByScheduler"}
	falseCondition := corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionFalse, Reason: "Over"}
	for name, tc := range map[string]struct {
		before     *corev1.PodCondition
		concurrent func(*corev1.Pod) // change between setting the condition and the delete
		want       string
	}{
		"change of labels":                    {nil, func(*corev1.Pod) {}, "1 allowed, 0 entries, no condition"},
		"older condition":                     {&falseCondition, func(*corev1.Pod) {}, "1 allowed, 0 entries, False Over"},
		"condition of another request before": {&otherCondition, func(*corev1.Pod) {}, "0 allowed, 1 entries, True PreemptionByScheduler"},
		"condition of another request":        {nil, func(p *corev1.Pod) { p.Status.Conditions = append(p.Status.Conditions[:1], otherCondition) }, "0 allowed, 1 entries, True PreemptionByScheduler"},
		"deletion": {nil, func(p *corev1.Pod) {
			now, grace := metav1.Now(), int64(30)
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &now, &grace
		}, "0 allowed, 1 entries, True EvictionByEvictionAPI"},
		"pod recreated with the same name": {nil, func(p *corev1.Pod) { p.UID, p.Status.Conditions = "new", nil }, "0 allowed, 1 entries, no condition"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEvictionTest(t)
			e.budget("b", 99, metav1.LabelSelector{})
			for i := range 99 {
				e.pod(fmt.Sprint("other", i), nil)
			}
			p := e.pod("a", nil)
			if tc.before != nil {
				p = e.updatePod("a", func(p *corev1.Pod) { p.Status.Conditions = append(p.Status.Conditions, *tc.before) })
			}
			e.recordEviction = func(*displacement.Record) error {
				e.updatePod("a", func(p *corev1.Pod) {
					p.Labels = map[string]string{"changed": p.ResourceVersion}
					tc.concurrent(p)
				})
				return nil
			}
			if err := e.evict("a", &metav1.Preconditions{ResourceVersion: &p.ResourceVersion}); !apierrors.IsConflict(err) {
				t.Errorf("got %v, want a conflict", err)
			}
			if got := e.budgetState("b", "a"); got != tc.want {
				t.Errorf("got state %s, want %s", got, tc.want)
			}
		})
	}
}

// TestEvictionDoesNotUseRevertedDebit checks that an eviction that relies on the debit of another request does not
// continue after that request has failed.
func TestEvictionDoesNotUseRevertedDebit(t *testing.T) {
	e := newEvictionTest(t)
	e.budget("b", 1, metav1.LabelSelector{})
	e.pod("other", nil)
	p := e.pod("a", nil)
	var secondErr error
	records := 0
	e.recordEviction = func(*displacement.Record) error {
		switch records++; records {
		case 1: // the first request has debited the budget and set the condition
			secondErr = e.evict("a", nil)
		case 2: // the second request has observed both; now the first one fails
			e.updatePod("a", func(p *corev1.Pod) { p.Status.Conditions = p.Status.Conditions[:1] })
			e.updateBudget("b", func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed, b.Status.DisruptedPods = 0, nil })
		}
		return nil
	}
	_ = e.evict("a", &metav1.Preconditions{ResourceVersion: &p.ResourceVersion})
	if !apierrors.IsTooManyRequests(secondErr) {
		t.Errorf("the second request returned %v, want too many requests", secondErr)
	}
}

// budgetState returns disruptionsAllowed, the number of disruptedPods and the DisruptionTarget condition
// of a pod.
func (e *evictionTest) budgetState(name, pod string) string {
	e.Helper()
	obj, err := e.budgets.Get(e.ctx, name, &metav1.GetOptions{})
	if err != nil {
		e.Fatal(err)
	}
	b := obj.(*policyv1.PodDisruptionBudget)
	if obj, err = e.pods.Get(e.ctx, pod, &metav1.GetOptions{}); err != nil {
		e.Fatal(err)
	}
	condition := "no condition"
	for _, c := range obj.(*corev1.Pod).Status.Conditions {
		if c.Type == corev1.DisruptionTarget {
			condition = fmt.Sprintf("%s %s", c.Status, c.Reason)
		}
	}
	return fmt.Sprintf("%d allowed, %d entries, %s", b.Status.DisruptionsAllowed, len(b.Status.DisruptedPods), condition)
}

func (e *evictionTest) updateBudget(name string, f func(*policyv1.PodDisruptionBudget)) {
	e.Helper()
	key, err := e.budgets.KeyFunc(e.ctx, name)
	if err == nil {
		err = e.budgets.Store.Storage.GuaranteedUpdate(e.ctx, key, &policyv1.PodDisruptionBudget{}, false, nil, storage.SimpleUpdate(func(obj runtime.Object) (runtime.Object, error) {
			f(obj.(*policyv1.PodDisruptionBudget))
			return obj, nil
		}), false, nil)
	}
	if err != nil {
		e.Error(err)
	}
}

func (e *evictionTest) updatePod(name string, f func(*corev1.Pod)) *corev1.Pod {
	e.Helper()
	out := &corev1.Pod{}
	key, err := e.pods.KeyFunc(e.ctx, name)
	if err == nil {
		err = e.pods.Store.Storage.GuaranteedUpdate(e.ctx, key, out, false, nil, storage.SimpleUpdate(func(obj runtime.Object) (runtime.Object, error) {
			f(obj.(*corev1.Pod))
			return obj, nil
		}), false, nil)
	}
	if err != nil {
		e.Error(err)
	}
	return out
}

func TestRecountListsPodsOfBudgets(t *testing.T) {
	in := func(key string, values ...string) metav1.LabelSelector {
		return metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: metav1.LabelSelectorOpIn, Values: values}}}
	}
	e := newEvictionTest(t)
	labels := map[string]string{"app": "web", "tier": "front"}
	for i := range 3 {
		e.pod(fmt.Sprint("both", i), labels)
		e.pod(fmt.Sprint("unrelated", i), map[string]string{"app": "other"})
	}
	e.pod("back", map[string]string{"app": "web", "tier": "back"})
	e.budget("web", 3, in("app", "web", "site")) // 4 pods match
	e.budget("front", 2, in("tier", "front"))    // 3 pods match
	if err := e.evict("both0", nil); err != nil {
		t.Errorf("eviction within both budgets: %v", err)
	}
	if err := e.evict("both1", nil); !apierrors.IsTooManyRequests(err) || !strings.Contains(err.Error(), "disruption budget front needs 2 healthy pods and has 2 currently") {
		t.Errorf("eviction beyond both budgets: %v, want too many requests", err)
	}
	if err := e.evict("back", nil); !apierrors.IsTooManyRequests(err) || !strings.Contains(err.Error(), "disruption budget web needs 3 healthy pods and has 3 currently") {
		t.Errorf("eviction beyond one budget: %v, want too many requests", err)
	}
	if err := e.evict("unrelated0", nil); err != nil {
		t.Errorf("eviction without a budget: %v", err)
	}
}

// TestDisconnectBetweenDebits checks that an eviction refunds the first budget if its client disconnects before the
// second one is debited.
func TestDisconnectBetweenDebits(t *testing.T) {
	e := newEvictionTest(t)
	e.budget("first", 1, metav1.LabelSelector{})
	e.budget("second", 1, metav1.LabelSelector{})
	e.pod("other", nil)
	e.pod("a", nil)
	ctx, disconnect := context.WithCancel(e.ctx)
	s := &disconnectingStorage{Interface: e.budgets.Store.Storage.Storage, disconnect: disconnect}
	e.budgets.Store.Storage.Storage = s
	_, err := e.Create(ctx, "a", &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if updated := strings.Join(s.updated, " "); err == nil || updated != "first second first" {
		t.Errorf("got error %v after updates of the budgets %s, want an error, and the refund of the first one after the debit of the second one", err, updated)
	}
	if got, want := e.budgetState("first", "a"), "99 allowed, 0 entries, no condition"; got != want {
		t.Errorf("got state %s, want %s", got, want)
	}
}

// disconnectingStorage disconnects the client after the first update, as if the second one took too long.
type disconnectingStorage struct {
	storage.Interface
	disconnect func()
	updated    []string // names of the budgets
}

func (s *disconnectingStorage) GuaranteedUpdate(ctx context.Context, key string, out runtime.Object, ignoreNotFound bool, p *storage.Preconditions, f storage.UpdateFunc, cached runtime.Object) error {
	err := s.Interface.GuaranteedUpdate(ctx, key, out, ignoreNotFound, p, f, cached)
	if s.updated = append(s.updated, path.Base(key)); len(s.updated) == 1 {
		s.disconnect()
	}
	return err
}
