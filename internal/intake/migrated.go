package intake

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/model"
)

// The in-tree plugins that a CSI driver stands in for. The handles need not be
// those of the driver byte for byte: they tell volumes apart.
const (
	pluginGCE      = "kubernetes.io/gce-pd"
	pluginEBS      = "kubernetes.io/aws-ebs"
	pluginAzure    = "kubernetes.io/azure-disk"
	pluginCinder   = "kubernetes.io/cinder"
	pluginVSphere  = "kubernetes.io/vsphere-volume"
	pluginPortworx = "kubernetes.io/portworx-volume"
)

// migratedDrivers are the drivers that stand in for in-tree plugins.
var migratedDrivers = map[string]string{
	pluginGCE:                  "pd.csi.storage.gke.io",
	pluginEBS:                  "ebs.csi.aws.com",
	pluginAzure:                "disk.csi.azure.com",
	"kubernetes.io/azure-file": "file.csi.azure.com",
	pluginCinder:               "cinder.csi.openstack.org",
	pluginVSphere:              "csi.vsphere.vmware.com",
	pluginPortworx:             "pxd.portworx.com",
}

func migrated(plugin, handle string) model.CSIVolume {
	return model.CSIVolume{Driver: migratedDrivers[plugin], Handle: handle, InTree: plugin}
}

// inlineCSI is what stands in for a pod's own in-tree volume; zero for others.
func inlineCSI(v *corev1.VolumeSource) model.CSIVolume {
	switch {
	case v.GCEPersistentDisk != nil:
		return migrated(pluginGCE, v.GCEPersistentDisk.PDName)
	case v.AWSElasticBlockStore != nil:
		return migrated(pluginEBS, ebsID(v.AWSElasticBlockStore.VolumeID))
	case v.AzureDisk != nil:
		return migrated(pluginAzure, v.AzureDisk.DataDiskURI)
	case v.Cinder != nil:
		return migrated(pluginCinder, v.Cinder.VolumeID)
	case v.VsphereVolume != nil:
		return migrated(pluginVSphere, v.VsphereVolume.VolumePath)
	case v.PortworxVolume != nil:
		return migrated(pluginPortworx, v.PortworxVolume.VolumeID)
	}
	return model.CSIVolume{}
}

// volumeCSI is a persistent volume as a CSI driver knows it; zero when none does.
func volumeCSI(v *corev1.PersistentVolumeSource) model.CSIVolume {
	switch {
	case v.CSI != nil:
		return model.CSIVolume{Driver: v.CSI.Driver, Handle: v.CSI.VolumeHandle}
	case v.GCEPersistentDisk != nil:
		return migrated(pluginGCE, v.GCEPersistentDisk.PDName)
	case v.AWSElasticBlockStore != nil:
		return migrated(pluginEBS, ebsID(v.AWSElasticBlockStore.VolumeID))
	case v.AzureDisk != nil:
		return migrated(pluginAzure, v.AzureDisk.DataDiskURI)
	case v.Cinder != nil:
		return migrated(pluginCinder, v.Cinder.VolumeID)
	case v.VsphereVolume != nil:
		return migrated(pluginVSphere, v.VsphereVolume.VolumePath)
	case v.PortworxVolume != nil:
		return migrated(pluginPortworx, v.PortworxVolume.VolumeID)
	}
	return model.CSIVolume{}
}

// ebsID takes the zone out of "aws://zone/vol-1".
func ebsID(id string) string { return id[strings.LastIndex(id, "/")+1:] }
