package disruption

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/apierror"
	"github.com/berthproject/berth/internal/conversion"
)

// conditionExpiry returns the time until the DisruptionTarget condition of a pod expires, and whether it does.
func (c *controller) conditionExpiry(p *corev1.Pod, m *model.Pod) (time.Duration, bool) {
	if condition := conversion.DisruptionTarget(p); condition != nil {
		return budget.StaleConditionAfter(m, condition.LastTransitionTime.Time, c.now())
	}
	return 0, false
}

// clearDisruptionTarget sets the condition to False if the displacement did not happen.
func (c *controller) clearDisruptionTarget(ctx context.Context, k key) (time.Duration, error) {
	p, err := c.pods.Pods(k.Namespace).Get(k.Name)
	if err != nil {
		return 0, apierror.IgnoreNotFound(err)
	}
	remaining, expires := c.conditionExpiry(p, conversion.BudgetPod(p))
	if !expires || remaining > 0 {
		return remaining, nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": p.UID, "resourceVersion": p.ResourceVersion},
		"status":   map[string]any{"conditions": []any{conversion.DisruptionTargetPatch(conversion.NewClearedDisruptionTarget(c.now()))}}})
	if err != nil {
		return 0, err
	}
	_, err = c.client.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return 0, apierror.IgnoreNotFound(err)
}
