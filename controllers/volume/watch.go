package volume

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-helpers/storage/volume"
)

// watch registers the event handlers.
func (ctrl *controller) watch(volumes, claims, classes cache.SharedIndexInformer) error {
	if err := volumes.AddIndexers(volumeIndexers); err != nil {
		return err
	}
	if err := claims.AddIndexers(claimIndexers); err != nil {
		return err
	}
	if _, err := volumes.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    ctrl.onVolume,
		UpdateFunc: func(old, obj any) { ctrl.enqueueRelatedClaims(old); ctrl.onVolume(obj) },
		DeleteFunc: func(obj any) { ctrl.enqueueRelatedClaims(obj) },
	}); err != nil {
		return err
	}
	if _, err := claims.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: ctrl.onClaim, UpdateFunc: func(_, obj any) { ctrl.onClaim(obj) }, DeleteFunc: ctrl.enqueueRelatedVolumes,
	}); err != nil {
		return err
	}
	_, err := classes.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: ctrl.onClass, UpdateFunc: func(_, obj any) { ctrl.onClass(obj) },
	})
	return err
}

// onVolume enqueues a volume, its claim and, while it is available, the claims that
// wait for a volume of its class.
func (ctrl *controller) onVolume(obj any) {
	v, ok := obj.(*corev1.PersistentVolume)
	if !ok {
		return
	}
	ctrl.queue.Add(key{name: v.Name})
	ctrl.enqueueRelatedClaims(obj)
	if v.Spec.ClaimRef == nil && v.Status.Phase == corev1.VolumeAvailable {
		ctrl.enqueueClaims(byClass, volume.GetPersistentVolumeClass(v))
	}
}

// enqueueRelatedClaims enqueues the claims that refer to a volume or that the volume refers to.
func (ctrl *controller) enqueueRelatedClaims(obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	v, ok := obj.(*corev1.PersistentVolume)
	if !ok {
		return
	}
	if ref := v.Spec.ClaimRef; ref != nil {
		ctrl.queue.Add(key{ref.Namespace, ref.Name})
	}
	ctrl.enqueueClaims(byVolume, v.Name)
}

func (ctrl *controller) onClaim(obj any) {
	c, ok := obj.(*corev1.PersistentVolumeClaim)
	if !ok {
		return
	}
	ctrl.queue.Add(key{c.Namespace, c.Name})
	ctrl.enqueueRelatedVolumes(obj)
}

// enqueueRelatedVolumes enqueues the volumes that refer to a claim or that the claim refers to.
func (ctrl *controller) enqueueRelatedVolumes(obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	c, ok := obj.(*corev1.PersistentVolumeClaim)
	if !ok {
		return
	}
	if c.Spec.VolumeName != "" {
		ctrl.queue.Add(key{name: c.Spec.VolumeName})
	}
	for _, v := range volumesIn(ctrl.volumeIndex, byClaim, c.Namespace+"/"+c.Name) {
		ctrl.queue.Add(key{name: v.Name})
	}
}

func (ctrl *controller) onClass(obj any) {
	c, ok := obj.(*storagev1.StorageClass)
	if !ok {
		return
	}
	ctrl.enqueueClaims(byClass, c.Name)
	if isDefault(c) {
		ctrl.enqueueClaims(byClass, "")
	}
}

func (ctrl *controller) enqueueClaims(index, value string) {
	list, _ := ctrl.claimIndex.ByIndex(index, value)
	for _, obj := range list {
		if c, ok := obj.(*corev1.PersistentVolumeClaim); ok {
			ctrl.queue.Add(key{c.Namespace, c.Name})
		}
	}
}

func volumesIn(indexer cache.Indexer, index, value string) []*corev1.PersistentVolume {
	list, _ := indexer.ByIndex(index, value)
	var out []*corev1.PersistentVolume
	for _, obj := range list {
		if v, ok := obj.(*corev1.PersistentVolume); ok {
			out = append(out, v)
		}
	}
	return out
}
