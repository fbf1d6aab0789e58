package volume

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/mounts"
)

// subPathsDir contains the bind mounts of subPaths.
const subPathsDir = "volume-subpaths"

// Teardown unmounts and removes the volumes of a pod without containers, then the pod's
// directory if it is empty. The pod need not be prepared. After an error it can be called
// again.
func (v *Volumes) Teardown(uid types.UID) error {
	dir, err := v.podDir(uid)
	if err != nil {
		return err
	}
	if p := v.findPod(uid); p != nil {
		p.setUpMu.Lock()
		p.mu.Lock()
		p.tornDown = true
		p.mu.Unlock()
		p.setUpMu.Unlock()
	}
	if err := unmountAndRemove(filepath.Join(dir, subPathsDir)); err != nil {
		return fmt.Errorf("volumes of pod %s: %w", uid, err)
	}
	if err := v.releaseImages(uid, dir); err != nil {
		return fmt.Errorf("volumes of pod %s: %w", uid, err)
	}
	if err := unmountAndRemove(filepath.Join(dir, "volumes")); err != nil {
		return fmt.Errorf("volumes of pod %s: %w", uid, err)
	}
	v.releaseProvisioned(uid)
	v.mu.Lock()
	delete(v.pods, uid)
	v.mu.Unlock()
	_ = os.Remove(dir) // fails if it is not empty
	return nil
}

// unmountAndRemove unmounts everything below dir and removes it. It removes nothing if a
// mount remains. It makes mounts private first: otherwise unmounting would propagate to the node's
// own tree.
func unmountAndRemove(dir string) error {
	points, err := mounts.At(dir)
	if err != nil {
		return err
	}
	for _, p := range points {
		if err := unix.Mount("", p, "", unix.MS_PRIVATE, ""); err != nil && !errors.Is(err, unix.EINVAL) { // EINVAL: hidden by another mount
			return fmt.Errorf("making mount %s private: %w", p, err)
		}
	}
	for _, p := range slices.Backward(points) {
		if err := unmount(p); err != nil {
			return err
		}
	}
	if points, err = mounts.At(dir); err != nil {
		return err
	}
	if len(points) > 0 {
		return fmt.Errorf("%s is still mounted", points[0])
	}
	return os.RemoveAll(dir)
}
