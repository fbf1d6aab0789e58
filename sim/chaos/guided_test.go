package chaos

import (
	"fmt"
	"math/rand"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/random"
	"github.com/berthproject/berth/sim/store"
)

// combination is what a request met: an actor, a kind of request, a fault or killed, and the state of the pod.
type combination struct{ actor, kind, fault, state string }

// killed is the fault of a request in flight when its actor is killed.
const killed = "killed"

// sentRequest is a request of a world.
type sentRequest struct {
	combination
	object string
	at     time.Duration
}

// observer observes the combinations of a world.
type observer struct {
	w        *cluster.Cluster
	requests []sentRequest
	reached  map[combination]bool
}

func newObserver() *observer { return &observer{reached: map[combination]bool{}} }

// insert makes the observer observe a world.
func (o *observer) insert(c *cluster.Cluster) {
	o.w = c
	c.OnNotice(o.observe)
}

func (o *observer) observe(notice any) {
	switch n := notice.(type) {
	case sim.Requested:
		r := sentRequest{combination{n.Actor, n.Kind, n.Fault.String(), o.stateOf(n.Object)}, n.Object, o.w.Elapsed()}
		o.requests = append(o.requests, r)
		o.reached[r.combination] = true
	case sim.Killed:
		for _, r := range slices.Backward(o.requests) {
			if r.at+2*o.w.Latency() < o.w.Elapsed() {
				break
			}
			if r.actor == n.Actor {
				r.fault = killed
				o.reached[r.combination] = true
			}
		}
	}
}

// stateOf returns the state of the pod with a key.
func (o *observer) stateOf(key string) string {
	p := o.w.API().Pod(key)
	switch {
	case p == nil:
		return "no pod"
	case store.Finished(p):
		return "finished"
	case p.DeletionTimestamp != nil:
		return "terminating"
	case conversion.ActiveDisruptionTarget(p) != nil:
		return "displaced"
	case p.Spec.NodeName == "":
		return "pending"
	case store.PodReady(p):
		return "ready"
	}
	return "not ready"
}

// search runs worlds and collects the combinations that they reach. A guided search keeps the worlds that reach new
// combinations, and adds faults to them that would reach others.
type search struct {
	t       *testing.T
	r       *rand.Rand
	guided  bool
	seed    int64 // of the last random world
	corpus  []corpusEntry
	reached map[combination]bool
	worlds  int
	steps   int
}

// corpusEntry is a world that has reached new combinations.
type corpusEntry struct {
	text     string
	requests []sentRequest
}

// run runs worlds until they have taken a number of steps.
func (s *search) run(steps int) {
	for s.steps < steps && !s.t.Failed() {
		text := s.next()
		o := newObserver()
		r, err := runWorld(text, options(s.t), o.insert)
		if err != nil {
			s.t.Fatalf("%v in:\n%s", err, text)
		}
		if r.Violation != nil {
			s.t.Errorf("%v in:\n%s", r.Violation, text)
		}
		s.worlds, s.steps = s.worlds+1, s.steps+r.Cluster.Steps()
		before := len(s.reached)
		for c := range o.reached {
			s.reached[c] = true
		}
		if len(s.reached) > before {
			s.corpus = append(s.corpus, corpusEntry{text, o.requests})
		}
	}
}

// next returns the next world: a random one, or one of the corpus with more faults.
func (s *search) next() string {
	if !s.guided || len(s.corpus) == 0 || s.r.Intn(4) == 0 {
		s.seed++
		return random.Generate(s.seed, worldEvents)
	}
	e := s.corpus[s.r.Intn(len(s.corpus))]
	text, planned := e.text, map[combination]bool{}
	for _, i := range s.r.Perm(len(e.requests)) {
		text += s.addedFault(&e.requests[i], planned)
		if len(planned) == maxAddedFaults {
			break
		}
	}
	return text
}

// maxAddedFaults is the maximum number of faults that a mutation adds.
const maxAddedFaults = 100

// addedFaults are the faults that a mutation adds.
var addedFaults = []string{"refuse", "conflict", "requestlost", "responselost", "partial", killed}

// addedFault returns a line that adds a fault to a request, unless the combination is reached or planned.
func (s *search) addedFault(r *sentRequest, planned map[combination]bool) string {
	c := r.combination
	c.fault = addedFaults[s.r.Intn(len(addedFaults))]
	if s.reached[c] || planned[c] || c.fault == killed && !cluster.IsKillable(r.actor) {
		return ""
	}
	planned[c] = true
	if c.fault == killed {
		return fmt.Sprintf("at %v kill %s for 500ms\n", r.at+500*time.Microsecond, r.actor)
	}
	pod := ""
	if r.state != "no pod" {
		pod = " pod=" + r.object
	}
	return fmt.Sprintf("at %v fault %s %s%s\n", r.at, c.fault, r.kind, pod)
}

func newSearch(t *testing.T, guided bool) *search {
	return &search{t: t, r: rand.New(rand.NewSource(1)), guided: guided, reached: map[combination]bool{}}
}

// TestGuidedFaultsSoak checks that a guided search reaches more combinations than random worlds in the same number of
// steps, and that no invariant fails.
func TestGuidedFaultsSoak(t *testing.T) {
	steps := 250_000
	if os.Getenv("BERTH_SOAK") != "" {
		steps = 3_000_000
	}
	atRandom, guided := newSearch(t, false), newSearch(t, true)
	atRandom.run(steps)
	guided.run(steps)
	fmt.Printf("soak: combinations of actor, request, fault and state: %d in %d random worlds of %d steps, %d in %d guided worlds of %d steps\n",
		len(atRandom.reached), atRandom.worlds, atRandom.steps, len(guided.reached), guided.worlds, guided.steps)
	if len(guided.reached) <= len(atRandom.reached) {
		t.Error("the guided search reaches no more combinations than random worlds")
	}
}

// TestGuidedSearchIsDeterministic checks that equal seeds run equal worlds.
func TestGuidedSearchIsDeterministic(t *testing.T) {
	a, b := newSearch(t, true), newSearch(t, true)
	a.run(50_000)
	b.run(50_000)
	if a.steps != b.steps || a.worlds != b.worlds || len(a.reached) != len(b.reached) {
		t.Errorf("got %d steps and %d combinations, and then %d and %d", a.steps, len(a.reached), b.steps, len(b.reached))
	}
}
