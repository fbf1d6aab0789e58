package admission

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/component-base/metrics/legacyregistry"
	podsecurity "k8s.io/pod-security-admission/admission"
	"k8s.io/pod-security-admission/admission/api/load"
	podsecurityapi "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/metrics"
	"k8s.io/pod-security-admission/policy"
)

// podSecurityAnnotationPrefix is the prefix of the audit annotations of PodSecurity.
const podSecurityAnnotationPrefix = "pod-security.kubernetes.io/"

// podSecurityVersion is the newest policy version. The library expects it in linker flags, which
// Berth does not set.
var podSecurityVersion = podsecurityapi.MajorMinorVersion(1, 37)

// podSecurity enforces the Pod Security Standards. It wraps the library that kube-apiserver uses.
type podSecurity struct {
	*admission.Handler
	kubeClient
	evaluator  podsecurity.Admission
	resources  sets.Set[schema.GroupResource]
	namespaces corelisters.NamespaceLister
	cache      cacheTracker
}

var (
	_ admission.ValidationInterface                = &podSecurity{}
	_ initializer.WantsExternalKubeInformerFactory = &podSecurity{}
	_ initializer.WantsExternalKubeClientSet       = &podSecurity{}
)

// newPodSecurity returns the plugin. config is a PodSecurityConfiguration; nil selects the
// defaults, with which only labels of namespaces restrict pods.
func newPodSecurity(config io.Reader) (admission.Interface, error) {
	configuration, err := load.LoadFromReader(config)
	if err != nil {
		return nil, fmt.Errorf("loading PodSecurityConfiguration: %w", err)
	}
	checks, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return nil, fmt.Errorf("pod security checks: %w", err)
	}
	extractor := podsecurity.DefaultPodSpecExtractor{}
	p := &podSecurity{
		Handler:   admission.NewHandler(admission.Create, admission.Update),
		resources: sets.New(extractor.PodSpecResources()...).Insert(corev1.Resource("namespaces")),
	}
	p.evaluator = podsecurity.Admission{
		Configuration: configuration, Evaluator: checks, Metrics: podSecurityMetrics(), PodSpecExtractor: extractor, NamespaceGetter: p,
	}
	if err := p.evaluator.CompleteConfiguration(); err != nil {
		return nil, fmt.Errorf("PodSecurityConfiguration: %w", err)
	}
	return p, nil
}

// podSecurityMetrics returns the recorder of evaluations, which all API servers of this process share.
var podSecurityMetrics = sync.OnceValue(func() *metrics.PrometheusRecorder {
	recorder := metrics.NewPrometheusRecorder(podSecurityVersion)
	recorder.MustRegister(legacyregistry.MustRegister)
	return recorder
})

// SetExternalKubeInformerFactory implements initializer.WantsExternalKubeInformerFactory.
func (p *podSecurity) SetExternalKubeInformerFactory(f informers.SharedInformerFactory) {
	namespaces := f.Core().V1().Namespaces()
	p.namespaces, p.cache.hasSynced = namespaces.Lister(), namespaces.Informer().HasSynced
	pods := f.Core().V1().Pods()
	p.evaluator.PodLister = podsecurity.PodListerFromInformer(pods.Lister())
	p.SetReadyFunc(pods.Informer().HasSynced)
}

// SetExternalKubeClientSet implements initializer.WantsExternalKubeClientSet.
func (p *podSecurity) SetExternalKubeClientSet(client kubernetes.Interface) { p.client = client }

// ValidateInitialization returns an error if the configuration is invalid or a client is missing.
func (p *podSecurity) ValidateInitialization() error {
	if err := p.kubeClient.ValidateInitialization(); err != nil {
		return err
	}
	if p.namespaces == nil {
		return errNoClient
	}
	if err := p.evaluator.ValidateConfiguration(); err != nil {
		return fmt.Errorf("PodSecurityConfiguration: %w", err)
	}
	return nil
}

// GetNamespace implements podsecurity.NamespaceGetter. It reads the namespace from the API server if the
// cache lacks the namespace or may lack a change of its labels.
func (p *podSecurity) GetNamespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	if !p.cache.isStale(name) {
		if namespace, err := p.namespaces.Get(name); err == nil {
			return namespace, nil
		}
	}
	return p.client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
}

// Validate rejects pods that violate the enforced level of their namespace, and returns warnings
// and audit annotations for the other levels.
func (p *podSecurity) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if !p.resources.Has(a.GetResource().GroupResource()) {
		return nil
	}
	if isForResource(a, corev1.Resource("namespaces")) {
		p.cache.recordWrite(a.GetName())
		if a.GetOperation() == admission.Update && !p.WaitForReady() {
			return admission.NewForbidden(a, errors.New("not yet ready to handle request"))
		}
	}
	response := p.evaluator.Validate(ctx, podSecurityAttributes(a))
	for _, message := range response.Warnings {
		warning.AddWarning(ctx, "", message)
	}
	for key, value := range response.AuditAnnotations {
		if err := a.AddAnnotation(podSecurityAnnotationPrefix+key, value); err != nil {
			return apierrors.NewInternalError(fmt.Errorf("audit annotation %s%s: %w", podSecurityAnnotationPrefix, key, err))
		}
	}
	if response.Allowed {
		return nil
	}
	return rejectionError(a, response.Result)
}

// rejectionError converts the result of an evaluation to the error that the client gets.
func rejectionError(a admission.Attributes, result *metav1.Status) error {
	err := admission.NewForbidden(a, errors.New("the pod violates the policy of its namespace"))
	var status *apierrors.StatusError
	if result == nil || !errors.As(err, &status) {
		return err
	}
	if result.Message != "" {
		status.ErrStatus.Message = result.Message
	}
	if result.Reason != "" {
		status.ErrStatus.Reason = result.Reason
	}
	if result.Code != 0 {
		status.ErrStatus.Code = result.Code
	}
	if result.Details != nil && status.ErrStatus.Details != nil {
		status.ErrStatus.Details.Causes = append(status.ErrStatus.Details.Causes, result.Details.Causes...)
		status.ErrStatus.Details.RetryAfterSeconds = result.Details.RetryAfterSeconds
	}
	return status
}

// podSecurityAttributes converts a request. Berth's request objects already have the v1 types.
func podSecurityAttributes(a admission.Attributes) podsecurityapi.Attributes {
	r := &podsecurityapi.AttributesRecord{
		Name: a.GetName(), Namespace: a.GetNamespace(), Kind: a.GetKind(), Resource: a.GetResource(), Subresource: a.GetSubresource(),
		Operation: admissionv1.Operation(a.GetOperation()), Object: a.GetObject(), OldObject: a.GetOldObject(),
	}
	if user := a.GetUserInfo(); user != nil {
		r.Username = user.GetName()
	}
	return r
}
