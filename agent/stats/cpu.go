package stats

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/berthproject/berth/agent/cgroup"
)

// cpu is what CPU time something had used at two moments.
type cpu struct{ last, before used }

type used struct {
	at time.Time
	ns int64
}

// shortest is the least time between two figures that a rate is made of.
const shortest = time.Second

// note takes a figure for later.
func (c *cpu) note(now time.Time, g *cgroup.Group) {
	if g == nil {
		*c = cpu{}
		return
	}
	if ns, err := g.CPU(); err == nil && now.Sub(c.last.at) >= shortest {
		c.before, c.last = c.last, used{now, ns}
	}
}

// figures are the time used until now, and the rate since a figure that was noted.
func (c *cpu) figures(now time.Time, g *cgroup.Group) *stats.CPUStats {
	if g == nil {
		return nil
	}
	ns, err := g.CPU()
	if err != nil {
		return nil
	}
	out := &stats.CPUStats{Time: metav1.NewTime(now), UsageCoreNanoSeconds: count(ns)}
	from := c.last
	if now.Sub(from.at) < shortest {
		from = c.before
	}
	if passed := now.Sub(from.at); !from.at.IsZero() && passed >= shortest && ns >= from.ns {
		out.UsageNanoCores = count(int64(float64(ns-from.ns) / passed.Seconds()))
	}
	return out
}

// count is a number as the summary has it: never below 0.
func count(n int64) *uint64 {
	u := uint64(max(n, 0))
	return &u
}

// noteOthers notes the CPU time of the cgroups that are not a pod's.
func (p *Pods) noteOthers(now time.Time) {
	for _, path := range p.opts.Also {
		if g, err := p.opts.Host.Open(path); err == nil {
			c := p.others[path]
			c.note(now, g)
			p.others[path] = c
			g.Close()
		}
	}
}

// cpuOf is what was noted of a cgroup that is not a pod's.
func (p *Pods) cpuOf(path string) cpu {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.others[path]
}
