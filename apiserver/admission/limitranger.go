package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
)

const limitRangerAnnotation = "kubernetes.io/limit-ranger"

// limitRanger applies the LimitRanges of a namespace to its pods and claims.
type limitRanger struct {
	*admission.Handler
	kubeClient
	cache  cacheTracker
	lister corelisters.LimitRangeLister
}

var (
	_ admission.MutationInterface                  = &limitRanger{}
	_ admission.ValidationInterface                = &limitRanger{}
	_ initializer.WantsExternalKubeInformerFactory = &limitRanger{}
	_ initializer.WantsExternalKubeClientSet       = &limitRanger{}
)

func newLimitRanger() *limitRanger {
	return &limitRanger{Handler: admission.NewHandler(admission.Create, admission.Update, admission.Delete)}
}

// SetExternalKubeInformerFactory implements initializer.WantsExternalKubeInformerFactory.
func (l *limitRanger) SetExternalKubeInformerFactory(f informers.SharedInformerFactory) {
	informer := f.Core().V1().LimitRanges()
	l.lister, l.cache.hasSynced = informer.Lister(), informer.Informer().HasSynced
}

// Admit sets the default requests and limits of a new pod.
func (l *limitRanger) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	pod, ok := a.GetObject().(*corev1.Pod)
	if !ok || !supportsAttributes(a) || a.GetSubresource() != "" {
		return nil
	}
	ranges, err := l.ranges(ctx, a.GetNamespace())
	if err != nil {
		return admission.NewForbidden(a, err)
	}
	for _, r := range ranges {
		mergePodResourceRequirements(pod, r)
	}
	return nil
}

// Validate rejects pods and claims that violate a LimitRange, and records writes of LimitRanges.
func (l *limitRanger) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if isForResource(a, corev1.Resource("limitranges")) {
		l.cache.recordWrite(a.GetNamespace())
		return nil
	}
	if !supportsAttributes(a) {
		return nil
	}
	ranges, err := l.ranges(ctx, a.GetNamespace())
	if err != nil {
		return admission.NewForbidden(a, err)
	}
	for _, r := range ranges {
		var errs []error
		switch obj := a.GetObject().(type) {
		case *corev1.Pod:
			errs = validatePodLimits(obj, r)
		case *corev1.PersistentVolumeClaim:
			errs = validateClaimLimits(obj, r)
		}
		if err := utilerrors.NewAggregate(errs); err != nil {
			return admission.NewForbidden(a, err)
		}
	}
	return nil
}

// supportsAttributes reports whether LimitRanges apply to a request. The requests and limits of a pod
// change only on create and resize, those of a claim on any update.
func supportsAttributes(a admission.Attributes) bool {
	if a.GetOperation() == admission.Delete {
		return false
	}
	if m, ok := a.GetObject().(metav1.Object); ok && a.GetOperation() == admission.Update && m.GetDeletionTimestamp() != nil {
		return false
	}
	switch a.GetResource().GroupResource() {
	case corev1.Resource("pods"):
		return a.GetSubresource() == "resize" || (a.GetSubresource() == "" && a.GetOperation() == admission.Create)
	case corev1.Resource("persistentvolumeclaims"):
		return a.GetSubresource() == ""
	}
	return false
}

// ranges returns the LimitRanges of the namespace, sorted by name.
func (l *limitRanger) ranges(ctx context.Context, namespace string) ([]*corev1.LimitRange, error) {
	var items []*corev1.LimitRange
	if l.cache.isStale(namespace) {
		list, err := l.client.CoreV1().LimitRanges(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			items = append(items, &list.Items[i])
		}
	} else {
		var err error
		if items, err = l.lister.LimitRanges(namespace).List(labels.Everything()); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(items, func(a, b *corev1.LimitRange) int { return strings.Compare(a.Name, b.Name) })
	return items, nil
}

// mergePodResourceRequirements sets the default requests and limits of each container and records
// them in an annotation.
func mergePodResourceRequirements(pod *corev1.Pod, r *corev1.LimitRange) {
	requests, limits := corev1.ResourceList{}, corev1.ResourceList{}
	for _, item := range r.Spec.Limits {
		if item.Type != corev1.LimitTypeContainer {
			continue
		}
		for name, q := range item.DefaultRequest {
			requests[name] = q.DeepCopy()
		}
		for name, q := range item.Default {
			limits[name] = q.DeepCopy()
		}
	}
	var notes []string
	fill := func(c *corev1.Container, containerType string) {
		note := func(names []string, field string) {
			if len(names) > 0 {
				notes = append(notes, fmt.Sprintf("%s %s for %s %s", strings.Join(names, ", "), field, containerType, c.Name))
			}
		}
		note(setMissingResources(&c.Resources.Requests, requests), "request")
		note(setMissingResources(&c.Resources.Limits, limits), "limit")
	}
	for i := range pod.Spec.Containers {
		fill(&pod.Spec.Containers[i], "container")
	}
	for i := range pod.Spec.InitContainers {
		fill(&pod.Spec.InitContainers[i], "init container")
	}
	if len(notes) == 0 {
		return
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[limitRangerAnnotation] = "LimitRanger plugin set: " + strings.Join(notes, "; ")
}

// setMissingResources adds the defaults that are missing from list and returns their names, sorted.
func setMissingResources(list *corev1.ResourceList, defaults corev1.ResourceList) []string {
	var added []string
	for name, q := range defaults {
		if _, ok := (*list)[name]; ok {
			continue
		}
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		(*list)[name] = q.DeepCopy()
		added = append(added, string(name))
	}
	slices.Sort(added)
	return added
}
