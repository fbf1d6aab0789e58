package tainteviction

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// referenceModel stores all events and computes from them which pods are due when.
type referenceModel struct {
	o       Options
	started time.Time
	now     time.Time
	nodes   map[string]Node
	pods    map[string]Pod
	// taintObserved and podObserved are when each object was first observed in its current form.
	taintObserved, podObserved map[string]time.Time
	requested                  map[string]bool
	retry                      map[string]time.Time
	backoff                    map[string]time.Duration
}

func taintKey(node string, t model.TimedTaint) string {
	return fmt.Sprint(node, t.Key, t.Value, t.Effect, t.Added.UnixNano())
}

func podKey(p Pod) string { return fmt.Sprint(p.Key(), p.UID, p.Node, p.Bound.UnixNano()) }

func (ref *referenceModel) apply(e Event) {
	switch e := e.(type) {
	case Node:
		observed := map[string]time.Time{}
		for _, t := range e.Taints {
			k := taintKey(e.Name, t)
			observed[k] = ref.now
			if before, ok := ref.taintObserved[k]; ok {
				observed[k] = before
			}
		}
		for k := range ref.taintObserved {
			if strings.HasPrefix(k, e.Name) {
				delete(ref.taintObserved, k)
			}
		}
		for k, v := range observed {
			ref.taintObserved[k] = v
		}
		ref.nodes[e.Name] = e
	case NodeDeleted:
		ref.apply(Node{Name: e.Name})
		delete(ref.nodes, e.Name)
	case Pod:
		old, ok := ref.pods[e.Key()]
		if ok && (old.UID != e.UID || old.Node != e.Node) || e.Deleting {
			ref.apply(PodDeleted{e.Namespace, e.Name})
		}
		if e.Deleting {
			return
		}
		if ok && podKey(old) == podKey(e) {
			ref.pods[e.Key()] = e
			return
		}
		ref.podObserved[e.Key()], ref.pods[e.Key()] = ref.now, e
	case PodDeleted:
		k := e.Namespace + "/" + e.Name
		delete(ref.pods, k)
		delete(ref.requested, k)
		delete(ref.retry, k)
		delete(ref.backoff, k)
	case EvictFailed:
		ref.fail(e)
	}
}

func (ref *referenceModel) fail(e EvictFailed) {
	k := e.Namespace + "/" + e.Name
	if ref.pods[k].UID == e.UID && ref.requested[k] {
		ref.requested[k] = false
		ref.backoff[k] = min(max(2*ref.backoff[k], firstRetry), lastRetry)
		ref.retry[k] = ref.now.Add(ref.backoff[k])
	}
}

// due returns the time at which a pod is evicted, by the documented rule.
func (ref *referenceModel) due(p Pod) (best time.Time, ok bool) {
	round := func(t, observed time.Time) time.Time {
		if t.IsZero() || observed.Sub(t) < time.Second {
			return observed
		}
		return t
	}
	for _, t := range ref.nodes[p.Node].Taints {
		if t.Effect != model.NoExecute {
			continue
		}
		from, bound := round(t.Added, ref.taintObserved[taintKey(p.Node, t)]), round(p.Bound, ref.podObserved[p.Key()])
		if bound.After(from) {
			from = bound
		}
		i := slices.IndexFunc(p.Tolerations, func(l model.Toleration) bool { return l.ToleratesTaint(&t.Taint, false) })
		if i >= 0 {
			if p.Tolerations[i].Seconds == nil {
				continue
			}
			from = from.Add(time.Duration(max(0, *p.Tolerations[i].Seconds)) * time.Second)
		}
		if grace := ref.started.Add(ref.o.StartupGrace); notReadyTaint(t.Key) && t.Added.Before(ref.started) && from.Before(grace) {
			from = grace
		}
		if !ok || from.Before(best) {
			best, ok = from, true
		}
	}
	return best, ok
}

// evicted returns the pods to evict now, sorted by name.
func (ref *referenceModel) evicted() (out []string) {
	for k, p := range ref.pods {
		if due, ok := ref.due(p); ok && !ref.requested[k] && !due.After(ref.now) && !ref.retry[k].After(ref.now) {
			ref.requested[k] = true
			out = append(out, p.Name)
		}
	}
	slices.Sort(out)
	return out
}

func randomEvent(r *rand.Rand, now time.Time) Event {
	keys := []string{"a", "b", "node.kubernetes.io/unreachable"}
	name, pod := fmt.Sprintf("n%d", r.Intn(3)), fmt.Sprintf("p%d", r.Intn(6))
	when := func() time.Time {
		if r.Intn(3) == 0 {
			return time.Time{}
		}
		return now.Add(-time.Duration(r.Intn(4)*r.Intn(30)) * time.Second).Truncate(time.Second)
	}
	switch r.Intn(10) {
	case 0:
		return NodeDeleted{name}
	case 1:
		return PodDeleted{"ns", pod}
	case 2, 3, 4:
		return EvictFailed{"ns", pod, "u1"}
	case 5, 6, 7:
		n := Node{Name: name}
		for _, k := range keys {
			if r.Intn(3) == 0 {
				n.Taints = append(n.Taints, model.TimedTaint{Taint: model.Taint{Key: k, Effect: model.Effect(1 + r.Intn(3))}, Added: when()})
			}
		}
		return n
	}
	p := Pod{Namespace: "ns", Name: pod, UID: fmt.Sprintf("u%d", 1+r.Intn(2)), Node: name, Bound: when(), Deleting: r.Intn(8) == 0}
	for _, k := range keys {
		if r.Intn(2) == 0 {
			p.Tolerations = append(p.Tolerations, tol(k, int64(r.Intn(100)-20)))
		}
	}
	return p
}

// TestIncrementalMatchesReference compares a Machine with a model that computes everything from all objects.
func TestIncrementalMatchesReference(t *testing.T) {
	for seed := range int64(300) {
		r := rand.New(rand.NewSource(seed))
		o := Options{StartupGrace: time.Duration(r.Intn(2)*40) * time.Second}
		m := New(o, startTime)
		ref := &referenceModel{o: o, started: startTime, nodes: map[string]Node{}, pods: map[string]Pod{}, taintObserved: map[string]time.Time{},
			podObserved: map[string]time.Time{}, requested: map[string]bool{}, retry: map[string]time.Time{}, backoff: map[string]time.Duration{}}
		now, wake := startTime, time.Time{}
		for i := range 120 {
			now = now.Add(time.Duration(r.Intn(5000)) * time.Millisecond)
			if !wake.IsZero() && now.After(wake) {
				now = wake
			}
			ref.now = now
			var events []Event
			for range r.Intn(3) {
				events = append(events, randomEvent(r, now))
				ref.apply(events[len(events)-1])
			}
			var effects []Effect
			effects, wake = m.Step(now, events)
			var got []string
			for _, e := range effects {
				if e, ok := e.(Evict); ok {
					got = append(got, e.Pod.Name)
				}
			}
			slices.Sort(got)
			if want := ref.evicted(); !slices.Equal(got, want) {
				t.Fatalf("seed %d, step %d: evicted %v, want %v", seed, i, got, want)
			}
			for _, p := range ref.pods {
				due, evict := ref.due(p)
				if at, _, ok := m.Due(p.Namespace, p.Name); ok != evict || ok && !at.Equal(due) {
					t.Fatalf("seed %d, step %d: eviction of pod %s: %v at %v, want %v at %v", seed, i, p.Name, ok, at, evict, due)
				}
			}
		}
	}
}
