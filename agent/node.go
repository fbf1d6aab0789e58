package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
)

// node is one node that this agent serves.
type node struct {
	want  *corev1.Node          // as given and completed
	real  bool                  // it has a container runtime
	lease *coordinationv1.Lease // as written last
	addrs addresses             // of a simulated node's pods; only the loop touches them
	seen  *corev1.Node          // want, with what others say of it; only the loop touches it

	addresses func() []corev1.NodeAddress // as they are now
	told      []corev1.NodeAddress        // those that pods were told; only the loop touches it

	pressure Pressure    // nil: nobody watches it
	recalled atomic.Bool // pressure knows what the API had of the node's conditions
	active   active
	news     chan struct{} // holds one when its status is to be written soon
	halting  atomic.Bool   // it is being shut down, or has been
	halt     *halt         // while that is under way; only the loop touches it
}

// enter registers the node, trying until it succeeds or ctx ends.
func (a *Agent) enter(ctx context.Context, n *node) {
	backoff := wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 1 << 20, Cap: 7 * time.Second}
	_ = wait.ExponentialBackoffWithContext(ctx, backoff, func(ctx context.Context) (bool, error) {
		err := a.register(ctx, n)
		if err != nil && ctx.Err() == nil {
			a.opts.Log.Error(err, "Registering the node failed; trying again", "node", n.want.Name)
		}
		return err == nil, nil
	})
}

// keep keeps up the node's heartbeats until ctx ends.
func (a *Agent) keep(ctx context.Context, n *node) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { a.keepLease(ctx, n) })
	// Nodes that started together do not report together.
	next := time.NewTimer(time.Duration(rand.Int63n(int64(a.opts.StatusInterval))))
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.news:
		case <-next.C:
		}
		delay := wait.Jitter(a.opts.StatusInterval, 0.04)
		if err := a.register(ctx, n); err != nil && ctx.Err() == nil {
			a.opts.Log.Error(err, "Reporting the node's status failed; trying again", "node", n.want.Name)
			delay = min(delay, statusRetry)
		}
		next.Reset(delay)
	}
}

// statusRetry is how long a report of a node's status waits that could not be written.
const statusRetry = 10 * time.Second

// register makes the node, or brings labels, capacity and conditions of an
// existing one up to date. What others added to it stays.
func (a *Agent) register(ctx context.Context, n *node) error {
	a.gate <- struct{}{}
	defer func() { <-a.gate }()
	// Who taints or labels the node meanwhile is no fault.
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error { return a.put(ctx, n) })
}

func (a *Agent) put(ctx context.Context, n *node) error {
	nodes := a.opts.Client.CoreV1().Nodes()
	want := n.want.DeepCopy()
	want.Status.Addresses = n.addresses()
	want.Status.Conditions = a.conditions(n, nil, metav1.Now())
	if a.opts.Images != nil {
		want.Status.Images = a.opts.Images(want.Name)
	}
	have, err := nodes.Get(ctx, want.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		if _, err = nodes.Create(ctx, want, metav1.CreateOptions{}); err == nil {
			n.recalled.Store(true) // there was nothing to know
		}
		return err
	}
	if err != nil {
		return err
	}
	if r, ok := n.pressure.(Recaller); ok && !n.recalled.Swap(true) {
		r.Recall(have.Status.Conditions)
	}
	if patch := metadataPatch(want, have); patch != nil {
		if have, err = nodes.Patch(ctx, want.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("labels and annotations: %w", err)
		}
	}
	have = have.DeepCopy()
	own := want.Status.Capacity
	have.Status.Capacity = withForeign(want.Status.Capacity, have.Status.Capacity, own)
	have.Status.Allocatable = withForeign(want.Status.Allocatable, have.Status.Allocatable, own)
	have.Status.Addresses, have.Status.NodeInfo, have.Status.DaemonEndpoints = want.Status.Addresses, want.Status.NodeInfo, want.Status.DaemonEndpoints
	if a.opts.Images != nil {
		have.Status.Images = want.Status.Images
	}
	if want.Status.Features != nil {
		have.Status.Features = want.Status.Features
	}
	have.Status.Conditions = a.conditions(n, have.Status.Conditions, metav1.Now())
	_, err = nodes.UpdateStatus(ctx, have, metav1.UpdateOptions{})
	return err
}

// metadataPatch is a merge patch with the labels and annotations that are missing, nil when none is.
func metadataPatch(want, have *corev1.Node) []byte {
	missing := map[string]map[string]string{}
	for kind, maps := range map[string][2]map[string]string{"labels": {want.Labels, have.Labels}, "annotations": {want.Annotations, have.Annotations}} {
		for k, v := range maps[0] {
			if had, ok := maps[1][k]; ok && had == v {
				continue
			}
			if missing[kind] == nil {
				missing[kind] = map[string]string{}
			}
			missing[kind][k] = v
		}
	}
	if len(missing) == 0 {
		return nil
	}
	patch, _ := json.Marshal(map[string]any{"metadata": missing})
	return patch
}

// withForeign adds to what a node says of its resources those that only others know of.
func withForeign(ours, seen, own corev1.ResourceList) corev1.ResourceList {
	out := maps.Clone(ours)
	for name, q := range seen {
		if _, known := own[name]; !known {
			out[name] = q
		}
	}
	return out
}

// moved has the pods of a node that is reached elsewhere say so; how those ended that have is written.
func (a *Agent) moved(n *node) {
	now := n.addresses()
	if slices.Equal(now, n.told) {
		return
	}
	n.told = now
	for _, p := range a.pods {
		if phase := p.object.Status.Phase; p.node == n && phase != corev1.PodSucceeded && phase != corev1.PodFailed {
			a.write(p)
		}
	}
}

// nodeChanged takes over what others say of a node: labels, taints, and resources that it does
// not know of itself.
func (a *Agent) nodeChanged(seen *corev1.Node) {
	n := a.nodes[seen.Name]
	if n == nil {
		return
	}
	a.moved(n)
	now := *n.want
	now.Labels, now.Spec.Taints = seen.Labels, seen.Spec.Taints
	now.Status.Allocatable = withForeign(now.Status.Allocatable, seen.Status.Allocatable, now.Status.Capacity)
	if was := n.seen; was != nil && maps.Equal(was.Labels, now.Labels) && equality.Semantic.DeepEqual(was.Spec.Taints, now.Spec.Taints) &&
		equality.Semantic.DeepEqual(was.Status.Allocatable, now.Status.Allocatable) {
		return
	}
	n.seen = &now
	a.state.UpsertNode(a.intake.Node(&now))
}
