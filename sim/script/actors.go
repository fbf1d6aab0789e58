package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/agent"
	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/store"
)

func readUngate(p *parser, w *tokens) error {
	name, err := w.name("the pod")
	if err != nil {
		return err
	}
	p.addStep(func(r *run) error {
		return r.change(store.Pods, objectKey(store.Pods, name), "is ungated", func(o store.Object) {
			if pod, ok := o.(*corev1.Pod); ok {
				pod.Spec.SchedulingGates = nil
			}
		})
	})
	return nil
}

func readBind(p *parser, w *tokens) error { return readPodAndNode(p, w, (*run).bind) }

func readMove(p *parser, w *tokens) error {
	return readPodAndNode(p, w, func(r *run, pod, node string) error {
		return r.change(store.Pods, pod, "is moved to "+node, func(o store.Object) {
			if pod, ok := o.(*corev1.Pod); ok {
				pod.Spec.NodeName = node
			}
		})
	})
}

// readPodAndNode reads a pod and a node and adds a step that calls f with the key of the pod and the node.
func readPodAndNode(p *parser, w *tokens, f func(*run, string, string) error) error {
	pod, err := w.name("the pod")
	if err != nil {
		return err
	}
	node, err := w.name("the node")
	if err != nil {
		return err
	}
	p.addStep(func(r *run) error { return f(r, objectKey(store.Pods, pod), node) })
	return nil
}

func readKill(p *parser, w *tokens) error {
	actor, err := w.name("the actor")
	if err != nil {
		return err
	}
	if actor == "agent" {
		return forEachAgent(p, w, "is killed", (*agent.Agents).StopAgent)
	}
	d := time.Second
	if w.accept("for") {
		if d, err = w.duration("for"); err != nil {
			return err
		}
	}
	if !cluster.IsKillable(actor) {
		killable := slices.DeleteFunc(cluster.Actors(), func(a string) bool { return !cluster.IsKillable(a) })
		return fmt.Errorf("%q: must be agent or one of %s", actor, strings.Join(killable, ", "))
	}
	p.addStep(func(r *run) error { r.w.Kill(actor, d); return nil })
	return nil
}

func readStart(p *parser, w *tokens) error {
	if err := w.literal("agent"); err != nil {
		return err
	}
	return forEachAgent(p, w, "starts", (*agent.Agents).StartAgent)
}

func readPartition(p *parser, w *tokens) error {
	return forEachAgent(p, w, "is partitioned", (*agent.Agents).Partition)
}

func readReconnect(p *parser, w *tokens) error {
	return forEachAgent(p, w, "is reconnected", (*agent.Agents).Reconnect)
}

// forEachAgent reads a node or a range and adds a step that calls f for the agent of each.
func forEachAgent(p *parser, w *tokens, text string, f func(*agent.Agents, string)) error {
	name, err := w.name("the node")
	if err != nil {
		return err
	}
	nodes, err := p.expand(name)
	p.addStep(func(r *run) error {
		for _, node := range nodes {
			r.log("the agent of " + node + " " + text)
			f(r.w.Agents, node)
		}
		return nil
	})
	return err
}

// actorName reads the name of an actor with watches.
func actorName(w *tokens) (string, error) {
	actor, err := w.name("the actor")
	if err == nil && !cluster.IsActor(actor) {
		err = fmt.Errorf("%q: must be one of %s", actor, strings.Join(cluster.Actors(), ", "))
	}
	return actor, err
}

func readLag(p *parser, w *tokens) error {
	actor, err := actorName(w)
	if err != nil {
		return err
	}
	d, err := w.duration("the lag")
	p.addStep(func(r *run) error {
		r.log(fmt.Sprintf("the watches of %s lag by %v", actor, d))
		r.w.SetWatchLag(actor, d)
		return nil
	})
	return err
}

// actorAndKind reads an actor and a kind that it watches.
func actorAndKind(w *tokens) (string, store.Kind, error) {
	actor, err := actorName(w)
	if err != nil {
		return "", "", err
	}
	kind, err := w.name("the kind")
	if err == nil && !cluster.Watches(actor, store.Kind(kind)) {
		err = fmt.Errorf("%s %q: must be a kind that the actor watches, in the plural, such as pods", actor, kind)
	}
	return actor, store.Kind(kind), err
}

func readDrop(p *parser, w *tokens) error {
	actor, kind, err := actorAndKind(w)
	if err != nil {
		return err
	}
	if err := w.literal("for"); err != nil {
		return err
	}
	d, err := w.duration("for")
	p.addStep(func(r *run) error {
		r.log(fmt.Sprintf("%s loses its watch of %s for %v and then lists", actor, kind, d))
		r.w.DropWatch(actor, kind, d)
		return nil
	})
	return err
}

func readRepeat(p *parser, w *tokens) error {
	actor, kind, err := actorAndKind(w)
	p.addStep(func(r *run) error { r.w.DuplicateNextEvent(actor, kind); return nil })
	return err
}

func readFault(p *parser, w *tokens) error {
	word, err := w.name("the fault")
	if err != nil {
		return err
	}
	fault, ok := sim.ParseFault(word)
	if !ok || fault == sim.NoFault {
		return fmt.Errorf("%q: must be refuse, conflict, requestlost, responselost, delayed, unanswered or partial", word)
	}
	kind, err := w.name("the request kind")
	if err != nil {
		return err
	}
	kind = sim.ParseRequestKind(kind)
	if !sim.IsRequestKind(kind) {
		return fmt.Errorf("request kind %q: must be any, or one of %s", kind, strings.Join(sim.RequestKindNames(), ", "))
	}
	o, err := w.options("pod=", "times=", "after=")
	if err != nil {
		return err
	}
	rule := sim.FaultRule{Fault: fault, Request: kind, Times: int(o.number("times", 1, 1, 1_000_000)), After: int(o.number("after", 0, 0, 1000))}
	if kind == "any" {
		rule.Request = ""
	}
	if o.has("pod") {
		rule.Pod = objectKey(store.Pods, o.values["pod"])
	}
	p.addStep(func(r *run) error { r.w.Faults().Add(rule); return nil })
	return o.err
}

func readClear(p *parser, _ *tokens) error {
	p.addStep(func(r *run) error { r.w.ClearFaults(); return nil })
	return nil
}

func readUntil(p *parser, w *tokens) (err error) {
	if p.at != 0 {
		return errors.New("at is not allowed")
	}
	p.s.until, err = w.duration("until")
	return err
}

func readOption(p *parser, w *tokens) error {
	o, err := w.options(append([]string{"seed=", "ties=", "faults=", "delays=", "repeats=", "maxdelay=", "lag=", "latency=", "leftover=", "backoff=", "maxbackoff=", "victims=", "decisions=", "several=", "norecount", "noaudit", "keepdebits", "frozen", "ended=", "evictedcap=", "evictedttl=", "noholds", "nopause", "nopressure", "resizepreemption", "forbid", "startupgrace=", "endpoints", "settled", "rest", "exact"}, pressureOptions...)...)
	if err != nil {
		return err
	}
	if p.at != 0 {
		return errors.New("options apply from the start; at is not allowed")
	}
	p.s.checkSettled, p.s.timingSensitive = p.s.checkSettled || o.has("settled") || o.has("rest"), p.s.timingSensitive || o.has("exact")
	maxDecisions := int64(1_000_000)
	if p.untrusted { // a run does not stop within an event
		maxDecisions = untrustedDecisions
	}
	apply := func(s *cluster.Options) {
		s.Seed, s.TieBreakSeed = uint64(o.number("seed", int64(s.Seed), 0, 1<<62)), uint64(o.number("ties", int64(s.TieBreakSeed), 0, 1<<62))
		if o.has("faults") {
			s.Faults.Requests = o.share("faults")
			s.Faults.Writes = s.Faults.Requests
		}
		if o.has("delays") {
			s.Faults.Delays = o.share("delays")
		}
		if o.has("repeats") {
			s.Faults.Repeats = o.share("repeats")
		}
		s.Faults.MaxDelay = o.duration("maxdelay", s.Faults.MaxDelay)
		s.Lag, s.Latency = o.duration("lag", s.Lag), o.duration("latency", s.Latency)
		q := &s.Machine.Queue
		q.MaxUnschedulableDuration = o.duration("leftover", q.MaxUnschedulableDuration)
		q.InitialBackoff, q.MaxBackoff = o.duration("backoff", q.InitialBackoff), o.duration("maxbackoff", q.MaxBackoff)
		s.Machine.VictimsTimeout = o.duration("victims", s.Machine.VictimsTimeout)
		s.Machine.ResizePreemption = s.Machine.ResizePreemption || o.has("resizepreemption")
		if o.has("nopressure") {
			s.Machine.AssumedPressureDuration = 0
		}
		s.Evictions.Rules.RefuseMultiple = s.Evictions.Rules.RefuseMultiple || o.values["several"] == "refuse"
		s.Evictions.Rules.Recount = s.Evictions.Rules.Recount && !o.has("norecount")
		s.Evictions.Rules.ForbidImpossible = s.Evictions.Rules.ForbidImpossible || o.has("forbid")
		s.Endpoints = s.Endpoints || o.has("endpoints")
		s.TaintEviction.StartupGrace = o.duration("startupgrace", s.TaintEviction.StartupGrace)
		s.Evictions.Refund = s.Evictions.Refund && !o.has("keepdebits")
		s.TaintEviction.FixedDueTime = s.TaintEviction.FixedDueTime || o.has("frozen")
		s.Audit = s.Audit && !o.has("noaudit")
		if o.has("noholds") {
			s.AvoidHolds.First = 0
		}
		s.Workload.NoReplacementDelay = s.Workload.NoReplacementDelay || o.has("nopause")
		o.setPressure(s)
		s.GC.Threshold = int(o.number("ended", int64(s.GC.Threshold), 1, 1_000_000))
		s.GC.EvictedCap = int(o.number("evictedcap", 0, 0, 1_000_000))
		s.GC.EvictedTTL = o.duration("evictedttl", 0)
		s.DecisionsPerStep = int(o.number("decisions", int64(s.DecisionsPerStep), 1, maxDecisions))
	}
	var check cluster.Options
	apply(&check)
	p.addOption(apply)
	return o.err
}
