package agent_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/runtime/simulated"
)

// staticFixture is an agent with static pods on node n0.
type staticFixture struct {
	*testing.T
	api   *fake.Clientset
	pods  chan []*corev1.Pod
	agent *agent.Agent
	stop  func()
}

// newStaticFixture starts an agent with these static pods. The API gives new pods a UID and nodes the UID "node".
func newStaticFixture(t *testing.T, api *fake.Clientset, static ...*corev1.Pod) *staticFixture {
	t.Helper()
	f := &staticFixture{T: t, api: api, pods: make(chan []*corev1.Pod, 1)}
	f.pods <- static
	created := 0
	api.PrependReactor("create", "*", func(action clienttesting.Action) (bool, k8sruntime.Object, error) {
		switch o := action.(clienttesting.CreateAction).GetObject().(type) {
		case *corev1.Pod:
			created++
			o.UID = types.UID(fmt.Sprint("mirror-", created))
		case *corev1.Node:
			o.UID = "node"
		}
		return false, nil, nil
	})
	f.agent, f.stop = startAgent(t, api, func(o *agent.Options) { o.StaticPods = f.pods })
	waitBriefly()
	return f
}

// staticPod returns a static pod of node n0.
func staticPod(name, hash string) *corev1.Pod {
	return pod(name, func(p *corev1.Pod) {
		p.UID = types.UID(hash)
		p.Annotations = map[string]string{"kubernetes.io/config.source": "file", "kubernetes.io/config.hash": hash, corev1.MirrorPodAnnotationKey: hash}
	})
}

// mirror returns the mirror pod of that name, or nil.
func (f *staticFixture) mirror(name string) *corev1.Pod {
	f.Helper()
	p, err := f.api.CoreV1().Pods("default").Get(f.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		f.Fatal(err)
	}
	return p
}

// expectMirror checks that a mirror pod of a hash is running, and returns it.
func (f *staticFixture) expectMirror(name, hash string) *corev1.Pod {
	f.Helper()
	p := f.mirror(name)
	if p == nil || p.Annotations[corev1.MirrorPodAnnotationKey] != hash || p.Status.Phase != corev1.PodRunning || p.Status.StartTime == nil {
		f.Fatalf("mirror pod %+v, want %s of hash %s, Running", p, name, hash)
	}
	return p
}

// TestMirrorPod checks the mirror pod of a static pod, and that it is created again when it is deleted, while the
// static pod keeps running.
func TestMirrorPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newStaticFixture(t, fake.NewClientset(), staticPod("web-n0", "hash1"))
		defer f.stop()
		first := f.expectMirror("web-n0", "hash1")
		owner := first.OwnerReferences
		if len(owner) != 1 || owner[0].Kind != "Node" || owner[0].Name != "n0" || owner[0].UID != "node" || owner[0].Controller == nil || !*owner[0].Controller {
			t.Errorf("ownerReferences %+v, want node n0 as the controller", owner)
		}
		if first.Annotations["kubernetes.io/config.seen"] == "" || first.Annotations["kubernetes.io/config.source"] != "file" {
			t.Errorf("annotations %v, want config.seen and config.source", first.Annotations)
		}
		if bound := f.agent.BoundPods("n0"); len(bound) != 1 || bound[0].UID != "hash1" {
			t.Errorf("bound pods %v, want the static pod once", bound)
		}
		started := first.Status.ContainerStatuses[0].State.Running.StartedAt
		time.Sleep(time.Minute)
		if err := f.api.CoreV1().Pods("default").Delete(t.Context(), "web-n0", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		waitBriefly()
		second := f.expectMirror("web-n0", "hash1")
		if second.UID == first.UID || !second.Status.ContainerStatuses[0].State.Running.StartedAt.Equal(&started) || !second.Status.StartTime.Equal(first.Status.StartTime) {
			t.Errorf("second mirror pod %s with %+v, want another object of the same running container", second.UID, second.Status)
		}
		second.DeletionTimestamp = &metav1.Time{Time: time.Now()} // graceful deletion
		if _, err := f.api.CoreV1().Pods("default").Update(t.Context(), second, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		waitBriefly()
		if third := f.expectMirror("web-n0", "hash1"); third.UID == second.UID || third.DeletionTimestamp != nil {
			t.Errorf("third mirror pod %+v, want another object", third.ObjectMeta)
		}
	})
}

// TestStaticPodChanges replaces and removes a manifest, and removes a mirror pod without a manifest.
func TestStaticPodChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		orphan := staticPod("old-n0", "hash0")
		f := newStaticFixture(t, fake.NewClientset(orphan, pod("app")), staticPod("web-n0", "hash1"))
		defer f.stop()
		if p := f.mirror("old-n0"); p != nil {
			t.Errorf("mirror pod without a manifest: %v, want none", p)
		}
		f.expectMirror("web-n0", "hash1")
		if p := f.mirror("app"); p == nil || p.Status.Phase != corev1.PodRunning {
			t.Errorf("ordinary pod %v, want it Running", p)
		}
		f.pods <- []*corev1.Pod{staticPod("web-n0", "hash2")}
		time.Sleep(time.Minute)
		f.expectMirror("web-n0", "hash2")
		f.pods <- []*corev1.Pod{staticPod("web-n0", "hash2"), staticPod("db-n0", "hash3")}
		waitBriefly()
		f.expectMirror("db-n0", "hash3")
		f.pods <- nil
		time.Sleep(time.Minute)
		synctest.Wait()
		if web, db := f.mirror("web-n0"), f.mirror("db-n0"); web != nil || db != nil {
			t.Errorf("mirror pods %v, %v, want none", web, db)
		}
		if active := f.agent.Pods("n0"); len(active) != 1 || active[0].Name != "app" {
			t.Errorf("active pods %v, want app", active)
		}
	})
}

// TestStaticPodReturns removes a manifest and puts it back, while the pod terminates and after that.
func TestStaticPodReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newStaticFixture(t, fake.NewClientset(), staticPod("web-n0", "hash1"))
		defer f.stop()
		f.expectMirror("web-n0", "hash1")
		for _, pause := range []time.Duration{0, time.Minute} {
			f.pods <- nil
			time.Sleep(pause)
			f.pods <- []*corev1.Pod{staticPod("web-n0", "hash1")}
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			f.expectMirror("web-n0", "hash1")
			if active := f.agent.Pods("n0"); len(active) != 1 {
				t.Errorf("active pods %v after a pause of %v, want the static pod", active, pause)
			}
		}
	})
}

// TestCompletedStaticPodReturns removes the manifest of a completed pod and puts it back before its mirror pod could be
// deleted. The pod must run again.
func TestCompletedStaticPodReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset()
		var unavailable atomic.Bool
		unavailable.Store(true)
		api.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, k8sruntime.Object, error) {
			return unavailable.Load(), nil, apierrors.NewServiceUnavailable("unavailable")
		})
		task := staticPod("task-n0", "hash1")
		task.Annotations[simulated.RunSeconds], task.Spec.RestartPolicy = "600", corev1.RestartPolicyNever
		f := newStaticFixture(t, api, task)
		defer f.stop()
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if p := f.mirror("task-n0"); p == nil || p.Status.Phase != corev1.PodSucceeded {
			t.Fatalf("mirror pod %v, want Succeeded", p)
		}
		f.pods <- nil
		synctest.Wait()
		f.pods <- []*corev1.Pod{task}
		synctest.Wait()
		unavailable.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		f.expectMirror("task-n0", "hash1")
	})
}

// TestStaticPodReplacedWithoutAPI replaces a static pod while all requests for pods fail.
func TestStaticPodReplacedWithoutAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset()
		var unavailable atomic.Bool
		api.PrependReactor("*", "pods", func(clienttesting.Action) (bool, k8sruntime.Object, error) {
			return unavailable.Load(), nil, apierrors.NewServiceUnavailable("unavailable")
		})
		f := newStaticFixture(t, api, staticPod("web-n0", "hash1"))
		defer f.stop()
		f.expectMirror("web-n0", "hash1")
		unavailable.Store(true)
		f.pods <- []*corev1.Pod{staticPod("web-n0", "hash2")}
		time.Sleep(20 * time.Second) // the delay between retries increases
		synctest.Wait()
		if active := f.agent.Pods("n0"); len(active) != 1 || active[0].UID != "hash2" {
			t.Errorf("active pods %v, want the new static pod", active)
		}
		unavailable.Store(false)
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		f.expectMirror("web-n0", "hash2")
	})
}

// TestMirrorRetries checks that a mirror pod that the API rejects is retried with increasing delays.
func TestMirrorRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, attempts := fake.NewClientset(), 0
		api.PrependReactor("create", "pods", func(clienttesting.Action) (bool, k8sruntime.Object, error) {
			attempts++
			return true, nil, errors.New("rejected")
		})
		f := newStaticFixture(t, api, staticPod("web-n0", "hash1"))
		defer f.stop()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if attempts < 10 || attempts > 20 {
			t.Errorf("%d attempts in 10 minutes, want 10 to 20", attempts)
		}
	})
}

// TestStaticPodWithoutAPI starts a static pod while the API server does not answer.
func TestStaticPodWithoutAPI(t *testing.T) {
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = nil // one of them sleeps until the clock of the test reaches that of the machine
	defer func() { utilruntime.ErrorHandlers = handlers }()
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset()
		var available atomic.Bool
		api.PrependReactor("*", "*", func(clienttesting.Action) (bool, k8sruntime.Object, error) {
			return !available.Load(), nil, apierrors.NewServiceUnavailable("unavailable")
		})
		api.PrependWatchReactor("*", func(clienttesting.Action) (bool, watch.Interface, error) {
			return !available.Load(), nil, apierrors.NewServiceUnavailable("unavailable")
		})
		f := newStaticFixture(t, api, staticPod("web-n0", "hash1"))
		defer f.stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		if active := f.agent.Pods("n0"); len(active) != 1 || active[0].UID != "hash1" {
			t.Fatalf("active pods %v, want the static pod", active)
		}
		start := time.Now()
		available.Store(true)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if p := f.expectMirror("web-n0", "hash1"); !p.Status.StartTime.Time.Before(start) {
			t.Errorf("start time %v, want the time before the API server was available", p.Status.StartTime)
		}
	})
}
