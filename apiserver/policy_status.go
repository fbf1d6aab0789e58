package apiserver

import (
	"context"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/client-go/discovery"
	informers "k8s.io/client-go/informers/admissionregistration/v1"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/admissionregistration/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// policyStatus checks the types of ValidatingAdmissionPolicies and writes the warnings to their status. The server stores
// a policy whose expression refers to a field that the matched kinds lack. The status then names the problem.
type policyStatus struct {
	client   kubernetes.Interface
	policies listers.ValidatingAdmissionPolicyLister
	synced   cache.InformerSynced
	checker  *validating.TypeChecker
	queue    workqueue.TypedRateLimitingInterface[string]
}

// newPolicyStatus returns a controller for the policies of the informer. schemas and mapper resolve the kinds
// that policies match.
func newPolicyStatus(client kubernetes.Interface, policies informers.ValidatingAdmissionPolicyInformer, schemas discovery.DiscoveryInterface, mapper meta.RESTMapper) (*policyStatus, error) {
	c := &policyStatus{
		client: client, policies: policies.Lister(), synced: policies.Informer().HasSynced,
		checker: &validating.TypeChecker{SchemaResolver: &resolver.ClientDiscoveryResolver{Discovery: schemas}, RestMapper: mapper},
		queue:   workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](50*time.Millisecond, time.Minute)),
	}
	enqueue := func(obj any) {
		if m, err := meta.Accessor(obj); err == nil {
			c.queue.Add(m.GetName())
		}
	}
	_, err := policies.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: enqueue, UpdateFunc: func(_, obj any) { enqueue(obj) }})
	return c, err
}

// run checks policies until ctx is done.
func (s *policyStatus) run(ctx context.Context) {
	defer s.queue.ShutDown()
	if !cache.WaitForCacheSync(ctx.Done(), s.synced) {
		return
	}
	context.AfterFunc(ctx, s.queue.ShutDown)
	for {
		name, shutdown := s.queue.Get()
		if shutdown {
			return
		}
		if err := s.sync(ctx, name); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Failed to write the status of a policy; retrying", "policy", name)
			s.queue.AddRateLimited(name)
		} else {
			s.queue.Forget(name)
		}
		s.queue.Done(name)
	}
}

// sync checks a policy unless its current generation has been checked.
func (s *policyStatus) sync(ctx context.Context, name string) error {
	policy, err := s.policies.Get(name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if policy.Status.ObservedGeneration == policy.Generation && policy.Status.TypeChecking != nil {
		return nil
	}
	policy = policy.DeepCopy()
	policy.Status.TypeChecking = &admissionregistrationv1.TypeChecking{ExpressionWarnings: s.checker.Check(policy)}
	policy.Status.ObservedGeneration = policy.Generation
	_, err = s.client.AdmissionregistrationV1().ValidatingAdmissionPolicies().UpdateStatus(ctx, policy, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // the informer reports the newer policy
	}
	return err
}
