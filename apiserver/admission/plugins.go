package admission

import (
	"fmt"
	"io"

	"k8s.io/apiserver/pkg/admission"
)

// Names of the admission plugins.
const (
	LimitRanger                   = "LimitRanger"
	ServiceAccount                = "ServiceAccount"
	TaintNodesByCondition         = "TaintNodesByCondition"
	PodSecurity                   = "PodSecurity"
	Priority                      = "Priority"
	DefaultTolerationSeconds      = "DefaultTolerationSeconds"
	DefaultStorageClass           = "DefaultStorageClass"
	StorageObjectInUseProtection  = "StorageObjectInUseProtection"
	PersistentVolumeClaimResize   = "PersistentVolumeClaimResize"
	RuntimeClass                  = "RuntimeClass"
	DefaultIngressClass           = "DefaultIngressClass"
	PodTopologyLabels             = "PodTopologyLabels"
	CertificateApproval           = "CertificateApproval"
	CertificateSigning            = "CertificateSigning"
	CertificateSubjectRestriction = "CertificateSubjectRestriction"
	ResourceQuota                 = "ResourceQuota"
)

// Order is the order in which the plugins run. ResourceQuota is last because it charges what the
// other plugins have admitted.
var Order = []string{
	LimitRanger, ServiceAccount, TaintNodesByCondition, PodSecurity, Priority, DefaultTolerationSeconds, DefaultStorageClass,
	StorageObjectInUseProtection, PersistentVolumeClaimResize, RuntimeClass, DefaultIngressClass, PodTopologyLabels,
	CertificateApproval, CertificateSigning, CertificateSubjectRestriction, ResourceQuota,
}

// Register registers the plugins. tolerationSeconds configures DefaultTolerationSeconds.
func Register(plugins *admission.Plugins, tolerationSeconds NodeTolerationSeconds) {
	for name, build := range map[string]func() (admission.Interface, error){
		LimitRanger:                   func() (admission.Interface, error) { return newLimitRanger(), nil },
		ServiceAccount:                func() (admission.Interface, error) { return newServiceAccount(), nil },
		TaintNodesByCondition:         func() (admission.Interface, error) { return newNodeTaint(), nil },
		Priority:                      func() (admission.Interface, error) { return newPriority(), nil },
		DefaultTolerationSeconds:      func() (admission.Interface, error) { return newDefaultTolerations(tolerationSeconds), nil },
		DefaultStorageClass:           func() (admission.Interface, error) { return newDefaultStorageClass(), nil },
		StorageObjectInUseProtection:  func() (admission.Interface, error) { return newStorageObjectInUseProtection(), nil },
		PersistentVolumeClaimResize:   func() (admission.Interface, error) { return newPersistentVolumeClaimResize(), nil },
		RuntimeClass:                  func() (admission.Interface, error) { return newRuntimeClass(), nil },
		DefaultIngressClass:           func() (admission.Interface, error) { return newDefaultIngressClass(), nil },
		PodTopologyLabels:             func() (admission.Interface, error) { return newPodTopologyLabels(), nil },
		CertificateApproval:           func() (admission.Interface, error) { return newCertificateApproval(), nil },
		CertificateSigning:            func() (admission.Interface, error) { return newCertificateSigning(), nil },
		CertificateSubjectRestriction: func() (admission.Interface, error) { return newSubjectRestriction(), nil },
	} {
		plugins.Register(name, func(io.Reader) (admission.Interface, error) { return build() })
	}
	plugins.Register(PodSecurity, newPodSecurity)
	plugins.Register(ResourceQuota, newQuota)
}

func unexpectedTypeError(a admission.Attributes) error {
	return fmt.Errorf("unexpected type %T", a.GetObject())
}
