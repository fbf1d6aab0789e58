package podvalidation

import corev1 "k8s.io/api/core/v1"

// fileMode is the default mode of projected files.
const fileMode int32 = 0o644

// tokenLifetime is the default lifetime of a projected service account token, in seconds.
const tokenLifetime int64 = 60 * 60

func defaultVolume(v *corev1.Volume) {
	if v.VolumeSource == (corev1.VolumeSource{}) {
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	switch {
	case v.HostPath != nil:
		setDefaultPtr(&v.HostPath.Type, corev1.HostPathUnset)
	case v.Secret != nil:
		setDefaultPtr(&v.Secret.DefaultMode, fileMode)
	case v.ConfigMap != nil:
		setDefaultPtr(&v.ConfigMap.DefaultMode, fileMode)
	case v.DownwardAPI != nil:
		setDefaultPtr(&v.DownwardAPI.DefaultMode, fileMode)
		defaultDownwardFiles(v.DownwardAPI.Items)
	case v.Projected != nil:
		defaultProjected(v.Projected)
	case v.Ephemeral != nil:
		if template := v.Ephemeral.VolumeClaimTemplate; template != nil {
			DefaultPersistentVolumeClaimSpec(&template.Spec)
		}
	case v.Image != nil:
		setDefault(&v.Image.PullPolicy, pullPolicyFor(v.Image.Reference))
	default:
		defaultRemoteVolume(v)
	}
}

func defaultRemoteVolume(v *corev1.Volume) {
	switch {
	case v.ISCSI != nil:
		setDefault(&v.ISCSI.ISCSIInterface, "default")
	case v.RBD != nil:
		setDefault(&v.RBD.RBDPool, "rbd")
		setDefault(&v.RBD.RadosUser, "admin")
		setDefault(&v.RBD.Keyring, "/etc/ceph/keyring")
	case v.AzureDisk != nil:
		setDefaultPtr(&v.AzureDisk.CachingMode, corev1.AzureDataDiskCachingReadWrite)
		setDefaultPtr(&v.AzureDisk.Kind, corev1.AzureSharedBlobDisk)
		setDefaultPtr(&v.AzureDisk.FSType, "ext4")
		setDefaultPtr(&v.AzureDisk.ReadOnly, false)
	case v.ScaleIO != nil:
		setDefault(&v.ScaleIO.StorageMode, "ThinProvisioned")
		setDefault(&v.ScaleIO.FSType, "xfs")
	}
}

func defaultProjected(p *corev1.ProjectedVolumeSource) {
	setDefaultPtr(&p.DefaultMode, fileMode)
	for i := range p.Sources {
		source := &p.Sources[i]
		if source.DownwardAPI != nil {
			defaultDownwardFiles(source.DownwardAPI.Items)
		}
		if source.ServiceAccountToken != nil {
			setDefaultPtr(&source.ServiceAccountToken.ExpirationSeconds, tokenLifetime)
		}
		if source.PodCertificate != nil {
			setDefaultPtr(&source.PodCertificate.MaxExpirationSeconds, 24*60*60)
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
	setDefaultPtr(&spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	DefaultResourceList(spec.Resources.Limits)
	DefaultResourceList(spec.Resources.Requests)
}
