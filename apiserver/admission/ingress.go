package admission

import (
	"context"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/client-go/informers"
	networkinglisters "k8s.io/client-go/listers/networking/v1"
)

// legacyIngressClass is the annotation that named the class before the field existed.
const legacyIngressClass = "kubernetes.io/ingress.class"

// defaultIngressClass sets the default class of Ingresses without a class.
type defaultIngressClass struct {
	*admission.Handler
	kubeClient
	cache  cacheTracker
	lister networkinglisters.IngressClassLister
}

var (
	_ admission.MutationInterface                  = &defaultIngressClass{}
	_ admission.ValidationInterface                = &defaultIngressClass{}
	_ initializer.WantsExternalKubeInformerFactory = &defaultIngressClass{}
	_ initializer.WantsExternalKubeClientSet       = &defaultIngressClass{}
)

func newDefaultIngressClass() *defaultIngressClass {
	return &defaultIngressClass{Handler: admission.NewHandler(admission.Create, admission.Update, admission.Delete)}
}

// SetExternalKubeInformerFactory implements initializer.WantsExternalKubeInformerFactory.
func (d *defaultIngressClass) SetExternalKubeInformerFactory(f informers.SharedInformerFactory) {
	informer := f.Networking().V1().IngressClasses()
	d.lister, d.cache.hasSynced = informer.Lister(), informer.Informer().HasSynced
}

// Admit sets the class of a new Ingress that has no class in the field or in the annotation.
func (d *defaultIngressClass) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if !isForResource(a, networkingv1.Resource("ingresses")) || a.GetOperation() != admission.Create {
		return nil
	}
	ingress, ok := a.GetObject().(*networkingv1.Ingress)
	if !ok {
		return nil
	}
	if _, annotated := ingress.Annotations[legacyIngressClass]; annotated || ingress.Spec.IngressClassName != nil {
		return nil
	}
	classes, err := d.list(ctx)
	if err != nil {
		return admission.NewForbidden(a, err)
	}
	ingress.Spec.IngressClassName = newestDefault(classes, networkingv1.AnnotationIsDefaultIngressClass)
	return nil
}

func (d *defaultIngressClass) list(ctx context.Context) ([]*networkingv1.IngressClass, error) {
	if !d.cache.isStale("") {
		return d.lister.List(labels.Everything())
	}
	list, err := d.client.NetworkingV1().IngressClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	classes := make([]*networkingv1.IngressClass, len(list.Items))
	for i := range list.Items {
		classes[i] = &list.Items[i]
	}
	return classes, nil
}

// Validate records changes of classes.
func (d *defaultIngressClass) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if isForResource(a, networkingv1.Resource("ingressclasses")) {
		d.cache.recordWrite("")
	}
	return nil
}
