package scheduler

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/berthproject/berth/internal/config"
)

// deviceExtender is an extender that manages x.io/device: it keeps nodes n2 and n3, prefers
// n3, rejects pods named "none", fails for pods named "down", and counts its calls.
type deviceExtender struct {
	mu    sync.Mutex
	calls map[string]int
}

func (d *deviceExtender) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var args extenderv1.ExtenderArgs
	if err := json.NewDecoder(r.Body).Decode(&args); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	d.mu.Lock()
	d.calls[strings.TrimPrefix(r.URL.Path, "/")]++
	d.mu.Unlock()
	var answer any
	switch {
	case args.Pod.Name == "down":
		http.Error(w, "out of order", http.StatusInternalServerError)
		return
	case r.URL.Path == "/score":
		answer = extenderv1.HostPriorityList{{Host: "n3", Score: 10}}
	case args.Pod.Name == "none":
		answer = extenderv1.ExtenderFilterResult{FailedNodes: extenderv1.FailedNodesMap{"n1": "no device", "n2": "no device", "n3": "no device"}}
	default:
		answer = extenderv1.ExtenderFilterResult{NodeNames: &[]string{"n2", "n3"}, FailedNodes: extenderv1.FailedNodesMap{"n1": "no device"}}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// eventually polls until a condition holds.
func eventually(t *testing.T, condition string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%s: timed out after 30 s", condition)
			return
		}
	}
}

func requesting(resources string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests[corev1.ResourceName(resources)] = resource.MustParse("1")
	}
}

// TestExtendersAreCalledInOrder runs the scheduler with an extender over
// HTTP, in real time.
func TestExtendersAreCalledInOrder(t *testing.T) {
	d := &deviceExtender{calls: map[string]int{}}
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	client := cluster("8")
	for _, name := range []string{"n2", "n3"} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("64Gi"), "pods": resource.MustParse("110")}}}
		if err := client.Tracker().Add(n); err != nil {
			t.Fatal(err)
		}
	}
	s, stop := start(t, client, client, nil, func(o *Options) {
		o.Extenders = config.Extenders{{URL: server.URL, Filter: "filter", Prioritize: "score", Weight: 1, NodeCacheCapable: true,
			Timeout: 10 * time.Second, Managed: []string{"x.io/device"}},
			{URL: "http://127.0.0.1:1", Filter: "filter", Timeout: time.Second, Managed: []string{"x.io/device"}, Ignorable: true}}
		o.Profiles = o.profilesOrDefault()
		o.Profiles[0].Fit.IgnoredResources = []string{"x.io/device"}
	})
	create(t, client, "plain", "1")
	eventually(t, "plain is bound", func() bool { return get(t, client, "plain").Spec.NodeName != "" })
	d.mu.Lock()
	if len(d.calls) != 0 {
		t.Errorf("the extender was called for a pod that it is not interested in: %v", d.calls)
	}
	d.mu.Unlock()
	create(t, client, "wants", "1", requesting("x.io/device"))
	eventually(t, "wants is bound to n3", func() bool { return get(t, client, "wants").Spec.NodeName == "n3" })
	if n := values(scrape(s, "good").Body.String())[`berth_scheduler_extender_failures_total{extender="http://127.0.0.1:1",verb="filter"}`]; n != "1" {
		t.Errorf("%q failures of the unavailable ignorable extender are counted", n)
	}
	create(t, client, "none", "1", requesting("x.io/device"))
	eventually(t, "message of none", func() bool { return strings.Contains(conditionMessage(t, client, "none"), "3 no device") })
	create(t, client, "down", "1", requesting("x.io/device"))
	eventually(t, "message of down", func() bool {
		return strings.Contains(conditionMessage(t, client, "down"), "extender "+server.URL+": filter: response status 500")
	})
	d.mu.Lock()
	if d.calls["filter"] < 3 || d.calls["score"] != 1 {
		t.Errorf("calls %v", d.calls)
	}
	d.mu.Unlock()
	if page := getPath(s, "/debug/pods/default/wants").Body.String(); !strings.Contains(page, "call extenders") {
		t.Errorf("the decisions lack the extender call:\n%s", page)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// conditionMessage returns the message of a pod's condition.
func conditionMessage(t *testing.T, client *fake.Clientset, name string) string {
	t.Helper()
	for _, c := range get(t, client, name).Status.Conditions {
		return c.Message
	}
	return ""
}
