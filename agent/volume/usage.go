package volume

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/diskusage"
)

// Usage is the usage of a volume.
type Usage struct {
	Name string // in the pod's spec
	// Local reports whether the volume is on the node's own disk and counts as ephemeral storage.
	Local bool
	// Memory reports whether the volume is a tmpfs, whose bytes are memory.
	Memory bool
	// Claim is the name of the PersistentVolumeClaim, or "".
	Claim string
	// Limit is the capacity of a claim in bytes that the pod must not exceed. It is 0 without such a capacity, or if
	// the file system enforces it.
	Limit int64
	// SizeLimit is the size limit of an emptyDir in bytes, or 0.
	SizeLimit int64
	// Bytes and Inodes are the numbers in use.
	Bytes, Inodes int64
	// Capacity, Available (both in bytes), TotalInodes and FreeInodes are those of the volume's file
	// system. If Limit is set, Capacity and Available are those of the claim.
	Capacity, Available, TotalInodes, FreeInodes int64
}

// Usage measures the volumes of a prepared pod in the order of its spec. It skips hostPath volumes,
// images, block volumes and claims bound to a hostPath PersistentVolume. It walks the files of local
// volumes and of claims with a Limit, which can be slow. On an error it also returns the volumes
// that were measured.
func (v *Volumes) Usage(uid types.UID) ([]Usage, error) {
	p := v.findPod(uid)
	if p == nil {
		return nil, nil
	}
	p.mu.Lock()
	pod := p.pod
	measured := make([]mountedVolume, len(pod.Spec.Volumes))
	for i := range pod.Spec.Volumes {
		measured[i] = p.volumes[pod.Spec.Volumes[i].Name]
	}
	p.mu.Unlock()
	var out []Usage
	var errs []error
	for i, m := range measured {
		if !m.measured {
			continue
		}
		u, err := measureVolume(&pod.Spec.Volumes[i], m)
		if err != nil {
			errs = append(errs, fmt.Errorf("volume %q: %w", u.Name, err))
			continue
		}
		out = append(out, u)
	}
	return out, errors.Join(errs...)
}

// measureVolume returns the usage of a volume. It measures the files of local volumes and of claims
// with a Limit, and the file system of other volumes.
func measureVolume(volume *corev1.Volume, m mountedVolume) (Usage, error) {
	u := Usage{Name: volume.Name, Memory: m.tmpfs, Claim: m.claim, Limit: m.limit, Local: m.claim == "" && !m.tmpfs}
	if e := volume.EmptyDir; e != nil && e.SizeLimit != nil {
		u.SizeLimit = e.SizeLimit.Value()
	}
	var s unix.Statfs_t
	if err := unix.Statfs(m.hostPath, &s); err != nil {
		return u, err
	}
	size := s.Frsize
	u.Capacity, u.Available = int64(s.Blocks)*size, int64(s.Bavail)*size
	u.TotalInodes, u.FreeInodes = int64(s.Files), int64(s.Ffree)
	if u.Limit > 0 {
		usage, err := diskusage.Measure(m.hostPath)
		u.Bytes, u.Inodes, u.Capacity = usage.Bytes, usage.Inodes, u.Limit
		u.Available = max(min(u.Available, u.Limit-u.Bytes), 0)
		return u, err
	}
	if !u.Local { // a tmpfs, or a claim without a Limit
		u.Bytes, u.Inodes = int64(s.Blocks-s.Bfree)*size, int64(s.Files-s.Ffree)
		return u, nil
	}
	usage, err := diskusage.Measure(m.hostPath)
	u.Bytes, u.Inodes = usage.Bytes, usage.Inodes
	return u, err
}
