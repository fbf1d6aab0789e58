package script

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/controllers/descheduler"
)

// readDescheduler adds a descheduler with the policy of a file or the default one.
func readDescheduler(p *parser, w *tokens) error {
	if p.at != 0 {
		return errors.New("the descheduler exists from the start; at is not allowed")
	}
	o, err := w.options("policy=", "compatible", "ignoreholds", "unheld", "others=", "first=", "every=")
	if err != nil {
		return err
	}
	policy := config.DefaultDescheduler()
	if o.has("policy") {
		if err := p.checkFile(o.values["policy"]); err != nil {
			return err
		}
		if policy, err = readPolicy(p.dir, o.values["policy"]); err != nil {
			return err
		}
	}
	if policy.Policy.UsesMetrics() {
		return fmt.Errorf("%s: measured usage is not supported", o.values["policy"])
	}
	d := descheduler.Options{Policy: policy.Policy, Compatible: o.has("compatible"), WithoutHolds: o.has("ignoreholds") || o.has("unheld"),
		InitialDelay: o.duration("first", time.Minute), Interval: o.duration("every", 2*time.Minute)}
	if d.Interval <= 0 {
		o.fail("every", "a duration such as 2m")
	}
	var profile *framework.Profile
	if o.has("others") {
		c := framework.DefaultConfig()
		c.Name = o.values["others"]
		if profile, err = framework.NewProfile(c); err != nil {
			return err
		}
		d.SchedulersWithoutHolds = map[string]bool{c.Name: true}
	}
	p.addOption(func(s *cluster.Options) {
		if s.Descheduler, s.IgnoreHolds = &d, d.WithoutHolds; profile != nil {
			s.Profiles = append(slices.Clone(s.Profiles), profile)
		}
	})
	return o.err
}

func readPolicy(dir, file string) (config.Descheduler, error) {
	docs, err := config.Documents([]string{dir + "/" + file})
	if err != nil {
		return config.Descheduler{}, err
	}
	if len(docs) != 1 {
		return config.Descheduler{}, fmt.Errorf("%s: has %d documents: must be one %s", file, len(docs), config.DeschedulerKind)
	}
	return config.ReadDescheduler(docs[0], config.DeschedulerReadOptions{})
}
