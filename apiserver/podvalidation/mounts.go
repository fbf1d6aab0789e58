package podvalidation

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
)

func (c *podValidator) validateVolumeMounts(container *corev1.Container, path *field.Path) {
	paths := podfields.NameSet{}
	for i := range container.VolumeMounts {
		mount, idxPath := &container.VolumeMounts[i], path.Index(i)
		c.requireNonEmpty(mount.Name, idxPath.Child("name"))
		if c.volumes[mount.Name] == nil {
			c.notFound(idxPath.Child("name"), mount.Name)
		}
		c.requireNonEmpty(mount.MountPath, idxPath.Child("mountPath"))
		if !paths.Add(mount.MountPath) {
			c.invalid(idxPath.Child("mountPath"), mount.MountPath, "must be unique")
		}
		for _, device := range container.VolumeDevices {
			if device.Name == mount.Name {
				c.invalid(idxPath.Child("name"), mount.Name, "must not already exist in volumeDevices")
			}
		}
		for _, device := range container.VolumeDevices {
			if device.DevicePath == mount.MountPath {
				c.invalid(idxPath.Child("mountPath"), mount.MountPath, "must not already exist as a path in volumeDevices")
			}
		}
		c.validateSubPaths(mount, path, idxPath)
		c.validateMountPropagation(mount, container, path.Child("mountPropagation"))
		c.validateRecursiveReadOnly(mount, path.Child("recursiveReadOnly"))
	}
}

// validateSubPaths validates subPath and subPathExpr. As in Kubernetes, errors about their values have the path of the
// list. The error about a mount that sets both has the path of the mount.
func (c *errorCollector) validateSubPaths(mount *corev1.VolumeMount, list, idxPath *field.Path) {
	if mount.SubPath != "" {
		c.requireRelativePath(mount.SubPath, list.Child("subPath"))
	}
	if mount.SubPathExpr == "" {
		return
	}
	if mount.SubPath != "" {
		c.invalid(idxPath.Child("subPathExpr"), mount.SubPathExpr, "subPathExpr and subPath are mutually exclusive")
	}
	c.requireRelativePath(mount.SubPathExpr, list.Child("subPathExpr"))
}

func (c *errorCollector) validateMountPropagation(mount *corev1.VolumeMount, container *corev1.Container, path *field.Path) {
	if mount.MountPropagation == nil {
		return
	}
	validateOneOf(c, *mount.MountPropagation, path,
		corev1.MountPropagationBidirectional, corev1.MountPropagationHostToContainer, corev1.MountPropagationNone)
	privileged := container.SecurityContext != nil && podfields.Deref(container.SecurityContext.Privileged)
	if *mount.MountPropagation == corev1.MountPropagationBidirectional && !privileged {
		c.forbidden(path, "Bidirectional mount propagation is available only to privileged containers")
	}
}

func (c *errorCollector) validateRecursiveReadOnly(mount *corev1.VolumeMount, path *field.Path) {
	if mount.RecursiveReadOnly == nil {
		return
	}
	mode := *mount.RecursiveReadOnly
	if !validateOneOf(c, mode, path, corev1.RecursiveReadOnlyDisabled, corev1.RecursiveReadOnlyEnabled, corev1.RecursiveReadOnlyIfPossible) ||
		mode == corev1.RecursiveReadOnlyDisabled {
		return
	}
	if !mount.ReadOnly {
		c.forbidden(path, "may only be specified when readOnly is true")
	}
	if mount.MountPropagation != nil && *mount.MountPropagation != corev1.MountPropagationNone {
		c.forbidden(path, "may only be specified when mountPropagation is None or not specified")
	}
}

func (c *podValidator) validateVolumeDevices(container *corev1.Container, path *field.Path) {
	names, paths := podfields.NameSet{}, podfields.NameSet{}
	for i, device := range container.VolumeDevices {
		idxPath := path.Index(i)
		c.requireNonEmpty(device.Name, idxPath.Child("name"))
		if names[device.Name] {
			c.invalid(idxPath.Child("name"), device.Name, "must be unique")
		}
		switch volume := c.volumes[device.Name]; {
		case volume == nil:
			c.notFound(idxPath.Child("name"), device.Name)
		case volume.PersistentVolumeClaim == nil && volume.Ephemeral == nil:
			c.invalid(idxPath.Child("name"), device.Name, "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode")
		}
		c.requireNonEmpty(device.DevicePath, idxPath.Child("devicePath"))
		if paths[device.DevicePath] {
			c.invalid(idxPath.Child("devicePath"), device.DevicePath, "must be unique")
		}
		if hasBacksteps(device.DevicePath) {
			c.invalid(idxPath.Child("devicePath"), device.DevicePath, "can not contain backsteps ('..')")
		} else {
			paths.Add(device.DevicePath)
		}
		c.forbidMountedDevice(device, container.VolumeMounts, idxPath)
		if device.Name != "" {
			names.Add(device.Name)
		}
	}
}

func (c *errorCollector) forbidMountedDevice(device corev1.VolumeDevice, mounts []corev1.VolumeMount, path *field.Path) {
	if slices.ContainsFunc(mounts, func(m corev1.VolumeMount) bool { return m.Name == device.Name }) {
		c.invalid(path.Child("name"), device.Name, "must not already exist in volumeMounts")
	}
	if slices.ContainsFunc(mounts, func(m corev1.VolumeMount) bool { return m.MountPath == device.DevicePath }) {
		c.invalid(path.Child("devicePath"), device.DevicePath, "must not already exist as a path in volumeMounts")
	}
}

// requireRelativePath requires a relative path without "..".
func (c *errorCollector) requireRelativePath(target string, fldPath *field.Path) {
	if path.IsAbs(target) {
		c.invalid(fldPath, target, "must be a relative path")
	}
	c.forbidBacksteps(target, fldPath)
}

func (c *errorCollector) forbidBacksteps(target string, fldPath *field.Path) {
	if hasBacksteps(target) {
		c.invalid(fldPath, target, "must not contain '..'")
	}
}

// validateProjectedPath requires a relative path that does not start with "..", which projected volumes use
// for their own files.
func (c *errorCollector) validateProjectedPath(target string, fldPath *field.Path) {
	c.requireRelativePath(target, fldPath)
	if strings.HasPrefix(target, "..") && !strings.HasPrefix(target, "../") {
		c.invalid(fldPath, target, "must not start with '..'")
	}
}

func hasBacksteps(target string) bool {
	return slices.Contains(strings.Split(target, "/"), "..")
}
