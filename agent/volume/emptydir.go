package volume

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
)

// setUpEmptyDir creates a world-writable directory on disk or tmpfs. An existing one is not changed,
// not even its mode.
func (v *Volumes) setUpEmptyDir(pod *corev1.Pod, dir string, s *corev1.EmptyDirVolumeSource) error {
	switch s.Medium {
	case corev1.StorageMediumDefault:
		return makeWorldWritable(dir, fsGroup(pod))
	case corev1.StorageMediumMemory:
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		return mountTmpfs(dir, v.memorySize(pod, s), 0o777, fsGroup(pod))
	}
	return fmt.Errorf("emptyDir.medium %q: unsupported; use \"\" (disk) or \"Memory\"", s.Medium)
}

// makeWorldWritable creates a world-writable directory if it does not exist. It is renamed into
// place when complete.
func makeWorldWritable(dir string, group int) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	temp := dir + ".new" // no volume has such a name
	if err := os.MkdirAll(temp, 0o755); err != nil {
		return err
	}
	if err := setOwnership(temp, 0o777, group); err != nil {
		return err
	}
	return os.Rename(temp, dir)
}

// memorySize returns the smallest of the volume's size limit, the pod's memory limit and the
// node's allocatable memory; 0 if none is set. A tmpfs without a size may use half of the
// machine's memory.
func (v *Volumes) memorySize(pod *corev1.Pod, s *corev1.EmptyDirVolumeSource) int64 {
	node := v.opts.Node().Status.Allocatable[corev1.ResourceMemory]
	limits := resource.PodLimits(pod, resource.PodResourcesOptions{})[corev1.ResourceMemory]
	var size, sizeLimit int64
	if s.SizeLimit != nil {
		sizeLimit = s.SizeLimit.Value()
	}
	for _, n := range []int64{node.Value(), limits.Value(), sizeLimit} {
		if n > 0 && (size == 0 || n < size) {
			size = n
		}
	}
	return size
}
