package poddefaults

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
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
		podfields.SetDefaultPtr(&v.HostPath.Type, corev1.HostPathUnset)
	case v.Secret != nil:
		podfields.SetDefaultPtr(&v.Secret.DefaultMode, defaultFileMode)
	case v.ConfigMap != nil:
		podfields.SetDefaultPtr(&v.ConfigMap.DefaultMode, defaultFileMode)
	case v.DownwardAPI != nil:
		podfields.SetDefaultPtr(&v.DownwardAPI.DefaultMode, defaultFileMode)
		defaultDownwardFiles(v.DownwardAPI.Items)
	case v.Projected != nil:
		defaultProjected(v.Projected)
	case v.Ephemeral != nil:
		if template := v.Ephemeral.VolumeClaimTemplate; template != nil {
			DefaultPersistentVolumeClaimSpec(&template.Spec)
		}
	case v.Image != nil:
		podfields.SetDefault(&v.Image.PullPolicy, pullPolicyFor(v.Image.Reference))
	default:
		defaultRemoteVolume(v)
	}
}

func defaultRemoteVolume(v *corev1.Volume) {
	switch {
	case v.ISCSI != nil:
		podfields.SetDefault(&v.ISCSI.ISCSIInterface, "default")
	case v.RBD != nil:
		podfields.SetDefault(&v.RBD.RBDPool, "rbd")
		podfields.SetDefault(&v.RBD.RadosUser, "admin")
		podfields.SetDefault(&v.RBD.Keyring, "/etc/ceph/keyring")
	case v.AzureDisk != nil:
		podfields.SetDefaultPtr(&v.AzureDisk.CachingMode, corev1.AzureDataDiskCachingReadWrite)
		podfields.SetDefaultPtr(&v.AzureDisk.Kind, corev1.AzureSharedBlobDisk)
		podfields.SetDefaultPtr(&v.AzureDisk.FSType, "ext4")
		podfields.SetDefaultPtr(&v.AzureDisk.ReadOnly, false)
	case v.ScaleIO != nil:
		podfields.SetDefault(&v.ScaleIO.StorageMode, "ThinProvisioned")
		podfields.SetDefault(&v.ScaleIO.FSType, "xfs")
	}
}

func defaultProjected(p *corev1.ProjectedVolumeSource) {
	podfields.SetDefaultPtr(&p.DefaultMode, defaultFileMode)
	for i := range p.Sources {
		source := &p.Sources[i]
		if source.DownwardAPI != nil {
			defaultDownwardFiles(source.DownwardAPI.Items)
		}
		if source.ServiceAccountToken != nil {
			podfields.SetDefaultPtr(&source.ServiceAccountToken.ExpirationSeconds, tokenLifetime)
		}
		if source.PodCertificate != nil {
			podfields.SetDefaultPtr(&source.PodCertificate.MaxExpirationSeconds, 24*60*60)
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
	podfields.SetDefaultPtr(&spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	DefaultResourceList(spec.Resources.Limits)
	DefaultResourceList(spec.Resources.Requests)
}
