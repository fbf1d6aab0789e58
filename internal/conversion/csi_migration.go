package conversion

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	csitranslation "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/engine/model"
)

// In-tree volume plugins that are migrated to CSI drivers. Handles that cannot be
// translated are names, which suffice to distinguish volumes.
const (
	pluginGCE      = "kubernetes.io/gce-pd"
	pluginEBS      = "kubernetes.io/aws-ebs"
	pluginAzure    = "kubernetes.io/azure-disk"
	pluginCinder   = "kubernetes.io/cinder"
	pluginVSphere  = "kubernetes.io/vsphere-volume"
	pluginPortworx = "kubernetes.io/portworx-volume"
)

// migratedDrivers maps in-tree plugins to their CSI drivers.
var migratedDrivers = map[string]string{
	pluginGCE:                  "pd.csi.storage.gke.io",
	pluginEBS:                  "ebs.csi.aws.com",
	pluginAzure:                "disk.csi.azure.com",
	"kubernetes.io/azure-file": "file.csi.azure.com",
	pluginCinder:               "cinder.csi.openstack.org",
	pluginVSphere:              "csi.vsphere.vmware.com",
	pluginPortworx:             "pxd.portworx.com",
}

func migratedVolume(plugin, handle string) model.CSIVolume {
	return model.CSIVolume{Driver: migratedDrivers[plugin], Handle: handle, InTree: plugin}
}

// unspecifiedZone is the prefix of the handle of a disk whose project and zone are unknown. The
// handle of a persistent volume has its zone if the volume is labeled with one.
const unspecifiedZone = "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/"

// translateInlineVolume returns the CSI volume of a pod's inline in-tree volume, or the zero value.
func translateInlineVolume(v *corev1.VolumeSource) model.CSIVolume {
	switch {
	case v.GCEPersistentDisk != nil:
		return migratedVolume(pluginGCE, unspecifiedZone+v.GCEPersistentDisk.PDName)
	case v.AWSElasticBlockStore != nil:
		return migratedVolume(pluginEBS, ebsID(v.AWSElasticBlockStore.VolumeID))
	case v.AzureDisk != nil:
		return migratedVolume(pluginAzure, v.AzureDisk.DataDiskURI)
	case v.Cinder != nil:
		return migratedVolume(pluginCinder, v.Cinder.VolumeID)
	case v.VsphereVolume != nil:
		return migratedVolume(pluginVSphere, v.VsphereVolume.VolumePath)
	case v.PortworxVolume != nil:
		return migratedVolume(pluginPortworx, v.PortworxVolume.VolumeID)
	}
	return model.CSIVolume{}
}

// csiVolume returns the CSI volume of a persistent volume, or the zero value.
func csiVolume(v *corev1.PersistentVolumeSource) model.CSIVolume {
	switch {
	case v.CSI != nil:
		return model.CSIVolume{Driver: v.CSI.Driver, Handle: v.CSI.VolumeHandle}
	case v.Cinder != nil: // the only one whose source has another type
		return migratedVolume(pluginCinder, v.Cinder.VolumeID)
	}
	return translateInlineVolume(&corev1.VolumeSource{
		GCEPersistentDisk: v.GCEPersistentDisk, AWSElasticBlockStore: v.AWSElasticBlockStore, AzureDisk: v.AzureDisk,
		VsphereVolume: v.VsphereVolume, PortworxVolume: v.PortworxVolume,
	})
}

// ebsID removes the zone from "aws://zone/vol-1".
func ebsID(id string) string { return id[strings.LastIndex(id, "/")+1:] }

// migrate adds the CSI form of an in-tree volume, for nodes that have migrated its plugin.
func migrate(out *model.PersistentVolume, v *corev1.PersistentVolume) {
	if out.CSI.InTree == "" {
		return
	}
	out.Migrated = out.Affinity
	// The translator accepts one source only.
	volume := &corev1.PersistentVolume{ObjectMeta: v.ObjectMeta, Spec: v.Spec}
	volume.Spec.PersistentVolumeSource = translatable(&v.Spec.PersistentVolumeSource)
	translator := csitranslation.New()
	if !translator.IsPVMigratable(volume) {
		return
	}
	translated, err := translator.TranslateInTreePVToCSI(klog.Logger{}, volume)
	if err != nil {
		out.MigrationError = err.Error()
		out.CSI.Driver, out.CSI.Handle = "", "" // volume limits do not count it
		return
	}
	out.Migrated = volumeAffinity(translated)
	if translated.Spec.CSI != nil {
		out.CSI.Handle = translated.Spec.CSI.VolumeHandle
	}
}

// translatable returns a copy with only the source that csiVolume uses.
func translatable(v *corev1.PersistentVolumeSource) (out corev1.PersistentVolumeSource) {
	switch {
	case v.CSI != nil:
	case v.GCEPersistentDisk != nil:
		out.GCEPersistentDisk = v.GCEPersistentDisk
	case v.AWSElasticBlockStore != nil:
		out.AWSElasticBlockStore = v.AWSElasticBlockStore
	case v.AzureDisk != nil:
		out.AzureDisk = v.AzureDisk
	case v.Cinder != nil:
		out.Cinder = v.Cinder
	case v.VsphereVolume != nil:
		out.VsphereVolume = v.VsphereVolume
	case v.PortworxVolume != nil:
		out.PortworxVolume = v.PortworxVolume
	}
	return out
}
