package stats

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/berthproject/berth/agent/cgroup"
)

// cpuSamples holds the last two samples of CPU time.
type cpuSamples struct{ last, secondLast cpuSample }

type cpuSample struct {
	at time.Time
	ns int64 // CPU time so far
}

// minRateInterval is the minimum interval for computing a rate.
const minRateInterval = time.Second

// record adds a sample.
func (c *cpuSamples) record(now time.Time, g *cgroup.Group) {
	if g == nil {
		*c = cpuSamples{}
		return
	}
	if ns, err := g.CPU(); err == nil && now.Sub(c.last.at) >= minRateInterval {
		c.secondLast, c.last = c.last, cpuSample{now, ns}
	}
}

// stats returns the CPU time used and the rate since a recorded sample.
func (c *cpuSamples) stats(now time.Time, g *cgroup.Group) *stats.CPUStats {
	if g == nil {
		return nil
	}
	ns, err := g.CPU()
	if err != nil {
		return nil
	}
	out := &stats.CPUStats{Time: metav1.NewTime(now), UsageCoreNanoSeconds: toUint64(ns)}
	previous := c.last
	if now.Sub(previous.at) < minRateInterval {
		previous = c.secondLast
	}
	if elapsed := now.Sub(previous.at); !previous.at.IsZero() && elapsed >= minRateInterval && ns >= previous.ns {
		out.UsageNanoCores = toUint64(int64(float64(ns-previous.ns) / elapsed.Seconds()))
	}
	return out
}

// toUint64 converts n for the summary; negative values become 0.
func toUint64(n int64) *uint64 {
	u := uint64(max(n, 0))
	return &u
}

// recordExtraCgroups samples the CPU time of Options.ExtraCgroups.
func (p *Pods) recordExtraCgroups(now time.Time) {
	for _, path := range p.opts.ExtraCgroups {
		if g, err := p.opts.Host.Open(path); err == nil {
			c := p.extraCPU[path]
			c.record(now, g)
			p.extraCPU[path] = c
			g.Close()
		}
	}
}

// cpuOf returns the samples of an extra cgroup.
func (p *Pods) cpuOf(path string) cpuSamples {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.extraCPU[path]
}
