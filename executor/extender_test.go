package executor

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/engine/scheduling/profiles"
	"github.com/berthproject/berth/internal/config"
)

// fakeExtender is the server of an extender. It records its requests in order.
type fakeExtender struct {
	mu       sync.Mutex
	requests []string // verb, then the names of the nodes in the request
	bodies   []string
	// respond returns the response to a verb. A string is sent unchanged, and a number is a status.
	respond func(verb string, nodes []string) any
}

func (d *fakeExtender) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body strings.Builder
	var q struct {
		Pod                   *corev1.Pod
		Nodes                 *corev1.NodeList
		NodeNames             *[]string
		NodeNameToVictims     map[string]*extenderv1.Victims
		NodeNameToMetaVictims map[string]*extenderv1.MetaVictims
		Node                  string
	}
	if err := json.NewDecoder(io.TeeReader(r.Body, &body)).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var nodes []string
	switch {
	case q.NodeNames != nil:
		nodes = *q.NodeNames
	case q.Nodes != nil:
		for _, n := range q.Nodes.Items {
			nodes = append(nodes, n.Name)
		}
	case q.Node != "":
		nodes = []string{q.Node}
	}
	verb := strings.TrimPrefix(r.URL.Path, "/x/")
	d.mu.Lock()
	d.requests = append(d.requests, verb+" "+strings.Join(nodes, ","))
	d.bodies = append(d.bodies, body.String())
	d.mu.Unlock()
	switch response := d.respond(verb, nodes).(type) {
	case string:
		_, _ = w.Write([]byte(response))
	case int:
		http.Error(w, "no", response)
	default:
		_ = json.NewEncoder(w).Encode(response)
	}
}

// serve starts an extender and sets its URL.
func serve(t *testing.T, e config.Extender, respond func(verb string, nodes []string) any) (config.Extender, *fakeExtender) {
	t.Helper()
	d := &fakeExtender{respond: respond}
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	e.URL = server.URL + "/x"
	if e.Timeout == 0 {
		e.Timeout = 10 * time.Second
	}
	return e, d
}

// ignoredErrors collects errors that did not fail the pod.
type ignoredErrors struct {
	mu   sync.Mutex
	list []string
}

// newTestExtenders returns Extenders for an API with pod ns/web and nodes n1 to n3.
func newTestExtenders(t *testing.T, list ...config.Extender) (*Extenders, *ignoredErrors) {
	t.Helper()
	objects := []runtime.Object{podOnNode("u1", "")}
	for i := range 3 {
		objects = append(objects, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", i+1), Labels: map[string]string{"rack": "r7"}}})
	}
	victim := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "old", UID: "v1"}, Spec: corev1.PodSpec{NodeName: "n1"}}
	otherPod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "other", UID: "v2"}, Spec: corev1.PodSpec{NodeName: "n1"}}
	client := fake.NewClientset(append(objects, victim, otherPod)...)
	convertPod := func(p *corev1.Pod) *model.Pod {
		return &model.Pod{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), NodeName: p.Spec.NodeName, Spec: &model.PodSpec{}}
	}
	x, err := NewExtenders(client, list, convertPod)
	if err != nil {
		t.Fatal(err)
	}
	c := &ignoredErrors{}
	x.OnIgnoredError = func(_, _ string, err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.list = append(c.list, err.Error())
	}
	return x, c
}

func threeNodes() scheduling.CallExtenders {
	return scheduling.CallExtenders{ID: 7, Pod: web, Nodes: []profiles.NodeScore{{Node: "n1", Score: 5}, {Node: "n2"}, {Node: "n3"}}}
}

func filterResponse(names ...string) any { return extenderv1.ExtenderFilterResult{NodeNames: &names} }

func TestExtenderFiltersRunInSequence(t *testing.T) {
	first, d1 := serve(t, config.Extender{Filter: "filter", NodeCacheCapable: true}, func(string, []string) any {
		return extenderv1.ExtenderFilterResult{NodeNames: &[]string{"n3", "n1"}, FailedNodes: extenderv1.FailedNodesMap{"n2": "full"}}
	})
	second, d2 := serve(t, config.Extender{Filter: "filter"}, func(string, []string) any {
		return extenderv1.ExtenderFilterResult{Nodes: &corev1.NodeList{Items: []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n3"}}}},
			FailedNodes: extenderv1.FailedNodesMap{"n1": "soft"}, FailedAndUnresolvableNodes: extenderv1.FailedNodesMap{"n1": "hard"}}
	})
	third, d3 := serve(t, config.Extender{Filter: "filter", NodeCacheCapable: true, Managed: []string{"x.io/y"}}, func(string, []string) any { return filterResponse() })
	fourth, _ := serve(t, config.Extender{Filter: "filter", NodeCacheCapable: true}, func(string, []string) any { return "{}" })
	fifth, d5 := serve(t, config.Extender{Filter: "filter", NodeCacheCapable: true}, func(string, []string) any { return filterResponse() })
	x, _ := newTestExtenders(t, first, second, third)
	out := x.FilterAndPrioritize(t.Context(), threeNodes())
	if out.Result != scheduling.Done || !slices.Equal(out.ExtenderResult.Nodes, []profiles.NodeScore{{Node: "n3"}}) {
		t.Errorf("outcome %+v with result %+v, want Done with n3", out, out.ExtenderResult)
	}
	want := []scheduling.FailedNode{{Node: "n1", Extender: second.URL, Reason: "hard", Unresolvable: true}, {Node: "n2", Extender: first.URL, Reason: "full"}}
	if !slices.Equal(out.ExtenderResult.FailedNodes, want) {
		t.Errorf("failed %+v, want %+v", out.ExtenderResult.FailedNodes, want)
	}
	if !slices.Equal(d1.requests, []string{"filter n1,n2,n3"}) || !slices.Equal(d2.requests, []string{"filter n1,n3"}) || len(d3.requests) != 0 {
		t.Errorf("requests %q, %q, %q, want 3 nodes, 2 nodes and no request", d1.requests, d2.requests, d3.requests)
	}
	if !strings.Contains(d2.bodies[0], `"rack":"r7"`) || strings.Contains(d1.bodies[0], "rack") || !strings.Contains(d1.bodies[0], `"uid":"u1"`) {
		t.Errorf("requests\n%s\n%s\nwant names for the nodeCacheCapable extender and whole nodes for the other one", d1.bodies[0], d2.bodies[0])
	}
	x, _ = newTestExtenders(t, fourth, fifth)
	out = x.FilterAndPrioritize(t.Context(), threeNodes())
	if len(out.ExtenderResult.Nodes) != 0 || len(out.ExtenderResult.FailedNodes) != 3 || !out.ExtenderResult.FailedNodes[0].Unresolvable || len(d5.requests) != 0 {
		t.Errorf("empty filter response: result %+v, later requests %q; want all nodes rejected and no request", out.ExtenderResult, d5.requests)
	}
}

func TestExtenderFilterErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		response any
		want     string
	}{
		"extender error": {extenderv1.ExtenderFilterResult{Error: "no devices"}, "no devices"},
		"unknown node":   {filterResponse("n1", "n9"), `node "n9" was not in the request`},
		"malformed":      {`{"nodenames": [`, `decoding response "{\"nodenames\": ["`},
		"another type":   {`{"NodeNames": "n1"}`, "decoding response"},
		"status":         {http.StatusTeapot, `response status 418 I'm a teapot: "no": want 200`},
		"huge":           {`{"NodeNames": ["` + strings.Repeat("n", 2000) + `"]}`, "response exceeds 1000 bytes"},
		"timeout":        {time.Second, "Client.Timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			timeout, release := 10*time.Second, make(chan struct{})
			if _, slow := tc.response.(time.Duration); slow {
				timeout = 50 * time.Millisecond
			}
			e, _ := serve(t, config.Extender{Filter: "predicates", NodeCacheCapable: true, Timeout: timeout}, func(string, []string) any {
				if _, slow := tc.response.(time.Duration); slow {
					<-release
				}
				return tc.response
			})
			defer close(release)
			for _, e.Ignorable = range []bool{false, true} {
				x, c := newTestExtenders(t, e)
				x.list[0].maxResponse = 1000
				out := x.FilterAndPrioritize(t.Context(), threeNodes())
				reason := out.Reason
				if e.Ignorable {
					reason = strings.Join(c.list, "")
				}
				if !strings.Contains(reason, tc.want) || !strings.Contains(reason, "extender "+e.URL+": predicates: ") {
					t.Errorf("ignorable %v: reason %q, want %q", e.Ignorable, reason, tc.want)
				}
				if (out.Result == scheduling.Refused) == e.Ignorable || e.Ignorable && len(out.ExtenderResult.Nodes) != 3 {
					t.Errorf("ignorable %v: outcome %+v, want Refused unless ignorable", e.Ignorable, out)
				}
			}
		})
	}
}

func TestExtenderScoresAreWeightedAndSummed(t *testing.T) {
	scores := func(list extenderv1.HostPriorityList) func(string, []string) any {
		return func(string, []string) any { return list }
	}
	first, _ := serve(t, config.Extender{Prioritize: "score", Weight: 2, NodeCacheCapable: true}, scores(extenderv1.HostPriorityList{{Host: "n1", Score: 3}, {Host: "n3", Score: 10}, {Host: "n9", Score: 1}}))
	second, _ := serve(t, config.Extender{Prioritize: "score", Weight: 5}, scores(extenderv1.HostPriorityList{{Host: "n1", Score: 1}}))
	outOfRange, _ := serve(t, config.Extender{Prioritize: "score", Weight: 1, NodeCacheCapable: true}, scores(extenderv1.HostPriorityList{{Host: "n2", Score: 1 << 40}}))
	duplicate, _ := serve(t, config.Extender{Prioritize: "score", Weight: 1, NodeCacheCapable: true}, scores(extenderv1.HostPriorityList{{Host: "n2"}, {Host: "n2"}}))
	unavailable := config.Extender{URL: "http://127.0.0.1:1", Prioritize: "score", Weight: 1, Timeout: time.Second}
	x, c := newTestExtenders(t, first, second, outOfRange, duplicate, unavailable)
	out := x.FilterAndPrioritize(t.Context(), threeNodes())
	want := []profiles.NodeScore{{Node: "n1", Score: 3*2*10 + 1*5*10}, {Node: "n2"}, {Node: "n3", Score: 10 * 2 * 10}}
	if out.Result != scheduling.Done || !slices.Equal(out.ExtenderResult.Nodes, want) {
		t.Errorf("outcome %+v with result %+v, want Done with nodes %+v", out, out.ExtenderResult, want)
	}
	if len(c.list) != 3 {
		t.Errorf("ignored errors %q, want 3", c.list)
	}
	single, d := serve(t, config.Extender{Filter: "filter", Prioritize: "score", Weight: 1, NodeCacheCapable: true}, func(string, []string) any { return filterResponse("n2") })
	x, _ = newTestExtenders(t, single)
	if got := x.FilterAndPrioritize(t.Context(), threeNodes()).ExtenderResult.Nodes; !slices.Equal(got, []profiles.NodeScore{{Node: "n2"}}) || len(d.requests) != 1 {
		t.Errorf("one feasible node: nodes %+v after requests %q, want n2 after one filter request", got, d.requests)
	}
}

func TestExtendersSkipReplacedPods(t *testing.T) {
	e, d := serve(t, config.Extender{Filter: "filter", NodeCacheCapable: true}, func(string, []string) any { return filterResponse() })
	x, _ := newTestExtenders(t, e)
	out := x.FilterAndPrioritize(t.Context(), scheduling.CallExtenders{Pod: &model.Pod{Namespace: "ns", Name: "web", UID: "u2", Spec: web.Spec}, Nodes: threeNodes().Nodes})
	if want := "pod ns/web with UID u2: deleted: replaced by UID u1"; out.Result != scheduling.Refused || out.Reason != want || len(d.requests) != 0 {
		t.Errorf("outcome %+v, requests %q, want Refused with %q and no request", out, d.requests, want)
	}
}
