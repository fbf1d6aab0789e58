package scheduler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/berthproject/berth/controllers/componentserver/reviewtest"
	"github.com/berthproject/berth/controllers/leaderelection"
)

// cluster returns a fake API with one node that supports binding.
func cluster(cpu string) *fake.Clientset {
	client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "n1"}, Status: corev1.NodeStatus{
		Allocatable: corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse("64Gi"), "pods": resource.MustParse("110")}}})
	client.PrependReactor("create", "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
		if a.GetSubresource() != "binding" {
			return false, nil, nil
		}
		b := a.(ktesting.CreateAction).GetObject().(*corev1.Binding)
		tracker, pods := client.Tracker(), corev1.SchemeGroupVersion.WithResource("pods")
		obj, err := tracker.Get(pods, b.Namespace, b.Name)
		if err != nil {
			return true, nil, err
		}
		p := obj.(*corev1.Pod).DeepCopy()
		if p.Spec.NodeName != "" {
			return true, nil, errors.New("bound twice")
		}
		p.Spec.NodeName = b.Target.Name
		return true, b, tracker.Update(pods, p, b.Namespace)
	})
	return client
}

func create(t *testing.T, client *fake.Clientset, name, cpu string, edits ...func(*corev1.Pod)) {
	t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
		Spec: corev1.PodSpec{SchedulerName: "default-scheduler", Containers: []corev1.Container{{Name: "c",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}}}}}
	for _, f := range edits {
		f(p)
	}
	if _, err := client.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, client *fake.Clientset, name string) *corev1.Pod {
	t.Helper()
	p, err := client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// start runs a scheduler until stop is called, which returns Run's error.
func start(t *testing.T, client *fake.Clientset, leases *fake.Clientset, e *leaderelection.Election, edits ...func(*Options)) (s *scheduler, stop func() error) {
	t.Helper()
	o := DefaultOptions()
	o.Election = e
	for _, f := range edits {
		f(&o)
	}
	m, err := o.newMachine()
	if err != nil {
		t.Fatal(err)
	}
	if s, err = newScheduler(o, m, client, leases); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- s.run(ctx) }()
	return s, func() error {
		cancel()
		return <-result
	}
}

func TestPodsAreBoundOrReportedUnschedulable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := cluster("2")
		for i := range 4 {
			create(t, client, fmt.Sprintf("p%d", i), "500m")
		}
		s, stop := start(t, client, client, nil)
		time.Sleep(time.Minute)
		for i := range 4 {
			if p := get(t, client, fmt.Sprintf("p%d", i)); p.Spec.NodeName != "n1" {
				t.Errorf("%s is on %q, want n1", p.Name, p.Spec.NodeName)
			}
		}
		create(t, client, "late", "500m")
		time.Sleep(time.Minute)
		late := get(t, client, "late")
		if len(late.Status.Conditions) != 1 || late.Status.Conditions[0].Message != "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod." {
			t.Fatalf("conditions %+v, want Insufficient cpu", late.Status.Conditions)
		}
		if err := client.CoreV1().Pods("default").Delete(t.Context(), "p0", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if late = get(t, client, "late"); late.Spec.NodeName != "n1" {
			t.Errorf("late is on %q after the deletion of a pod, want n1", late.Spec.NodeName)
		}
		response := scrape(s, "good")
		for _, want := range []string{
			`scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"} 5`,
			`scheduler_schedule_attempts_total{profile="default-scheduler",result="unschedulable"} 1`,
			`scheduler_pending_pods{queue="active"} 0`,
			`scheduler_queue_incoming_pods_total{event="PodAdd",queue="active"} 5`,
			`scheduler_queue_incoming_pods_total{event="AssignedPodDelete",queue="active"} 1`,
		} {
			if !strings.Contains(response.Body.String(), want+"\n") {
				t.Errorf("the metrics lack %s", want)
			}
		}
		if err := stop(); err != nil {
			t.Errorf("the scheduler ended with %v, want no error", err)
		}
	})
}

func TestLeaderFailover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := cluster("64")
		var disconnected atomic.Bool
		leases := fake.NewClientset()
		firstLeases := fake.NewClientset() // the first instance's connection to the same Leases, which can fail
		firstLeases.PrependReactor("*", "leases", func(a ktesting.Action) (bool, runtime.Object, error) {
			if disconnected.Load() {
				return true, nil, errors.New("connection refused")
			}
			obj, err := leases.Invokes(a, nil)
			return true, obj, err
		})
		e1, e2 := leaderelection.Default("berth-scheduler"), leaderelection.Default("berth-scheduler")
		e1.Identity, e2.Identity = "one", "two"
		first, stopFirst := start(t, client, firstLeases, &e1)
		time.Sleep(5 * time.Second)
		second, stopSecond := start(t, client, leases, &e2)
		create(t, client, "a", "1")
		time.Sleep(time.Minute)
		if get(t, client, "a").Spec.NodeName == "" || !first.leads() || second.leads() {
			t.Fatalf("first leads: %t, second leads: %t, want only the first to lead and bind", first.leads(), second.leads())
		}
		disconnected.Store(true)
		time.Sleep(e1.RenewDeadline + e1.RetryPeriod) // there is no leader
		create(t, client, "with-claim", "1", func(p *corev1.Pod) {
			p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &p.Name}}
		})
		time.Sleep(time.Second)
		if c := get(t, client, "with-claim").Status.Conditions; len(c) != 0 {
			t.Errorf("conditions %+v without a leader, want none", c)
		}
		time.Sleep(e1.LeaseDuration + e1.RetryPeriod*3)
		create(t, client, "b", "1")
		time.Sleep(2 * heartbeat)
		if c := get(t, client, "with-claim").Status.Conditions; len(c) != 1 {
			t.Errorf("conditions %+v of a pod that was gated before the second scheduler became leader, want one", c)
		}
		if get(t, client, "b").Spec.NodeName == "" || first.leads() || !second.leads() {
			t.Errorf("first leads: %t, second leads: %t, want only the second to lead and bind", first.leads(), second.leads())
		}
		if err := stopFirst(); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("the first ended with %v, want %v", err, ErrLeaseLost)
		}
		if err := stopSecond(); err != nil {
			t.Errorf("the second ended with %v, want no error", err)
		}
	})
}

// TestDelayCacheUntilActive checks that a candidate with delayCacheUntilActive is ready and sends no API requests.
func TestDelayCacheUntilActive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, secondClient, leases := cluster("64"), cluster("64"), fake.NewClientset()
		e1, e2 := leaderelection.Default("berth-scheduler"), leaderelection.Default("berth-scheduler")
		e1.Identity, e2.Identity = "one", "two"
		delay := func(o *Options) { o.DelayCache = true }
		first, stopFirst := start(t, client, leases, &e1, delay)
		time.Sleep(5 * time.Second)
		second, stopSecond := start(t, secondClient, leases, &e2, delay)
		create(t, client, "a", "1")
		time.Sleep(time.Minute)
		if get(t, client, "a").Spec.NodeName == "" || len(secondClient.Actions()) != 0 {
			t.Errorf("requests of the second instance %v, want none and a pod bound by the first", secondClient.Actions())
		}
		if err := second.readyz(); err != nil || first.readyz() != nil || second.metrics.livez() != nil {
			t.Errorf("second: readiness error %v, want both instances ready and live", err)
		}
		if err := stopFirst(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if len(secondClient.Actions()) == 0 || second.readyz() != nil || !second.leads() {
			t.Errorf("second: %d requests, readiness error %v, leads %t, want a leader that is ready", len(secondClient.Actions()), second.readyz(), second.leads())
		}
		if err := stopSecond(); err != nil {
			t.Error(err)
		}
	})
}

func TestOptionsValidate(t *testing.T) {
	o := DefaultOptions()
	o.BindWorkers, o.MaxBackoff, o.RequestTimeout = 0, 0, -1
	err := Run(t.Context(), o)
	for _, want := range []string{"bind workers: 0", "maximum backoff 0s: must be at least the initial backoff 1s", "request timeout -1ns: must be positive"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// scrape gets the metrics with a token.
func scrape(s *scheduler, token string) *httptest.ResponseRecorder {
	response, request := httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	s.serve(response, request)
	return response
}

// serve handles a request as the server does, with authentication and authorization.
func (s *scheduler) serve(w http.ResponseWriter, r *http.Request) {
	server := s.server()
	server.Client = reviewtest.Reviews{Tokens: []string{"good", "forbidden"},
		Allow: func(user, path string) bool { return user == "good" && path == "/metrics" }}.Client(s.client)
	handler, err := server.Handler()
	if err != nil {
		panic(err)
	}
	handler.ServeHTTP(w, r)
}

func TestMetricsRequireAuthorization(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := cluster("2")
		s, stop := start(t, client, client, nil)
		for token, want := range map[string]int{"": 401, "forged": 401, "forbidden": 403, "good": 200} {
			if got := scrape(s, token); got.Code != want {
				t.Errorf("token %q: status %d, body %s, want status %d", token, got.Code, got.Body, want)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
