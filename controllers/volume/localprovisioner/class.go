package localprovisioner

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/api/v1alpha1"
)

const (
	// ProvisionerName is the name of the provisioner in storage classes.
	ProvisionerName = v1alpha1.LocalProvisioner
	// ClassName is the class that `berth up` creates.
	ClassName = "berth-local"
)

// Class returns the default storage class of a cluster that `berth up` runs.
func Class() *storagev1.StorageClass {
	mode, policy := storagev1.VolumeBindingWaitForFirstConsumer, corev1.PersistentVolumeReclaimDelete
	return &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: ClassName,
			Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}},
		Provisioner: ProvisionerName, VolumeBindingMode: &mode, ReclaimPolicy: &policy,
	}
}
