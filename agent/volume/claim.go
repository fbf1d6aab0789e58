package volume

import (
	"context"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-helpers/storage/ephemeral"
	storage "k8s.io/component-helpers/storage/volume"
)

// resolveClaim returns the directory or device behind a claim of the pod.
func (v *Volumes) resolveClaim(ctx context.Context, pod *corev1.Pod, volume *corev1.Volume) (mountedVolume, error) {
	name := ""
	if s := volume.PersistentVolumeClaim; s != nil {
		name = s.ClaimName
	} else {
		name = ephemeral.VolumeClaimName(pod, volume)
	}
	claim, err := v.opts.Client.CoreV1().PersistentVolumeClaims(pod.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		err = apierrors.NewNotFound(schema.GroupResource{Resource: "persistentvolumeclaim"}, name)
	}
	if err != nil {
		return mountedVolume{}, err
	}
	if volume.Ephemeral != nil {
		if err := ephemeral.VolumeIsForPod(pod, claim); err != nil {
			return mountedVolume{}, err
		}
	}
	if claim.Spec.VolumeName == "" || claim.Status.Phase != corev1.ClaimBound {
		return mountedVolume{}, fmt.Errorf("PVC %s/%s has non-bound phase (%q) or empty pvc.Spec.VolumeName (%q)",
			claim.Namespace, claim.Name, claim.Status.Phase, claim.Spec.VolumeName)
	}
	pv, err := v.opts.Client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return mountedVolume{}, err
	}
	if pv.Spec.ClaimRef == nil || pv.Spec.ClaimRef.UID != claim.UID {
		return mountedVolume{}, fmt.Errorf("PV %s is not bound to PVC %s/%s (uid %s), but to %s",
			pv.Name, claim.Namespace, claim.Name, claim.UID, claimRefName(pv))
	}
	if err := storage.CheckNodeAffinity(pv, v.opts.Node().Labels); err != nil {
		return mountedVolume{}, fmt.Errorf("MountVolume.NodeAffinity check failed for volume %q : %w", pv.Name, err)
	}
	var limit int64
	overLimit := false
	if isProvisioned(pv) {
		if limit, overLimit, err = v.mountProvisioned(pod, pv); err != nil {
			return mountedVolume{}, err
		}
	}
	m, err := v.resolvePersistentVolume(pv, fsGroup(pod))
	m.claim, m.limit = claim.Name, limit
	m.readOnly = overLimit || volume.PersistentVolumeClaim != nil && volume.PersistentVolumeClaim.ReadOnly
	return m, err
}

func claimRefName(pv *corev1.PersistentVolume) string {
	if r := pv.Spec.ClaimRef; r != nil {
		return fmt.Sprintf("%s/%s (uid %s)", r.Namespace, r.Name, r.UID)
	}
	return "none"
}

// resolvePersistentVolume returns the directory or device of a PersistentVolume on this node.
func (v *Volumes) resolvePersistentVolume(pv *corev1.PersistentVolume, group int) (mountedVolume, error) {
	var path string
	switch s := pv.Spec.PersistentVolumeSource; {
	case s.Local != nil:
		path = s.Local.Path
	case s.HostPath != nil:
		path = s.HostPath.Path
		if err := checkHostPath(path, s.HostPath.Type); err != nil {
			return mountedVolume{}, err
		}
	default:
		return mountedVolume{}, fmt.Errorf("PV %s: unsupported kind of volume; use local or hostPath", pv.Name)
	}
	info, err := os.Stat(path)
	if err != nil {
		return mountedVolume{}, fmt.Errorf("PV %s: path %q does not exist or cannot be read: %w", pv.Name, path, err)
	}
	block := info.Mode()&os.ModeDevice != 0 && info.Mode()&os.ModeCharDevice == 0
	switch wantBlock := pv.Spec.VolumeMode != nil && *pv.Spec.VolumeMode == corev1.PersistentVolumeBlock; {
	case wantBlock && !block:
		return mountedVolume{}, fmt.Errorf("PV %s: volumeMode Block: %s is not a block device", pv.Name, path)
	case wantBlock:
		return mountedVolume{device: path}, nil
	case block:
		return mountedVolume{}, fmt.Errorf("PV %s: volumeMode Filesystem: %s is a block device; mount it on a directory of the node and use the directory", pv.Name, path)
	}
	if pv.Spec.Local != nil && info.IsDir() {
		if err := applyFSGroup(path, group); err != nil {
			return mountedVolume{}, fmt.Errorf("PV %s: applying fsGroup %d: %w", pv.Name, group, err)
		}
	}
	return mountedVolume{hostPath: path, measured: pv.Spec.Local != nil}, nil
}
