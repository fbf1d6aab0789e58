package collect

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/pods"
)

// unit is what dead containers are counted of: a container of a pod, through all its restarts.
type unit struct {
	pod       types.UID
	container string
}

// collectContainers removes dead containers as the policy says; finished: of finished
// pods all of them.
func (c *Collector) collectContainers(ctx context.Context, finished bool) error {
	if c.opts.Containers == nil {
		return nil
	}
	dead, err := c.opts.Containers.Dead(ctx)
	if err != nil {
		return fmt.Errorf("listing dead containers: %w", err)
	}
	var errs []error
	for _, d := range c.surplus(dead, finished) {
		if ctx.Err() != nil {
			break
		}
		if err := c.opts.Containers.RemoveDead(ctx, d); err != nil {
			errs = append(errs, fmt.Errorf("container %s of pod %s: %w", d.Container, d.Pod, err))
			continue
		}
		c.opts.Metrics.containers.Inc()
	}
	return errors.Join(errs...)
}

// surplus are the dead containers that go, given all of them, oldest first.
func (c *Collector) surplus(dead []pods.Dead, finished bool) (out []pods.Dead) {
	now, policy := c.opts.Now(), c.opts.Policy
	units := map[unit][]pods.Dead{}
	var order []unit
	for _, d := range dead {
		if now.Sub(d.Created) < policy.DeadMinAge {
			continue
		}
		if d.Gone || finished && c.opts.Finished(d.Pod) {
			out = append(out, d)
			continue
		}
		u := unit{d.Pod, d.Container}
		if units[u] == nil {
			order = append(order, u)
		}
		units[u] = append(units[u], d)
	}
	limit := func(each int) {
		for _, u := range order {
			n := max(0, len(units[u])-each)
			out = append(out, units[u][:n]...)
			units[u] = units[u][n:]
		}
	}
	left := func() (n int) {
		for _, u := range order {
			n += len(units[u])
		}
		return n
	}
	if policy.DeadPerContainer >= 0 {
		limit(policy.DeadPerContainer)
	}
	if policy.Dead >= 0 && left() > policy.Dead {
		limit(max(1, policy.Dead/len(order)))
		out = append(out, oldest(dead, units, left()-policy.Dead)...)
	}
	return out
}

// oldest are the n oldest of those that are left in units; dead is oldest first.
func oldest(dead []pods.Dead, units map[unit][]pods.Dead, n int) (out []pods.Dead) {
	kept := map[string]bool{}
	for _, list := range units {
		for _, d := range list {
			kept[d.ID] = true
		}
	}
	for _, d := range dead {
		if len(out) < n && kept[d.ID] {
			out = append(out, d)
		}
	}
	return out
}
