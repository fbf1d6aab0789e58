package admission

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// resources are what a container, a pod or a claim asks for.
type resources struct{ requests, limits corev1.ResourceList }

// podOutside names every limit that the pod or one of its containers does not keep.
func podOutside(pod *corev1.Pod, r *corev1.LimitRange) []error {
	var faults []error
	for _, item := range r.Spec.Limits {
		switch item.Type {
		case corev1.LimitTypeContainer:
			for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
				faults = append(faults, outside(resources{c.Resources.Requests, c.Resources.Limits}, &item)...)
			}
		case corev1.LimitTypePod:
			sum := resources{
				resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}),
				resourcehelper.PodLimits(pod, resourcehelper.PodResourcesOptions{}),
			}
			faults = append(faults, outside(sum, &item)...)
		}
	}
	return faults
}

func outside(have resources, item *corev1.LimitRangeItem) []error {
	var faults []error
	add := func(err error) {
		if err != nil {
			faults = append(faults, err)
		}
	}
	kind := string(item.Type)
	for _, name := range sortedNames(item.Min) {
		add(have.below(kind, name, item.Min[name]))
	}
	for _, name := range sortedNames(item.Max) {
		add(have.above(kind, name, item.Max[name]))
	}
	for _, name := range sortedNames(item.MaxLimitRequestRatio) {
		add(have.ratio(kind, name, item.MaxLimitRequestRatio[name]))
	}
	return faults
}

// claimOutside judges a claim, which has requests only.
func claimOutside(c *corev1.PersistentVolumeClaim, r *corev1.LimitRange) []error {
	var faults []error
	have := resources{c.Spec.Resources.Requests, c.Spec.Resources.Limits}
	for _, item := range r.Spec.Limits {
		if item.Type != corev1.LimitTypePersistentVolumeClaim {
			continue
		}
		for _, name := range sortedNames(item.Min) {
			if err := have.below(string(item.Type), name, item.Min[name]); err != nil {
				faults = append(faults, err)
			}
		}
		for _, name := range sortedNames(item.Max) {
			limit, asked := item.Max[name], c.Spec.Resources.Requests[name]
			switch _, found := c.Spec.Resources.Requests[name]; {
			case !found:
				faults = append(faults, fmt.Errorf("maximum %s usage per %s is %s.  No request is specified", name, item.Type, limit.String()))
			case asked.Cmp(limit) > 0:
				faults = append(faults, fmt.Errorf("maximum %s usage per %s is %s, but request is %s", name, item.Type, limit.String(), asked.String()))
			}
		}
	}
	return faults
}

func sortedNames(list corev1.ResourceList) []corev1.ResourceName {
	names := make([]corev1.ResourceName, 0, len(list))
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (h resources) below(kind string, name corev1.ResourceName, least resource.Quantity) error {
	request, requested := h.requests[name]
	limit, limited := h.limits[name]
	switch {
	case !requested:
		return fmt.Errorf("minimum %s usage per %s is %s.  No request is specified", name, kind, least.String())
	case request.Cmp(least) < 0:
		return fmt.Errorf("minimum %s usage per %s is %s, but request is %s", name, kind, least.String(), request.String())
	case limited && limit.Cmp(least) < 0:
		return fmt.Errorf("minimum %s usage per %s is %s, but limit is %s", name, kind, least.String(), limit.String())
	}
	return nil
}

func (h resources) above(kind string, name corev1.ResourceName, most resource.Quantity) error {
	request, requested := h.requests[name]
	limit, limited := h.limits[name]
	switch {
	case !limited:
		return fmt.Errorf("maximum %s usage per %s is %s.  No limit is specified", name, kind, most.String())
	case limit.Cmp(most) > 0:
		return fmt.Errorf("maximum %s usage per %s is %s, but limit is %s", name, kind, most.String(), limit.String())
	case requested && request.Cmp(most) > 0:
		return fmt.Errorf("maximum %s usage per %s is %s, but request is %s", name, kind, most.String(), request.String())
	}
	return nil
}

// ratio compares limit and request: how much more than its request something may take.
func (h resources) ratio(kind string, name corev1.ResourceName, most resource.Quantity) error {
	request, requested := h.requests[name]
	limit, limited := h.limits[name]
	const text = "%s max limit to request ratio per %s is %s, but "
	switch {
	case !requested || request.IsZero():
		return fmt.Errorf(text+"no request is specified or request is 0", name, kind, most.String())
	case !limited || limit.IsZero():
		return fmt.Errorf(text+"no limit is specified or limit is 0", name, kind, most.String())
	}
	value := func(q resource.Quantity) float64 {
		if q.Value() <= math.MaxInt64/1000 {
			return float64(q.MilliValue())
		}
		return float64(q.Value()) * 1000
	}
	if have := value(limit) / value(request); have > value(most)/1000 {
		return fmt.Errorf(text+"provided ratio is %f", name, kind, most.String(), have)
	}
	return nil
}
