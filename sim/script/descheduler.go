package script

import (
	"fmt"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/controllers/descheduler"
)

// readDescheduler adds a descheduler with the policy of a file or the default one.
func readDescheduler(p *parser, w *tokens) {
	p.failAt(w, "the descheduler exists from the start; at is not allowed")
	o := w.options("policy=", "compatible", "ignoreholds", "unheld", "others=", "first=", "every=")
	policy := config.DefaultDescheduler()
	if o.has("policy") {
		policy = readPolicy(w, o.values["policy"], p.path(w, o.values["policy"]))
	}
	if policy.Policy.UsesMetrics() {
		w.failf("%s: measured usage is not supported", o.values["policy"])
	}
	d := descheduler.Options{Policy: policy.Policy, Compatible: o.has("compatible"), WithoutHolds: o.has("ignoreholds") || o.has("unheld"),
		InitialDelay: time.Minute, Interval: 2 * time.Minute}
	if o.has("first") {
		d.InitialDelay = o.value("first").duration()
	}
	if o.has("every") {
		if d.Interval = o.value("every").duration(); d.Interval <= 0 {
			o.value("every").invalid("a duration such as 2m")
		}
	}
	var profile *framework.Profile
	if o.has("others") {
		c := framework.DefaultConfig()
		c.Name = o.values["others"]
		var err error
		if profile, err = framework.NewProfile(c); err != nil {
			w.fail(err)
		}
		d.SchedulersWithoutHolds = map[string]bool{c.Name: true}
	}
	p.addOption(func(s *cluster.Options) {
		if s.Descheduler, s.IgnoreHolds = &d, d.WithoutHolds; profile != nil {
			s.Profiles = append(slices.Clone(s.Profiles), profile)
		}
	})
}

// readPolicy reads the policy in a file at a path.
func readPolicy(w *tokens, file, path string) (policy config.Descheduler) {
	if w.err != nil {
		return policy
	}
	docs, err := config.Documents([]string{path})
	switch {
	case err != nil:
	case len(docs) != 1:
		err = fmt.Errorf("%s: has %d documents: must be one %s", file, len(docs), config.DeschedulerKind)
	default:
		policy, err = config.ReadDescheduler(docs[0], config.DeschedulerReadOptions{})
	}
	if err != nil {
		w.fail(err)
	}
	return policy
}
