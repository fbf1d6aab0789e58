package horizontalpodautoscaler

import (
	"context"
	"errors"
	"fmt"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workloadcontroller "github.com/berthproject/berth/controllers/workload"
	"github.com/berthproject/berth/engine/autoscaling"
)

// reconciliation is one decision about an autoscaler. It changes h; old is the cached object.
type reconciliation struct {
	*controller
	now    time.Time
	old, h *autoscalingv2.HorizontalPodAutoscaler
	state  *autoscalerState
}

// reconcile sets the replicas of the target and the status of h.
func (r *reconciliation) reconcile(ctx context.Context) {
	generation := r.h.Generation
	r.h.Status.ObservedGeneration = &generation
	target, resource, err := r.readScale(ctx)
	if err != nil {
		r.warn("FailedGetScale", err)
		r.setCondition(autoscalingv2.AbleToScale, false, "FailedGetScale", fmt.Sprintf("the HPA controller was unable to get the target's current scale: %v", err))
		return
	}
	r.setCondition(autoscalingv2.AbleToScale, true, "SucceededGetScale", "the HPA controller was able to get the target's current scale")
	current := target.Spec.Replicas
	in := autoscaling.Input{Current: current}
	a := autoscalerOf(r.h)
	if current >= a.Min && current <= a.Max && current > 0 {
		in.Metrics, err = r.measure(ctx, target)
	}
	d := autoscaling.Step(r.now, &r.state.history, a, in)
	switch {
	case d.Disabled:
		r.setCondition(autoscalingv2.ScalingActive, false, "ScalingDisabled", "scaling is disabled since the replica count of the target is zero")
		d.Replicas = current
	case d.NoMetrics:
		if err == nil {
			err = errors.New("no metric")
		}
		r.warn("FailedComputeMetricsReplicas", err)
	case d.Metric != "":
		r.setCondition(autoscalingv2.ScalingActive, true, "ValidMetricFound", "the HPA was able to successfully calculate a replica count from "+d.Metric)
	}
	r.setFromDecision(autoscalingv2.AbleToScale, d.Able)
	r.setFromDecision(autoscalingv2.ScalingLimited, d.Limited)
	r.h.Status.CurrentReplicas = current
	if !d.NoMetrics {
		r.h.Status.DesiredReplicas = d.Replicas
	}
	if d.Replicas != current {
		r.rescale(ctx, resource, target, d)
	}
}

// rescale writes the decided replicas.
func (r *reconciliation) rescale(ctx context.Context, resource schema.GroupResource, target *autoscalingv1.Scale, d autoscaling.Decision) {
	current := target.Spec.Replicas
	target.Spec.Replicas = d.Replicas
	if _, err := r.Scales.Scales(r.h.Namespace).Update(ctx, resource, target, metav1.UpdateOptions{}); err != nil {
		r.events.Eventf(r.old, corev1.EventTypeWarning, "FailedRescale", "New size: %d; reason: %s; error: %v", d.Replicas, d.Reason, err.Error())
		r.setCondition(autoscalingv2.AbleToScale, false, "FailedUpdateScale", fmt.Sprintf("the HPA controller was unable to update the target scale: %v", err))
		r.h.Status.DesiredReplicas = current
		return
	}
	r.setCondition(autoscalingv2.AbleToScale, true, "SucceededRescale", fmt.Sprintf("the HPA controller was able to update the target scale to %d", d.Replicas))
	r.events.Eventf(r.old, corev1.EventTypeNormal, "SuccessfulRescale", "New size: %d; reason: %s", d.Replicas, d.Reason)
	r.state.history.Scaled(r.now, current, d.Replicas)
	r.h.Status.LastScaleTime = &metav1.Time{Time: r.now}
}

// readScale returns the scale of the target and the resource that it belongs to.
func (r *reconciliation) readScale(ctx context.Context) (*autoscalingv1.Scale, schema.GroupResource, error) {
	ref := r.h.Spec.ScaleTargetRef
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return nil, schema.GroupResource{}, fmt.Errorf("invalid API version in scale target reference: %w", err)
	}
	mappings, err := r.Mapper.RESTMappings(schema.GroupKind{Group: gv.Group, Kind: ref.Kind})
	if err != nil {
		return nil, schema.GroupResource{}, fmt.Errorf("unable to determine resource for scale target reference: %w", err)
	}
	var firstErr error
	for _, m := range mappings {
		resource := m.Resource.GroupResource()
		target, err := r.Scales.Scales(r.h.Namespace).Get(ctx, resource, ref.Name, metav1.GetOptions{})
		if err == nil {
			return target, resource, nil
		}
		if firstErr == nil {
			firstErr = err
		}
	}
	return nil, schema.GroupResource{}, firstErr
}

// measure returns the results of all metrics and writes them to the status. The error is why the pods cannot be
// selected, or describes the failed metrics.
func (r *reconciliation) measure(ctx context.Context, target *autoscalingv1.Scale) ([]autoscaling.Metric, error) {
	selector, pods, err := r.selectPods(target)
	if err != nil {
		return nil, err
	}
	m := &measurement{reconciliation: r, target: target, selector: selector, pods: pods}
	statuses := make([]autoscalingv2.MetricStatus, len(r.h.Spec.Metrics))
	var out []autoscaling.Metric
	var firstErr error
	var firstFailure *failure
	invalid := 0
	for i := range r.h.Spec.Metrics {
		res, err := m.metric(ctx, &r.h.Spec.Metrics[i])
		out = append(out, res.Metric)
		if err == nil {
			statuses[i] = res.status
			continue
		}
		invalid++
		var f *failure
		errors.As(err, &f)
		r.events.Event(r.old, corev1.EventTypeWarning, f.reason, f.err.Error())
		if firstFailure == nil {
			firstErr, firstFailure = err, f
		}
	}
	r.h.Status.CurrentMetrics = statuses
	if firstFailure == nil {
		return out, nil
	}
	r.setCondition(autoscalingv2.ScalingActive, false, firstFailure.reason, fmt.Sprintf("the HPA was unable to compute the replica count: %v", firstFailure.err))
	return out, fmt.Errorf("invalid metrics (%v invalid out of %v), first error is: %w", invalid, len(out), firstErr)
}

// selectPods returns the selector and the pods of the target. If the selector is missing, invalid or ambiguous, it sets
// the condition ScalingActive to False.
func (r *reconciliation) selectPods(target *autoscalingv1.Scale) (labels.Selector, []*corev1.Pod, error) {
	fail := func(reason, message string, err error) (labels.Selector, []*corev1.Pod, error) {
		r.events.Event(r.old, corev1.EventTypeWarning, reason, err.Error())
		r.setCondition(autoscalingv2.ScalingActive, false, "InvalidSelector", message)
		return nil, nil, err
	}
	if target.Status.Selector == "" {
		return fail("SelectorRequired", "the HPA target's scale is missing a selector", errors.New("selector is required"))
	}
	selector, err := labels.Parse(target.Status.Selector)
	if err != nil {
		err = fmt.Errorf("couldn't convert selector into a corresponding internal selector object: %w", err)
		return fail("InvalidSelector", err.Error(), err)
	}
	pods, err := r.pods.Pods(r.h.Namespace).List(selector)
	if err != nil {
		return nil, nil, err
	}
	var sets []labels.Set
	for _, p := range pods {
		sets = append(sets, p.Labels)
	}
	if names := r.recordSelector(workloadcontroller.KeyOf(r.h), r.state, selector, sets); names != nil {
		err := fmt.Errorf("pods by selector %v are controlled by multiple HPAs: %v", target.Status.Selector, names)
		r.warn("AmbiguousSelector", err)
		r.setCondition(autoscalingv2.ScalingActive, false, "AmbiguousSelector", err.Error())
		return nil, nil, err
	}
	return selector, pods, nil
}

func (r *reconciliation) warn(reason string, err error) {
	r.events.Event(r.old, corev1.EventTypeWarning, reason, err.Error())
}
