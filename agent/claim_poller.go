package agent

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// claimPollInterval is how often the agent polls unbound claims. The scheduler binds claims
// before pods, so only pods that bypassed the scheduler wait here.
const claimPollInterval = 500 * time.Millisecond

// claimPoller polls the claims of the pods that wait for them.
type claimPoller struct {
	agent *Agent
	poll  *RepeatedTask

	mu   sync.Mutex
	pods map[types.UID]*corev1.Pod
}

func newClaimPoller(a *Agent) *claimPoller {
	c := &claimPoller{agent: a, pods: map[types.UID]*corev1.Pod{}}
	c.poll = NewRepeatedTask(a.tasks.start, a.env.Clock.AfterFunc, c.run)
	return c
}

func (c *claimPoller) add(p *corev1.Pod) {
	c.mu.Lock()
	c.pods[p.UID] = p
	c.mu.Unlock()
	c.poll.Trigger()
}

func (c *claimPoller) remove(uid types.UID) {
	c.mu.Lock()
	delete(c.pods, uid)
	c.mu.Unlock()
}

// pendingPods returns the pods by name.
func (c *claimPoller) pendingPods() []*corev1.Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(maps.Values(c.pods), compareByName)
}

// run unblocks the pods whose claims are all bound.
func (c *claimPoller) run() time.Duration {
	next := Never
	for _, p := range c.pendingPods() {
		if c.agent.ctx.Err() != nil {
			return Never
		}
		if !c.allBound(c.agent.ctx, p) {
			next = claimPollInterval
			continue
		}
		c.remove(p.UID)
		c.agent.inbox.post(func() { c.agent.handleClaimsBound(p.UID) })
	}
	return next
}

// allBound reports whether all claims of the pod are bound and not being deleted.
func (c *claimPoller) allBound(ctx context.Context, p *corev1.Pod) bool {
	for i := range p.Spec.Volumes {
		name, owned := claimName(p, &p.Spec.Volumes[i])
		if name == "" {
			continue
		}
		claim, err := c.agent.opts.Client.CoreV1().PersistentVolumeClaims(p.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil || claim.Status.Phase != corev1.ClaimBound || claim.DeletionTimestamp != nil || owned && !metav1.IsControlledBy(claim, p) {
			return false
		}
	}
	return true
}

// claimName returns the name of the claim behind a volume, and whether the pod must own it. The
// name is empty for other kinds of volumes.
func claimName(p *corev1.Pod, v *corev1.Volume) (name string, owned bool) {
	switch {
	case v.PersistentVolumeClaim != nil:
		return v.PersistentVolumeClaim.ClaimName, false
	case v.Ephemeral != nil:
		return p.Name + "-" + v.Name, true
	}
	return "", false
}

// usesClaims reports whether the pod has a volume backed by a claim.
func usesClaims(p *corev1.Pod) bool {
	for i := range p.Spec.Volumes {
		if name, _ := claimName(p, &p.Spec.Volumes[i]); name != "" {
			return true
		}
	}
	return false
}
