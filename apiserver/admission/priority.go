package admission

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/client-go/informers"
	schedulinglisters "k8s.io/client-go/listers/scheduling/v1"

	"github.com/berthproject/berth/apiserver/validation/policy"
)

var priorityClasses = schedulingv1.Resource("priorityclasses")

// priority resolves the priority class of a pod.
type priority struct {
	*admission.Handler
	kubeClient
	cache  cacheTracker
	lister schedulinglisters.PriorityClassLister
}

var (
	_ admission.MutationInterface                  = &priority{}
	_ admission.ValidationInterface                = &priority{}
	_ initializer.WantsExternalKubeInformerFactory = &priority{}
	_ initializer.WantsExternalKubeClientSet       = &priority{}
)

func newPriority() *priority {
	return &priority{Handler: admission.NewHandler(admission.Create, admission.Update, admission.Delete)}
}

// SetExternalKubeInformerFactory implements initializer.WantsExternalKubeInformerFactory.
func (p *priority) SetExternalKubeInformerFactory(f informers.SharedInformerFactory) {
	informer := f.Scheduling().V1().PriorityClasses()
	p.lister, p.cache.hasSynced = informer.Lister(), informer.Informer().HasSynced
}

// Admit sets priority and preemption policy of a new pod, and keeps them on updates that omit them.
func (p *priority) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if !isForResource(a, corev1.Resource("pods")) || a.GetOperation() == admission.Delete {
		return nil
	}
	pod, ok := a.GetObject().(*corev1.Pod)
	if !ok {
		return apierrors.NewBadRequest("resource was marked with kind Pod but was unable to be converted")
	}
	if a.GetOperation() == admission.Create {
		return p.resolve(ctx, a, pod)
	}
	old, ok := a.GetOldObject().(*corev1.Pod)
	if !ok {
		return apierrors.NewBadRequest("resource was marked with kind Pod but was unable to be converted")
	}
	if pod.Spec.Priority == nil {
		pod.Spec.Priority = old.Spec.Priority
	}
	if pod.Spec.PreemptionPolicy == nil {
		pod.Spec.PreemptionPolicy = old.Spec.PreemptionPolicy
	}
	return nil
}

// resolve sets the name, priority and preemption policy of the pod's class in the pod. It rejects a
// pod that sets different values.
func (p *priority) resolve(ctx context.Context, a admission.Attributes, pod *corev1.Pod) error {
	class, err := p.resolveClass(ctx, a, pod)
	if err != nil {
		return err
	}
	if current := pod.Spec.Priority; current != nil && *current != class.Value {
		return admission.NewForbidden(a, fmt.Errorf("the integer value of priority (%d) must not be provided in pod spec; priority admission controller computed %d from the given PriorityClass name", *current, class.Value))
	}
	pod.Spec.PriorityClassName = class.Name
	value := class.Value
	pod.Spec.Priority = &value
	if class.PreemptionPolicy == nil {
		return nil
	}
	preemptionPolicy := *class.PreemptionPolicy
	if current := pod.Spec.PreemptionPolicy; current != nil && *current != preemptionPolicy {
		return admission.NewForbidden(a, fmt.Errorf("the string value of PreemptionPolicy (%s) must not be provided in pod spec; priority admission controller computed %s from the given PriorityClass name", *current, preemptionPolicy))
	}
	pod.Spec.PreemptionPolicy = &preemptionPolicy
	return nil
}

// resolveClass returns the class of the pod's priorityClassName. Without a name, it returns the global
// default class, or a nameless class of value 0.
func (p *priority) resolveClass(ctx context.Context, a admission.Attributes, pod *corev1.Pod) (*schedulingv1.PriorityClass, error) {
	name := pod.Spec.PriorityClassName
	if name == "" {
		class, err := p.defaultClass(ctx)
		if err != nil {
			return nil, fmt.Errorf("failed to get default priority class: %w", err)
		}
		if class == nil {
			preempt := corev1.PreemptLowerPriority
			class = &schedulingv1.PriorityClass{PreemptionPolicy: &preempt}
		}
		return class, nil
	}
	class, err := p.get(ctx, name)
	switch {
	case apierrors.IsNotFound(err):
		return nil, admission.NewForbidden(a, fmt.Errorf("no PriorityClass with name %v was found", name))
	case err != nil:
		return nil, fmt.Errorf("failed to get PriorityClass with name %s: %w", name, err)
	}
	return class, nil
}

// get returns a class. It reads the class from the API server if the cache is stale or does not have it.
func (p *priority) get(ctx context.Context, name string) (*schedulingv1.PriorityClass, error) {
	if !p.cache.isStale("") {
		if class, err := p.lister.Get(name); err == nil {
			return class, nil
		}
	}
	return p.client.SchedulingV1().PriorityClasses().Get(ctx, name, metav1.GetOptions{})
}

// defaultClass returns the global default class, or nil. If concurrent requests have created
// several, it returns the one with the lowest value.
func (p *priority) defaultClass(ctx context.Context) (*schedulingv1.PriorityClass, error) {
	var classes []*schedulingv1.PriorityClass
	if p.cache.isStale("") {
		list, err := p.client.SchedulingV1().PriorityClasses().List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			classes = append(classes, &list.Items[i])
		}
	} else {
		var err error
		if classes, err = p.lister.List(labels.Everything()); err != nil {
			return nil, err
		}
	}
	var lowest *schedulingv1.PriorityClass
	for _, class := range classes {
		if class.GlobalDefault && (lowest == nil || class.Value < lowest.Value || (class.Value == lowest.Value && class.Name < lowest.Name)) {
			lowest = class
		}
	}
	return lowest, nil
}

// Validate rejects a second global default class and the deletion of system classes.
func (p *priority) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if !isForResource(a, priorityClasses) {
		return nil
	}
	// A new class that is not the global default needs no record: lookups by name fall back to the
	// API server.
	old, _ := a.GetOldObject().(*schedulingv1.PriorityClass)
	if a.GetOperation() == admission.Delete || (old != nil && old.GlobalDefault) {
		defer p.cache.recordWrite("")
	}
	if a.GetOperation() == admission.Delete {
		return forbidSystemClassDeletion(a)
	}
	class, ok := a.GetObject().(*schedulingv1.PriorityClass)
	if !ok {
		return apierrors.NewBadRequest("resource was marked with kind PriorityClass but was unable to be converted")
	}
	if !class.GlobalDefault {
		return nil
	}
	defer p.cache.recordWrite("")
	existing, err := p.defaultClass(ctx)
	if err != nil {
		return fmt.Errorf("failed to get default priority class: %w", err)
	}
	if existing != nil && (a.GetOperation() == admission.Create || existing.Name != class.Name) {
		return admission.NewForbidden(a, fmt.Errorf("PriorityClass %v is already marked as global default", existing.Name))
	}
	return nil
}

func forbidSystemClassDeletion(a admission.Attributes) error {
	for _, system := range policy.SystemPriorityClasses() {
		old, _ := a.GetOldObject().(*schedulingv1.PriorityClass) // deletecollection has no name
		if a.GetName() == system.Name || old != nil && old.Name == system.Name {
			return admission.NewForbidden(a, errors.New("this is a system priority class and cannot be deleted"))
		}
	}
	return nil
}
