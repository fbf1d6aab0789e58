package nodeauth

import (
	"context"
	"errors"
	"fmt"
	"io"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	resourceapi "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
)

// RestrictionPlugin is the name of the Restriction plugin, as in kube-apiserver.
const RestrictionPlugin = "NodeRestriction"

// Restriction is the NodeRestriction admission plugin: a node may write only its own objects.
type Restriction struct {
	*admission.Handler
	client     kubernetes.Interface
	pods       corelisters.PodLister
	authorizer authorizer.Authorizer
}

var (
	_ admission.ValidationInterface                = &Restriction{}
	_ initializer.WantsExternalKubeInformerFactory = &Restriction{}
	_ initializer.WantsExternalKubeClientSet       = &Restriction{}
	_ initializer.WantsAuthorizer                  = &Restriction{}
)

// NewRestriction returns an uninitialized plugin.
func NewRestriction() *Restriction {
	return &Restriction{Handler: admission.NewHandler(admission.Create, admission.Update, admission.Delete)}
}

// RegisterRestriction registers the plugin.
func RegisterRestriction(plugins *admission.Plugins) {
	plugins.Register(RestrictionPlugin, func(io.Reader) (admission.Interface, error) { return NewRestriction(), nil })
}

// SetExternalKubeInformerFactory implements initializer.WantsExternalKubeInformerFactory.
func (r *Restriction) SetExternalKubeInformerFactory(factory informers.SharedInformerFactory) {
	pods := factory.Core().V1().Pods()
	r.pods = pods.Lister()
	r.SetReadyFunc(pods.Informer().HasSynced)
}

// SetExternalKubeClientSet implements initializer.WantsExternalKubeClientSet.
func (r *Restriction) SetExternalKubeClientSet(client kubernetes.Interface) { r.client = client }

// SetAuthorizer implements initializer.WantsAuthorizer.
func (r *Restriction) SetAuthorizer(a authorizer.Authorizer) { r.authorizer = a }

// ValidateInitialization implements admission.InitializationValidator.
func (r *Restriction) ValidateInitialization() error {
	if r.pods == nil || r.client == nil || r.authorizer == nil {
		return fmt.Errorf("admission plugin %s needs an informer factory, a client and an authorizer", RestrictionPlugin)
	}
	return nil
}

// Validate implements admission.ValidationInterface.
func (r *Restriction) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	node, isNode := NodeIdentity(a.GetUserInfo())
	if !isNode {
		return nil
	}
	if node == "" {
		return forbid(a, "could not determine node from user %q", a.GetUserInfo().GetName())
	}
	switch a.GetResource().GroupResource() {
	case corev1.Resource("pods"):
		return r.admitPod(ctx, node, a)
	case corev1.Resource("nodes"):
		return admitNode(node, a)
	case corev1.Resource("persistentvolumeclaims"):
		return admitClaim(node, a)
	case corev1.Resource("serviceaccounts"):
		return r.admitToken(ctx, node, a)
	case corev1.Resource("events"), eventsv1.Resource("events"):
		return r.admitRecord(ctx, node, a)
	case coordinationv1.Resource("leases"):
		return admitLease(node, a)
	case certificatesv1.Resource("certificatesigningrequests"):
		return admitCertificate(node, a)
	case storagev1.Resource("csinodes"):
		if a.GetName() != node {
			return forbid(a, "can only access CSINode with the same name as the requesting node")
		}
	case resourceapi.Resource("resourceslices"):
		return admitSlice(node, a)
	}
	return nil
}

func forbid(a admission.Attributes, format string, args ...any) error {
	return admission.NewForbidden(a, fmt.Errorf(format, args...))
}

func admitLease(node string, a admission.Attributes) error {
	if a.GetNamespace() != corev1.NamespaceNodeLease {
		return forbid(a, "can only access leases in the %q system namespace", corev1.NamespaceNodeLease)
	}
	if a.GetName() != node {
		return forbid(a, "can only access node lease with the same name as the requesting node")
	}
	return nil
}

func admitSlice(node string, a admission.Attributes) error {
	obj := a.GetObject()
	if a.GetOperation() == admission.Delete {
		obj = a.GetOldObject()
	}
	slice, ok := obj.(*resourceapi.ResourceSlice)
	if !ok {
		return forbid(a, "unexpected type %T", obj)
	}
	if slice.Spec.NodeName == nil || *slice.Spec.NodeName != node {
		return forbid(a, "can only create/update/delete ResourceSlices with the same NodeName as the requesting node")
	}
	return nil
}

// admitClaim allows a node to finish a resize: it may update only the size fields of the status.
func admitClaim(node string, a admission.Attributes) error {
	if a.GetSubresource() != "status" || a.GetOperation() != admission.Update {
		return forbid(a, "unexpected operation %q on persistentvolumeclaims, only updates of 'status' are allowed", a.GetOperation())
	}
	oldClaim, oldOK := a.GetOldObject().(*corev1.PersistentVolumeClaim)
	newClaim, newOK := a.GetObject().(*corev1.PersistentVolumeClaim)
	if !oldOK || !newOK {
		return forbid(a, "unexpected type %T", a.GetObject())
	}
	if !onlyResizeChanged(oldClaim, newClaim) {
		return forbid(a, "node %q is not allowed to update fields other than status.quantity and status.conditions", node)
	}
	return nil
}

var errNotReady = errors.New("not yet ready to handle request")
