package podvalidation

import (
	"path"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
)

const (
	fileModeReason = "must be a number between 0 and 0777 (octal), both inclusive"
	byteReason     = "must be between 0 and 255, inclusive"
	iscsiReason    = "must be valid format"
	// maxISCSINameLength is the maximum length in bytes of "VOLUME NAME:TARGET PORTAL".
	maxISCSINameLength = 64
)

var (
	iqnFormat = regexp.MustCompile(`^iqn\.\d{4}-\d{2}\.([[:alnum:]-.]+)(:[^,;*&$|\s]+)$`)
	euiFormat = regexp.MustCompile(`^eui.[[:xdigit:]]{16}$`)
	naaFormat = regexp.MustCompile(`^naa.[[:xdigit:]]{32}$`)
)

func (c *errorCollector) validateFileMode(mode *int32, path *field.Path) {
	if mode != nil && (*mode < 0 || *mode > 0o777) {
		c.invalid(path, *mode, fileModeReason)
	}
}

func (c *errorCollector) validateByte(value int32, path *field.Path) {
	if value < 0 || value > 255 {
		c.invalid(path, value, byteReason)
	}
}

// validateKeysToPaths validates the items of a Secret or ConfigMap volume.
func (c *errorCollector) validateKeysToPaths(items []corev1.KeyToPath, path *field.Path) {
	for i, item := range items {
		idxPath := path.Index(i)
		c.requireNonEmpty(item.Key, idxPath.Child("key"))
		if c.requireNonEmpty(item.Path, idxPath.Child("path")) {
			c.validateProjectedPath(item.Path, idxPath.Child("path"))
		}
		c.validateFileMode(item.Mode, idxPath.Child("mode"))
	}
}

func (c *errorCollector) validateHostPath(source *corev1.HostPathVolumeSource, path *field.Path) {
	if !c.requireNonEmpty(source.Path, path.Child("path")) {
		return
	}
	c.forbidBacksteps(source.Path, path.Child("path"))
	if source.Type != nil {
		validateOneOf(c, *source.Type, path.Child("type"), corev1.HostPathUnset, corev1.HostPathBlockDev, corev1.HostPathCharDev,
			corev1.HostPathDirectory, corev1.HostPathDirectoryOrCreate, corev1.HostPathFile, corev1.HostPathFileOrCreate, corev1.HostPathSocket)
	}
}

func (c *errorCollector) validateNFS(source *corev1.NFSVolumeSource, fldPath *field.Path) {
	c.requireNonEmpty(source.Server, fldPath.Child("server"))
	c.requireNonEmpty(source.Path, fldPath.Child("path"))
	if !path.IsAbs(source.Path) {
		c.invalid(fldPath.Child("path"), source.Path, "must be an absolute path")
	}
}

func (c *errorCollector) validateISCSI(source *corev1.ISCSIVolumeSource, path *field.Path) {
	c.requireNonEmpty(source.TargetPortal, path.Child("targetPortal"))
	if c.requireNonEmpty(source.IQN, path.Child("iqn")) {
		c.validateISCSIName(source.IQN, path.Child("iqn"))
	}
	c.validateByte(source.Lun, path.Child("lun"))
	if (source.DiscoveryCHAPAuth || source.SessionCHAPAuth) && source.SecretRef == nil {
		c.required(path.Child("secretRef"), "")
	}
	if source.InitiatorName != nil {
		c.validateISCSIName(*source.InitiatorName, path.Child("initiatorname"))
	}
}

func (c *errorCollector) validateISCSIName(name string, path *field.Path) {
	prefix, _, _ := strings.Cut(name, ".")
	format := map[string]*regexp.Regexp{"iqn": iqnFormat, "eui": euiFormat, "naa": naaFormat}[prefix]
	if format == nil || !format.MatchString(name) {
		c.invalid(path, name, iscsiReason)
	}
}

func (c *errorCollector) validateFlocker(source *corev1.FlockerVolumeSource, path *field.Path) {
	if source.DatasetName == "" && source.DatasetUUID == "" {
		c.required(path, "one of datasetName and datasetUUID is required")
	}
	if source.DatasetName != "" && source.DatasetUUID != "" {
		c.invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously")
	}
	if strings.Contains(source.DatasetName, "/") {
		c.invalid(path.Child("datasetName"), source.DatasetName, "must not contain '/'")
	}
}

func (c *errorCollector) validateQuobyte(source *corev1.QuobyteVolumeSource, path *field.Path) {
	switch {
	case source.Registry == "":
		c.required(path.Child("registry"), "must be a host:port pair or multiple pairs separated by commas")
	case len(source.Tenant) >= 65:
		c.required(path.Child("tenant"), "must be a UUID and may not exceed a length of 64 characters")
	default:
		for _, pair := range strings.Split(source.Registry, ",") {
			if _, _, ok := strings.Cut(pair, ":"); !ok {
				c.invalid(path.Child("registry"), source.Registry, "must be a host:port pair or multiple pairs separated by commas")
			}
		}
	}
	c.requireNonEmpty(source.Volume, path.Child("volume"))
}

func (c *errorCollector) validateFibreChannel(source *corev1.FCVolumeSource, path *field.Path) {
	switch {
	case len(source.TargetWWNs) == 0 && len(source.WWIDs) == 0:
		c.required(path.Child("targetWWNs"), "must specify either targetWWNs or wwids, but not both")
	case len(source.TargetWWNs) > 0 && len(source.WWIDs) > 0:
		c.invalid(path.Child("targetWWNs"), source.TargetWWNs, "targetWWNs and wwids can not be specified simultaneously")
	}
	if len(source.TargetWWNs) == 0 {
		return
	}
	if source.Lun == nil {
		c.required(path.Child("lun"), "lun is required if targetWWNs is specified")
	} else if *source.Lun < 0 || *source.Lun > 255 {
		c.invalid(path.Child("lun"), source.Lun, byteReason)
	}
}

func (c *errorCollector) validateFlexVolume(source *corev1.FlexVolumeSource, path *field.Path) {
	c.requireNonEmpty(source.Driver, path.Child("driver"))
	for key := range podfields.SortedByKey(source.Options) {
		domain, _, _ := strings.Cut(key, "/")
		domain = "." + strings.ToLower(domain)
		if strings.HasSuffix(domain, ".kubernetes.io") || strings.HasSuffix(domain, ".k8s.io") {
			c.invalid(path.Child("options").Key(key), key, "kubernetes.io and k8s.io namespaces are reserved")
		}
	}
}

func (c *errorCollector) validateAzureDisk(source *corev1.AzureDiskVolumeSource, path *field.Path) {
	c.requireNonEmpty(source.DiskName, path.Child("diskName"))
	c.requireNonEmpty(source.DataDiskURI, path.Child("diskURI"))
	if mode := source.CachingMode; mode != nil {
		validateOneOf(c, *mode, path.Child("cachingMode"),
			corev1.AzureDataDiskCachingNone, corev1.AzureDataDiskCachingReadOnly, corev1.AzureDataDiskCachingReadWrite)
	}
	if source.Kind == nil {
		return
	}
	validateOneOf(c, *source.Kind, path.Child("kind"),
		corev1.AzureDedicatedBlobDisk, corev1.AzureManagedDisk, corev1.AzureSharedBlobDisk)
	managed, uriPath := *source.Kind == corev1.AzureManagedDisk, path.Child("diskURI")
	if managed && !strings.HasPrefix(source.DataDiskURI, "/subscriptions/") {
		c.add(field.NotSupported(uriPath, source.DataDiskURI,
			[]string{"/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"}))
	}
	if !managed && !strings.HasPrefix(source.DataDiskURI, "https://") {
		c.add(field.NotSupported(uriPath, source.DataDiskURI,
			[]string{"https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"}))
	}
}

func (c *errorCollector) validateStorageOS(source *corev1.StorageOSVolumeSource, path *field.Path) {
	if c.requireNonEmpty(source.VolumeName, path.Child("volumeName")) {
		c.validateDNSLabel(source.VolumeName, path.Child("volumeName"))
	}
	if source.VolumeNamespace != "" {
		c.validateDNSLabel(source.VolumeNamespace, path.Child("volumeNamespace"))
	}
	if source.SecretRef != nil {
		c.requireNonEmpty(source.SecretRef.Name, path.Child("secretRef", "name"))
	}
}

// maxDriverNameLength is the maximum length in bytes of the name of a CSI driver.
const maxDriverNameLength = 63

// ValidateCSIDriverName requires the name of a CSI driver.
func ValidateCSIDriverName(name string, path *field.Path) field.ErrorList {
	var r errorCollector
	if !r.requireNonEmpty(name, path) {
		return r.errs
	}
	if len(name) > maxDriverNameLength {
		r.add(field.TooLong(path, name, maxDriverNameLength))
	}
	r.invalidEach(path, name, validation.IsDNS1123Subdomain(strings.ToLower(name)))
	return r.errs
}
