package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
)

// node is one node that this agent serves.
type node struct {
	want  *corev1.Node          // as given and completed
	lease *coordinationv1.Lease // as written last
	addrs addresses             // of its pods; only the loop touches them

	pressure Pressure // nil: nobody watches it
	active   active
	news     chan struct{} // holds one when its status is to be written soon
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
	select {
	case <-ctx.Done():
		return
	// Nor report together.
	case <-time.After(time.Duration(rand.Int63n(int64(statusInterval)))):
	}
	wait.JitterUntilWithContext(ctx, func(ctx context.Context) {
		if err := a.register(ctx, n); err != nil && ctx.Err() == nil {
			a.opts.Log.Error(err, "Reporting the node's status failed", "node", n.want.Name)
		}
	}, statusInterval, 0.04, true)
}

func (a *Agent) keepLease(ctx context.Context, n *node) {
	every := a.opts.LeaseRenewal
	heard := time.Now() // when the last renewal succeeded
	renew := func(ctx context.Context) {
		if err := a.renew(ctx, n); err != nil {
			if ctx.Err() == nil {
				a.opts.Log.Error(err, "Renewing the node's lease failed", "node", n.want.Name)
			}
			return
		}
		// Who was silent for so long (it was stopped, or cut off) may have been given up.
		if silent := time.Since(heard); silent > missed*every {
			if err := a.register(ctx, n); err != nil && ctx.Err() == nil {
				a.opts.Log.Error(err, "Reporting the node's status failed", "node", n.want.Name, "after", silent)
				return
			}
		}
		heard = time.Now()
	}
	renew(ctx)
	// Nodes that started together need not renew together for ever.
	select {
	case <-ctx.Done():
		return
	case <-time.After(time.Duration(rand.Int63n(int64(every)))):
	}
	wait.JitterUntilWithContext(ctx, renew, every, 0.04, true)
}

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
	want.Status.Conditions = conditions(nil, metav1.Now())
	have, err := nodes.Get(ctx, want.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = nodes.Create(ctx, want, metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	if patch := labelPatch(want, have); patch != nil {
		if have, err = nodes.Patch(ctx, want.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("labels: %w", err)
		}
	}
	have = have.DeepCopy()
	have.Status.Capacity, have.Status.Allocatable = want.Status.Capacity, want.Status.Allocatable
	have.Status.Addresses, have.Status.NodeInfo = want.Status.Addresses, want.Status.NodeInfo
	have.Status.Conditions = conditions(have.Status.Conditions, metav1.Now())
	_, err = nodes.UpdateStatus(ctx, have, metav1.UpdateOptions{})
	return err
}

// labelPatch is a merge patch with the labels that are missing, nil when none is.
func labelPatch(want, have *corev1.Node) []byte {
	missing := map[string]string{}
	for k, v := range want.Labels {
		if have.Labels[k] != v {
			missing[k] = v
		}
	}
	if len(missing) == 0 {
		return nil
	}
	patch, _ := json.Marshal(map[string]any{"metadata": map[string]any{"labels": missing}})
	return patch
}

// conditions of a healthy node; a condition that stays as it was keeps its
// transition time.
func conditions(was []corev1.NodeCondition, now metav1.Time) []corev1.NodeCondition {
	healthy := []corev1.NodeCondition{
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory", Message: "kubelet has sufficient memory available"},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure", Message: "kubelet has no disk pressure"},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID", Message: "kubelet has sufficient PID available"},
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status"},
	}
	for i := range healthy {
		c := &healthy[i]
		c.LastHeartbeatTime, c.LastTransitionTime = now, now
		for _, w := range was {
			if w.Type == c.Type && w.Status == c.Status {
				c.LastTransitionTime = w.LastTransitionTime
			}
		}
	}
	for _, w := range was {
		if !ours(w.Type) {
			healthy = append(healthy, w)
		}
	}
	return healthy
}

func ours(t corev1.NodeConditionType) bool {
	return t == corev1.NodeMemoryPressure || t == corev1.NodeDiskPressure || t == corev1.NodePIDPressure || t == corev1.NodeReady
}

// renew makes or renews the node's Lease. The one written last is remembered, so
// that a renewal is a single request.
func (a *Agent) renew(ctx context.Context, n *node) error {
	a.gate <- struct{}{}
	defer func() { <-a.gate }()
	leases := a.opts.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	if n.lease == nil {
		have, err := leases.Get(ctx, n.want.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			have, err = leases.Create(ctx, &coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Name: n.want.Name, Namespace: corev1.NamespaceNodeLease},
				Spec: coordinationv1.LeaseSpec{
					HolderIdentity:       &n.want.Name,
					LeaseDurationSeconds: ptr.To(int32(lasts * a.opts.LeaseRenewal / time.Second)),
					RenewTime:            ptr.To(metav1.NowMicro()),
				},
			}, metav1.CreateOptions{})
		}
		if err != nil {
			return err
		}
		n.lease = have
	}
	next := n.lease.DeepCopy()
	next.Spec.HolderIdentity, next.Spec.RenewTime = &n.want.Name, ptr.To(metav1.NowMicro())
	renewed, err := leases.Update(ctx, next, metav1.UpdateOptions{})
	n.lease = renewed
	if err != nil {
		n.lease = nil
	}
	return err
}
