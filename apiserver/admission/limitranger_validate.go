package admission

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// resources holds the requests and limits of a container, a pod or a claim.
type resources struct{ requests, limits corev1.ResourceList }

// validatePodLimits returns an error for each limit that the pod or one of its containers violates.
func validatePodLimits(pod *corev1.Pod, r *corev1.LimitRange) []error {
	var errs []error
	for _, item := range r.Spec.Limits {
		switch item.Type {
		case corev1.LimitTypeContainer:
			for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
				errs = append(errs, validateLimitItem(resources{c.Resources.Requests, c.Resources.Limits}, &item)...)
			}
		case corev1.LimitTypePod:
			sum := resources{
				resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}),
				resourcehelper.PodLimits(pod, resourcehelper.PodResourcesOptions{}),
			}
			errs = append(errs, validateLimitItem(sum, &item)...)
		}
	}
	return errs
}

// validateLimitItem returns an error for each limit of the item that r violates.
func validateLimitItem(r resources, item *corev1.LimitRangeItem) []error {
	var errs []error
	add := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	kind := string(item.Type)
	for _, name := range sortedNames(item.Min) {
		add(r.checkMin(kind, name, item.Min[name]))
	}
	for _, name := range sortedNames(item.Max) {
		add(r.checkMax(kind, name, item.Max[name]))
	}
	for _, name := range sortedNames(item.MaxLimitRequestRatio) {
		add(r.checkMaxRatio(kind, name, item.MaxLimitRequestRatio[name]))
	}
	return errs
}

// validateClaimLimits validates a claim, which has requests only.
func validateClaimLimits(c *corev1.PersistentVolumeClaim, r *corev1.LimitRange) []error {
	var errs []error
	claim := resources{c.Spec.Resources.Requests, c.Spec.Resources.Limits}
	for _, item := range r.Spec.Limits {
		if item.Type != corev1.LimitTypePersistentVolumeClaim {
			continue
		}
		for _, name := range sortedNames(item.Min) {
			if err := claim.checkMin(string(item.Type), name, item.Min[name]); err != nil {
				errs = append(errs, err)
			}
		}
		for _, name := range sortedNames(item.Max) {
			limit, request := item.Max[name], c.Spec.Resources.Requests[name]
			switch _, ok := c.Spec.Resources.Requests[name]; {
			case !ok:
				errs = append(errs, fmt.Errorf("maximum %s usage per %s is %s.  No request is specified", name, item.Type, limit.String()))
			case request.Cmp(limit) > 0:
				errs = append(errs, fmt.Errorf("maximum %s usage per %s is %s, but request is %s", name, item.Type, limit.String(), request.String()))
			}
		}
	}
	return errs
}

func sortedNames(list corev1.ResourceList) []corev1.ResourceName {
	names := make([]corev1.ResourceName, 0, len(list))
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (r resources) checkMin(kind string, name corev1.ResourceName, minimum resource.Quantity) error {
	request, requested := r.requests[name]
	limit, limited := r.limits[name]
	switch {
	case !requested:
		return fmt.Errorf("minimum %s usage per %s is %s.  No request is specified", name, kind, minimum.String())
	case request.Cmp(minimum) < 0:
		return fmt.Errorf("minimum %s usage per %s is %s, but request is %s", name, kind, minimum.String(), request.String())
	case limited && limit.Cmp(minimum) < 0:
		return fmt.Errorf("minimum %s usage per %s is %s, but limit is %s", name, kind, minimum.String(), limit.String())
	}
	return nil
}

func (r resources) checkMax(kind string, name corev1.ResourceName, maximum resource.Quantity) error {
	request, requested := r.requests[name]
	limit, limited := r.limits[name]
	switch {
	case !limited:
		return fmt.Errorf("maximum %s usage per %s is %s.  No limit is specified", name, kind, maximum.String())
	case limit.Cmp(maximum) > 0:
		return fmt.Errorf("maximum %s usage per %s is %s, but limit is %s", name, kind, maximum.String(), limit.String())
	case requested && request.Cmp(maximum) > 0:
		return fmt.Errorf("maximum %s usage per %s is %s, but request is %s", name, kind, maximum.String(), request.String())
	}
	return nil
}

// checkMaxRatio checks the ratio of limit to request.
func (r resources) checkMaxRatio(kind string, name corev1.ResourceName, maximum resource.Quantity) error {
	request, requested := r.requests[name]
	limit, limited := r.limits[name]
	const format = "%s max limit to request ratio per %s is %s, but "
	switch {
	case !requested || request.IsZero():
		return fmt.Errorf(format+"no request is specified or request is 0", name, kind, maximum.String())
	case !limited || limit.IsZero():
		return fmt.Errorf(format+"no limit is specified or limit is 0", name, kind, maximum.String())
	}
	value := func(q resource.Quantity) float64 {
		if q.Value() <= math.MaxInt64/1000 {
			return float64(q.MilliValue())
		}
		return float64(q.Value()) * 1000
	}
	if ratio := value(limit) / value(request); ratio > value(maximum)/1000 {
		return fmt.Errorf(format+"provided ratio is %f", name, kind, maximum.String(), ratio)
	}
	return nil
}
