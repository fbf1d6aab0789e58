package displacementrecords

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/displacement"
)

// resync passes over all Holds while they are served.
func (c *controller) resync(ctx context.Context) {
	served, err := c.holds.Served()
	if err == nil && !served && !c.unservedLogged {
		c.unservedLogged = true
		c.log.Info("Holds are not served; to enable them apply deploy/hold-crd.yaml")
	}
	if err == nil && served {
		c.resyncHolds(ctx)
	}
}

// resyncHolds deletes expired Holds and enqueues the Holds that this controller created, possibly in another
// process.
func (c *controller) resyncHolds(ctx context.Context) {
	list, err := c.holds.List(ctx)
	if err != nil {
		if ctx.Err() == nil {
			c.log.Error(err, "Failed to list Holds; retrying")
		}
		return
	}
	for i := range list {
		h := &list[i]
		switch {
		case !h.Spec.Until.Add(retention(h)).After(c.now()):
			if err := c.holds.Delete(ctx, h); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				c.log.Error(err, "Failed to delete an expired Hold; retrying", "hold", h.Namespace+"/"+h.Name)
			}
		case isManaged(h):
			c.enqueueOwnerNode(ownerNode{h.Namespace, string(h.Spec.Owner.UID), h.Spec.Node})
		}
	}
}

// retention returns how long a Hold is retained after its end. Holds in which the descheduler counts futile moves are
// retained for planning.MoveBackoff.Max. After its end such a Hold no longer excludes its node.
func retention(h *v1alpha1.Hold) time.Duration {
	if h.Spec.Type == v1alpha1.Avoid && planning.IsHoldCause(h.Spec.Cause) {
		return planning.NewMoveBackoff().Max
	}
	return 0
}

// onNode handles an added, updated or deleted node.
func (c *controller) onNode(old, cur *corev1.Node) {
	n := cur
	if n == nil {
		n = old
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range slices.SortedFunc(maps.Keys(c.ownerNodes[n.Name]), func(a, b ownerNode) int { return strings.Compare(a.String(), b.String()) }) {
		c.holdQueue.Add(p)
	}
}

// causeEnded reports whether the cause of an eviction at evictedAt has ended, as far as the Node object shows.
func causeEnded(c displacement.Cause, evictedAt time.Time, n *corev1.Node) bool {
	switch c {
	case displacement.Taint:
		for i := range n.Spec.Taints {
			if n.Spec.Taints[i].Effect == corev1.TaintEffectNoExecute {
				return false
			}
		}
		return true
	case displacement.Pressure:
		reported := false
		for i := range n.Status.Conditions {
			switch c := &n.Status.Conditions[i]; c.Type {
			case corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure:
				if c.Status == corev1.ConditionTrue {
					return false
				}
				reported = reported || c.LastHeartbeatTime.After(evictedAt)
			}
		}
		return reported
	case displacement.Shutdown:
		for i := range n.Status.Conditions {
			if c := &n.Status.Conditions[i]; c.Type == corev1.NodeReady {
				return c.Status == corev1.ConditionTrue && c.LastTransitionTime.After(evictedAt)
			}
		}
	}
	return false // the cause ends only by expiry
}
