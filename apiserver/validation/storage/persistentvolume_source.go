package storage

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

// sourceField is a volume source with its validation.
type sourceField struct {
	name  string
	set   bool
	check func(at *field.Path) field.ErrorList
}

// volumeSource requires exactly one source. They are evaluated in the order of kube-apiserver.
func volumeSource(pv *corev1.PersistentVolume, hasAffinity bool) field.ErrorList {
	at := field.NewPath("spec")
	var errs field.ErrorList
	count := 0
	for _, f := range volumeSources(&pv.Spec, hasAffinity) {
		if !f.set {
			continue
		}
		if count > 0 {
			errs = append(errs, field.Forbidden(at.Child(f.name), "may not specify more than 1 volume type"))
			continue
		}
		count++
		if f.check != nil {
			errs = append(errs, f.check(at.Child(f.name))...)
		}
	}
	if count == 0 {
		errs = append(errs, field.Required(at, "must specify a volume type"))
	}
	return errs
}

func volumeSources(s *corev1.PersistentVolumeSpec, hasAffinity bool) []sourceField {
	return []sourceField{
		{"hostPath", s.HostPath != nil, func(at *field.Path) field.ErrorList { return hostPathVolume(s.HostPath, at) }},
		{"gcePersistentDisk", s.GCEPersistentDisk != nil, func(at *field.Path) field.ErrorList {
			return required(at, namedValue{"pdName", s.GCEPersistentDisk.PDName})
		}},
		{"awsElasticBlockStore", s.AWSElasticBlockStore != nil, func(at *field.Path) field.ErrorList {
			return required(at, namedValue{"volumeID", s.AWSElasticBlockStore.VolumeID})
		}},
		{"glusterfs", s.Glusterfs != nil, func(at *field.Path) field.ErrorList {
			return required(at, namedValue{"endpoints", s.Glusterfs.EndpointsName}, namedValue{"path", s.Glusterfs.Path})
		}},
		{"flocker", s.Flocker != nil, nil},
		{"nfs", s.NFS != nil, func(at *field.Path) field.ErrorList { return nfsVolume(s.NFS, at) }},
		{"rbd", s.RBD != nil, func(at *field.Path) field.ErrorList {
			errs := field.ErrorList{}
			if len(s.RBD.CephMonitors) == 0 {
				errs = append(errs, field.Required(at.Child("monitors"), ""))
			}
			return append(errs, required(at, namedValue{"image", s.RBD.RBDImage})...)
		}},
		{"quobyte", s.Quobyte != nil, func(at *field.Path) field.ErrorList {
			return required(at, namedValue{"registry", s.Quobyte.Registry}, namedValue{"volume", s.Quobyte.Volume})
		}},
		{"cephFS", s.CephFS != nil, func(at *field.Path) field.ErrorList {
			if len(s.CephFS.Monitors) == 0 {
				return field.ErrorList{field.Required(at.Child("monitors"), "")}
			}
			return nil
		}},
		{"iscsi", s.ISCSI != nil, func(at *field.Path) field.ErrorList {
			return required(at, namedValue{"targetPortal", s.ISCSI.TargetPortal}, namedValue{"iqn", s.ISCSI.IQN})
		}},
		{"cinder", s.Cinder != nil, func(at *field.Path) field.ErrorList { return required(at, namedValue{"volumeID", s.Cinder.VolumeID}) }},
		{"fc", s.FC != nil, nil},
		{"flexVolume", s.FlexVolume != nil, func(at *field.Path) field.ErrorList { return required(at, namedValue{"driver", s.FlexVolume.Driver}) }},
		{"azureFile", s.AzureFile != nil, func(at *field.Path) field.ErrorList {
			return required(at, namedValue{"secretName", s.AzureFile.SecretName}, namedValue{"shareName", s.AzureFile.ShareName})
		}},
		{"vsphereVolume", s.VsphereVolume != nil, func(at *field.Path) field.ErrorList {
			return required(at, namedValue{"volumePath", s.VsphereVolume.VolumePath})
		}},
		{"photonPersistentDisk", s.PhotonPersistentDisk != nil, func(at *field.Path) field.ErrorList {
			return required(at, namedValue{"pdID", s.PhotonPersistentDisk.PdID})
		}},
		{"portworxVolume", s.PortworxVolume != nil, func(at *field.Path) field.ErrorList {
			return required(at, namedValue{"volumeID", s.PortworxVolume.VolumeID})
		}},
		{"azureDisk", s.AzureDisk != nil, func(at *field.Path) field.ErrorList {
			return required(at, namedValue{"diskName", s.AzureDisk.DiskName}, namedValue{"diskURI", s.AzureDisk.DataDiskURI})
		}},
		{"scaleIO", s.ScaleIO != nil, func(at *field.Path) field.ErrorList {
			return required(at, namedValue{"gateway", s.ScaleIO.Gateway}, namedValue{"system", s.ScaleIO.System}, namedValue{"volumeName", s.ScaleIO.VolumeName})
		}},
		{"storageos", s.StorageOS != nil, nil},
		{"local", s.Local != nil, func(at *field.Path) field.ErrorList { return localVolume(s.Local, hasAffinity, at) }},
		{"csi", s.CSI != nil, func(at *field.Path) field.ErrorList { return csiVolume(s.CSI, at) }},
	}
}

type namedValue struct{ name, value string }

func required(at *field.Path, fields ...namedValue) field.ErrorList {
	var errs field.ErrorList
	for _, f := range fields {
		if f.value == "" {
			errs = append(errs, field.Required(at.Child(f.name), ""))
		}
	}
	return errs
}

// noBacksteps rejects paths with "..".
func noBacksteps(value string, at *field.Path) field.ErrorList {
	if slices.Contains(strings.Split(strings.ReplaceAll(value, `\`, "/"), "/"), "..") {
		return field.ErrorList{field.Invalid(at, value, "must not contain '..'")}
	}
	return nil
}

func hostPathVolume(s *corev1.HostPathVolumeSource, at *field.Path) field.ErrorList {
	if s.Path == "" {
		return field.ErrorList{field.Required(at.Child("path"), "")}
	}
	errs := noBacksteps(s.Path, at.Child("path"))
	if s.Type == nil {
		return errs
	}
	kinds := sets.List(sets.New(corev1.HostPathUnset, corev1.HostPathDirectoryOrCreate, corev1.HostPathDirectory, corev1.HostPathFileOrCreate,
		corev1.HostPathFile, corev1.HostPathSocket, corev1.HostPathCharDev, corev1.HostPathBlockDev))
	return append(errs, checks.OneOf(*s.Type, at.Child("type"), kinds...)...)
}

func nfsVolume(s *corev1.NFSVolumeSource, at *field.Path) field.ErrorList {
	errs := required(at, namedValue{"server", s.Server}, namedValue{"path", s.Path})
	if s.Path != "" && !path.IsAbs(s.Path) {
		errs = append(errs, field.Invalid(at.Child("path"), s.Path, "must be an absolute path"))
	}
	return errs
}

func localVolume(s *corev1.LocalVolumeSource, hasAffinity bool, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.Path == "" {
		errs = append(errs, field.Required(at.Child("path"), ""))
	} else {
		errs = append(errs, noBacksteps(s.Path, at.Child("path"))...)
	}
	if !hasAffinity {
		errs = append(errs, field.Required(field.NewPath("spec", "nodeAffinity"), "Local volume requires node affinity"))
	}
	return errs
}

func csiVolume(s *corev1.CSIPersistentVolumeSource, at *field.Path) field.ErrorList {
	errs := checks.CSIDriverName(s.Driver, at.Child("driver"))
	if s.VolumeHandle == "" {
		errs = append(errs, field.Required(at.Child("volumeHandle"), ""))
	}
	for _, secret := range []struct {
		name string
		ref  *corev1.SecretReference
	}{
		{"controllerPublishSecretRef", s.ControllerPublishSecretRef},
		{"controllerExpandSecretRef", s.ControllerExpandSecretRef},
		{"nodePublishSecretRef", s.NodePublishSecretRef},
		{"nodeExpandSecretRef", s.NodeExpandSecretRef},
	} {
		if secret.ref != nil {
			errs = append(errs, required(at.Child(secret.name), namedValue{"name", secret.ref.Name}, namedValue{"namespace", secret.ref.Namespace})...)
		}
	}
	return errs
}
