package volume

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
)

// emptyDir makes an empty directory, on disk or in memory, that all may write
// to, unless it is there: then it is as its containers have left it, its mode too.
func (v *Volumes) emptyDir(pod *corev1.Pod, dir string, s *corev1.EmptyDirVolumeSource) error {
	switch s.Medium {
	case corev1.StorageMediumDefault:
		return makeWorldWritable(dir, fsGroup(pod))
	case corev1.StorageMediumMemory:
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		return mountTmpfs(dir, v.memorySize(pod, s), 0o777, fsGroup(pod))
	}
	return fmt.Errorf("emptyDir.medium %q: not supported; use \"\" (disk) or \"Memory\"", s.Medium)
}

// makeWorldWritable makes a directory that all may write to, unless it is there. It is made under another
// name, so that one that is there is done.
func makeWorldWritable(dir string, group int) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	fresh := dir + ".new" // no volume is called so
	if err := os.MkdirAll(fresh, 0o755); err != nil {
		return err
	}
	if err := setOwnership(fresh, 0o777, group); err != nil {
		return err
	}
	return os.Rename(fresh, dir)
}

// memorySize is the smallest of what the volume, the pod's memory limit and the node
// allow; 0 where nothing does. Without a size one pod could fill half of the machine's memory.
func (v *Volumes) memorySize(pod *corev1.Pod, s *corev1.EmptyDirVolumeSource) int64 {
	node := v.opts.Node().Status.Allocatable[corev1.ResourceMemory]
	limits := resource.PodLimits(pod, resource.PodResourcesOptions{})[corev1.ResourceMemory]
	var size, own int64
	if s.SizeLimit != nil {
		own = s.SizeLimit.Value()
	}
	for _, n := range []int64{node.Value(), limits.Value(), own} {
		if n > 0 && (size == 0 || n < size) {
			size = n
		}
	}
	return size
}
