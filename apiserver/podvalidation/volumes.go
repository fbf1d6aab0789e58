package podvalidation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
)

// validatePodVolumes validates all volumes and records the valid ones.
func (c *podValidator) validatePodVolumes(path *field.Path) {
	c.volumes = map[string]*corev1.VolumeSource{}
	generated := c.ephemeralClaimNames()
	for i := range c.spec.Volumes {
		volume, idxPath := &c.spec.Volumes[i], path.Index(i)
		n := len(c.errs)
		c.validateVolumeSource(volume, idxPath)
		if c.requireNonEmpty(volume.Name, idxPath.Child("name")) {
			c.validateDNSLabel(volume.Name, idxPath.Child("name"))
		}
		if c.volumes[volume.Name] != nil {
			c.duplicate(idxPath.Child("name"), volume.Name)
		}
		if len(c.errs) == n {
			c.volumes[volume.Name] = &volume.VolumeSource
		}
		if claim := volume.PersistentVolumeClaim; claim != nil && generated[claim.ClaimName] {
			c.invalid(idxPath.Child("persistentVolumeClaim", "claimName"), claim.ClaimName,
				"must not reference a PVC that gets created for an ephemeral volume")
		}
	}
}

// ephemeralClaimNames returns the names of the claims that are generated for ephemeral volumes.
func (c *podValidator) ephemeralClaimNames() podfields.NameSet {
	generated := podfields.NameSet{}
	if c.meta == nil || c.meta.Name == "" {
		return generated
	}
	for _, volume := range c.spec.Volumes {
		if volume.Ephemeral != nil {
			generated.Add(c.meta.Name + "-" + volume.Name)
		}
	}
	return generated
}

// volumeType is a volume source with its validation.
type volumeType struct {
	name     string
	isSet    bool
	validate func(path *field.Path)
}

// validateVolumeSource requires exactly one source. Only the first one is validated.
func (c *podValidator) validateVolumeSource(v *corev1.Volume, path *field.Path) {
	types := append(c.localVolumeTypes(v, path), c.remoteVolumeTypes(v)...)
	types = append(types, c.otherVolumeTypes(v, path)...)
	count := 0
	for _, t := range types {
		if !t.isSet {
			continue
		}
		count++
		fldPath := path.Child(t.name)
		if count > 1 {
			c.forbidden(fldPath, "may not specify more than 1 volume type")
			continue
		}
		t.validate(fldPath)
	}
	if count == 0 {
		c.required(path, "must specify a volume type")
	}
}

// localVolumeTypes returns the types of node-local volumes, and some cloud disks, in the order of
// kube-apiserver.
func (c *podValidator) localVolumeTypes(v *corev1.Volume, path *field.Path) []volumeType {
	return []volumeType{
		{"emptyDir", v.EmptyDir != nil, func(p *field.Path) {
			if size := v.EmptyDir.SizeLimit; size != nil && size.Sign() < 0 {
				c.forbidden(p.Child("sizeLimit"), "SizeLimit field must be a valid resource quantity")
			}
		}},
		{"hostPath", v.HostPath != nil, func(p *field.Path) { c.validateHostPath(v.HostPath, p) }},
		{"gitRepo", v.GitRepo != nil, func(p *field.Path) {
			c.requireNonEmpty(v.GitRepo.Repository, p.Child("repository"))
			c.requireRelativePath(v.GitRepo.Directory, p.Child("directory"))
		}},
		{"gcePersistentDisk", v.GCEPersistentDisk != nil, func(p *field.Path) {
			c.requireNonEmpty(v.GCEPersistentDisk.PDName, p.Child("pdName"))
			c.validateByte(v.GCEPersistentDisk.Partition, p.Child("partition"))
		}},
		{"awsElasticBlockStore", v.AWSElasticBlockStore != nil, func(p *field.Path) {
			c.requireNonEmpty(v.AWSElasticBlockStore.VolumeID, p.Child("volumeID"))
			c.validateByte(v.AWSElasticBlockStore.Partition, p.Child("partition"))
		}},
		{"secret", v.Secret != nil, func(p *field.Path) {
			c.requireNonEmpty(v.Secret.SecretName, p.Child("secretName"))
			c.validateFileMode(v.Secret.DefaultMode, p.Child("defaultMode"))
			c.validateKeysToPaths(v.Secret.Items, p.Child("items"))
		}},
		{"nfs", v.NFS != nil, func(p *field.Path) { c.validateNFS(v.NFS, p) }},
		{"iscsi", v.ISCSI != nil, func(p *field.Path) {
			c.validateISCSI(v.ISCSI, p)
			if v.ISCSI.InitiatorName != nil && len(v.Name+":"+v.ISCSI.TargetPortal) > maxISCSINameLength {
				c.invalid(path.Child("name"), v.Name, fmt.Sprintf(
					"Total length of <volume name>:<iscsi.targetPortal> must be under %d characters if iscsi.initiatorName is specified.", maxISCSINameLength))
			}
		}},
	}
}

// otherVolumeTypes returns the types that kube-apiserver validates last.
func (c *podValidator) otherVolumeTypes(v *corev1.Volume, path *field.Path) []volumeType {
	return []volumeType{
		{"projected", v.Projected != nil, func(p *field.Path) { c.validateProjected(v.Projected, p) }},
		{"csi", v.CSI != nil, func(p *field.Path) {
			c.add(ValidateCSIDriverName(v.CSI.Driver, p.Child("driver"))...)
			if ref := v.CSI.NodePublishSecretRef; ref != nil {
				c.requireNonEmpty(ref.Name, p.Child("nodePublishSecretRef", "name"))
			}
		}},
		{"ephemeral", v.Ephemeral != nil, func(p *field.Path) {
			c.validateEphemeralVolume(v.Ephemeral, p)
			if c.meta == nil || c.meta.Name == "" || v.Name == "" {
				return
			}
			claim := c.meta.Name + "-" + v.Name
			for _, reason := range apivalidation.NameIsDNSSubdomain(claim, false) {
				c.invalid(path.Child("name"), v.Name, fmt.Sprintf("PVC name %q: %v", claim, reason))
			}
		}},
		{"image", v.Image != nil, func(p *field.Path) {
			if c.isPod() {
				c.requireNonEmpty(v.Image.Reference, p.Child("reference"))
			}
			c.validatePullPolicy(v.Image.PullPolicy, p.Child("pullPolicy"))
		}},
	}
}
