package scheduler

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
)

// getPath requests a protected path without authorization.
func getPath(s *scheduler, path string) *httptest.ResponseRecorder {
	response := httptest.NewRecorder()
	s.protectedHandler().ServeHTTP(response, httptest.NewRequest("GET", path, nil))
	return response
}

func TestDebugPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := cluster("2")
		s, stop := start(t, client, client, nil)
		create(t, client, "low", "1500m", priority(1))
		time.Sleep(time.Minute)
		create(t, client, "high", "1500m", priority(1000))
		time.Sleep(time.Minute)
		var got struct{ Decisions []decisionView }
		if response := getPath(s, "/debug/pods/default/high?format=json"); json.Unmarshal(response.Body.Bytes(), &got) != nil || response.Code != 200 {
			t.Fatalf("got status %d and body %s, want 200 and decisions as JSON", response.Code, response.Body)
		}
		var actions []string
		for _, d := range got.Decisions {
			actions = append(actions, d.Action+" "+d.Outcome)
		}
		if strings.Join(actions, ", ") != "reject done, preempt done, bind done" && strings.Join(actions, ", ") != "preempt done, reject done, bind done" {
			t.Errorf("decisions %q, want reject, preempt and bind", actions)
		}
		text := strings.Join(strings.Fields(getPath(s, "/debug/pods/default/high").Body.String()), " ")
		for _, want := range []string{"victims default/low", "0/1 nodes are available: 1 Insufficient cpu.", "n1"} {
			if !strings.Contains(text, want) {
				t.Errorf("the text lacks %q:\n%s", want, text)
			}
		}
		if response := getPath(s, "/debug/pods/default/absent"); response.Code != 404 || !strings.Contains(response.Body.String(), "pod default/absent: no recent decisions") {
			t.Errorf("absent pod: status %d, body %s, want 404", response.Code, response.Body)
		}
		if response := getPath(s, "/debug/pods/default/high?format=xml"); response.Code != 400 {
			t.Errorf("unknown format: status %d, body %s, want 400", response.Code, response.Body)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestDebugQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := cluster("2")
		s, stop := start(t, client, client, nil)
		create(t, client, "big", "64", priority(7))
		create(t, client, "gated", "1", func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "wait"}} })
		time.Sleep(time.Minute)
		var got queueView
		response := getPath(s, "/debug/queue?format=json")
		if err := json.Unmarshal(response.Body.Bytes(), &got); err != nil || len(got.Pods) != 2 || got.Counts["gated"] != 1 || got.Counts["unschedulable"] != 1 {
			t.Fatalf("queue: error %v, body %s, want one gated and one unschedulable pod", err, response.Body)
		}
		if p := got.Pods[0]; p.Pod != "default/big" || p.Pool != "unschedulable" || p.Priority != 7 || p.Attempts != 1 || p.EquivalentPods != 1 ||
			!slices.Contains(p.Plugins, "NodeResourcesFit") || !slices.Contains(p.RequeueTriggers, "a node is added") || got.Time.Sub(p.FirstEnqueued) != time.Minute {
			t.Errorf("pod %+v, want default/big, unschedulable for a minute", p)
		}
		if text := getPath(s, "/debug/queue?pool=gated").Body.String(); !strings.Contains(text, "1 unschedulable, 1 gated") || !strings.Contains(text, "default/gated") || strings.Contains(text, "default/big") {
			t.Errorf("gated pods: got\n%s\nwant default/gated only", text)
		}
		if response := getPath(s, "/debug/queue?pool=unknown"); response.Code != 400 {
			t.Errorf("unknown pool: status %d, body %s, want 400", response.Code, response.Body)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if response := getPath(s, "/debug/queue"); response.Code != 503 || !strings.Contains(response.Body.String(), "did not answer") {
			t.Errorf("after shutdown: status %d, body %s, want 503", response.Code, response.Body)
		}
	})
}

// blockingWriter blocks until released.
type blockingWriter struct {
	*httptest.ResponseRecorder
	release <-chan struct{}
}

func (w blockingWriter) Write(b []byte) (int, error) {
	<-w.release
	return w.ResponseRecorder.Write(b)
}

func TestSlowReaderDoesNotBlockLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := cluster("2")
		s, stop := start(t, client, client, nil)
		time.Sleep(time.Second)
		release, served := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(served)
			for _, path := range []string{"/debug/queue", "/metrics", "/configz"} {
				s.protectedHandler().ServeHTTP(blockingWriter{httptest.NewRecorder(), release}, httptest.NewRequest("GET", path, nil))
			}
		}()
		time.Sleep(time.Second)
		create(t, client, "a", "1")
		time.Sleep(time.Second)
		if get(t, client, "a").Spec.NodeName == "" {
			t.Error("the pod was not bound while a client was reading, want it bound")
		}
		close(release)
		<-served
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestDecisionCacheIsBounded checks that a full cache has the latest decisions, and that a burst of placements does not
// evict rejections.
func TestDecisionCacheIsBounded(t *testing.T) {
	cache := newDecisionCache()
	pod := func(name string) *model.Pod { return &model.Pod{Namespace: "ns", Name: name, UID: name} }
	cache.onDecided(time.Time{}, []scheduling.Effect{scheduling.ClearNomination{ID: 1, Pod: pod("pending")}})
	const n = 3*decisionCacheSize + 7
	for i := range n {
		cache.onDecided(time.Time{}, []scheduling.Effect{scheduling.Bind{ID: uint64(i + 2), Pod: pod("bound")}})
		cache.onExecuted(time.Unix(int64(i), 0), scheduling.Bind{ID: uint64(i + 2)}, scheduling.Outcome{Result: scheduling.Refused, Reason: "node is full"})
	}
	cache.onExecuted(time.Unix(1, 0), scheduling.Bind{ID: 2}, scheduling.Outcome{}) // evicted from the cache
	got := cache.forPod("ns", "bound")
	if len(got) != decisionCacheSize || got[0].effect.EffectID() != n+2-decisionCacheSize || got[decisionCacheSize-1].effect.EffectID() != n+1 {
		t.Errorf("%d decisions, from %d to %d, want the last %d", len(got), got[0].effect.EffectID(), got[len(got)-1].effect.EffectID(), decisionCacheSize)
	}
	for _, g := range got {
		if g.result != scheduling.Refused || g.reason != "node is full" {
			t.Fatalf("decision %d: result %v, reason %q, want a refused bind", g.effect.EffectID(), g.result, g.reason)
		}
	}
	if len(cache.forPod("ns", "pending")) != 1 {
		t.Error("a burst of placements evicted the rejection, want it in the cache")
	}
}

func TestDebugEndpointsRequireAuthorization(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := cluster("2")
		s, stop := start(t, client, client, nil)
		for _, path := range []string{"/configz", "/debug/queue", "/debug/pods/default/a", "/debug/pprof/heap", "/no/such/path"} {
			for token, want := range map[string]int{"": 401, "forged": 401, "good": 403} { // the user may get only /metrics
				response, request := httptest.NewRecorder(), httptest.NewRequest("GET", path, nil)
				request.Header.Set("Authorization", "Bearer "+token)
				if s.serve(response, request); response.Code != want {
					t.Errorf("%s with token %q: status %d, body %s, want %d", path, token, response.Code, response.Body, want)
				}
			}
		}
		if getPath(s, "/debug/pprof/cmdline").Code != 404 {
			t.Error("pprof is served although Profiling is off")
		}
		s.o.Profiling = true
		if getPath(s, "/debug/pprof/cmdline").Code != 200 {
			t.Error("pprof is not served although Profiling is on")
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestConfigz(t *testing.T) {
	s := &scheduler{metrics: newMetrics(nil, clock.RealClock{}), o: Options{EffectiveConfig: map[string]any{"a": map[string]int{"b": 1}}}}
	if response := getPath(s, "/configz"); response.Body.String() != "{\"a\":{\"b\":1}}\n" {
		t.Errorf("configuration %s, want the effective one", response.Body)
	}
}
