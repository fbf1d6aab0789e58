package nodelifecycle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodelifecycle"
	"github.com/berthproject/berth/internal/apierror"
)

// write executes an effect and reports the outcome to the machine.
func (c *controller) write(ctx context.Context, k writeKey) (time.Duration, error) {
	c.mu.Lock()
	effect := c.pending[k]
	delete(c.pending, k)
	c.mu.Unlock()
	var err error
	var uid string
	start := c.env.Now()
	switch effect := effect.(type) {
	case nodelifecycle.MarkUnknown:
		uid, err = effect.UID, c.markUnknown(ctx, effect)
	case nodelifecycle.UpdateTaints:
		uid, err = effect.UID, c.updateTaints(ctx, effect)
	default:
		return 0, nil
	}
	c.observeWrite(effect, start, err)
	if err != nil && !isStale(err) && ctx.Err() == nil {
		c.log.Error(err, "Failed to write the node; retrying", "node", k.node, "taints", k.taints)
	}
	c.machine.Push(nodelifecycle.Outcome{Node: k.node, UID: uid, IsTaintUpdate: k.taints, Failed: err != nil})
	return 0, nil
}

// errLeaseRenewed reports that a node to be marked has renewed its Lease.
var errLeaseRenewed = errors.New("the Lease of the node was renewed")

// isStale reports whether an error only means that the cached state is outdated.
func isStale(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err) || errors.Is(err, errLeaseRenewed)
}

// markUnknown writes the conditions of an unresponsive node, unless its Lease on the API server was renewed.
func (c *controller) markUnknown(ctx context.Context, effect nodelifecycle.MarkUnknown) error {
	n, err := c.nodes.Get(effect.Node)
	if err != nil {
		return err
	}
	renewed := effect.Renewed // not the time in the cache, which the machine may not have processed yet
	if l, err := c.leases.Get(effect.Node); renewed.IsZero() && err == nil && l.Spec.RenewTime != nil {
		renewed = l.Spec.RenewTime.Time
	}
	current, err := c.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, effect.Node, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("reading the Lease: %w", err)
	case current.Spec.RenewTime != nil && current.Spec.RenewTime.After(renewed):
		c.machine.Push(nodelifecycle.LeaseRenewed{Node: effect.Node, Time: current.Spec.RenewTime.Time})
		return errLeaseRenewed
	}
	var conditions []map[string]any
	for _, condition := range effect.Conditions {
		conditions = append(conditions, map[string]any{"type": condition.Type, "status": condition.Status.String(), "reason": condition.Reason, "message": condition.Message,
			"lastHeartbeatTime": timeOrNil(condition.Heartbeat), "lastTransitionTime": timeOrNil(condition.Transition)})
	}
	return c.patch(ctx, n, effect.UID, map[string]any{"status": map[string]any{"conditions": conditions}}, "status")
}

// timeOrNil converts a time to its API form. The zero time becomes nil.
func timeOrNil(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return metav1.NewTime(t)
}

// updateTaints writes a node's taints. The resource version prevents overwriting the changes of other writers.
func (c *controller) updateTaints(ctx context.Context, effect nodelifecycle.UpdateTaints) error {
	n, err := c.nodes.Get(effect.Node)
	if err != nil {
		return err
	}
	list := make([]corev1.Taint, 0, len(n.Spec.Taints)+len(effect.Add))
	for _, t := range n.Spec.Taints {
		if !containsTaint(effect.Remove, t) {
			list = append(list, t)
		}
	}
	changed := len(list) < len(n.Spec.Taints)
	for _, t := range effect.Add {
		added := corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect.String()), TimeAdded: &metav1.Time{Time: t.Added}}
		if !hasTaint(list, added) {
			list, changed = append(list, added), true
		}
	}
	if !changed {
		return nil
	}
	return c.patch(ctx, n, effect.UID, map[string]any{"spec": map[string]any{"taints": list}})
}

func containsTaint(list []model.Taint, t corev1.Taint) bool {
	for i := range list {
		if list[i].Key == t.Key && list[i].Effect.String() == string(t.Effect) {
			return true
		}
	}
	return false
}

func hasTaint(list []corev1.Taint, t corev1.Taint) bool {
	for i := range list {
		if list[i].MatchTaint(&t) {
			return true
		}
	}
	return false
}

// patch patches a node that is unchanged since it was read.
func (c *controller) patch(ctx context.Context, n *corev1.Node, uid string, fields map[string]any, subresource ...string) error {
	fields["metadata"] = map[string]any{"resourceVersion": n.ResourceVersion, "uid": uid}
	patch, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	_, err = c.client.CoreV1().Nodes().Patch(ctx, n.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, subresource...)
	return err
}

// markPodNotReady sets Ready=False on a pod whose node is not ready.
func (c *controller) markPodNotReady(ctx context.Context, k podKey) (time.Duration, error) {
	obj, ok, err := c.pods.GetByKey(k.namespace + "/" + k.name)
	p, isPod := obj.(*corev1.Pod)
	if err != nil || !ok || !isPod || !podIsReady(p) {
		return 0, err
	}
	n, err := c.nodes.Get(p.Spec.NodeName)
	if err != nil || nodeReady(n) {
		return 0, apierror.IgnoreNotFound(err)
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": p.UID},
		"status": map[string]any{"conditions": []any{map[string]any{
			"type": corev1.PodReady, "status": corev1.ConditionFalse, "lastTransitionTime": metav1.NewTime(c.env.Now())}}},
	})
	if err != nil {
		return 0, err
	}
	_, err = c.client.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsConflict(err) {
		return 0, nil // another pod of the same name, which is handled separately
	}
	if err != nil {
		return 0, apierror.IgnoreNotFound(err)
	}
	c.events.Event(p, corev1.EventTypeWarning, "NodeNotReady", "Node is not ready")
	return 0, nil
}
