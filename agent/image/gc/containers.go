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

// collectContainers removes terminated containers according to the policy. If includeFinishedPods is true, it
// also removes all terminated containers of finished pods.
func (c *Collector) collectContainers(ctx context.Context, includeFinishedPods bool) error {
	if c.opts.Containers == nil {
		return nil
	}
	terminated, err := c.opts.Containers.Terminated(ctx)
	if err != nil {
		return fmt.Errorf("listing terminated containers: %w", err)
	}
	var errs []error
	for _, t := range c.containersToRemove(terminated, includeFinishedPods) {
		if ctx.Err() != nil {
			break
		}
		if err := c.opts.Containers.RemoveTerminated(ctx, t); err != nil {
			errs = append(errs, fmt.Errorf("container %s of pod %s: %w", t.Container, t.Pod, err))
			continue
		}
		c.opts.Metrics.containers.Inc()
	}
	return errors.Join(errs...)
}

// containersToRemove returns the terminated containers to remove; terminated is sorted oldest first.
func (c *Collector) containersToRemove(terminated []pods.TerminatedContainer, includeFinishedPods bool) (out []pods.TerminatedContainer) {
	now, policy := c.opts.Now(), c.opts.Policy
	units := map[evictUnit][]pods.TerminatedContainer{}
	var order []evictUnit
	for _, t := range terminated {
		if now.Sub(t.Created) < policy.MinContainerAge {
			continue
		}
		if t.PodDeleted || includeFinishedPods && c.opts.IsPodFinished(t.Pod) {
			out = append(out, t)
			continue
		}
		u := evictUnit{t.Pod, t.Container}
		if units[u] == nil {
			order = append(order, u)
		}
		units[u] = append(units[u], t)
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
		for _, t := range list {
			remaining[t.ID] = true
		}
	}
	for _, t := range terminated {
		if len(out) < n && remaining[t.ID] {
			out = append(out, t)
		}
	}
	return out
}
