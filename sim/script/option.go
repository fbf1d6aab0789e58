package script

import (
	"fmt"
	"strings"

	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/sim/cluster"
)

func readUntil(p *parser, w *tokens) {
	p.failAt(w, "at is not allowed")
	p.s.until = w.duration("until")
}

// optionLine is what an option line changes.
type optionLine struct {
	*cluster.Options
	scenario     *Scenario
	maxDecisions int64
	eviction     config.Eviction
}

var optionWords = words[*optionLine]{
	{"seed=", func(o *optionLine, v value) { o.Seed = uint64(v.number(0, 1<<62)) }},
	{"ties=", func(o *optionLine, v value) { o.TieBreakSeed = uint64(v.number(0, 1<<62)) }},
	{"faults=", func(o *optionLine, v value) { o.Faults.Requests, o.Faults.Writes = v.share(), v.share() }},
	{"delays=", func(o *optionLine, v value) { o.Faults.Delays = v.share() }},
	{"repeats=", func(o *optionLine, v value) { o.Faults.Repeats = v.share() }},
	{"maxdelay=", func(o *optionLine, v value) { o.Faults.MaxDelay = v.duration() }},
	{"lag=", func(o *optionLine, v value) { o.Lag = v.duration() }},
	{"latency=", func(o *optionLine, v value) { o.Latency = v.duration() }},
	{"leftover=", func(o *optionLine, v value) { o.Machine.Queue.MaxUnschedulableDuration = v.duration() }},
	{"backoff=", func(o *optionLine, v value) { o.Machine.Queue.InitialBackoff = v.duration() }},
	{"maxbackoff=", func(o *optionLine, v value) { o.Machine.Queue.MaxBackoff = v.duration() }},
	{"victims=", func(o *optionLine, v value) { o.Machine.VictimsTimeout = v.duration() }},
	{"decisions=", func(o *optionLine, v value) { o.DecisionsPerStep = int(v.number(1, o.maxDecisions)) }},
	{"several=", func(o *optionLine, v value) {
		o.Evictions.Rules.RefuseMultiple = o.Evictions.Rules.RefuseMultiple || v.text == "refuse"
	}},
	{"norecount", func(o *optionLine, _ value) { o.Evictions.Rules.Recount = false }},
	{"noaudit", func(o *optionLine, _ value) { o.Audit = false }},
	{"keepdebits", func(o *optionLine, _ value) { o.Evictions.Refund = false }},
	{"frozen", func(o *optionLine, _ value) { o.TaintEviction.FrozenDeadline = true }},
	{"ended=", func(o *optionLine, v value) { o.GC.Threshold = int(v.number(1, 1_000_000)) }},
	{"evictedcap=", func(o *optionLine, v value) { o.GC.EvictedCap = int(v.number(0, 1_000_000)) }},
	{"evictedttl=", func(o *optionLine, v value) { o.GC.EvictedTTL = v.duration() }},
	{"noholds", func(o *optionLine, _ value) { o.AvoidHolds.First = 0 }},
	{"nopause", func(o *optionLine, _ value) { o.Workload.NoReplacementDelay = true }},
	{"nopressure", func(o *optionLine, _ value) { o.Machine.AssumedPressureDuration = 0 }},
	{"resizepreemption", func(o *optionLine, _ value) { o.Machine.ResizePreemption = true }},
	{"forbid", func(o *optionLine, _ value) { o.Evictions.Rules.ForbidImpossible = true }},
	{"startupgrace=", func(o *optionLine, v value) { o.TaintEviction.StartupGrace = v.duration() }},
	{"endpoints", func(o *optionLine, _ value) { o.Endpoints = true }},
	{"settled", func(o *optionLine, _ value) { o.scenario.checkSettled = true }},
	{"rest", func(o *optionLine, _ value) { o.scenario.checkSettled = true }}, // deprecated
	{"exact", func(o *optionLine, _ value) { o.scenario.timingSensitive = true }},
	// Thresholds are written as in the kubelet's flags. soft is last because it requires softgrace.
	{"hard=", func(o *optionLine, v value) { o.setThresholds(v, &o.eviction.Hard, "<") }},
	{"softgrace=", func(o *optionLine, v value) { o.setThresholds(v, &o.eviction.SoftGracePeriod, "=") }},
	{"minreclaim=", func(o *optionLine, v value) { o.setThresholds(v, &o.eviction.MinimumReclaim, "=") }},
	{"soft=", func(o *optionLine, v value) { o.setThresholds(v, &o.eviction.Soft, "<") }},
	{"transition=", func(o *optionLine, v value) { o.Pressure.TransitionPeriod = v.duration() }},
	{"maxgrace=", func(o *optionLine, v value) { o.Pressure.MaxPodGrace = v.number(-1, 86400) }},
	{"compatible", func(o *optionLine, _ value) { o.Pressure.Options = nodepressure.Options{} }},
	{"reserve=", func(o *optionLine, v value) {
		q := v.quantity()
		o.Reserve.Bytes = [nodepressure.NumFilesystems]int64{q.Value(), q.Value()}
	}},
}

func readOption(p *parser, w *tokens) {
	set := optionWords.read(w)
	p.failAt(w, "options apply from the start; at is not allowed")
	maxDecisions := int64(1_000_000)
	if p.untrusted { // a run does not stop within an event
		maxDecisions = untrustedDecisions
	}
	apply := func(o *cluster.Options) { set(&optionLine{Options: o, scenario: p.s, maxDecisions: maxDecisions}) }
	apply(&cluster.Options{}) // checks the values
	p.addOption(apply)
}

// setThresholds reads pairs such as a<b,c<d, here with the separator "<", into a field of the thresholds of node pressure.
func (o *optionLine) setThresholds(v value, field *map[string]string, separator string) {
	*field = map[string]string{}
	for _, pair := range v.list() {
		signal, amount, ok := strings.Cut(pair, separator)
		if !ok {
			v.invalid(fmt.Sprintf("SIGNAL%sVALUE, with commas between", separator))
		}
		(*field)[signal] = amount
	}
	thresholds, err := o.eviction.Thresholds([]string{"pods"})
	if err != nil {
		v.failf("%s=%s: %w", v.key, v.text, err)
	}
	if e := &o.eviction; e.Hard != nil || e.Soft != nil || e.MinimumReclaim != nil {
		o.Pressure.Thresholds = thresholds
	}
}
