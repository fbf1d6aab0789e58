package displacer

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/conversion"
)

// clientStore is the API through a client. It replaces an active condition of another cause, as Kubernetes does. If the
// pod has such a condition, it reads the pod first, so that RestoreCondition can restore that condition.
type clientStore struct{ *Displacer }

var _ Store = clientStore{}

func (s clientStore) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	return s.Client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (s clientStore) Budget(ctx context.Context, namespace, name string) (*policyv1.PodDisruptionBudget, error) {
	return s.Client.PolicyV1().PodDisruptionBudgets(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (s clientStore) UpdateBudget(ctx context.Context, b *policyv1.PodDisruptionBudget) (*policyv1.PodDisruptionBudget, error) {
	return s.Client.PolicyV1().PodDisruptionBudgets(b.Namespace).UpdateStatus(ctx, b, metav1.UpdateOptions{})
}

func (s clientStore) SetCondition(ctx context.Context, w ConditionWrite) (ConditionResult, error) {
	status, out := map[string]any{}, ConditionResult{Set: w.Condition != nil}
	if w.Condition != nil && w.Pod.DisruptionReason != "" {
		p, err := s.Pod(ctx, w.Pod.Namespace, w.Pod.Name)
		if err != nil {
			return out, err
		}
		if string(p.UID) == w.Pod.UID {
			out.Previous = conversion.ActiveDisruptionTarget(p)
		}
	}
	if w.Condition != nil {
		status["conditions"] = []any{conversion.DisruptionTargetPatch(*w.Condition)}
	}
	if w.Phase != "" {
		status["phase"] = w.Phase
	}
	p, err := PatchStatus(ctx, s.Client, w.Pod, w.Version, status)
	out.Pod = p
	return out, err
}

func (s clientStore) RestoreCondition(ctx context.Context, p *corev1.Pod, c *corev1.PodCondition) error {
	entry := map[string]any{"$patch": "delete", "type": conversion.DisruptionTarget(p).Type}
	if c != nil {
		entry = conversion.DisruptionTargetPatch(*c)
	}
	_, err := PatchStatus(ctx, s.Client, PodModel(p), p.ResourceVersion, map[string]any{"conditions": []any{entry}})
	return err
}

func (s clientStore) Record(ctx context.Context, r *displacement.Record) error {
	err := s.tryWriteRecord(ctx, r)
	switch {
	case err == nil || !isPermanent(err):
	case s.OnEventRejected != nil:
		s.OnEventRejected(err)
	default:
		s.reportLost("event", err)
	}
	return err
}

func (s clientStore) Delete(ctx context.Context, p *model.Pod, o metav1.DeleteOptions) error {
	return s.Client.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, o)
}

// PatchStatus merges fields into the status of a pod, with its UID as a precondition. A version is a precondition, too.
func PatchStatus(ctx context.Context, client kubernetes.Interface, p *model.Pod, version string, status map[string]any) (*corev1.Pod, error) {
	meta := map[string]any{"uid": p.UID}
	if version != "" {
		meta["resourceVersion"] = version
	}
	patch, err := json.Marshal(map[string]any{"metadata": meta, "status": status})
	if err != nil {
		return nil, err
	}
	return client.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
}
