package podgc

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// pod parses "name@node deleting finished evicted owner=x age=s".
func pod(text string) Pod {
	words := strings.Fields(text)
	name, node, _ := strings.Cut(words[0], "@")
	p := Pod{Namespace: "ns", Name: name, UID: "u-" + name, Node: node, Created: start, Ended: start}
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "deleting":
			p.Deleting = true
		case "finished":
			p.Finished = true
		case "evicted":
			p.Finished, p.Evicted = true, true
		case "owner":
			p.Owner = value
		case "age":
			var s int
			_, _ = fmt.Sscan(value, &s)
			p.Created = start.Add(-time.Duration(s) * time.Second)
			p.Ended = p.Created
		}
	}
	return p
}

// pods parses several pods; see pod.
func pods(texts ...string) (out []Pod) {
	for _, t := range texts {
		out = append(out, pod(t))
	}
	return out
}

// byName returns a function that looks up nodes.
func byName(nodes ...Node) func(string) (Node, bool) {
	return func(name string) (Node, bool) {
		i := slices.IndexFunc(nodes, func(n Node) bool { return n.Name == name })
		if i < 0 {
			return Node{}, false
		}
		return nodes[i], true
	}
}

func podNames(removals []Removal) string {
	var out []string
	for _, r := range removals {
		out = append(out, r.Pod.Name)
	}
	return strings.Join(out, " ")
}

func TestCollectRules(t *testing.T) {
	nodes := []Node{{Name: "up", Ready: true}, {Name: "down"}, {Name: "out", OutOfService: true}, {Name: "ready-out", Ready: true, OutOfService: true}}
	for name, tc := range map[string]struct {
		o    Options
		pods []Pod
		want string
	}{
		"out of service, and being deleted":    {Options{}, pods("a@out deleting", "b@out", "c@down deleting", "d@ready-out deleting"), "a"},
		"never bound, and being deleted":       {Options{}, pods("a@ deleting", "b@", "c@up deleting"), "a"},
		"too many terminated pods":             {Options{Threshold: 2}, pods("a@up finished age=5", "b@up finished age=9", "c@up finished age=7", "d@up"), "b"},
		"evicted pods first":                   {Options{Threshold: 2}, pods("a@up finished age=5", "b@up finished age=9", "c@up evicted age=1", "d@up evicted age=2"), "d c"},
		"no threshold":                         {Options{}, pods("a@up finished", "b@up evicted"), ""},
		"a limit per owner":                    {Options{EvictedCap: 1}, pods("a@up evicted owner=x age=5", "b@up evicted owner=x age=4", "c@up evicted owner=y", "d@up finished owner=x"), "a"},
		"pods without an owner form one group": {Options{EvictedCap: 1}, pods("a@up evicted age=5", "b@up evicted age=4"), "a"},
		"age of evicted pods":                  {Options{EvictedTTL: time.Minute}, pods("a@up evicted age=60", "b@up evicted age=59", "c@up finished age=100"), "a"},
		"the first matching rule applies":      {Options{Threshold: 1}, pods("a@out deleting finished", "b@up finished"), "a"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := podNames(New(tc.o).Collect(start, tc.pods, byName(nodes...))); got != tc.want {
				t.Errorf("removed %q, want %q", got, tc.want)
			}
		})
	}
}

func TestOrphanQuarantine(t *testing.T) {
	c := New(Options{Quarantine: Quarantine})
	list := pods("a@missing", "b@missing finished", "c@returning")
	for _, s := range []struct {
		second int
		nodes  []Node
		want   string
	}{
		{0, nil, ""}, {20, nil, ""}, {39, []Node{{Name: "returning"}}, ""}, {40, []Node{{Name: "returning"}}, "a b"}, {41, nil, "a b"}, {60, []Node{{Name: "missing"}}, ""}, {80, nil, ""}, {81, nil, "c"},
	} {
		if got := podNames(c.Collect(start.Add(time.Duration(s.second)*time.Second), list, byName(s.nodes...))); got != s.want {
			t.Errorf("at %d s: removed %q, want %q", s.second, got, s.want)
		}
	}
}

// TestTerminatedPodLimits checks random pods: after a collection no limit is exceeded, and each deleted evicted pod
// would exceed one.
func TestTerminatedPodLimits(t *testing.T) {
	for seed := range int64(500) {
		r := rand.New(rand.NewSource(seed))
		o := Options{Threshold: r.Intn(8), EvictedCap: r.Intn(4), EvictedTTL: time.Duration(r.Intn(2)*r.Intn(60)) * time.Second}
		var list []Pod
		for i := range r.Intn(20) {
			list = append(list, pod(fmt.Sprintf("p%02d@n %s owner=o%d age=%d", i, []string{"evicted", "finished", ""}[r.Intn(3)], r.Intn(3), r.Intn(60))))
		}
		removed := map[string]Reason{}
		removals := New(o).Collect(start, list, byName(Node{Name: "n", Ready: true}))
		for _, x := range removals {
			if _, exists := removed[x.Pod.Name]; exists {
				t.Fatalf("seed %d: %s is removed twice, want once", seed, x.Pod.Name)
			}
			removed[x.Pod.Name] = x.Reason
		}
		remaining := slices.DeleteFunc(slices.Clone(list), func(p Pod) bool { _, ok := removed[p.Name]; return ok })
		if second := New(o).Collect(start, remaining, byName(Node{Name: "n", Ready: true})); len(second) != 0 {
			t.Fatalf("seed %d: a second collection removes %s, want nothing", seed, podNames(second))
		}
		for _, x := range removals {
			if restored := append(slices.Clone(remaining), x.Pod); len(New(o).Collect(start, restored, byName(Node{Name: "n", Ready: true}))) == 0 && x.Reason == Evicted {
				t.Fatalf("seed %d: %s was deleted although no limit was exceeded, want it to remain", seed, x.Pod.Name)
			}
		}
	}
}
