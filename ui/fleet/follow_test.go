package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func pod(name, node, cpu string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	p.Spec.NodeName = node
	p.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}}}
	return p
}

// await takes updates until done reports true.
func await(t *testing.T, f *Follower, done func(*Update) bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		select {
		case <-f.Changed:
			if u, _ := f.Take(); done(u) {
				return
			}
		case <-deadline:
			t.Fatal("timed out waiting for an update")
		}
	}
}

func TestFollowerSendsListsAndChanges(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, pod("a", "n1", "500m"), pod("b", "", "1"))
	f := Follow(ctx, client, "shop")
	nodes, listed := map[string]bool{}, map[string]bool{}
	pods := map[string]string{}
	apply := func(u *Update) {
		for _, n := range u.Nodes {
			nodes[n.Name] = true
		}
		for i := 0; u.Pods != nil && i < len(u.Pods.Name); i++ {
			pods[u.Pods.Name[i]] = fmt.Sprint(u.Pods.Strings[u.Pods.Node[i]], u.Pods.Requests[u.Pods.Request[i]]["cpu"])
		}
		for _, key := range u.DeletedPods {
			delete(pods, key[len("shop/"):])
		}
		for kind, message := range u.Errors {
			listed[kind] = message == ""
		}
	}
	await(t, f, func(u *Update) bool { apply(u); return listed["nodes"] && listed["pods"] })
	if !nodes["n1"] || fmt.Sprint(pods) != "map[a:n10.5 b:1]" {
		t.Errorf("got nodes %v, pods %v", nodes, pods)
	}
	finished := pod("a", "n1", "500m")
	finished.Status.Phase = corev1.PodSucceeded
	if _, err := client.CoreV1().Pods("shop").Update(ctx, finished, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, f, func(u *Update) bool { apply(u); return pods["a"] == "" })
	if err := client.CoreV1().Pods("shop").Delete(ctx, "b", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, f, func(u *Update) bool { apply(u); return len(pods) == 0 })
	cancel()
	f.Wait()
}

// TestFollowerForgetsWhatIsForbidden checks that a user who loses a permission loses the objects.
func TestFollowerForgetsWhatIsForbidden(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	client := fake.NewClientset(pod("a", "n1", "1"))
	var watches atomic.Int32
	client.PrependWatchReactor("pods", func(clienttesting.Action) (bool, watch.Interface, error) {
		watches.Add(1)
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no rights"))
	})
	f := Follow(ctx, client, "")
	await(t, f, func(u *Update) bool {
		return u.Errors["pods"] != "" && slices.Contains(u.Reset, "pods") && u.Pods == nil
	})
	cancel()
	f.Wait()
}

func TestFollowerIsBounded(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var objects []runtime.Object
	for i := range 2 * maxBatch {
		objects = append(objects, pod(fmt.Sprint("p", i), "n1", "1"))
	}
	f := Follow(ctx, fake.NewClientset(objects...), "")
	total := 0
	await(t, f, func(u *Update) bool {
		if u.Pods != nil {
			if n := len(u.Pods.Name); n > maxBatch || len(u.Pods.Requests) != 1 {
				t.Errorf("got %d pods with %d requests in an update, want at most %d with one", n, len(u.Pods.Requests), maxBatch)
			}
			total += len(u.Pods.Name)
		}
		return total == len(objects)
	})
	cancel()
	f.Wait()
}
