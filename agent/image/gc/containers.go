package gc

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/pods"
)

// evictUnit identifies a container of a pod across restarts. The policy limits terminated
// containers per evictUnit.
type evictUnit struct {
	pod       types.UID
	container string
}

// collectContainers removes terminated containers according to the policy. With finished it
// removes all those of finished pods.
func (c *Collector) collectContainers(ctx context.Context, finished bool) error {
	if c.opts.Containers == nil {
		return nil
	}
	terminated, err := c.opts.Containers.Terminated(ctx)
	if err != nil {
		return fmt.Errorf("listing terminated containers: %w", err)
	}
	var errs []error
	for _, d := range c.containersToRemove(terminated, finished) {
		if ctx.Err() != nil {
			break
		}
		if err := c.opts.Containers.RemoveTerminated(ctx, d); err != nil {
			errs = append(errs, fmt.Errorf("container %s of pod %s: %w", d.Container, d.Pod, err))
			continue
		}
		c.opts.Metrics.containers.Inc()
	}
	return errors.Join(errs...)
}

// containersToRemove returns the terminated containers to remove; terminated is sorted oldest first.
func (c *Collector) containersToRemove(terminated []pods.TerminatedContainer, finished bool) (out []pods.TerminatedContainer) {
	now, policy := c.opts.Now(), c.opts.Policy
	units := map[evictUnit][]pods.TerminatedContainer{}
	var order []evictUnit
	for _, d := range terminated {
		if now.Sub(d.Created) < policy.MinContainerAge {
			continue
		}
		if d.PodDeleted || finished && c.opts.IsPodFinished(d.Pod) {
			out = append(out, d)
			continue
		}
		u := evictUnit{d.Pod, d.Container}
		if units[u] == nil {
			order = append(order, u)
		}
		units[u] = append(units[u], d)
	}
	applyLimit := func(perUnit int) {
		for _, u := range order {
			n := max(0, len(units[u])-perUnit)
			out = append(out, units[u][:n]...)
			units[u] = units[u][n:]
		}
	}
	remaining := func() (n int) {
		for _, u := range order {
			n += len(units[u])
		}
		return n
	}
	if policy.MaxPerPodContainer >= 0 {
		applyLimit(policy.MaxPerPodContainer)
	}
	if policy.MaxContainers >= 0 && remaining() > policy.MaxContainers {
		applyLimit(max(1, policy.MaxContainers/len(order)))
		out = append(out, oldestContainers(terminated, units, remaining()-policy.MaxContainers)...)
	}
	return out
}

// oldestContainers returns the n oldest containers in units; terminated is sorted oldest first.
func oldestContainers(terminated []pods.TerminatedContainer, units map[evictUnit][]pods.TerminatedContainer, n int) (out []pods.TerminatedContainer) {
	remaining := map[string]bool{}
	for _, list := range units {
		for _, d := range list {
			remaining[d.ID] = true
		}
	}
	for _, d := range terminated {
		if len(out) < n && remaining[d.ID] {
			out = append(out, d)
		}
	}
	return out
}
