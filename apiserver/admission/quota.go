package admission

import (
	"context"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	resourcequotaapi "k8s.io/apiserver/pkg/admission/plugin/resourcequota/apis/resourcequota"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota/apis/resourcequota/validation"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/berthproject/berth/internal/quota"
)

// quotaAdmission charges requests to the quotas of their namespace with the evaluator of
// k8s.io/apiserver.
type quotaAdmission struct {
	*admission.Handler
	kubeClient
	config    *resourcequotaapi.Configuration
	cache     cacheTracker
	lister    corelisters.ResourceQuotaLister
	drained   <-chan struct{}
	evaluator resourcequota.Evaluator
}

var (
	_ admission.ValidationInterface                = &quotaAdmission{}
	_ initializer.WantsExternalKubeInformerFactory = &quotaAdmission{}
	_ initializer.WantsExternalKubeClientSet       = &quotaAdmission{}
	_ initializer.WantsDrainedNotification         = &quotaAdmission{}
)

// quotaWorkers is the number of namespaces whose requests are evaluated concurrently.
const quotaWorkers = 5

// newQuota returns the plugin. config is a ResourceQuotaConfiguration; nil means none. A configuration
// lists the resources that may be used only in namespaces with a quota for them.
func newQuota(config io.Reader) (admission.Interface, error) {
	configuration, err := resourcequota.LoadConfiguration(config)
	if err != nil {
		return nil, fmt.Errorf("loading ResourceQuotaConfiguration: %w", err)
	}
	if errs := validation.ValidateConfiguration(configuration); len(errs) > 0 {
		return nil, fmt.Errorf("ResourceQuotaConfiguration: %w", errs.ToAggregate())
	}
	return &quotaAdmission{Handler: admission.NewHandler(admission.Create, admission.Update), config: configuration}, nil
}

// SetDrainedNotification implements initializer.WantsDrainedNotification.
func (q *quotaAdmission) SetDrainedNotification(drained <-chan struct{}) { q.drained = drained }

// SetExternalKubeInformerFactory implements initializer.WantsExternalKubeInformerFactory.
func (q *quotaAdmission) SetExternalKubeInformerFactory(f informers.SharedInformerFactory) {
	informer := f.Core().V1().ResourceQuotas()
	q.lister, q.cache.hasSynced = informer.Lister(), informer.Informer().HasSynced
}

// ValidateInitialization starts the evaluator, once client and informers are set.
func (q *quotaAdmission) ValidateInitialization() error {
	if err := q.kubeClient.ValidateInitialization(); err != nil {
		return err
	}
	if q.lister == nil || q.drained == nil {
		return errNoClient
	}
	registry := generic.NewRegistry(quota.Evaluators(nil))
	q.evaluator = resourcequota.NewQuotaEvaluator(quotaAccessor{q}, quota.Ignored(), registry, nil, q.config, quotaWorkers, q.drained)
	return nil
}

// Validate charges a request to the quotas of its namespace. It returns at once for a namespace
// without quotas, unless the configuration limits resources.
func (q *quotaAdmission) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetNamespace() == "" || isForResource(a, corev1.Resource("namespaces")) {
		return nil
	}
	if a.GetResource().GroupResource() == corev1.Resource("resourcequotas") {
		q.cache.recordWrite(a.GetNamespace())
	}
	if len(q.config.LimitedResources) == 0 && !q.mayHaveQuota(a.GetNamespace()) {
		return nil
	}
	return q.evaluator.Evaluate(a)
}

// mayHaveQuota reports whether a namespace has a quota or the cache may lack one.
func (q *quotaAdmission) mayHaveQuota(namespace string) bool {
	if q.cache.isStale(namespace) {
		return true
	}
	quotas, err := q.lister.ResourceQuotas(namespace).List(labels.Everything())
	return err != nil || len(quotas) > 0
}

// quotaTimeout bounds a request of the evaluator, whose interface passes no context.
const quotaTimeout = 10 * time.Second

// quotaAccessor reads and charges quotas for the evaluator.
type quotaAccessor struct{ plugin *quotaAdmission }

var _ resourcequota.QuotaAccessor = quotaAccessor{}

// GetQuotas returns the quotas of a namespace from the API server instead of the cache, because a charge
// to an older version is a conflict. The limits are those of the spec: a quota whose usage is not computed
// yet rejects requests, and a lowered limit applies at once. In kube-apiserver the limits are those of the
// status, and a quota without a status limits nothing.
func (a quotaAccessor) GetQuotas(namespace string) ([]corev1.ResourceQuota, error) {
	if !a.plugin.mayHaveQuota(namespace) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), quotaTimeout)
	defer cancel()
	list, err := a.plugin.client.CoreV1().ResourceQuotas(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("error resolving quota: %w", err)
	}
	for i := range list.Items {
		list.Items[i].Status.Hard = list.Items[i].Spec.Hard.DeepCopy()
	}
	return list.Items, nil
}

// UpdateQuotaStatus charges a quota. It returns a conflict error if the quota has changed.
func (a quotaAccessor) UpdateQuotaStatus(charged *corev1.ResourceQuota) error {
	ctx, cancel := context.WithTimeout(context.Background(), quotaTimeout)
	defer cancel()
	_, err := a.plugin.client.CoreV1().ResourceQuotas(charged.Namespace).UpdateStatus(ctx, charged, metav1.UpdateOptions{})
	return err
}
