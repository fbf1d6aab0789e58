package podvalidation

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// remoteVolumeTypes returns the types of network volumes and API objects.
func (c *podValidator) remoteVolumeTypes(v *corev1.Volume) []volumeType {
	return append([]volumeType{
		{"glusterfs", v.Glusterfs != nil, func(p *field.Path) {
			c.requireNonEmpty(v.Glusterfs.EndpointsName, p.Child("endpoints"))
			c.requireNonEmpty(v.Glusterfs.Path, p.Child("path"))
			c.forbidBacksteps(v.Glusterfs.Path, p.Child("path"))
		}},
		{"flocker", v.Flocker != nil, func(p *field.Path) { c.validateFlocker(v.Flocker, p) }},
		{"persistentVolumeClaim", v.PersistentVolumeClaim != nil, func(p *field.Path) {
			c.requireNonEmpty(v.PersistentVolumeClaim.ClaimName, p.Child("claimName"))
		}},
		{"rbd", v.RBD != nil, func(p *field.Path) {
			c.requireNonEmptyList(len(v.RBD.CephMonitors), p.Child("monitors"))
			c.requireNonEmpty(v.RBD.RBDImage, p.Child("image"))
		}},
		{"cinder", v.Cinder != nil, func(p *field.Path) {
			c.requireNonEmpty(v.Cinder.VolumeID, p.Child("volumeID"))
			if ref := v.Cinder.SecretRef; ref != nil {
				c.requireNonEmpty(ref.Name, p.Child("secretRef", "name"))
			}
		}},
		{"cephfs", v.CephFS != nil, func(p *field.Path) { c.requireNonEmptyList(len(v.CephFS.Monitors), p.Child("monitors")) }},
		{"quobyte", v.Quobyte != nil, func(p *field.Path) { c.validateQuobyte(v.Quobyte, p) }},
		{"downwardAPI", v.DownwardAPI != nil, func(p *field.Path) {
			c.validateFileMode(v.DownwardAPI.DefaultMode, p.Child("defaultMode"))
			for i := range v.DownwardAPI.Items {
				c.validateDownwardFile(&v.DownwardAPI.Items[i], p)
			}
		}},
		{"fc", v.FC != nil, func(p *field.Path) { c.validateFibreChannel(v.FC, p) }},
		{"flexVolume", v.FlexVolume != nil, func(p *field.Path) { c.validateFlexVolume(v.FlexVolume, p) }},
		{"configMap", v.ConfigMap != nil, func(p *field.Path) {
			c.requireNonEmpty(v.ConfigMap.Name, p.Child("name"))
			c.validateFileMode(v.ConfigMap.DefaultMode, p.Child("defaultMode"))
			c.validateKeysToPaths(v.ConfigMap.Items, p.Child("items"))
		}},
	}, c.vendorVolumeTypes(v)...)
}

// vendorVolumeTypes returns the types of removed in-tree volume plugins.
func (c *podValidator) vendorVolumeTypes(v *corev1.Volume) []volumeType {
	return []volumeType{
		{"azureFile", v.AzureFile != nil, func(p *field.Path) {
			c.requireNonEmpty(v.AzureFile.SecretName, p.Child("secretName"))
			c.requireNonEmpty(v.AzureFile.ShareName, p.Child("shareName"))
		}},
		{"vsphereVolume", v.VsphereVolume != nil, func(p *field.Path) {
			c.requireNonEmpty(v.VsphereVolume.VolumePath, p.Child("volumePath"))
		}},
		{"photonPersistentDisk", v.PhotonPersistentDisk != nil, func(p *field.Path) {
			c.requireNonEmpty(v.PhotonPersistentDisk.PdID, p.Child("pdID"))
		}},
		{"portworxVolume", v.PortworxVolume != nil, func(p *field.Path) {
			c.requireNonEmpty(v.PortworxVolume.VolumeID, p.Child("volumeID"))
		}},
		{"azureDisk", v.AzureDisk != nil, func(p *field.Path) { c.validateAzureDisk(v.AzureDisk, p) }},
		{"storageos", v.StorageOS != nil, func(p *field.Path) { c.validateStorageOS(v.StorageOS, p) }},
		{"scaleIO", v.ScaleIO != nil, func(p *field.Path) {
			c.requireNonEmpty(v.ScaleIO.Gateway, p.Child("gateway"))
			c.requireNonEmpty(v.ScaleIO.System, p.Child("system"))
			c.requireNonEmpty(v.ScaleIO.VolumeName, p.Child("volumeName"))
		}},
	}
}
