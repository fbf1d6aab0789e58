package store

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// newStore returns a store and the list of its commits.
func newStore(t *testing.T) (*Store, *[]Change) {
	t.Helper()
	now := time.Unix(1000, 0)
	s := New(func() time.Time { return now })
	var changes []Change
	s.OnCommit = func(c Change) { changes = append(changes, c) }
	return s, &changes
}

func create(t *testing.T, s *Store, name string) *corev1.Pod {
	t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	if err := s.Create(p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestBindOnce(t *testing.T) {
	s, _ := newStore(t)
	p := create(t, s, "a")
	if err := s.Bind("ns/a", "other", "n1"); !apierrors.IsConflict(err) {
		t.Errorf("binding another pod of that name: %v, want a conflict", err)
	}
	if err := s.Bind("ns/a", string(p.UID), "n1"); err != nil {
		t.Fatal(err)
	}
	if err := s.Bind("ns/a", string(p.UID), "n2"); !apierrors.IsConflict(err) {
		t.Errorf("binding a bound pod: %v, want a conflict", err)
	}
	if got := s.Pod("ns/a").Spec.NodeName; got != "n1" || p.Spec.NodeName != "" {
		t.Errorf("pod is on node %q, and on %q in the copy read before; want n1 and none", got, p.Spec.NodeName)
	}
}

func TestDeletePodGrace(t *testing.T) {
	s, changes := newStore(t)
	create(t, s, "a")
	create(t, s, "b")
	if err := s.DeletePod("ns/a", Precondition{}, nil); err != nil || s.Pod("ns/a") != nil {
		t.Errorf("deleting an unbound pod: %v, pod %v; want no error and no pod", err, s.Pod("ns/a"))
	}
	if err := s.Bind("ns/b", "", "n1"); err != nil {
		t.Fatal(err)
	}
	if err := s.DeletePod("ns/b", Precondition{}, nil); err != nil {
		t.Fatal(err)
	}
	b := s.Pod("ns/b")
	if b == nil || b.DeletionTimestamp == nil || *b.DeletionGracePeriodSeconds != defaultGrace {
		t.Fatalf("a bound pod is not terminating: %+v", b)
	}
	n := len(*changes)
	longer := int64(60)
	if err := s.DeletePod("ns/b", Precondition{}, &longer); err != nil || len(*changes) != n {
		t.Errorf("deleting with a longer grace period: %v, %d commits; want no error and no commit", err, len(*changes)-n)
	}
	zero := int64(0)
	if err := s.DeletePod("ns/b", Precondition{}, &zero); err != nil || s.Pod("ns/b") != nil {
		t.Errorf("deleting without a grace period: %v, pod %v; want no error and no pod", err, s.Pod("ns/b"))
	}
	if recreated := create(t, s, "b"); recreated.UID == b.UID {
		t.Errorf("another pod of that name has the same UID %s", b.UID)
	}
}

func TestUpdateConflict(t *testing.T) {
	s, _ := newStore(t)
	p := create(t, s, "a")
	setRunning := func(p *corev1.Pod) error { p.Status.Phase = corev1.PodRunning; return nil }
	pre := Precondition{ResourceVersion: p.ResourceVersion}
	if err := s.UpdatePod("ns/a", pre, setRunning); err != nil {
		t.Fatal(err)
	}
	if err := s.UpdatePod("ns/a", pre, setRunning); !apierrors.IsConflict(err) {
		t.Errorf("update of an old revision: %v, want a conflict", err)
	}
	if err := s.UpdatePod("ns/z", pre, setRunning); !apierrors.IsNotFound(err) {
		t.Errorf("update of a missing object: %v, want not found", err)
	}
}

func TestDeleteWithFinalizers(t *testing.T) {
	s, changes := newStore(t)
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v", Finalizers: []string{"f"}}}
	if err := s.Create(v); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(PersistentVolumes, "v", Precondition{}); err != nil {
		t.Fatal(err)
	}
	if _, exists := s.Get(PersistentVolumes, "v"); !exists {
		t.Fatal("the volume was deleted despite its finalizer")
	}
	err := s.Update(PersistentVolumes, "v", Precondition{}, func(o Object) error { o.SetFinalizers(nil); return nil })
	if _, exists := s.Get(PersistentVolumes, "v"); err != nil || exists {
		t.Errorf("removing the finalizer: %v, volume exists: %t; want no error and no volume", err, exists)
	}
	if last := (*changes)[len(*changes)-1]; last.New != nil || last.Kind != PersistentVolumes {
		t.Errorf("the last change is %+v, want a deletion", last)
	}
}
