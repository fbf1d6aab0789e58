package script

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/agent"
	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/store"
)

func readKill(p *parser, w *tokens) {
	actor, d := w.name("the actor"), time.Second
	if actor == "agent" {
		forEachAgent(p, w, "is killed", (*agent.Agents).StopAgent)
		return
	}
	if w.accept("for") {
		d = w.duration("for")
	}
	if !cluster.IsKillable(actor) {
		killable := slices.DeleteFunc(cluster.Actors(), func(a string) bool { return !cluster.IsKillable(a) })
		w.failf("%q: must be agent or one of %s", actor, strings.Join(killable, ", "))
	}
	p.addStep(func(r *run) { r.w.Kill(actor, d) })
}

func readStart(p *parser, w *tokens) {
	w.literal("agent")
	forEachAgent(p, w, "starts", (*agent.Agents).StartAgent)
}

// forEachAgent reads a node or a range and adds a step that calls f for the agent of each.
func forEachAgent(p *parser, w *tokens, text string, f func(*agent.Agents, string)) {
	nodes := p.readNames(w, "the node")
	p.addStep(func(r *run) {
		for _, node := range nodes {
			r.log("the agent of " + node + " " + text)
			f(r.w.Agents, node)
		}
	})
}

func readPartition(p *parser, w *tokens) {
	forEachAgent(p, w, "is partitioned", (*agent.Agents).Partition)
}

func readReconnect(p *parser, w *tokens) {
	forEachAgent(p, w, "is reconnected", (*agent.Agents).Reconnect)
}

// actorName reads the name of an actor with watches.
func actorName(w *tokens) string {
	actor := w.name("the actor")
	if !cluster.IsActor(actor) {
		w.failf("%q: must be one of %s", actor, strings.Join(cluster.Actors(), ", "))
	}
	return actor
}

func readLag(p *parser, w *tokens) {
	actor, d := actorName(w), w.duration("the lag")
	p.addStep(func(r *run) {
		r.log(fmt.Sprintf("the watches of %s lag by %v", actor, d))
		r.w.SetWatchLag(actor, d)
	})
}

// watchedKind reads a kind that an actor watches.
func watchedKind(w *tokens, actor string) store.Kind {
	kind := store.Kind(w.name("the kind"))
	if !cluster.Watches(actor, kind) {
		w.failf("%s %q: must be a kind that the actor watches, in the plural, such as pods", actor, kind)
	}
	return kind
}

func readDrop(p *parser, w *tokens) {
	actor := actorName(w)
	kind := watchedKind(w, actor)
	w.literal("for")
	d := w.duration("for")
	p.addStep(func(r *run) {
		r.log(fmt.Sprintf("%s loses its watch of %s for %v and then lists", actor, kind, d))
		r.w.DropWatch(actor, kind, d)
	})
}

func readRepeat(p *parser, w *tokens) {
	actor := actorName(w)
	kind := watchedKind(w, actor)
	p.addStep(func(r *run) { r.w.DuplicateNextEvent(actor, kind) })
}

func readFault(p *parser, w *tokens) {
	word := w.name("the fault")
	fault, ok := sim.ParseFault(word)
	if !ok || fault == sim.NoFault {
		w.failf("%q: must be refuse, conflict, requestlost, responselost, delayed, unanswered or partial", word)
	}
	kind := sim.ParseRequestKind(w.name("the request kind"))
	if !sim.IsRequestKind(kind) {
		w.failf("request kind %q: must be any, or one of %s", kind, strings.Join(sim.RequestKindNames(), ", "))
	}
	rule := sim.FaultRule{Fault: fault, Request: kind, Times: 1}
	faultWords.read(w)(&rule)
	if kind == "any" {
		rule.Request = ""
	}
	p.addStep(func(r *run) { r.w.Faults().Add(rule) })
}

var faultWords = words[*sim.FaultRule]{
	{"pod=", func(f *sim.FaultRule, v value) { f.Pod = objectKey(store.Pods, v.text) }},
	{"times=", func(f *sim.FaultRule, v value) { f.Times = int(v.number(1, 1_000_000)) }},
	{"after=", func(f *sim.FaultRule, v value) { f.After = int(v.number(0, 1000)) }},
}

func readClear(p *parser, _ *tokens) { p.addStep(func(r *run) { r.w.ClearFaults() }) }
