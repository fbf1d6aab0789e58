package conversion

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/berthproject/berth/engine/model"
)

// Namespace converts a namespace.
func (conv *Converter) Namespace(n *corev1.Namespace) *model.Namespace {
	return &model.Namespace{Name: n.Name, Labels: model.LabelsOf(n.Labels)}
}

// Service converts a Service. A Service without selector has an empty group.
func (conv *Converter) Service(s *corev1.Service) *model.SpreadGroup {
	return &model.SpreadGroup{Kind: "Service", Namespace: s.Namespace, Name: s.Name, Selector: selectorFromSet(s.Spec.Selector)}
}

// ReplicationController converts a ReplicationController.
func (conv *Converter) ReplicationController(r *corev1.ReplicationController) *model.SpreadGroup {
	return &model.SpreadGroup{Kind: "ReplicationController", Namespace: r.Namespace, Name: r.Name, Selector: selectorFromSet(r.Spec.Selector)}
}

// ReplicaSet converts a ReplicaSet.
func (conv *Converter) ReplicaSet(r *appsv1.ReplicaSet) *model.SpreadGroup {
	return group("ReplicaSet", &r.ObjectMeta, r.Spec.Selector)
}

// StatefulSet converts a StatefulSet.
func (conv *Converter) StatefulSet(s *appsv1.StatefulSet) *model.SpreadGroup {
	return group("StatefulSet", &s.ObjectMeta, s.Spec.Selector)
}

// group converts an owner. A malformed selector selects nothing.
func group(kind string, m *metav1.ObjectMeta, sel *metav1.LabelSelector) *model.SpreadGroup {
	selector, _ := Selector(sel)
	return &model.SpreadGroup{Kind: kind, Namespace: m.Namespace, Name: m.Name, Selector: selector}
}

// Budget converts a PodDisruptionBudget. A malformed selector selects nothing.
func (conv *Converter) Budget(b *policyv1.PodDisruptionBudget) *model.Budget {
	out := &model.Budget{
		Namespace: b.Namespace, Name: b.Name, UID: string(b.UID),
		DisruptionsAllowed: b.Status.DisruptionsAllowed,
		CurrentHealthy:     b.Status.CurrentHealthy,
		DesiredHealthy:     b.Status.DesiredHealthy,
		ExpectedPods:       b.Status.ExpectedPods,
		Generation:         b.Generation,
		ObservedGeneration: b.Status.ObservedGeneration,
		ResourceVersion:    b.ResourceVersion,
		Owned:              len(b.OwnerReferences) > 0,
	}
	var err error
	if out.Selector, err = Selector(b.Spec.Selector); err != nil {
		out.SpecError = "spec.selector: " + err.Error()
	}
	out.AlwaysAllowUnhealthy = b.Spec.UnhealthyPodEvictionPolicy != nil && *b.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow
	if out.MinAvailable, err = parseAmount("spec.minAvailable", b.Spec.MinAvailable); err != nil {
		out.SpecError = err.Error()
	}
	if out.MaxUnavailable, err = parseAmount("spec.maxUnavailable", b.Spec.MaxUnavailable); err != nil {
		out.SpecError = err.Error()
	}
	if c := meta.FindStatusCondition(b.Status.Conditions, policyv1.DisruptionAllowedCondition); c != nil && c.Reason == policyv1.SyncFailedReason {
		out.SyncError = c.Message
	}
	for name := range b.Status.DisruptedPods {
		out.Disrupted = append(out.Disrupted, name)
	}
	slices.Sort(out.Disrupted)
	for _, name := range out.Disrupted {
		out.DisruptedAt = append(out.DisruptedAt, b.Status.DisruptedPods[name].Time)
	}
	return out
}

// parseAmount parses a number or a percentage. field is for errors.
func parseAmount(field string, v *intstr.IntOrString) (model.IntOrPercent, error) {
	switch {
	case v == nil:
		return model.IntOrPercent{}, nil
	case v.Type == intstr.Int:
		return model.IntOrPercent{Set: true, Value: v.IntVal}, nil
	}
	digits, percent := strings.CutSuffix(v.StrVal, "%")
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || !percent {
		return model.IntOrPercent{}, fmt.Errorf("%s %q: must be a number or a percentage such as 30%%", field, v.StrVal)
	}
	return model.IntOrPercent{Set: true, Percent: true, Value: int32(n)}, nil
}

// PriorityClass converts a PriorityClass.
func (conv *Converter) PriorityClass(c *schedulingv1.PriorityClass) *model.PriorityClass {
	return &model.PriorityClass{
		Name: c.Name, Value: c.Value, GlobalDefault: c.GlobalDefault,
		NeverPreempts: deref(c.PreemptionPolicy) == corev1.PreemptNever,
	}
}

// ResourceClaim converts a ResourceClaim.
func (conv *Converter) ResourceClaim(c *resourcev1.ResourceClaim) *model.ResourceClaim {
	return &model.ResourceClaim{
		Namespace: c.Namespace, Name: c.Name, UID: string(c.UID),
		Owner: controllerOf(c.OwnerReferences), Deleting: c.DeletionTimestamp != nil,
	}
}
