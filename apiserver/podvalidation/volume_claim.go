package podvalidation

import (
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	unversioned "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
)

// validateEphemeralVolume validates the claim template of an ephemeral volume, whose metadata may have
// only labels and annotations.
func (c *errorCollector) validateEphemeralVolume(source *corev1.EphemeralVolumeSource, path *field.Path) {
	fldPath := path.Child("volumeClaimTemplate")
	template := source.VolumeClaimTemplate
	if template == nil {
		c.required(fldPath, "")
		return
	}
	meta := fldPath.Child("metadata")
	c.add(apivalidation.ValidateAnnotations(template.Annotations, meta.Child("annotations"))...)
	c.add(unversioned.ValidateLabels(template.Labels, meta.Child("labels"))...)
	c.forbidOtherMetadata(&template.ObjectMeta, meta)
	c.add(ValidatePersistentVolumeClaimSpec(&template.Spec, fldPath.Child("spec"))...)
}

func (c *errorCollector) forbidOtherMetadata(meta *metav1.ObjectMeta, path *field.Path) {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"name", meta.Name != ""},
		{"generateName", meta.GenerateName != ""},
		{"namespace", meta.Namespace != ""},
		{"uid", meta.UID != ""},
		{"resourceVersion", meta.ResourceVersion != ""},
		{"generation", meta.Generation != 0},
		{"ownerReferences", meta.OwnerReferences != nil},
		{"finalizers", meta.Finalizers != nil},
		{"managedFields", meta.ManagedFields != nil},
	} {
		if f.set {
			c.forbidden(path.Child(f.name), "cannot be set for a PVC template")
		}
	}
}

// ValidatePersistentVolumeClaimSpec validates a new claim or a claim template.
func ValidatePersistentVolumeClaimSpec(spec *corev1.PersistentVolumeClaimSpec, path *field.Path) field.ErrorList {
	var r errorCollector
	if len(spec.AccessModes) == 0 {
		r.required(path.Child("accessModes"), "at least 1 access mode is required")
	}
	if spec.Selector != nil {
		r.add(unversioned.ValidateLabelSelector(spec.Selector, unversioned.LabelSelectorValidationOptions{}, path.Child("selector"))...)
	}
	r.validateAccessModes(spec.AccessModes, path.Child("accessModes"))
	size, ok := spec.Resources.Requests[corev1.ResourceStorage]
	if sizePath := path.Child("resources").Key(string(corev1.ResourceStorage)); !ok {
		r.required(sizePath, "")
	} else if size.Sign() <= 0 {
		r.invalid(sizePath, size.String(), "must be greater than zero")
	}
	if class := podfields.Deref(spec.StorageClassName); class != "" {
		r.invalidEach(path.Child("storageClassName"), class, apivalidation.NameIsDNSSubdomain(class, false))
	}
	if mode := spec.VolumeMode; mode != nil {
		validateOneOf(&r, *mode, path.Child("volumeMode"), corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem)
	}
	r.validateDataSource(spec, path)
	if class := podfields.Deref(spec.VolumeAttributesClassName); class != "" {
		r.invalidEach(path.Child("volumeAttributesClassName"), class, apivalidation.NameIsDNSSubdomain(class, false))
	}
	return r.errs
}

func (c *errorCollector) validateAccessModes(modes []corev1.PersistentVolumeAccessMode, path *field.Path) {
	exclusive, shared := false, false
	for _, mode := range modes {
		if validateOneOf(c, mode, path, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteOncePod) {
			exclusive = exclusive || mode == corev1.ReadWriteOncePod
			shared = shared || mode != corev1.ReadWriteOncePod
		}
	}
	if exclusive && shared {
		c.forbidden(path, "may not use ReadWriteOncePod with other access modes")
	}
}

// validateDataSource validates dataSource and dataSourceRef, which must be equal if both are set.
func (c *errorCollector) validateDataSource(spec *corev1.PersistentVolumeClaimSpec, path *field.Path) {
	check := func(group *string, kind, name string, fldPath *field.Path) {
		c.requireNonEmpty(name, fldPath.Child("name"))
		c.requireNonEmpty(kind, fldPath.Child("kind"))
		if podfields.Deref(group) == "" && kind != "PersistentVolumeClaim" {
			c.invalid(fldPath, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup")
		}
	}
	source, ref := spec.DataSource, spec.DataSourceRef
	if source != nil {
		check(source.APIGroup, source.Kind, source.Name, path.Child("dataSource"))
	}
	if ref != nil {
		check(ref.APIGroup, ref.Kind, ref.Name, path.Child("dataSourceRef"))
	}
	if source != nil && ref != nil && podfields.Deref(ref.Namespace) == "" &&
		(podfields.Deref(source.APIGroup) != podfields.Deref(ref.APIGroup) || source.Kind != ref.Kind || source.Name != ref.Name) {
		c.invalid(path, "", "must match dataSourceRef")
	}
}
