package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/engine/workload"
)

var kind = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")

func owner(edits ...func(*appsv1.ReplicaSet)) *Owner {
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "ns", UID: "owner-1"}}
	for _, e := range edits {
		e(rs)
	}
	return &Owner{Kind: kind, Object: rs, Selector: labels.SelectorFromSet(labels.Set{"app": "web"}), GetLive: func(context.Context) (metav1.Object, error) { return rs, nil }}
}

func pod(name, app string, owners ...metav1.OwnerReference) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(name), Labels: map[string]string{"app": app}, OwnerReferences: owners}}
}

func TestClaim(t *testing.T) {
	o := owner()
	other := o.Reference()
	other.UID = "other"
	deleting := pod("terminating", "web")
	deleting.DeletionTimestamp = &metav1.Time{}
	pods := []*corev1.Pod{pod("owned", "web", o.Reference()), pod("orphan", "web"), pod("other", "else"), pod("other-owner", "web", other), pod("unselected", "else", o.Reference()), deleting, pod("rejected", "web")}
	for name, tc := range map[string]struct {
		owner       *Owner
		patchErrors map[string]error
		claimed     string
		actions     string
		err         string
	}{
		"adopts and releases": {owner: o, claimed: "owned orphan", actions: "orphan unselected"},
		"terminating owner":   {owner: owner(func(rs *appsv1.ReplicaSet) { rs.DeletionTimestamp = &metav1.Time{} }), claimed: "owned unselected"},
		"a deleted pod":       {owner: o, patchErrors: map[string]error{"orphan": apierrors.NewNotFound(corev1.Resource("pods"), "orphan")}, claimed: "owned", actions: "orphan unselected"},
		"a failed adoption":   {owner: o, patchErrors: map[string]error{"orphan": errors.New("failed")}, claimed: "owned", actions: "orphan unselected", err: "adopting orphan: failed"},
		"a failed release":    {owner: o, patchErrors: map[string]error{"unselected": errors.New("failed")}, claimed: "owned orphan", actions: "orphan unselected", err: "releasing unselected: failed"},
		"released by another": {owner: o, patchErrors: map[string]error{"unselected": apierrors.NewInvalid(kind.GroupKind(), "unselected", nil)}, claimed: "owned orphan", actions: "orphan unselected"},
		"deleted in the API":  {owner: newReplacedOwner(func(rs *appsv1.ReplicaSet) { rs.DeletionTimestamp = &metav1.Time{} }), claimed: "owned", err: "is being deleted"},
		"replaced in the API": {owner: newReplacedOwner(func(rs *appsv1.ReplicaSet) { rs.UID = "new" }), claimed: "owned", err: "was replaced"},
	} {
		t.Run(name, func(t *testing.T) {
			var actions []string
			claimed, err := Claim(t.Context(), tc.owner, pods, func(p *corev1.Pod) bool { return p.Name != "rejected" }, func(_ context.Context, name string, _ types.PatchType, data []byte) error {
				actions = append(actions, name)
				if !strings.Contains(string(data), fmt.Sprintf(`"uid":%q`, name)) {
					t.Errorf("%s is patched with %s, want its UID in the patch", name, data)
				}
				return tc.patchErrors[name]
			})
			var names []string
			for _, p := range claimed {
				names = append(names, p.Name)
			}
			if got := strings.Join(names, " "); got != tc.claimed || strings.Join(actions, " ") != tc.actions {
				t.Errorf("claimed %q, want %q; patched %q, want %q", got, tc.claimed, actions, tc.actions)
			}
			if tc.err == "" && err != nil || err != nil && !strings.Contains(err.Error(), tc.err) || tc.err != "" && err == nil {
				t.Errorf("error %v, want %q", err, tc.err)
			}
		})
	}
}

// newReplacedOwner returns an owner that is newer on the API server than in the cache.
func newReplacedOwner(edit func(*appsv1.ReplicaSet)) *Owner {
	o := owner()
	o.GetLive = func(context.Context) (metav1.Object, error) { return owner(edit).Object, nil }
	return o
}

func TestSlowStartBatch(t *testing.T) {
	for name, tc := range map[string]struct{ n, failAt, attempts, succeeded int }{
		"all succeed":                {20, -1, 20, 20},
		"the first fails":            {20, 0, 1, 0},
		"failure in the third batch": {20, 4, 7, 6},
		"nothing to do":              {0, -1, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			attempts := make(chan int, tc.n)
			succeeded, err := SlowStartBatch(runner.Production(), tc.n, func(i int) error {
				attempts <- i
				if i == tc.failAt {
					return errors.New("failed")
				}
				return nil
			})
			if succeeded != tc.succeeded || len(attempts) != tc.attempts || (err != nil) != (tc.failAt >= 0) {
				t.Errorf("%d attempts, %d succeeded, error %v, want %+v", len(attempts), succeeded, err, tc)
			}
		})
	}
}

func TestPendingWritesUntilObserved(t *testing.T) {
	w := newPendingWrites(runner.Production())
	created, otherPod := pod("a", "web"), pod("b", "web")
	names := func(cached ...*corev1.Pod) (out []string) {
		for _, p := range w.overlay("owner-1", cached) {
			out = append(out, fmt.Sprint(p.Name, " ", p.DeletionTimestamp != nil))
		}
		slices.Sort(out)
		return out
	}
	check := func(step string, got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", step, got, want)
		}
	}
	unconfirmed := pod("a", "web")
	unconfirmed.UID = ""
	w.expectCreate("owner-1", unconfirmed)
	w.expectCreate("other", otherPod)
	check("requested", names(), "a false")
	check("created, and in the cache before it is observed", names(created), "a false")
	w.confirmCreate(created)
	old := pod("a", "web")
	old.UID = "old"
	w.observe(old, true)
	check("an older pod of this name is deleted", names(), "a false")
	w.observe(created, false)
	check("observed, and then deleted", names())
	w.expectDelete("owner-1", created)
	check("deleted", names(created), "a true")
	if created.DeletionTimestamp != nil {
		t.Error("the cached pod was changed, want a copy")
	}
	w.observe(created, false)
	check("an update from before the deletion", names(created), "a true")
	w.observe(created, true)
	check("the deletion is observed", names(created), "a false")
}

func TestNotBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now, a := time.Now(), NewAvoidHolds()
		var calls []string
		a.OnChange(func(kind string, owner types.NamespacedName) { calls = append(calls, kind+" "+owner.String()) })
		failures := []workload.PodFailure{{Node: "n1", Cause: "Evicted", StartedAt: now, FailedAt: now}}
		hold := &v1alpha1.Hold{ObjectMeta: metav1.ObjectMeta{Name: "h", Namespace: "ns"}, Spec: v1alpha1.HoldSpec{Type: v1alpha1.Avoid, Node: "n1", Cause: "Pressure",
			Owner: v1alpha1.Owner{Kind: "ReplicaSet", Name: "web", UID: "owner-1"}, Until: metav1.NewTime(now.Add(time.Minute))}}
		check := func(step string, at time.Time, want time.Duration, reason string) {
			t.Helper()
			until, got := a.NotBefore(at, "owner-1", "n1", failures)
			if want == 0 && !until.IsZero() || want > 0 && !until.Equal(now.Add(want)) || !strings.Contains(got, reason) {
				t.Errorf("%s: until %v, reason %q; want %v after the start, reason %q", step, until, got, want, reason)
			}
		}
		check("without a Hold", now, 10*time.Second, "n1 failed immediately with Evicted")
		a.onHold(nil, hold, now)
		check("the Hold determines the backoff", now, time.Minute, "avoided after Pressure")
		check("the Hold expires", now.Add(2*time.Minute), 0, "")
		a.onHold(hold, nil, now.Add(5*time.Second))
		check("lifting the Hold resets earlier failures", now.Add(5*time.Second), 0, "")
		failures = append(failures, workload.PodFailure{Node: "n1", Cause: "Evicted", StartedAt: now.Add(6 * time.Second), FailedAt: now.Add(7 * time.Second)})
		check("lifting the Hold does not reset later failures", now.Add(7*time.Second), 17*time.Second, "Evicted")
		if !slices.Equal(calls, []string{"ReplicaSet ns/web", "ReplicaSet ns/web"}) {
			t.Errorf("OnChange calls %q, want two for ReplicaSet ns/web", calls)
		}
		var noHolds *AvoidHolds
		if until, _ := noHolds.NotBefore(now, "owner-1", "n1", nil); !until.IsZero() {
			t.Error("a nil AvoidHolds delays the creation of a pod, want no delay")
		}
	})
}

// TestHoldEndedEarlyWithExpiredHold checks that an expired Hold that counts futile moves does not prevent the
// early end of another Hold from being recorded.
func TestHoldEndedEarlyWithExpiredHold(t *testing.T) {
	now := time.Unix(1e9, 0)
	hold := func(name string, until time.Duration) *v1alpha1.Hold {
		return &v1alpha1.Hold{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.HoldSpec{Type: v1alpha1.Avoid, Node: "n1", Until: metav1.NewTime(now.Add(until)), Owner: v1alpha1.Owner{UID: "owner-1"}}}
	}
	for other, want := range map[time.Duration]bool{-time.Hour: true, time.Hour: false} {
		a := NewAvoidHolds()
		a.onHold(nil, hold("other", other), now)
		a.onHold(nil, hold("pressure", time.Minute), now)
		a.onHold(hold("pressure", time.Minute), nil, now)
		if got := !a.EndedEarlyAt("owner-1", "n1").IsZero(); got != want {
			t.Errorf("with a Hold that ends in %v: ended early is %v, want %v", other, got, want)
		}
	}
}
