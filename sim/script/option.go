package script

import "github.com/berthproject/berth/sim/cluster"

func readUntil(p *parser, w *tokens) {
	p.failAt(w, "at is not allowed")
	p.s.until = w.duration("until")
}

// optionWords are the words of an option line, besides pressureOptions.
var optionWords = []string{"seed=", "ties=", "faults=", "delays=", "repeats=", "maxdelay=", "lag=", "latency=", "leftover=", "backoff=", "maxbackoff=", "victims=",
	"decisions=", "several=", "norecount", "noaudit", "keepdebits", "frozen", "ended=", "evictedcap=", "evictedttl=", "noholds", "nopause", "nopressure", "resizepreemption", "forbid", "startupgrace=", "endpoints", "settled", "rest", "exact"}

func readOption(p *parser, w *tokens) {
	o := w.options(append(optionWords, pressureOptions...)...)
	p.failAt(w, "options apply from the start; at is not allowed")
	p.s.checkSettled, p.s.timingSensitive = p.s.checkSettled || o.has("settled") || o.has("rest"), p.s.timingSensitive || o.has("exact")
	maxDecisions := int64(1_000_000)
	if p.untrusted { // a run does not stop within an event
		maxDecisions = untrustedDecisions
	}
	apply := func(s *cluster.Options) {
		s.Seed, s.TieBreakSeed = uint64(o.number("seed", int64(s.Seed), 0, 1<<62)), uint64(o.number("ties", int64(s.TieBreakSeed), 0, 1<<62))
		f := &s.Faults
		f.Requests, f.Writes = o.share("faults", f.Requests), o.share("faults", f.Writes)
		f.Delays, f.Repeats, f.MaxDelay = o.share("delays", f.Delays), o.share("repeats", f.Repeats), o.duration("maxdelay", f.MaxDelay)
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
	apply(&cluster.Options{}) // checks the values
	p.addOption(apply)
}
