package podvalidation

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// remoteVolumeTypes returns the types of network volumes and API objects.
func (c *podValidator) remoteVolumeTypes(v *corev1.Volume) []volumeType {
	return append([]volumeType{
		{"glusterfs", v.Glusterfs != nil, func(p *field.Path) {
			c.nonEmpty(v.Glusterfs.EndpointsName, p.Child("endpoints"))
			c.nonEmpty(v.Glusterfs.Path, p.Child("path"))
			c.noBacksteps(v.Glusterfs.Path, p.Child("path"))
		}},
		{"flocker", v.Flocker != nil, func(p *field.Path) { c.flocker(v.Flocker, p) }},
		{"persistentVolumeClaim", v.PersistentVolumeClaim != nil, func(p *field.Path) {
			c.nonEmpty(v.PersistentVolumeClaim.ClaimName, p.Child("claimName"))
		}},
		{"rbd", v.RBD != nil, func(p *field.Path) {
			c.requiredList(len(v.RBD.CephMonitors), p.Child("monitors"))
			c.nonEmpty(v.RBD.RBDImage, p.Child("image"))
		}},
		{"cinder", v.Cinder != nil, func(p *field.Path) {
			c.nonEmpty(v.Cinder.VolumeID, p.Child("volumeID"))
			if ref := v.Cinder.SecretRef; ref != nil {
				c.nonEmpty(ref.Name, p.Child("secretRef", "name"))
			}
		}},
		{"cephfs", v.CephFS != nil, func(p *field.Path) { c.requiredList(len(v.CephFS.Monitors), p.Child("monitors")) }},
		{"quobyte", v.Quobyte != nil, func(p *field.Path) { c.quobyte(v.Quobyte, p) }},
		{"downwardAPI", v.DownwardAPI != nil, func(p *field.Path) {
			c.fileMode(v.DownwardAPI.DefaultMode, p.Child("defaultMode"))
			for i := range v.DownwardAPI.Items {
				c.downwardFile(&v.DownwardAPI.Items[i], p)
			}
		}},
		{"fc", v.FC != nil, func(p *field.Path) { c.fibreChannel(v.FC, p) }},
		{"flexVolume", v.FlexVolume != nil, func(p *field.Path) { c.flexVolume(v.FlexVolume, p) }},
		{"configMap", v.ConfigMap != nil, func(p *field.Path) {
			c.nonEmpty(v.ConfigMap.Name, p.Child("name"))
			c.fileMode(v.ConfigMap.DefaultMode, p.Child("defaultMode"))
			c.keysToPaths(v.ConfigMap.Items, p.Child("items"))
		}},
	}, c.vendorVolumeTypes(v)...)
}

// vendorVolumeTypes returns the types of removed in-tree volume plugins.
func (c *podValidator) vendorVolumeTypes(v *corev1.Volume) []volumeType {
	return []volumeType{
		{"azureFile", v.AzureFile != nil, func(p *field.Path) {
			c.nonEmpty(v.AzureFile.SecretName, p.Child("secretName"))
			c.nonEmpty(v.AzureFile.ShareName, p.Child("shareName"))
		}},
		{"vsphereVolume", v.VsphereVolume != nil, func(p *field.Path) {
			c.nonEmpty(v.VsphereVolume.VolumePath, p.Child("volumePath"))
		}},
		{"photonPersistentDisk", v.PhotonPersistentDisk != nil, func(p *field.Path) {
			c.nonEmpty(v.PhotonPersistentDisk.PdID, p.Child("pdID"))
		}},
		{"portworxVolume", v.PortworxVolume != nil, func(p *field.Path) {
			c.nonEmpty(v.PortworxVolume.VolumeID, p.Child("volumeID"))
		}},
		{"azureDisk", v.AzureDisk != nil, func(p *field.Path) { c.azureDisk(v.AzureDisk, p) }},
		{"storageos", v.StorageOS != nil, func(p *field.Path) { c.storageOS(v.StorageOS, p) }},
		{"scaleIO", v.ScaleIO != nil, func(p *field.Path) {
			c.nonEmpty(v.ScaleIO.Gateway, p.Child("gateway"))
			c.nonEmpty(v.ScaleIO.System, p.Child("system"))
			c.nonEmpty(v.ScaleIO.VolumeName, p.Child("volumeName"))
		}},
	}
}

func (r *errorCollector) requiredList(count int, path *field.Path) {
	if count == 0 {
		r.required(path, "")
	}
}
