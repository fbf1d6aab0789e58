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

// claimsEvery is how often unbound claims of pods that are to start are looked at.
// The scheduler binds pods when their claims are, so that it is those that were put on
// their node past it who wait.
const claimsEvery = 500 * time.Millisecond

// claims are the pods that wait for their claims.
type claims struct {
	client kubernetes.Interface

	mu   sync.Mutex
	pods map[types.UID]*corev1.Pod
	come chan struct{} // holds one when a pod came
}

func newClaims(client kubernetes.Interface) *claims {
	return &claims{client: client, pods: map[types.UID]*corev1.Pod{}, come: make(chan struct{}, 1)}
}

func (c *claims) add(p *corev1.Pod) {
	c.mu.Lock()
	c.pods[p.UID] = p
	c.mu.Unlock()
	select {
	case c.come <- struct{}{}:
	default:
	}
}

func (c *claims) drop(uid types.UID) {
	c.mu.Lock()
	delete(c.pods, uid)
	c.mu.Unlock()
}

func (c *claims) waiting() []*corev1.Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]*corev1.Pod, 0, len(c.pods))
	for _, p := range c.pods {
		out = append(out, p)
	}
	return out
}

// run tells which pods have their claims, until ctx ends.
func (c *claims) run(ctx context.Context, ready chan<- types.UID) {
	for {
		pods := c.waiting()
		for _, p := range pods {
			if !c.bound(ctx, p) {
				continue
			}
			c.drop(p.UID)
			select {
			case ready <- p.UID:
			case <-ctx.Done():
				return
			}
		}
		var again <-chan time.Time
		if len(pods) > 0 {
			again = time.After(claimsEvery)
		}
		select {
		case <-ctx.Done():
			return
		case <-c.come:
		case <-again:
		}
	}
}

// bound says whether a pod's claims all have their volume and are to stay.
func (c *claims) bound(ctx context.Context, p *corev1.Pod) bool {
	for i := range p.Spec.Volumes {
		name, own := claimOf(p, &p.Spec.Volumes[i])
		if name == "" {
			continue
		}
		claim, err := c.client.CoreV1().PersistentVolumeClaims(p.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil || claim.Status.Phase != corev1.ClaimBound || claim.DeletionTimestamp != nil || own && !metav1.IsControlledBy(claim, p) {
			return false
		}
	}
	return true
}

// claimOf is the claim behind a pod's volume, and whether it must be the pod's own; empty
// for volumes of other kinds.
func claimOf(p *corev1.Pod, v *corev1.Volume) (name string, own bool) {
	switch {
	case v.PersistentVolumeClaim != nil:
		return v.PersistentVolumeClaim.ClaimName, false
	case v.Ephemeral != nil:
		return p.Name + "-" + v.Name, true
	}
	return "", false
}

// claiming says whether a pod uses claims.
func claiming(p *corev1.Pod) bool {
	for i := range p.Spec.Volumes {
		if name, _ := claimOf(p, &p.Spec.Volumes[i]); name != "" {
			return true
		}
	}
	return false
}
