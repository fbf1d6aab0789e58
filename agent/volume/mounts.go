package volume

import (
	"fmt"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Mounts returns the mounts and block devices of a container in a prepared pod. It calls expand
// to replace $(NAME) in subPathExpr. Errors have the kubelet's wording for
// CreateContainerConfigError.
func (v *Volumes) Mounts(pod *corev1.Pod, container *corev1.Container, expand func(string) (string, error)) ([]*cri.Mount, []*cri.Device, error) {
	p := v.findPod(pod.UID)
	if p == nil {
		return nil, nil, fmt.Errorf("volumes of pod %s/%s are not prepared", pod.Namespace, pod.Name)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var mounts []*cri.Mount
	for i, m := range container.VolumeMounts {
		volume, ok := p.volumes[m.Name]
		if !ok || volume.hostPath == "" && volume.image == "" {
			return nil, nil, fmt.Errorf("cannot find volume %q to mount into container %q", m.Name, container.Name)
		}
		sub, err := resolveSubPath(&m, expand)
		if err != nil {
			return nil, nil, err
		}
		host := volume.hostPath
		if volume.image != "" {
			mounts = append(mounts, imageMount(&m, volume.image, sub))
			continue
		}
		if sub != "" {
			readOnly := volume.hasPayload || volume.isImage // a subPath that does not exist cannot be created
			if host, err = v.bindSubPath(pod, container, i, &m, volume.hostPath, sub, readOnly); err != nil {
				return nil, nil, err
			}
		}
		mounts = append(mounts, &cri.Mount{
			ContainerPath: absolutePath(m.MountPath), HostPath: host, Readonly: m.ReadOnly || volume.readOnly,
			Propagation:       propagation(m.MountPropagation),
			RecursiveReadOnly: m.RecursiveReadOnly != nil && *m.RecursiveReadOnly == corev1.RecursiveReadOnlyEnabled,
		})
	}
	devices, err := p.devices(container)
	return mounts, devices, err
}

// devices returns the block devices of a container. p.mu must be held.
func (p *podVolumes) devices(container *corev1.Container) ([]*cri.Device, error) {
	var out []*cri.Device
	for _, d := range container.VolumeDevices {
		volume, ok := p.volumes[d.Name]
		if !ok || volume.device == "" {
			return nil, fmt.Errorf("volume %q: not a block device, but listed in volumeDevices of container %q", d.Name, container.Name)
		}
		permissions := "mrw"
		if volume.readOnly {
			permissions = "r"
		}
		out = append(out, &cri.Device{ContainerPath: d.DevicePath, HostPath: volume.device, Permissions: permissions})
	}
	return out, nil
}

// absolutePath makes a container path absolute; a relative one is relative to the root.
func absolutePath(path string) string { return filepath.Join("/", path) }

func propagation(mode *corev1.MountPropagationMode) cri.MountPropagation {
	switch {
	case mode == nil:
	case *mode == corev1.MountPropagationHostToContainer:
		return cri.MountPropagation_PROPAGATION_HOST_TO_CONTAINER
	case *mode == corev1.MountPropagationBidirectional:
		return cri.MountPropagation_PROPAGATION_BIDIRECTIONAL
	}
	return cri.MountPropagation_PROPAGATION_PRIVATE
}
