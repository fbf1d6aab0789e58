package reports

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/controllers/scheduler"
	"github.com/berthproject/berth/drain"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/internal/settings"
)

// DrainScheduler returns the configured scheduler for previews and suggestions.
func DrainScheduler(s settings.Settings) (drain.Scheduler, error) {
	o := scheduler.FromSettings(s)
	out := drain.Scheduler{Seed: o.Seed, Preemption: o.Preemption, Machine: scheduling.DefaultConfig()}
	q := &out.Machine.Queue
	q.InitialBackoff, q.MaxBackoff, q.MaxUnschedulableDuration = o.InitialBackoff, o.MaxBackoff, o.PodMaxInUnschedulablePodsDuration
	for _, c := range o.Profiles {
		p, err := framework.NewProfile(c)
		if err != nil {
			return drain.Scheduler{}, err
		}
		out.Profiles = append(out.Profiles, p)
	}
	return out, nil
}

// PreviewDrain simulates the drain of nodes of a cluster.
func PreviewDrain(s drain.Scheduler, objects []runtime.Object, nodes []string, o drain.Options) (*drain.Result, error) {
	c := drain.Cluster{Now: time.Now(), Scheduler: s}
	c.AddObjects(objects)
	return drain.Preview(c, nodes, o)
}

// Distinct returns the names without repetitions, in the order of their first occurrence.
func Distinct(names []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, n := range names {
		if !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	return out
}
