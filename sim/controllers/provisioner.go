package controllers

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/component-helpers/storage/volume"

	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/controllers/workqueue"
)

// provisioner simulates an external provisioner of all classes: it creates volumes for claims that request one.
type provisioner struct {
	*runner.Process
	claims  corelisters.PersistentVolumeClaimLister
	classes storagelisters.StorageClassLister
}

// provisionDuration is the time to create a volume.
const provisionDuration = 2 * time.Second

// addProvisioner adds the provisioner to a process.
func addProvisioner(process *runner.Process) error {
	claims, classes := process.Informers.Core().V1().PersistentVolumeClaims(), process.Informers.Storage().V1().StorageClasses()
	p := &provisioner{process, claims.Lister(), classes.Lister()}
	queue := runner.NewQueue(process, runner.QueueOptions{Name: "provisioner", Workers: 1}, p.provision)
	return workqueue.Watch(claims.Informer(), func(_, cur *corev1.PersistentVolumeClaim) {
		if cur != nil && p.isRequested(cur) {
			queue.AddAfter(types.NamespacedName{Namespace: cur.Namespace, Name: cur.Name}, provisionDuration)
		}
	})
}

// isRequested reports whether the volume controller, and the scheduler if it has to, have requested a volume.
func (p *provisioner) isRequested(c *corev1.PersistentVolumeClaim) bool {
	delayed, err := volume.IsDelayBindingMode(c, p.classes)
	return err == nil && c.Spec.VolumeName == "" && c.Annotations[volume.AnnStorageProvisioner] != "" && (!delayed || c.Annotations[volume.AnnSelectedNode] != "")
}

func (p *provisioner) provision(ctx context.Context, key types.NamespacedName) (time.Duration, error) {
	c, err := p.claims.PersistentVolumeClaims(key.Namespace).Get(key.Name)
	if err != nil || !p.isRequested(c) {
		return 0, nil // it was deleted or bound
	}
	ref := &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: c.Name, UID: c.UID}
	v := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pvc-" + c.Namespace + "-" + c.Name, Annotations: map[string]string{volume.AnnDynamicallyProvisioned: c.Annotations[volume.AnnStorageProvisioner]}},
		Spec: corev1.PersistentVolumeSpec{StorageClassName: volume.GetPersistentVolumeClaimClass(c), AccessModes: c.Spec.AccessModes, ClaimRef: ref,
			Capacity: corev1.ResourceList{corev1.ResourceStorage: c.Spec.Resources.Requests[corev1.ResourceStorage]}, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete},
	}
	if node := c.Annotations[volume.AnnSelectedNode]; node != "" {
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
		}}}}
	}
	if _, err = p.Client.CoreV1().PersistentVolumes().Create(ctx, v, metav1.CreateOptions{}); apierrors.IsAlreadyExists(err) {
		return 0, nil
	}
	return 0, err
}
