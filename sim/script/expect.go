package script

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// expectUsage is the usage of the verb expect.
const expectUsage = `expect [at TIME] pod NAME on NODE|bound|pending ["WORDS"]|gated|nominated NODE|running|succeeded|failed|terminating|deleted; ` +
	`expect [at TIME] pod NAME ready|unready|disrupted REASON; expect [at TIME] node NAME tainted KEY[:EFFECT]|untainted KEY[:EFFECT]|ready|notready|unknown; ` +
	`expect [at TIME] event "WORDS"|no event "WORDS"|recorded REASON NAME ["WORDS"]|victims NAME..|victims none|budget NAME allowed=N desired=N healthy=N expected=N entries=N reason=WORD|service NAME ready=N terminating=N serving=N|replicaset NAME replicas=N ready=N terminating=N|bound N|pending N|running N|failed N|terminating N`

func readExpect(p *parser, w *tokens) {
	p.failAt(w, "write expect at TIME")
	at, hasTime := p.s.until, w.accept("at")
	if hasTime {
		at = w.duration("at")
	}
	f := expectation(w)
	s := p.s
	s.expectations++
	s.steps = append(s.steps, step{at: at, isExpectation: true, line: p.line, execute: f})
	if !hasTime && at == 0 {
		w.failf("an expectation without at is checked at the end of the scenario, which an until line must set before line %d of %s", p.line, s.File)
	}
}

// deprecatedExpectations maps former names of expectations to the current ones.
var deprecatedExpectations = map[string]string{"told": "recorded", "deleting": "terminating"}

// expectation reads an expectation and returns the function that checks it.
func expectation(w *tokens) func(*run) error {
	word, _ := w.next()
	switch word = currentName(deprecatedExpectations, word); word {
	case "pod":
		return expectPod(w)
	case "event":
		return expectEvent(w, true)
	case "no":
		w.literal("event")
		return expectEvent(w, false)
	case "recorded":
		return expectRecorded(w)
	case "node":
		return expectNode(w)
	case "victims":
		return expectVictims(w)
	case "budget", "service", "replicaset":
		return expectStatus(w, word)
	case "holds":
		return expectHolds(w)
	case "bound", "pending", "running", "terminating", "failed":
		return expectCount(w, word)
	}
	w.failf("expectation %q: must be one of pod, event, no event, recorded, node, victims, budget, service, replicaset, holds, bound, pending, running, terminating, failed", word)
	return nil
}

// expectEvent reads text that a line of the timeline must contain, or none if want is not set.
func expectEvent(w *tokens, want bool) func(*run) error {
	text, ok := w.quoted()
	if !ok {
		w.failf("the text is missing; put it in double quotes")
	}
	return func(r *run) error {
		i := slices.IndexFunc(r.result.Timeline, func(l sim.Line) bool { return strings.Contains(l.Text, text) })
		switch {
		case want && i < 0:
			return fmt.Errorf("no event so far contains %q", text)
		case !want && i >= 0:
			l := r.result.Timeline[i]
			return fmt.Errorf("there is an event %q at %v", l.Text, l.At)
		}
		return nil
	}
}

// expectVictims reads the expected victims of preemption.
func expectVictims(w *tokens) func(*run) error {
	var want []string
	for len(w.list) > 0 {
		if name := w.name("a victim"); name != "none" {
			want = append(want, objectKey(store.Pods, name))
		}
	}
	slices.Sort(want)
	return func(r *run) error {
		var got []string
		for _, l := range r.result.Timeline {
			if l.Action == "preempt" {
				got = append(got, l.Object)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			return fmt.Errorf("victims so far are %v, want %v", got, want)
		}
		return nil
	}
}

// expectHolds reads the expected number of Holds.
func expectHolds(w *tokens) func(*run) error {
	want := w.count("holds")
	return func(r *run) error {
		if got := len(r.w.API().List(store.Holds)); got != want {
			return fmt.Errorf("there are %d Holds, want %d", got, want)
		}
		return nil
	}
}

// expectCount reads the expected number of pods in a state.
func expectCount(w *tokens, state string) func(*run) error {
	want := w.count(state)
	return func(r *run) error {
		got := 0
		for p := range store.All[*corev1.Pod](r.w.API()) {
			if (state == "pending") == (p.Spec.NodeName == "") && (state == "bound" || podMatches(p, state, "", "")) {
				got++
			}
		}
		if got != want {
			return fmt.Errorf("%d pods are %s, want %d", got, state, want)
		}
		return nil
	}
}
