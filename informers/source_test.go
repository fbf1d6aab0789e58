package informers

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
)

func pod(name, uid string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(uid)}}
}

func formatEvents(events []scheduling.Event) string {
	out := ""
	for _, e := range events {
		switch e := e.(type) {
		case scheduling.Remove:
			out += " -" + formatObject(e.Object)
		default:
			out += " +" + formatObject(e)
		}
	}
	return out
}

func formatObject(o any) string {
	switch o := o.(type) {
	case *model.Pod:
		return o.Name + ":" + o.UID
	case *model.Node:
		return o.Name
	case *model.SpreadGroup:
		return o.Kind + "/" + o.Name
	}
	return fmt.Sprintf("%T", o)
}

func TestListThenWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(pod("a", "1"), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
		s := New(client)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { s.Run(ctx); close(done) }()
		<-s.Synced()
		first := s.Take(nil)
		if got := len(first); got != 2 {
			t.Errorf("the lists produced %d events (%s), want 2", got, formatEvents(first))
		}
		synctest.Wait()
		pods := client.CoreV1().Pods("ns")
		if _, err := pods.Create(ctx, pod("b", "2"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := pods.Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		<-s.Ready()
		if got, want := formatEvents(s.Take(nil)), " +b:2 -a:1"; got != want {
			t.Errorf("the watch produced%s, want%s", got, want)
		}
		cancel()
		<-done
	})
}

// TestObserveObjects checks that observers receive each pod and node.
func TestObserveObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(fake.NewClientset(pod("a", "1"), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}))
		var pods, nodes []string
		s.ObserveObjects(func(p *corev1.Pod) { pods = append(pods, p.Name) }, func(n *corev1.Node) { nodes = append(nodes, n.Name) })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { s.Run(ctx); close(done) }()
		<-s.Synced()
		cancel()
		<-done
		if fmt.Sprint(pods, nodes) != "[a] [n1]" || len(s.Take(nil)) != 2 {
			t.Errorf("observed pods %v and nodes %v, want [a] and [n1] and 2 events", pods, nodes)
		}
	})
}

// TestResourceClaimsAreOptional checks that ResourceClaims are watched if they are served, and that Synced does not
// wait for them.
func TestResourceClaimsAreOptional(t *testing.T) {
	for served, want := range map[bool]string{true: " +*model.ResourceClaim", false: ""} {
		synctest.Test(t, func(t *testing.T) {
			client := fake.NewClientset(&resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", UID: "1"}})
			if served {
				client.Resources = []*metav1.APIResourceList{{GroupVersion: "resource.k8s.io/v1", APIResources: []metav1.APIResource{{Name: "resourceclaims"}}}}
			}
			s := New(client)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { s.Run(ctx); close(done) }()
			<-s.Synced()
			synctest.Wait()
			if got := formatEvents(s.Take(nil)); got != want {
				t.Errorf("served %v: got %q, want %q", served, got, want)
			}
			cancel()
			<-done
		})
	}
}

// TestKindServedLater checks that a kind that is served later is watched without a restart.
func TestKindServedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(&resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", UID: "1"}})
		client.Resources = []*metav1.APIResourceList{{GroupVersion: "resource.k8s.io/v1", APIResources: []metav1.APIResource{{Name: "resourceclaims"}}}}
		var served atomic.Bool
		client.PrependReactor("get", "resource", func(kubetesting.Action) (bool, runtime.Object, error) {
			if served.Load() {
				return false, nil, nil
			}
			return true, nil, apierrors.NewNotFound(schema.GroupResource{Group: "resource.k8s.io"}, "v1")
		})
		s := New(client)
		var onServed []bool
		s.OnServed(func(_ string, served bool) { onServed = append(onServed, served) })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { s.Run(ctx); close(done) }()
		<-s.Synced()
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := formatEvents(s.Take(nil)); got != "" || fmt.Sprint(onServed) != "[false]" {
			t.Errorf("before it is served: got %q, OnServed %v, want no event and [false]", got, onServed)
		}
		served.Store(true)
		time.Sleep(maxDiscoveryBackoff)
		synctest.Wait()
		if got := formatEvents(s.Take(nil)); got != " +*model.ResourceClaim" || fmt.Sprint(onServed) != "[false true]" {
			t.Errorf("once it is served: got %q, OnServed %v, want the claim and [false true]", got, onServed)
		}
		cancel()
		<-done
	})
}

func TestRelistEmitsMissedDeletions(t *testing.T) {
	s := New(fake.NewClientset())
	store := &eventStore{source: s, kind: s.pods(), objects: map[string]entry{}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(store.Add(pod("a", "1")))
	must(store.Add(pod("b", "2")))
	must(store.Add(pod("c", "3")))
	s.Take(nil)
	must(store.Replace([]any{pod("b", "2"), pod("c", "33")}, "7"))
	if got, want := formatEvents(s.Take(nil)), " +b:2 -c:3 +c:33 -a:1"; got != want {
		t.Errorf("the new list produced%s, want%s", got, want)
	}
	must(store.Delete(pod("a", "1")))
	if got := s.Take(nil); len(got) != 0 {
		t.Errorf("a second deletion produced%s, want no event", formatEvents(got))
	}
	if err := store.Add(&corev1.Node{}); err == nil {
		t.Error("adding a node to the pod store returned no error, want one")
	}
}

func TestPodScheduledConditionOfPendingPods(t *testing.T) {
	s := New(fake.NewClientset())
	store := &eventStore{source: s, kind: s.pods(), objects: map[string]entry{}}
	p := pod("a", "1")
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "m"}}
	_ = store.Add(p)
	if c := s.PodScheduled("1"); c == nil || c.Message != "m" {
		t.Errorf("condition %v, want message m", c)
	}
	p = p.DeepCopy()
	p.Spec.NodeName = "n1"
	_ = store.Update(p)
	if c := s.PodScheduled("1"); c != nil {
		t.Errorf("condition of a bound pod %v, want nil", c)
	}
}
