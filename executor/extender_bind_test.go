package executor

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/kubernetes/fake"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/engine/scheduling/profiles"
	"github.com/berthproject/berth/internal/config"
)

func TestExtenderBind(t *testing.T) {
	bind := scheduling.Bind{Pod: web, Node: "n1"}
	for name, tc := range map[string]struct {
		response  any
		ignorable bool
		want      scheduling.Result
		handled   bool
	}{
		"bound":                          {extenderv1.ExtenderBindingResult{}, false, scheduling.Done, true},
		"declined":                       {extenderv1.ExtenderBindingResult{Error: "no device left"}, false, scheduling.Refused, true},
		"refused":                        {http.StatusForbidden, false, scheduling.Refused, true},
		"failed with an unknown outcome": {http.StatusInternalServerError, false, scheduling.Unknown, true},
		"malformed response":             {"{", false, scheduling.Unknown, true},
		"failed but ignorable":           {http.StatusInternalServerError, true, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			filter, _ := serve(t, config.Extender{Filter: "filter"}, nil)
			e, d := serve(t, config.Extender{Bind: "bind", Ignorable: tc.ignorable}, func(string, []string) any { return tc.response })
			x, c := newTestExtenders(t, filter, e)
			out, handled := x.Bind(t.Context(), bind)
			if out.Result != tc.want || handled != tc.handled || (out.Reason == "") != (tc.want == scheduling.Done) {
				t.Errorf("got outcome %+v, handled %t, want %v, %t", out, handled, tc.want, tc.handled)
			}
			if len(d.requests) != 1 || d.requests[0] != "bind n1" || d.bodies[0] != `{"PodName":"web","PodNamespace":"ns","PodUID":"u1","Node":"n1"}` {
				t.Errorf("requests %q with bodies %q, want one bind request of ns/web to n1", d.requests, d.bodies)
			}
			if (len(c.list) == 1) != tc.ignorable {
				t.Errorf("ignored errors %q, want one: %t", c.list, tc.ignorable)
			}
		})
	}
	uninterested, d := serve(t, config.Extender{Bind: "bind", Managed: []string{"x.io/y"}}, nil)
	x, _ := newTestExtenders(t, uninterested)
	if _, handled := x.Bind(t.Context(), bind); handled || len(d.requests) != 0 {
		t.Errorf("uninterested extender: handled %t after requests %q, want false and no request", handled, d.requests)
	}
	if _, handled := (*Extenders)(nil).Bind(t.Context(), bind); handled {
		t.Error("Bind without extenders returned true, want false")
	}
}

func TestExtenderProcessPreemption(t *testing.T) {
	pod := *web
	pod.Spec = &model.PodSpec{Priority: 10}
	low := &model.Pod{Namespace: "ns", Name: "old", UID: "v1", NodeName: "n1", Spec: &model.PodSpec{}}
	request := scheduling.CallPreemptionExtenders{Pod: &pod, Candidates: []profiles.Candidate{
		{Node: "n1", Victims: []*model.Pod{low}, Violations: 1}, {Node: "n2", Victims: []*model.Pod{low}}}}
	meta := func(node string, violations int64, uids ...string) any {
		v := &extenderv1.MetaVictims{NumPDBViolations: violations}
		for _, uid := range uids {
			v.Pods = append(v.Pods, &extenderv1.MetaPod{UID: uid})
		}
		return extenderv1.ExtenderPreemptionResult{NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{node: v}}
	}
	for name, tc := range map[string]struct {
		response  any
		want      string // victims of n1, or a part of the error
		wholePods bool   // the extender is not nodeCacheCapable
	}{
		"other victims on the node": {meta("n1", 0, "v2", "v1", "v2"), "v2 v1", false},
		"whole pods":                {meta("n1", 1, "v1"), "v1", true},
		"no node":                   {"{}", "", false},
		"unknown node":              {meta("n7", 0, "v1"), `node "n7" was not in the request`, false},
		"unknown victim":            {meta("n1", 0, "v9"), `victim with UID "v9": not found on node "n1"`, false},
		"no victim":                 {meta("n1", 0), `node "n1" has no victim`, false},
		"negative violations":       {meta("n1", -1, "v1"), "NumPDBViolations: -1: must not be negative", false},
	} {
		t.Run(name, func(t *testing.T) {
			e, d := serve(t, config.Extender{Preempt: "preempt", NodeCacheCapable: !tc.wholePods}, func(string, []string) any { return tc.response })
			x, _ := newTestExtenders(t, e)
			out := x.ProcessPreemption(t.Context(), request)
			if out.Result != scheduling.Done {
				if !strings.Contains(out.Reason, tc.want) || !strings.Contains(out.Reason, e.URL) {
					t.Errorf("got reason %q, want %q and the URL in it", out.Reason, tc.want)
				}
				return
			}
			var got []string
			for _, c := range out.Candidates {
				for _, v := range c.Victims {
					got = append(got, v.UID)
				}
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("victims %q, want %q", got, tc.want)
			}
			if hasWholePods := strings.Contains(d.bodies[0], `"NodeNameToVictims":{"n1":{"Pods":[{"metadata":{"name":"old"`); hasWholePods != tc.wholePods {
				t.Errorf("request %s, want whole pods: %t", d.bodies[0], tc.wholePods)
			}
		})
	}
	pod.Spec.Priority = 0
	e, _ := serve(t, config.Extender{Preempt: "preempt", NodeCacheCapable: true}, func(string, []string) any { return meta("n1", 0, "v2") })
	x, _ := newTestExtenders(t, e)
	if out := x.ProcessPreemption(t.Context(), request); out.Result != scheduling.Refused || !strings.Contains(out.Reason, "victim ns/other on node \"n1\" has priority 0: must be below that of ns/web, 0") {
		t.Errorf("a victim of equal priority: outcome %+v, want Refused", out)
	}
	e.Ignorable = true
	x, _ = newTestExtenders(t, e)
	if got := x.ProcessPreemption(t.Context(), request).Candidates; !reflect.DeepEqual(got, request.Candidates) {
		t.Errorf("an ignorable extender failed: candidates %+v, want %+v", got, request.Candidates)
	}
}

// TestObjectCacheWatches checks that objects for extenders come from a watch and not from single requests.
func TestObjectCacheWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, _ := newTestExtenders(t, config.Extender{URL: "http://x", Filter: "filter", Timeout: time.Second})
		client := x.objects.client.(*fake.Clientset)
		go x.Run(t.Context())
		time.Sleep(10 * time.Second)
		client.ClearActions()
		pod, err := x.objects.pod(t.Context(), web)
		if err != nil || pod.Name != "web" {
			t.Errorf("got pod %v and error %v, want web", pod, err)
		}
		node, err := x.objects.node(t.Context(), "n2")
		if err != nil || node.Labels["rack"] != "r7" || len(client.Actions()) != 0 {
			t.Errorf("got node %v, error %v and requests %v, want n2 without a request", node, err, client.Actions())
		}
		if selector := x.objects.podFieldSelector; selector != "spec.nodeName=" {
			t.Errorf("pods are watched with %q, want pending pods only", selector)
		}
		wholePods, _ := newTestExtenders(t, config.Extender{URL: "http://x", Preempt: "preempt"})
		if wholePods.objects.podFieldSelector != "" || wholePods.objects.watchNodes {
			t.Errorf("extender of whole victims: pods are watched with %q and nodes: %t, want all pods and no nodes",
				wholePods.objects.podFieldSelector, wholePods.objects.watchNodes)
		}
		if got := x.MaxDuration(); got != 2*time.Second+readMargin {
			t.Errorf("MaxDuration() = %v, want %v", got, 2*time.Second+readMargin)
		}
	})
}
