package poddefaults

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/apiserver/podvalidation/defaulting"
)

// defaultFileMode is the default mode of projected files.
const defaultFileMode int32 = 0o644

// tokenLifetime is the default lifetime of a projected service account token, in seconds.
const tokenLifetime int64 = 60 * 60

func defaultVolume(v *corev1.Volume) {
	if v.VolumeSource == (corev1.VolumeSource{}) {
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	switch {
	case v.HostPath != nil:
		defaulting.SetPointer(&v.HostPath.Type, corev1.HostPathUnset)
	case v.Secret != nil:
		defaulting.SetPointer(&v.Secret.DefaultMode, defaultFileMode)
	case v.ConfigMap != nil:
		defaulting.SetPointer(&v.ConfigMap.DefaultMode, defaultFileMode)
	case v.DownwardAPI != nil:
		defaulting.SetPointer(&v.DownwardAPI.DefaultMode, defaultFileMode)
		defaultDownwardFiles(v.DownwardAPI.Items)
	case v.Projected != nil:
		defaultProjected(v.Projected)
	case v.Ephemeral != nil:
		if template := v.Ephemeral.VolumeClaimTemplate; template != nil {
			DefaultPersistentVolumeClaimSpec(&template.Spec)
		}
	case v.Image != nil:
		defaulting.Set(&v.Image.PullPolicy, pullPolicyFor(v.Image.Reference))
	default:
		defaultRemoteVolume(v)
	}
}

func defaultRemoteVolume(v *corev1.Volume) {
	switch {
	case v.ISCSI != nil:
		defaulting.Set(&v.ISCSI.ISCSIInterface, "default")
	case v.RBD != nil:
		defaulting.Set(&v.RBD.RBDPool, "rbd")
		defaulting.Set(&v.RBD.RadosUser, "admin")
		defaulting.Set(&v.RBD.Keyring, "/etc/ceph/keyring")
	case v.AzureDisk != nil:
		defaulting.SetPointer(&v.AzureDisk.CachingMode, corev1.AzureDataDiskCachingReadWrite)
		defaulting.SetPointer(&v.AzureDisk.Kind, corev1.AzureSharedBlobDisk)
		defaulting.SetPointer(&v.AzureDisk.FSType, "ext4")
		defaulting.SetPointer(&v.AzureDisk.ReadOnly, false)
	case v.ScaleIO != nil:
		defaulting.Set(&v.ScaleIO.StorageMode, "ThinProvisioned")
		defaulting.Set(&v.ScaleIO.FSType, "xfs")
	}
}

func defaultProjected(p *corev1.ProjectedVolumeSource) {
	defaulting.SetPointer(&p.DefaultMode, defaultFileMode)
	for i := range p.Sources {
		source := &p.Sources[i]
		if source.DownwardAPI != nil {
			defaultDownwardFiles(source.DownwardAPI.Items)
		}
		if source.ServiceAccountToken != nil {
			defaulting.SetPointer(&source.ServiceAccountToken.ExpirationSeconds, tokenLifetime)
		}
		if source.PodCertificate != nil {
			defaulting.SetPointer(&source.PodCertificate.MaxExpirationSeconds, 24*60*60)
		}
	}
}

func defaultDownwardFiles(files []corev1.DownwardAPIVolumeFile) {
	for i := range files {
		defaultFieldRef(files[i].FieldRef)
	}
}

// DefaultPersistentVolumeClaimSpec sets the defaults of a claim or a claim template.
func DefaultPersistentVolumeClaimSpec(spec *corev1.PersistentVolumeClaimSpec) {
	defaulting.SetPointer(&spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	DefaultResourceList(spec.Resources.Limits)
	DefaultResourceList(spec.Resources.Requests)
}
