package poddefaults

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/apiserver/podvalidation/podutil"
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
		podutil.SetDefaultPtr(&v.HostPath.Type, corev1.HostPathUnset)
	case v.Secret != nil:
		podutil.SetDefaultPtr(&v.Secret.DefaultMode, defaultFileMode)
	case v.ConfigMap != nil:
		podutil.SetDefaultPtr(&v.ConfigMap.DefaultMode, defaultFileMode)
	case v.DownwardAPI != nil:
		podutil.SetDefaultPtr(&v.DownwardAPI.DefaultMode, defaultFileMode)
		defaultDownwardFiles(v.DownwardAPI.Items)
	case v.Projected != nil:
		defaultProjected(v.Projected)
	case v.Ephemeral != nil:
		if template := v.Ephemeral.VolumeClaimTemplate; template != nil {
			DefaultPersistentVolumeClaimSpec(&template.Spec)
		}
	case v.Image != nil:
		podutil.SetDefault(&v.Image.PullPolicy, pullPolicyFor(v.Image.Reference))
	default:
		defaultRemoteVolume(v)
	}
}

func defaultRemoteVolume(v *corev1.Volume) {
	switch {
	case v.ISCSI != nil:
		podutil.SetDefault(&v.ISCSI.ISCSIInterface, "default")
	case v.RBD != nil:
		podutil.SetDefault(&v.RBD.RBDPool, "rbd")
		podutil.SetDefault(&v.RBD.RadosUser, "admin")
		podutil.SetDefault(&v.RBD.Keyring, "/etc/ceph/keyring")
	case v.AzureDisk != nil:
		podutil.SetDefaultPtr(&v.AzureDisk.CachingMode, corev1.AzureDataDiskCachingReadWrite)
		podutil.SetDefaultPtr(&v.AzureDisk.Kind, corev1.AzureSharedBlobDisk)
		podutil.SetDefaultPtr(&v.AzureDisk.FSType, "ext4")
		podutil.SetDefaultPtr(&v.AzureDisk.ReadOnly, false)
	case v.ScaleIO != nil:
		podutil.SetDefault(&v.ScaleIO.StorageMode, "ThinProvisioned")
		podutil.SetDefault(&v.ScaleIO.FSType, "xfs")
	}
}

func defaultProjected(p *corev1.ProjectedVolumeSource) {
	podutil.SetDefaultPtr(&p.DefaultMode, defaultFileMode)
	for i := range p.Sources {
		source := &p.Sources[i]
		if source.DownwardAPI != nil {
			defaultDownwardFiles(source.DownwardAPI.Items)
		}
		if source.ServiceAccountToken != nil {
			podutil.SetDefaultPtr(&source.ServiceAccountToken.ExpirationSeconds, tokenLifetime)
		}
		if source.PodCertificate != nil {
			podutil.SetDefaultPtr(&source.PodCertificate.MaxExpirationSeconds, 24*60*60)
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
	podutil.SetDefaultPtr(&spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	DefaultResourceList(spec.Resources.Limits)
	DefaultResourceList(spec.Resources.Requests)
}
