package volume

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	storage "k8s.io/component-helpers/storage/volume"

	"github.com/berthproject/berth/agent/diskusage"
	"github.com/berthproject/berth/agent/loopdisk"
	"github.com/berthproject/berth/agent/mounts"
	"github.com/berthproject/berth/api/v1alpha1"
)

// MinDiskReserve is the least space in bytes that a disk image leaves free on its file system.
const MinDiskReserve = 1 << 30

// localMountFlags are the flags of volumes of Berth's provisioner. Programs of one pod must not get
// rights in another, or on the node.
const localMountFlags = unix.MS_NOSUID | unix.MS_NODEV

// isProvisioned reports whether Berth's provisioner created the volume.
func isProvisioned(pv *corev1.PersistentVolume) bool {
	return pv.Annotations[storage.AnnDynamicallyProvisioned] == v1alpha1.LocalProvisioner && pv.Spec.Local != nil
}

// mountProvisioned mounts a volume of Berth's provisioner at its directory for the pod. The volume
// is a disk image of its capacity or a plain directory. For a directory, limit is the volume's
// capacity, and readOnly reports whether the usage exceeds it.
func (v *Volumes) mountProvisioned(pod *corev1.Pod, pv *corev1.PersistentVolume) (limit int64, readOnly bool, err error) {
	dir, err := filepath.EvalSymlinks(pv.Spec.Local.Path) // as in mountinfo
	if info, statErr := os.Lstat(dir); err != nil || statErr != nil || !info.IsDir() {
		return 0, false, fmt.Errorf("PV %s: path %q does not exist or is not a directory", pv.Name, pv.Spec.Local.Path)
	}
	v.claimMu.Lock()
	defer v.claimMu.Unlock()
	capacity := pv.Spec.Capacity[corev1.ResourceStorage]
	reason, err := v.mountLocal(pv, dir, capacity.Value())
	if err != nil {
		return 0, false, fmt.Errorf("PV %s: %w", pv.Name, err)
	}
	if v.claimUsers[dir] == nil {
		v.claimUsers[dir] = map[types.UID]bool{}
	}
	v.claimUsers[dir][pod.UID] = true
	if reason == nil || capacity.Value() <= 0 {
		return 0, false, nil
	}
	usage, err := diskusage.Measure(dir)
	if err != nil {
		return 0, false, fmt.Errorf("PV %s: measuring %s: %w", pv.Name, dir, err)
	}
	readOnly = usage.Bytes > capacity.Value()
	effect := "the agent measures the usage and evicts pods that exceed it"
	if readOnly {
		effect = fmt.Sprintf("%d bytes are in use, so the volume is read-only until data is deleted or its spec.capacity is raised", usage.Bytes)
	}
	v.recordEvent(pod, "VolumeCapacityNotReserved", fmt.Sprintf("The capacity %s of volume %s is not reserved (%v): %s", capacity.String(), pv.Name, reason, effect))
	return capacity.Value(), readOnly, nil
}

// mountLocal mounts the disk image of a volume, or the directory itself if reason is not nil. It mounts
// nothing if dir is already a mount point. v.claimMu must be held.
func (v *Volumes) mountLocal(pv *corev1.PersistentVolume, dir string, capacity int64) (reason, err error) {
	points, err := mounts.At(dir)
	if err != nil {
		return nil, err
	}
	image := dir + v1alpha1.VolumeImageSuffix
	_, statErr := os.Lstat(image)
	if len(points) == 0 && statErr != nil {
		if reason, err = v.createImage(pv, dir, image, capacity); err != nil {
			return nil, err
		}
		_, statErr = os.Lstat(image)
	} else if statErr != nil {
		reason = errPlainDirectory
	}
	switch {
	case len(points) > 0:
		return reason, nil
	case statErr != nil:
		return reason, mountSelf(dir)
	}
	return nil, mountImage(image, dir)
}

// errPlainDirectory is the reason why a volume with data in its directory has no disk image.
var errPlainDirectory = errors.New("its data is in a plain directory")

// createImage creates the disk image of a new volume. It returns the reason if the directory
// itself must be used.
func (v *Volumes) createImage(pv *corev1.PersistentVolume, dir, image string, capacity int64) (reason, err error) {
	marker := dir + v1alpha1.VolumePlainSuffix
	_, markerErr := os.Lstat(marker)
	entries, err := os.ReadDir(dir)
	switch {
	case err != nil:
		return nil, err
	case pv.Annotations[v1alpha1.VolumeImageAnnotation] != "true" || markerErr == nil || len(entries) > 0:
		return errPlainDirectory, nil
	}
	if reason = loopdisk.CheckRequirements(); reason == nil {
		size := loopdisk.RoundSize(capacity)
		if err = errors.Join(v.checkTotal(dir, size), v.checkSpace(dir, size)); err != nil {
			return nil, err
		}
		if err = loopdisk.Create(image, capacity); err == nil || !errors.Is(err, loopdisk.ErrUnsupported) {
			return nil, err
		}
		reason = err
	}
	// The marker prevents a later agent from mounting an image over the data of the directory.
	return reason, os.WriteFile(marker, nil, 0o600)
}

// checkSpace returns an error if reserving size bytes leaves too little space.
func (v *Volumes) checkSpace(dir string, size int64) error {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return fmt.Errorf("file system of %s: %w", dir, err)
	}
	available, reserve := int64(s.Bavail)*s.Frsize, int64(MinDiskReserve)
	if v.opts.DiskReserve != nil {
		var err error
		if reserve, err = v.opts.DiskReserve(dir, int64(s.Blocks)*s.Frsize); err != nil {
			return err
		}
	}
	if available-size < reserve {
		return fmt.Errorf("reserving %s on the file system of %s: %s are available, and %s must stay free",
			formatBytes(size), dir, formatBytes(available-available%availableStep), formatBytes(reserve))
	}
	return nil
}

// checkTotal returns an error if the claims of the node exceed opts.ClaimBytes with a disk image of size bytes. All
// directories of the node's claims have the same parent.
func (v *Volumes) checkTotal(dir string, size int64) error {
	limit := v.opts.ClaimBytes
	if limit == 0 {
		return nil
	}
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil {
		return err
	}
	var reserved int64
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), v1alpha1.VolumeImageSuffix) {
			continue
		}
		if info, err := e.Info(); err == nil { // else removed meanwhile
			reserved += info.Size()
		}
	}
	if size > limit-reserved {
		return fmt.Errorf("reserving %s: the claims of the node reserve %s, and its disk has %s", formatBytes(size), formatBytes(reserved), formatBytes(limit))
	}
	return nil
}

// availableStep is the unit of the available bytes in messages. The number changes with each write to the disk, and a
// new message is a new event.
const availableStep = 256 << 20

// formatBytes formats bytes as a quantity, such as 10Mi.
func formatBytes(bytes int64) string {
	return resource.NewQuantity(bytes, resource.BinarySI).String()
}

// mountImage mounts a disk image at dir with localMountFlags.
func mountImage(image, dir string) error {
	f, err := os.OpenFile(image, os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return loopdisk.Mount(f, dir, localMountFlags)
}

// mountSelf mounts a directory on itself, to set localMountFlags.
func mountSelf(dir string) error {
	if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mounting %s: %w", dir, err)
	}
	if err := unix.Mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|localMountFlags, ""); err != nil {
		return errors.Join(fmt.Errorf("setting mount flags of %s: %w", dir, err), unmount(dir))
	}
	return nil
}

// releaseProvisioned unmounts the volumes that only this pod used. A busy one stays mounted: a
// second mount of a disk image would be on another device.
func (v *Volumes) releaseProvisioned(pod types.UID) {
	v.claimMu.Lock()
	defer v.claimMu.Unlock()
	for dir, users := range v.claimUsers {
		if !users[pod] {
			continue
		}
		if delete(users, pod); len(users) > 0 {
			continue
		}
		delete(v.claimUsers, dir)
		if err := unix.Unmount(dir, unix.UMOUNT_NOFOLLOW); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
			v.opts.Log.Info("Volume stays mounted", "directory", dir, "err", err.Error())
		}
	}
}

// recordEvent records a warning about a pod.
func (v *Volumes) recordEvent(pod *corev1.Pod, reason, message string) {
	if v.opts.Event != nil {
		v.opts.Event(pod, corev1.EventTypeWarning, reason, message)
	}
}
