package tokens

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
)

// Lifetimes of tokens in seconds.
const (
	defaultSeconds = 60 * 60
	minSeconds     = 10 * 60
	maxSeconds     = 1 << 32
)

// RequestREST serves POST serviceaccounts/NAME/token (TokenRequest).
type RequestREST struct {
	issuer    *Issuer
	getter    Getter
	audiences []string
	now       func() time.Time
}

var (
	_ rest.NamedCreater             = &RequestREST{}
	_ rest.GroupVersionKindProvider = &RequestREST{}
)

// NewRequestREST returns the storage of serviceaccounts/token. audiences are the default of requests
// that name none.
func NewRequestREST(issuer *Issuer, getter Getter, audiences []string) *RequestREST {
	return &RequestREST{issuer: issuer, getter: getter, audiences: audiences, now: issuer.now}
}

// New implements rest.Storage.
func (r *RequestREST) New() runtime.Object { return &authenticationv1.TokenRequest{} }

// Destroy implements rest.Storage.
func (r *RequestREST) Destroy() {}

// GroupVersionKind returns TokenRequest, which is not in the group of the parent resource.
func (r *RequestREST) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return authenticationv1.SchemeGroupVersion.WithKind("TokenRequest")
}

// Create issues a token for the named service account.
func (r *RequestREST) Create(ctx context.Context, name string, obj runtime.Object, validate rest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	in, ok := obj.(*authenticationv1.TokenRequest)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("want a TokenRequest, got %T", obj))
	}
	req := in.DeepCopy()
	sa, err := r.getter.ServiceAccount(ctx, genericapirequest.NamespaceValue(ctx), name)
	if err != nil {
		return nil, err
	}
	r.setDefaults(req, sa)
	if errs := validateRequest(req, sa); len(errs) > 0 {
		return nil, apierrors.NewInvalid(authenticationv1.SchemeGroupVersion.WithKind("TokenRequest").GroupKind(), name, errs)
	}
	if validate != nil {
		if err := validate(ctx, req.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	bound, err := r.boundObjects(ctx, sa, req.Spec.BoundObjectRef)
	if err != nil {
		return nil, err
	}
	if len(req.Spec.Audiences) == 0 { // after admission, which checks whether the request has audiences
		req.Spec.Audiences = r.audiences
	}
	lifetime := time.Duration(*req.Spec.ExpirationSeconds) * time.Second
	issued, err := r.issuer.Issue(sa, bound, req.Spec.Audiences, lifetime)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	audit.AddAuditAnnotation(ctx, serviceaccount.IssuedCredentialIDAuditAnnotationKey, "JTI="+issued.ID)
	req.Status = authenticationv1.TokenRequestStatus{
		Token:               issued.Token,
		ExpirationTimestamp: metav1.Time{Time: issued.Expires},
	}
	return req, nil
}

// setDefaults sets the fields that the request omits.
func (r *RequestREST) setDefaults(req *authenticationv1.TokenRequest, sa *corev1.ServiceAccount) {
	if req.Name == "" {
		req.Name = sa.Name
	}
	if req.Namespace == "" {
		req.Namespace = sa.Namespace
	}
	req.CreationTimestamp = metav1.NewTime(r.now())
	if req.Spec.ExpirationSeconds == nil {
		seconds := int64(defaultSeconds)
		req.Spec.ExpirationSeconds = &seconds
	}
}

func validateRequest(req *authenticationv1.TokenRequest, sa *corev1.ServiceAccount) field.ErrorList {
	var errs field.ErrorList
	if req.Name != sa.Name {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), req.Name, "must match the service account name if specified"))
	}
	if req.Namespace != sa.Namespace {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "namespace"), req.Namespace, "must match the service account namespace if specified"))
	}
	seconds, path := *req.Spec.ExpirationSeconds, field.NewPath("spec", "expirationSeconds")
	if seconds < minSeconds {
		errs = append(errs, field.Invalid(path, seconds, "may not specify a duration less than 10 minutes"))
	}
	if seconds > maxSeconds {
		errs = append(errs, field.Invalid(path, seconds, "may not specify a duration larger than 2^32 seconds"))
	}
	return errs
}

// boundObjects returns the objects to which the token is bound, and checks the UID of ref.
func (r *RequestREST) boundObjects(ctx context.Context, sa *corev1.ServiceAccount, ref *authenticationv1.BoundObjectReference) (BoundObjects, error) {
	var out BoundObjects
	if ref == nil {
		return out, nil
	}
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	var uid types.UID
	var err error
	switch {
	case gvk.Group == "" && gvk.Kind == "Pod":
		out, err = r.boundPod(ctx, sa, ref.Name)
		if err == nil {
			uid = out.Pod.UID
		}
	case gvk.Group == "" && gvk.Kind == "Secret":
		if out.Secret, err = r.getter.Secret(ctx, sa.Namespace, ref.Name); err == nil {
			uid = out.Secret.UID
		}
	case gvk.Group == "" && gvk.Kind == "Node":
		if out.Node, err = r.getter.Node(ctx, ref.Name); err == nil {
			uid = out.Node.UID
		}
	default:
		return out, apierrors.NewBadRequest(fmt.Sprintf("cannot bind token to object of type %s", gvk))
	}
	if err != nil {
		return out, err
	}
	if ref.UID != "" && ref.UID != uid {
		return out, apierrors.NewConflict(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, ref.Name,
			fmt.Errorf("the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", ref.UID))
	}
	return out, nil
}

func (r *RequestREST) boundPod(ctx context.Context, sa *corev1.ServiceAccount, name string) (BoundObjects, error) {
	pod, err := r.getter.Pod(ctx, sa.Namespace, name)
	if err != nil {
		return BoundObjects{}, err
	}
	if pod.Spec.ServiceAccountName != sa.Name {
		return BoundObjects{}, apierrors.NewBadRequest(fmt.Sprintf("cannot bind token for serviceaccount %q to pod running with different serviceaccount name.", sa.Name))
	}
	out := BoundObjects{Pod: pod}
	if pod.Spec.NodeName == "" {
		return out, nil
	}
	node, err := r.getter.Node(ctx, pod.Spec.NodeName)
	if err != nil && !apierrors.IsNotFound(err) {
		return out, err
	}
	if err == nil {
		out.NodeOfPod = node
	}
	return out, nil
}
