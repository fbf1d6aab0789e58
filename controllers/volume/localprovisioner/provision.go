package localprovisioner

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/internal/apierror"
)

// finalizer keeps a volume object until its directory is removed. Upstream's provisioners
// use the same name.
const finalizer = "external-provisioner.volume.kubernetes.io/finalizer"

func volumeName(claim types.UID) string { return "pvc-" + string(claim) }

// provision creates a directory and a volume for a claim with a selected node.
func (p *provisioner) provision(ctx context.Context, c *corev1.PersistentVolumeClaim) error {
	if _, err := p.volumes.Get(volumeName(c.UID)); err == nil {
		return nil // provisioned earlier; the volume controller binds it
	}
	class, err := p.classes.Get(volume.GetPersistentVolumeClaimClass(c))
	if err != nil {
		return p.reportFailure(c, "", err)
	}
	if cause := checkSupported(c, class); cause != nil {
		p.events.Event(c, corev1.EventTypeWarning, "ProvisioningFailed", failureMessage(class.Name, cause))
		return nil // retry when the claim changes
	}
	selected, ok := c.Annotations[volume.AnnSelectedNode]
	if !ok {
		return nil // wait for the scheduler
	}
	node, err := p.client.CoreV1().Nodes().Get(ctx, selected, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return p.reschedule(ctx, c, class.Name, fmt.Errorf("node %q not found", selected))
	}
	if err != nil {
		return p.reportFailure(c, class.Name, err)
	}
	host := node.Labels[corev1.LabelHostname]
	if host == "" {
		return p.reschedule(ctx, c, class.Name, fmt.Errorf("node %q has no label %s, which the volume's node affinity needs", selected, corev1.LabelHostname))
	}
	p.events.Event(c, corev1.EventTypeNormal, "Provisioning", fmt.Sprintf("External provisioner is provisioning volume for claim %q", c.Namespace+"/"+c.Name))
	return p.create(ctx, c, class, node.Name, host)
}

func (p *provisioner) create(ctx context.Context, c *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, node, host string) error {
	path, err := p.storage.create(node, volumeName(c.UID))
	if err != nil {
		return p.reportFailure(c, class.Name, err)
	}
	v := volumeFor(c, class, path, host)
	_, err = p.client.CoreV1().PersistentVolumes().Create(ctx, v, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		err = nil // an earlier attempt created it: the name contains the claim's UID
	}
	if err != nil {
		return p.reportFailure(c, class.Name, err)
	}
	p.events.Event(c, corev1.EventTypeNormal, "ProvisioningSucceeded", "Successfully provisioned volume "+v.Name)
	return nil
}

// checkSupported returns an error if the provisioner cannot create a volume for the claim.
func checkSupported(c *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) error {
	single := func(m corev1.PersistentVolumeAccessMode) bool {
		return m == corev1.ReadWriteOnce || m == corev1.ReadWriteOncePod
	}
	switch {
	case ptr.Deref(class.VolumeBindingMode, storagev1.VolumeBindingImmediate) != storagev1.VolumeBindingWaitForFirstConsumer:
		return fmt.Errorf("volumeBindingMode of the class is Immediate: must be WaitForFirstConsumer")
	case ptr.Deref(c.Spec.VolumeMode, corev1.PersistentVolumeFilesystem) == corev1.PersistentVolumeBlock:
		return fmt.Errorf("spec.volumeMode is Block: must be Filesystem")
	case !slices.ContainsFunc(c.Spec.AccessModes, single) || slices.ContainsFunc(c.Spec.AccessModes, func(m corev1.PersistentVolumeAccessMode) bool { return !single(m) }):
		return fmt.Errorf("spec.accessModes are %v: must be ReadWriteOnce or ReadWriteOncePod", c.Spec.AccessModes)
	case c.Spec.Selector != nil:
		return fmt.Errorf("spec.selector: not supported")
	case c.Spec.DataSource != nil || c.Spec.DataSourceRef != nil:
		return fmt.Errorf("spec.dataSource: not supported")
	}
	return nil
}

func volumeFor(c *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, path, host string) *corev1.PersistentVolume {
	policy := ptr.Deref(class.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
	v := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: volumeName(c.UID), Annotations: map[string]string{
			volume.AnnDynamicallyProvisioned: ProvisionerName, v1alpha1.VolumeImageAnnotation: "true"}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: c.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes: c.Spec.AccessModes, VolumeMode: c.Spec.VolumeMode, MountOptions: class.MountOptions,
			StorageClassName: class.Name, PersistentVolumeReclaimPolicy: policy,
			ClaimRef: &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: c.Name,
				UID: c.UID, ResourceVersion: c.ResourceVersion},
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: path}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{host}}}}}}},
		},
	}
	if policy == corev1.PersistentVolumeReclaimDelete {
		v.Finalizers = []string{finalizer}
	}
	return v
}

// reschedule removes the selected node, so that the scheduler selects another one.
func (p *provisioner) reschedule(ctx context.Context, c *corev1.PersistentVolumeClaim, class string, cause error) error {
	p.events.Event(c, corev1.EventTypeWarning, "ProvisioningFailed", failureMessage(class, cause)+"; the scheduler will select another node")
	c = c.DeepCopy()
	delete(c.Annotations, volume.AnnSelectedNode)
	_, err := p.client.CoreV1().PersistentVolumeClaims(c.Namespace).Update(ctx, c, metav1.UpdateOptions{})
	return apierror.IgnoreNotFound(err)
}

// reportFailure records the event of an error and returns the error, which causes a retry.
func (p *provisioner) reportFailure(c *corev1.PersistentVolumeClaim, class string, err error) error {
	p.events.Event(c, corev1.EventTypeWarning, "ProvisioningFailed", failureMessage(class, err))
	return err
}

func failureMessage(class string, err error) string {
	return fmt.Sprintf("failed to provision volume with StorageClass %q: %s", class, err)
}
