package script

import (
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

func readUngate(p *parser, w *words) error {
	name, err := w.name("the pod")
	if err != nil {
		return err
	}
	p.then(func(r *run) error {
		return r.change(store.Pods, key(store.Pods, name), "has no gates any more", func(o store.Object) {
			if pod, ok := o.(*corev1.Pod); ok {
				pod.Spec.SchedulingGates = nil
			}
		})
	})
	return nil
}

func readBind(p *parser, w *words) error { return readPlacing(p, w, (*run).bind) }

func readMove(p *parser, w *words) error {
	return readPlacing(p, w, func(r *run, pod, node string) error {
		return r.change(store.Pods, pod, "is moved to "+node, func(o store.Object) {
			if pod, ok := o.(*corev1.Pod); ok {
				pod.Spec.NodeName = node
			}
		})
	})
}

func readPlacing(p *parser, w *words, do func(*run, string, string) error) error {
	pod, err := w.name("the pod")
	if err != nil {
		return err
	}
	node, err := w.name("the node")
	if err != nil {
		return err
	}
	p.then(func(r *run) error { return do(r, key(store.Pods, pod), node) })
	return nil
}

func readKill(p *parser, w *words) error {
	who, err := w.name("who")
	if err != nil {
		return err
	}
	if who == "agent" {
		return toAgents(p, w, "is killed", (*sim.World).KillAgent)
	}
	d := time.Second
	if w.is("for") {
		if d, err = w.span("for"); err != nil {
			return err
		}
	}
	if !sim.IsKillable(who) {
		return fmt.Errorf("%q: want agent, or of %s one that is not agents", who, strings.Join(sim.Readers(), ", "))
	}
	p.then(func(r *run) error { r.w.Kill(who, d); return nil })
	return nil
}

func readStart(p *parser, w *words) error {
	if err := w.literal("agent"); err != nil {
		return err
	}
	return toAgents(p, w, "starts", (*sim.World).StartAgent)
}

func readCut(p *parser, w *words) error {
	return toAgents(p, w, "is cut off", (*sim.World).CutOff)
}

func readRejoin(p *parser, w *words) error {
	return toAgents(p, w, "is joined again", (*sim.World).Rejoin)
}

// toAgents has something done to the agents of nodes.
func toAgents(p *parser, w *words, what string, do func(*sim.World, string)) error {
	name, err := w.name("the node")
	if err != nil {
		return err
	}
	nodes, err := expand(name)
	p.then(func(r *run) error {
		for _, node := range nodes {
			r.say("the agent of " + node + " " + what)
			do(r.w, node)
		}
		return nil
	})
	return err
}

// reader takes the name of an actor that watches.
func reader(w *words) (string, error) {
	who, err := w.name("who")
	if err == nil && !sim.IsReader(who) {
		err = fmt.Errorf("%q: want %s", who, strings.Join(sim.Readers(), ", "))
	}
	return who, err
}

func readLag(p *parser, w *words) error {
	who, err := reader(w)
	if err != nil {
		return err
	}
	d, err := w.span("the lag")
	p.then(func(r *run) error {
		r.say(fmt.Sprintf("the watches of %s lag by %v", who, d))
		r.w.SetLag(who, d)
		return nil
	})
	return err
}

// watchOf takes an actor and a kind that it watches.
func watchOf(w *words) (string, store.Kind, error) {
	who, err := reader(w)
	if err != nil {
		return "", "", err
	}
	kind, err := w.name("the kind")
	if err == nil && !sim.Watches(who, store.Kind(kind)) {
		err = fmt.Errorf("%q: %s does not watch that; want a plural such as pods or nodes", kind, who)
	}
	return who, store.Kind(kind), err
}

func readDrop(p *parser, w *words) error {
	who, kind, err := watchOf(w)
	if err != nil {
		return err
	}
	if err := w.literal("for"); err != nil {
		return err
	}
	d, err := w.span("for")
	p.then(func(r *run) error {
		r.say(fmt.Sprintf("%s sees nothing of %s for %v, and lists then", who, kind, d))
		r.w.Drop(who, kind, d)
		return nil
	})
	return err
}

func readRepeat(p *parser, w *words) error {
	who, kind, err := watchOf(w)
	p.then(func(r *run) error { r.w.Repeat(who, kind); return nil })
	return err
}

func readSpoil(p *parser, w *words) error {
	word, err := w.name("how")
	if err != nil {
		return err
	}
	e, ok := sim.EndingNamed(word)
	if !ok || e == sim.Fine {
		return fmt.Errorf("%q: want refuse, conflict, lost, unheard, late, silent or partly", word)
	}
	effect, err := w.name("the effect")
	if err != nil {
		return err
	}
	if !sim.IsEffect(effect) {
		return fmt.Errorf("%q is no effect; want any, or one of %s", effect, strings.Join(sim.Effects, ", "))
	}
	o, err := w.options("pod=", "times=", "after=")
	if err != nil {
		return err
	}
	rule := sim.Rule{Ending: e, Effect: effect, Times: int(o.number("times", 1, 1, 1_000_000)), After: int(o.number("after", 0, 0, 1000))}
	if effect == "any" {
		rule.Effect = ""
	}
	if o.has("pod") {
		rule.Pod = key(store.Pods, o.values["pod"])
	}
	p.then(func(r *run) error { r.w.Spoil(rule); return nil })
	return o.err
}

func readCalm(p *parser, _ *words) error {
	p.then(func(r *run) error { r.w.Calm(); return nil })
	return nil
}

func readUntil(p *parser, w *words) (err error) {
	if p.at != 0 {
		return errors.New("at is no part of it")
	}
	p.s.until, err = w.span("until")
	return err
}

func readOption(p *parser, w *words) error {
	o, err := w.options(append([]string{"seed=", "ties=", "faults=", "delays=", "repeats=", "maxdelay=", "lag=", "latency=", "leftover=", "backoff=", "maxbackoff=", "victims=", "decisions=", "several=", "norecount", "noaudit", "keepdebits", "frozen", "ended=", "evictedcap=", "evictedttl=", "noholds", "nopause", "nopressure", "forbid", "startupgrace=", "endpoints", "rest", "exact"}, pressureWords...)...)
	if err != nil {
		return err
	}
	if p.at != 0 {
		return errors.New("options hold from the start; at is no part of them")
	}
	p.s.rest, p.s.exact = p.s.rest || o.has("rest"), p.s.exact || o.has("exact")
	apply := func(s *sim.Options) {
		s.Seed, s.Ties = uint64(o.number("seed", int64(s.Seed), 0, 1<<62)), uint64(o.number("ties", int64(s.Ties), 0, 1<<62))
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
		s.Faults.MaxDelay = o.span("maxdelay", s.Faults.MaxDelay)
		s.Lag, s.Latency = o.span("lag", s.Lag), o.span("latency", s.Latency)
		q := &s.Machine.Queue
		q.LeftoverAfter = o.span("leftover", q.LeftoverAfter)
		q.InitialBackoff, q.MaxBackoff = o.span("backoff", q.InitialBackoff), o.span("maxbackoff", q.MaxBackoff)
		s.Machine.VictimsTimeout = o.span("victims", s.Machine.VictimsTimeout)
		if o.has("nopressure") {
			s.Machine.AssumedPressure = 0
		}
		s.Evictions.RefuseSeveral = s.Evictions.RefuseSeveral || o.values["several"] == "refuse"
		s.Evictions.Recount = s.Evictions.Recount && !o.has("norecount")
		s.Evictions.EndNever = s.Evictions.EndNever || o.has("forbid")
		s.Endpoints = s.Endpoints || o.has("endpoints")
		s.Taints.StartupGrace = o.span("startupgrace", s.Taints.StartupGrace)
		s.KeepFailedDebits = s.KeepFailedDebits || o.has("keepdebits")
		s.Taints.Frozen = s.Taints.Frozen || o.has("frozen")
		s.Audit = s.Audit && !o.has("noaudit")
		if o.has("noholds") {
			s.Holds.First = 0
		}
		s.NoPause = s.NoPause || o.has("nopause")
		o.pressure(s)
		s.GC.Threshold = int(o.number("ended", int64(s.GC.Threshold), 1, 1_000_000))
		s.GC.EvictedCap = int(o.number("evictedcap", 0, 0, 1_000_000))
		s.GC.EvictedTTL = o.span("evictedttl", 0)
		s.Decisions = int(o.number("decisions", int64(s.Decisions), 1, 1_000_000))
	}
	var trial sim.Options
	apply(&trial)
	p.set(apply)
	return o.err
}
