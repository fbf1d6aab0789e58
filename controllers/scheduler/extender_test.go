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

// deviceExtender is an extender that manages x.io/device. It accepts nodes n2 and n3, prefers n3,
// and counts its calls. It rejects pods named "rejected", and fails for pods named "failing".
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
	var response any
	switch {
	case args.Pod.Name == "failing":
		http.Error(w, "extender failed", http.StatusInternalServerError)
		return
	case r.URL.Path == "/score":
		response = extenderv1.HostPriorityList{{Host: "n3", Score: 10}}
	case args.Pod.Name == "rejected":
		response = extenderv1.ExtenderFilterResult{FailedNodes: extenderv1.FailedNodesMap{"n1": "no device", "n2": "no device", "n3": "no device"}}
	default:
		response = extenderv1.ExtenderFilterResult{NodeNames: &[]string{"n2", "n3"}, FailedNodes: extenderv1.FailedNodesMap{"n1": "no device"}}
	}
	_ = json.NewEncoder(w).Encode(response)
}

// eventually polls for 30 s until done returns true.
func eventually(t *testing.T, condition string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%s: timed out after 30 s", condition)
			return
		}
	}
}

func requesting(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests[corev1.ResourceName(name)] = resource.MustParse("1")
	}
}

// TestExtendersAreCalledInOrder checks the calls of extenders over HTTP and their effects, in real time.
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
		t.Errorf("calls %v for a pod without managed resources, want none", d.calls)
	}
	d.mu.Unlock()
	create(t, client, "device-pod", "1", requesting("x.io/device"))
	eventually(t, "device-pod is bound to n3", func() bool { return get(t, client, "device-pod").Spec.NodeName == "n3" })
	if n := values(scrape(s, "good").Body.String())[`berth_scheduler_extender_failures_total{extender="http://127.0.0.1:1",verb="filter"}`]; n != "1" {
		t.Errorf("%q failures of the unavailable ignorable extender, want 1", n)
	}
	create(t, client, "rejected", "1", requesting("x.io/device"))
	eventually(t, "message of rejected", func() bool { return strings.Contains(conditionMessage(t, client, "rejected"), "3 no device") })
	create(t, client, "failing", "1", requesting("x.io/device"))
	eventually(t, "message of failing", func() bool {
		return strings.Contains(conditionMessage(t, client, "failing"), "extender "+server.URL+": filter: response status 500")
	})
	d.mu.Lock()
	if d.calls["filter"] < 3 || d.calls["score"] != 1 {
		t.Errorf("calls %v, want at least 3 of filter and 1 of score", d.calls)
	}
	d.mu.Unlock()
	if page := getPath(s, "/debug/pods/default/device-pod").Body.String(); !strings.Contains(page, "call extenders") {
		t.Errorf("got decisions %s\nwant a call of the extenders", page)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// conditionMessage returns the message of a pod's first condition, or "" if the pod has none.
func conditionMessage(t *testing.T, client *fake.Clientset, name string) string {
	t.Helper()
	if conditions := get(t, client, name).Status.Conditions; len(conditions) > 0 {
		return conditions[0].Message
	}
	return ""
}
