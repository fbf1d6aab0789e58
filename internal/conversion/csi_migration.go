package conversion

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	csitranslation "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/engine/model"
)

// The in-tree plugins that a CSI driver stands in for. Handles that cannot be
// translated are names: they tell volumes apart.
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

func migratedVolume(plugin, handle string) model.CSIVolume {
	return model.CSIVolume{Driver: migratedDrivers[plugin], Handle: handle, InTree: plugin}
}

// unspecifiedZone begins the handle of a disk whose project and zone are not known; a
// persistent volume's handle has its zone, if it is labelled with one.
const unspecifiedZone = "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/"

// translateInlineVolume is what stands in for a pod's own in-tree volume; zero for others.
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

// csiVolume is a persistent volume as a CSI driver knows it; zero when none does.
func csiVolume(v *corev1.PersistentVolumeSource) model.CSIVolume {
	switch {
	case v.CSI != nil:
		return model.CSIVolume{Driver: v.CSI.Driver, Handle: v.CSI.VolumeHandle}
	case v.Cinder != nil: // the one whose source has another type
		return migratedVolume(pluginCinder, v.Cinder.VolumeID)
	}
	return translateInlineVolume(&corev1.VolumeSource{
		GCEPersistentDisk: v.GCEPersistentDisk, AWSElasticBlockStore: v.AWSElasticBlockStore, AzureDisk: v.AzureDisk,
		VsphereVolume: v.VsphereVolume, PortworxVolume: v.PortworxVolume,
	})
}

// ebsID takes the zone out of "aws://zone/vol-1".
func ebsID(id string) string { return id[strings.LastIndex(id, "/")+1:] }

// migrate adds what an in-tree volume is on nodes that have migrated its plugin.
func migrate(out *model.PersistentVolume, v *corev1.PersistentVolume) {
	if out.CSI.InTree == "" {
		return
	}
	out.Migrated = out.Affinity
	// The translator is given one source: it trips over several.
	single := &corev1.PersistentVolume{ObjectMeta: v.ObjectMeta, Spec: v.Spec}
	single.Spec.PersistentVolumeSource = translatable(&v.Spec.PersistentVolumeSource)
	translator := csitranslation.New()
	if !translator.IsPVMigratable(single) {
		return
	}
	translated, err := translator.TranslateInTreePVToCSI(klog.Logger{}, single)
	if err != nil {
		out.MigrationError = err.Error()
		out.CSI.Driver, out.CSI.Handle = "", "" // limits do not count it
		return
	}
	out.Migrated = volumeAffinity(translated)
	if translated.Spec.CSI != nil {
		out.CSI.Handle = translated.Spec.CSI.VolumeHandle
	}
}

// translatable is the source that volumeCSI looks at, alone.
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
