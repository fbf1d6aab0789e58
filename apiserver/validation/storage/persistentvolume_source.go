package storage

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation"
	"github.com/berthproject/berth/apiserver/validation/checks"
)

// volumeSource is a field of a PersistentVolumeSource with its validation.
type volumeSource struct {
	name     string
	isSet    bool
	validate func(fldPath *field.Path) field.ErrorList
}

// validateVolumeSource requires exactly one source, and validates the first in the order of kube-apiserver.
func validateVolumeSource(pv *corev1.PersistentVolume, hasAffinity bool) field.ErrorList {
	specPath := field.NewPath("spec")
	var errs field.ErrorList
	count := 0
	for _, f := range volumeSources(&pv.Spec, hasAffinity) {
		if !f.isSet {
			continue
		}
		if count > 0 {
			errs = append(errs, field.Forbidden(specPath.Child(f.name), "may not specify more than 1 volume type"))
			continue
		}
		count++
		if f.validate != nil {
			errs = append(errs, f.validate(specPath.Child(f.name))...)
		}
	}
	if count == 0 {
		errs = append(errs, field.Required(specPath, "must specify a volume type"))
	}
	return errs
}

func volumeSources(s *corev1.PersistentVolumeSpec, hasAffinity bool) []volumeSource {
	return []volumeSource{
		{"hostPath", s.HostPath != nil, func(fldPath *field.Path) field.ErrorList { return validateHostPathVolume(s.HostPath, fldPath) }},
		{"gcePersistentDisk", s.GCEPersistentDisk != nil, func(fldPath *field.Path) field.ErrorList {
			return validateRequired(fldPath, namedValue{"pdName", s.GCEPersistentDisk.PDName})
		}},
		{"awsElasticBlockStore", s.AWSElasticBlockStore != nil, func(fldPath *field.Path) field.ErrorList {
			return validateRequired(fldPath, namedValue{"volumeID", s.AWSElasticBlockStore.VolumeID})
		}},
		{"glusterfs", s.Glusterfs != nil, func(fldPath *field.Path) field.ErrorList {
			return validateRequired(fldPath, namedValue{"endpoints", s.Glusterfs.EndpointsName}, namedValue{"path", s.Glusterfs.Path})
		}},
		{"flocker", s.Flocker != nil, nil},
		{"nfs", s.NFS != nil, func(fldPath *field.Path) field.ErrorList { return validateNFSVolume(s.NFS, fldPath) }},
		{"rbd", s.RBD != nil, func(fldPath *field.Path) field.ErrorList {
			return append(requireMonitors(s.RBD.CephMonitors, fldPath), validateRequired(fldPath, namedValue{"image", s.RBD.RBDImage})...)
		}},
		{"quobyte", s.Quobyte != nil, func(fldPath *field.Path) field.ErrorList {
			return validateRequired(fldPath, namedValue{"registry", s.Quobyte.Registry}, namedValue{"volume", s.Quobyte.Volume})
		}},
		{"cephFS", s.CephFS != nil, func(fldPath *field.Path) field.ErrorList { return requireMonitors(s.CephFS.Monitors, fldPath) }},
		{"iscsi", s.ISCSI != nil, func(fldPath *field.Path) field.ErrorList {
			return validateRequired(fldPath, namedValue{"targetPortal", s.ISCSI.TargetPortal}, namedValue{"iqn", s.ISCSI.IQN})
		}},
		{"cinder", s.Cinder != nil, func(fldPath *field.Path) field.ErrorList {
			return validateRequired(fldPath, namedValue{"volumeID", s.Cinder.VolumeID})
		}},
		{"fc", s.FC != nil, nil},
		{"flexVolume", s.FlexVolume != nil, func(fldPath *field.Path) field.ErrorList {
			return validateRequired(fldPath, namedValue{"driver", s.FlexVolume.Driver})
		}},
		{"azureFile", s.AzureFile != nil, func(fldPath *field.Path) field.ErrorList {
			return validateRequired(fldPath, namedValue{"secretName", s.AzureFile.SecretName}, namedValue{"shareName", s.AzureFile.ShareName})
		}},
		{"vsphereVolume", s.VsphereVolume != nil, func(fldPath *field.Path) field.ErrorList {
			return validateRequired(fldPath, namedValue{"volumePath", s.VsphereVolume.VolumePath})
		}},
		{"photonPersistentDisk", s.PhotonPersistentDisk != nil, func(fldPath *field.Path) field.ErrorList {
			return validateRequired(fldPath, namedValue{"pdID", s.PhotonPersistentDisk.PdID})
		}},
		{"portworxVolume", s.PortworxVolume != nil, func(fldPath *field.Path) field.ErrorList {
			return validateRequired(fldPath, namedValue{"volumeID", s.PortworxVolume.VolumeID})
		}},
		{"azureDisk", s.AzureDisk != nil, func(fldPath *field.Path) field.ErrorList {
			return validateRequired(fldPath, namedValue{"diskName", s.AzureDisk.DiskName}, namedValue{"diskURI", s.AzureDisk.DataDiskURI})
		}},
		{"scaleIO", s.ScaleIO != nil, func(fldPath *field.Path) field.ErrorList {
			return validateRequired(fldPath, namedValue{"gateway", s.ScaleIO.Gateway}, namedValue{"system", s.ScaleIO.System}, namedValue{"volumeName", s.ScaleIO.VolumeName})
		}},
		{"storageos", s.StorageOS != nil, nil},
		{"local", s.Local != nil, func(fldPath *field.Path) field.ErrorList { return validateLocalVolume(s.Local, hasAffinity, fldPath) }},
		{"csi", s.CSI != nil, func(fldPath *field.Path) field.ErrorList { return validateCSIVolume(s.CSI, fldPath) }},
	}
}

func requireMonitors(monitors []string, fldPath *field.Path) field.ErrorList {
	if len(monitors) == 0 {
		return field.ErrorList{field.Required(fldPath.Child("monitors"), "")}
	}
	return nil
}

// namedValue is the value of a field with its JSON name.
type namedValue struct{ name, value string }

// validateRequired requires values that are not empty.
func validateRequired(fldPath *field.Path, fields ...namedValue) field.ErrorList {
	var errs field.ErrorList
	for _, f := range fields {
		if f.value == "" {
			errs = append(errs, field.Required(fldPath.Child(f.name), ""))
		}
	}
	return errs
}

// validateNoBacksteps rejects paths with "..".
func validateNoBacksteps(value string, fldPath *field.Path) field.ErrorList {
	if slices.Contains(strings.Split(strings.ReplaceAll(value, `\`, "/"), "/"), "..") {
		return field.ErrorList{field.Invalid(fldPath, value, "must not contain '..'")}
	}
	return nil
}

func validateHostPathVolume(s *corev1.HostPathVolumeSource, fldPath *field.Path) field.ErrorList {
	if s.Path == "" {
		return field.ErrorList{field.Required(fldPath.Child("path"), "")}
	}
	errs := validateNoBacksteps(s.Path, fldPath.Child("path"))
	if s.Type == nil {
		return errs
	}
	types := sets.List(sets.New(corev1.HostPathUnset, corev1.HostPathDirectoryOrCreate, corev1.HostPathDirectory, corev1.HostPathFileOrCreate,
		corev1.HostPathFile, corev1.HostPathSocket, corev1.HostPathCharDev, corev1.HostPathBlockDev))
	return append(errs, checks.OneOf(*s.Type, fldPath.Child("type"), types...)...)
}

func validateNFSVolume(s *corev1.NFSVolumeSource, fldPath *field.Path) field.ErrorList {
	errs := validateRequired(fldPath, namedValue{"server", s.Server}, namedValue{"path", s.Path})
	if s.Path != "" && !path.IsAbs(s.Path) {
		errs = append(errs, field.Invalid(fldPath.Child("path"), s.Path, "must be an absolute path"))
	}
	return errs
}

func validateLocalVolume(s *corev1.LocalVolumeSource, hasAffinity bool, fldPath *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.Path == "" {
		errs = append(errs, field.Required(fldPath.Child("path"), ""))
	} else {
		errs = append(errs, validateNoBacksteps(s.Path, fldPath.Child("path"))...)
	}
	if !hasAffinity {
		errs = append(errs, field.Required(field.NewPath("spec", "nodeAffinity"), "Local volume requires node affinity"))
	}
	return errs
}

func validateCSIVolume(s *corev1.CSIPersistentVolumeSource, fldPath *field.Path) field.ErrorList {
	errs := podvalidation.ValidateCSIDriverName(s.Driver, fldPath.Child("driver"))
	if s.VolumeHandle == "" {
		errs = append(errs, field.Required(fldPath.Child("volumeHandle"), ""))
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
			errs = append(errs, validateRequired(fldPath.Child(secret.name), namedValue{"name", secret.ref.Name}, namedValue{"namespace", secret.ref.Namespace})...)
		}
	}
	return errs
}
