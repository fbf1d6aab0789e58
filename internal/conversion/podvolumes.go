package conversion

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/model"
)

// convertPodVolumes converts claims, legacy disks, and in-tree volumes that are migrated to CSI.
func convertPodVolumes(s *model.PodSpec, pod *corev1.Pod) {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		switch {
		case v.PersistentVolumeClaim != nil:
			s.Claims = append(s.Claims, model.PodClaim{Volume: v.Name, Claim: v.PersistentVolumeClaim.ClaimName})
		case v.Ephemeral != nil:
			s.Claims = append(s.Claims, model.PodClaim{Volume: v.Name, Claim: pod.Name + "-" + v.Name, Ephemeral: true})
		}
		if d, ok := restrictedDisk(&v.VolumeSource); ok {
			s.Disks = append(s.Disks, d)
		}
		if c := translateInlineVolume(&v.VolumeSource); c.Driver != "" {
			s.Inline = append(s.Inline, c)
		}
	}
}

// restrictedDisk converts a volume that the VolumeRestrictions plugin checks.
func restrictedDisk(v *corev1.VolumeSource) (model.InTreeDisk, bool) {
	switch {
	case v.GCEPersistentDisk != nil:
		return model.InTreeDisk{Kind: model.GCEDisk, ID: v.GCEPersistentDisk.PDName, ReadOnly: v.GCEPersistentDisk.ReadOnly}, true
	case v.AWSElasticBlockStore != nil:
		return model.InTreeDisk{Kind: model.AWSDisk, ID: v.AWSElasticBlockStore.VolumeID, ReadOnly: v.AWSElasticBlockStore.ReadOnly}, true
	case v.ISCSI != nil:
		return model.InTreeDisk{Kind: model.ISCSIDisk, ID: v.ISCSI.IQN, ReadOnly: v.ISCSI.ReadOnly}, true
	case v.RBD != nil:
		monitors := slices.Clone(v.RBD.CephMonitors)
		slices.Sort(monitors)
		pool := v.RBD.RBDPool
		if pool == "" {
			pool = "rbd" // the default of the API
		}
		return model.InTreeDisk{Kind: model.RBDDisk, ID: pool + "/" + v.RBD.RBDImage, Monitors: monitors, ReadOnly: v.RBD.ReadOnly}, true
	}
	return model.InTreeDisk{}, false
}
