package main

import (
	"path/filepath"

	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/mounts"
	"github.com/berthproject/berth/internal/localcluster"
)

// unmountVolumes unmounts the claims of a data directory, which agents on this machine have
// mounted. With detach it includes those that running pods use.
func unmountVolumes(dir string, detach bool) {
	dir, err := filepath.EvalSymlinks(filepath.Join(dir, localcluster.VolumesDir)) // as in mountinfo
	if err != nil {
		return
	}
	points, err := mounts.At(dir)
	if err != nil || len(points) == 0 {
		return
	}
	if err := mounts.Unmount(points, detach); err != nil {
		klog.Background().Info("Claims stay mounted", "directory", dir, "err", err.Error())
	}
}
