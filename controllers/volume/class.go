package volume

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/storage/volume"
)

// noProvisioner is the provisioner of classes whose volumes are created manually.
const noProvisioner = "kubernetes.io/no-provisioner"

// assignDefault assigns the default class, if there is one, to a claim without a class. It reports whether it did.
func (ctrl *controller) assignDefault(ctx context.Context, c *corev1.PersistentVolumeClaim) (bool, error) {
	if volume.PersistentVolumeClaimHasClass(c) {
		return false, nil
	}
	class, err := ctrl.defaultClass()
	if class == nil || err != nil {
		return false, err
	}
	c = c.DeepCopy()
	c.Spec.StorageClassName = &class.Name
	ctrl.log.Info("Assigning the default storage class", "namespace", c.Namespace, "name", c.Name, "class", class.Name)
	_, err = ctrl.client.CoreV1().PersistentVolumeClaims(c.Namespace).Update(ctx, c, metav1.UpdateOptions{})
	return err == nil, err
}

// defaultClass returns the most recently created default class, the first by name among equals, as
// admission does. It returns nil if there is none.
func (ctrl *controller) defaultClass() (*storagev1.StorageClass, error) {
	list, err := ctrl.classes.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	var best *storagev1.StorageClass
	for _, c := range list {
		if !isDefault(c) {
			continue
		}
		if best == nil || best.CreationTimestamp.Before(&c.CreationTimestamp) ||
			best.CreationTimestamp.Equal(&c.CreationTimestamp) && c.Name < best.Name {
			best = c
		}
	}
	return best, nil
}

// notifyProvisioner sets the annotation that requests a volume from the provisioner of a class. If the class does not
// exist or has no provisioner, it only records an event.
func (ctrl *controller) notifyProvisioner(ctx context.Context, c *corev1.PersistentVolumeClaim, name string) (*corev1.PersistentVolumeClaim, error) {
	class, err := ctrl.classes.Get(name)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	reason := ""
	switch {
	case err != nil:
		reason = fmt.Sprintf("storageclass.storage.k8s.io %q not found", name)
	case class.Provisioner == noProvisioner:
		reason = "no volume plugin matched name: " + noProvisioner
	}
	if reason != "" {
		ctrl.events.Event(c, corev1.EventTypeWarning, "ProvisioningFailed", reason)
		return c, nil
	}
	if c.Annotations[volume.AnnStorageProvisioner] != class.Provisioner {
		c = c.DeepCopy()
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, volume.AnnStorageProvisioner, class.Provisioner)
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, volume.AnnBetaStorageProvisioner, class.Provisioner)
		if c, err = ctrl.client.CoreV1().PersistentVolumeClaims(c.Namespace).Update(ctx, c, metav1.UpdateOptions{}); err != nil {
			return nil, err
		}
	}
	ctrl.events.Event(c, corev1.EventTypeNormal, "ExternalProvisioning", fmt.Sprintf("Waiting for a volume to be created either by the external provisioner '%s' "+
		"or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.", class.Provisioner))
	return c, nil
}
