package agent

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// claimPollInterval is how often the agent polls unbound claims. The scheduler binds claims
// before pods, so only pods that bypassed the scheduler wait here.
const claimPollInterval = 500 * time.Millisecond

// claimPoller polls the claims of the pods that wait for them.
type claimPoller struct {
	client kubernetes.Interface

	mu    sync.Mutex
	pods  map[types.UID]*corev1.Pod
	added chan struct{} // capacity 1: signals a new pod
}

func newClaimPoller(client kubernetes.Interface) *claimPoller {
	return &claimPoller{client: client, pods: map[types.UID]*corev1.Pod{}, added: make(chan struct{}, 1)}
}

func (c *claimPoller) add(p *corev1.Pod) {
	c.mu.Lock()
	c.pods[p.UID] = p
	c.mu.Unlock()
	select {
	case c.added <- struct{}{}:
	default:
	}
}

func (c *claimPoller) remove(uid types.UID) {
	c.mu.Lock()
	delete(c.pods, uid)
	c.mu.Unlock()
}

func (c *claimPoller) pendingPods() []*corev1.Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]*corev1.Pod, 0, len(c.pods))
	for _, p := range c.pods {
		out = append(out, p)
	}
	return out
}

// run sends the UID of each pod whose claims are all bound to ready, until ctx is done.
func (c *claimPoller) run(ctx context.Context, ready chan<- types.UID) {
	for {
		pods := c.pendingPods()
		for _, p := range pods {
			if !c.allBound(ctx, p) {
				continue
			}
			c.remove(p.UID)
			select {
			case ready <- p.UID:
			case <-ctx.Done():
				return
			}
		}
		var poll <-chan time.Time
		if len(pods) > 0 {
			poll = time.After(claimPollInterval)
		}
		select {
		case <-ctx.Done():
			return
		case <-c.added:
		case <-poll:
		}
	}
}

// allBound reports whether all claims of the pod are bound and not being deleted.
func (c *claimPoller) allBound(ctx context.Context, p *corev1.Pod) bool {
	for i := range p.Spec.Volumes {
		name, owned := claimName(p, &p.Spec.Volumes[i])
		if name == "" {
			continue
		}
		claim, err := c.client.CoreV1().PersistentVolumeClaims(p.Namespace).Get(ctx, name, metav1.GetOptions{})
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
