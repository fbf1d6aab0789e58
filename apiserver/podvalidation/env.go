package podvalidation

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Fields and resources that the downward API supports, for environment variables and for volumes.
var (
	envFields = []string{
		"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
		"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
	}
	volumeFields = []string{
		"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid",
	}
	resourceFields = []string{
		"limits.cpu", "limits.ephemeral-storage", "limits.memory",
		"requests.cpu", "requests.ephemeral-storage", "requests.memory",
	}
	// validFieldPaths are all field paths that parse.
	validFieldPaths = append([]string{
		"metadata.annotations", "metadata.labels", "spec.restartPolicy", "spec.schedulerName", "status.phase",
	}, envFields...)
)

func (c *errorCollector) validateEnv(vars []corev1.EnvVar, path *field.Path) {
	for i, v := range vars {
		idxPath := path.Index(i)
		if c.requireNonEmpty(v.Name, idxPath.Child("name")) {
			c.invalidEach(idxPath.Child("name"), v.Name, validation.IsRelaxedEnvVarName(v.Name))
		}
		c.validateEnvSource(v, idxPath.Child("valueFrom"))
	}
}

func (c *errorCollector) validateEnvSource(v corev1.EnvVar, path *field.Path) {
	source := v.ValueFrom
	if source == nil {
		return
	}
	sources := 0
	if source.FieldRef != nil {
		sources++
		c.validateFieldRef(source.FieldRef, envFields, path.Child("fieldRef"))
	}
	if source.ResourceFieldRef != nil {
		sources++
		c.validateResourceFieldRef(source.ResourceFieldRef, false, path.Child("resourceFieldRef"))
	}
	if source.ConfigMapKeyRef != nil {
		sources++
		c.validateMapKey(source.ConfigMapKeyRef.Key, path.Child("configMapKeyRef", "key"))
	}
	if source.SecretKeyRef != nil {
		sources++
		c.validateMapKey(source.SecretKeyRef.Key, path.Child("secretKeyRef", "key"))
	}
	if source.FileKeyRef != nil {
		sources++
		c.validateFileKeyRef(source.FileKeyRef, path.Child("fileKeyRef"))
	}
	if sources == 0 {
		c.invalid(path, "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`")
	}
	if v.Value != "" {
		if sources > 0 {
			c.invalid(path, "", "may not be specified when `value` is not empty")
		}
	} else if sources > 1 {
		c.invalid(path, "", "may not have more than one field specified at a time")
	}
}

// maxFileKeyLength is the maximum length in bytes of a key of an env file.
const maxFileKeyLength = 128

func (c *errorCollector) validateFileKeyRef(ref *corev1.FileKeySelector, path *field.Path) {
	if c.requireNonEmpty(ref.Key, path.Child("key")) {
		c.invalidEach(path.Child("key"), ref.Key, validation.IsRelaxedEnvVarName(ref.Key))
		if len(ref.Key) > maxFileKeyLength {
			c.add(field.TooLong(path.Child("key"), ref.Key, maxFileKeyLength))
		}
	}
	if c.requireNonEmpty(ref.VolumeName, path.Child("volumeName")) {
		c.validateDNSLabel(ref.VolumeName, path.Child("volumeName"))
	}
	if c.requireNonEmpty(ref.Path, path.Child("path")) {
		c.validateProjectedPath(ref.Path, path.Child("path"))
	}
}

func (c *errorCollector) validateMapKey(key string, path *field.Path) {
	if c.requireNonEmpty(key, path) {
		c.invalidEach(path, key, validation.IsConfigMapKey(key))
	}
}

func (c *errorCollector) validateEnvFrom(sources []corev1.EnvFromSource, path *field.Path) {
	for i, source := range sources {
		idxPath := path.Index(i)
		if source.Prefix != "" {
			c.invalidEach(idxPath.Child("prefix"), source.Prefix, validation.IsRelaxedEnvVarName(source.Prefix))
		}
		if source.ConfigMapRef != nil {
			c.requireNonEmpty(source.ConfigMapRef.Name, idxPath.Child("configMapRef", "name"))
		}
		if source.SecretRef != nil {
			c.requireNonEmpty(source.SecretRef.Name, idxPath.Child("secretRef", "name"))
		}
		// As in Kubernetes, these errors name the list and not the entry.
		if source.ConfigMapRef == nil && source.SecretRef == nil {
			c.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
		} else if source.ConfigMapRef != nil && source.SecretRef != nil {
			c.invalid(path, "", "may not have more than one field specified at a time")
		}
	}
}

// validateFieldRef validates a reference to a pod field. metadata.labels['key'] selects a single label,
// metadata.annotations['key'] a single annotation.
func (c *errorCollector) validateFieldRef(ref *corev1.ObjectFieldSelector, supported []string, path *field.Path) {
	if !c.requireNonEmpty(ref.APIVersion, path.Child("apiVersion")) || !c.requireNonEmpty(ref.FieldPath, path.Child("fieldPath")) {
		return
	}
	if ref.APIVersion != "v1" {
		c.invalid(path.Child("fieldPath"), ref.FieldPath, "error converting fieldPath: unsupported pod version: "+ref.APIVersion)
		return
	}
	parent, key, subscripted := splitSubscript(ref.FieldPath)
	switch {
	case subscripted && parent == "metadata.annotations":
		c.validateQualifiedName(strings.ToLower(key), path)
	case subscripted && parent == "metadata.labels":
		c.validateQualifiedName(key, path)
	case subscripted || !slices.Contains(append([]string{"spec.host"}, validFieldPaths...), ref.FieldPath):
		c.invalid(path.Child("fieldPath"), ref.FieldPath, "error converting fieldPath: field label not supported: "+ref.FieldPath)
	default:
		fieldPath := ref.FieldPath
		if fieldPath == "spec.host" {
			fieldPath = "spec.nodeName"
		}
		validateOneOf(c, fieldPath, path.Child("fieldPath"), supported...)
	}
}

// splitSubscript splits a['b'] into a and b.
func splitSubscript(path string) (parent, key string, ok bool) {
	inner, ok := strings.CutSuffix(path, "']")
	if !ok {
		return "", "", false
	}
	parent, key, ok = strings.Cut(inner, "['")
	return parent, key, ok && parent != ""
}

// validateResourceFieldRef validates a reference to a container's request or limit. In a volume it must
// name the container.
func (c *errorCollector) validateResourceFieldRef(ref *corev1.ResourceFieldSelector, inVolume bool, path *field.Path) {
	switch {
	case inVolume && ref.ContainerName == "":
		c.required(path.Child("containerName"), "")
	case ref.Resource == "":
		c.required(path.Child("resource"), "")
	case !isHugePageField(ref.Resource):
		validateOneOf(c, ref.Resource, path.Child("resource"), resourceFields...)
	}
	c.validateDivisor(ref.Resource, ref.Divisor, path.Child("divisor"))
}

func isHugePageField(name string) bool {
	return strings.HasPrefix(name, "limits.hugepages-") || strings.HasPrefix(name, "requests.hugepages-")
}

// Supported divisors of references to requests and limits.
var (
	cpuDivisors  = []string{"1m", "1"}
	byteDivisors = []string{"1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"}
)

func (c *errorCollector) validateDivisor(name string, divisor resource.Quantity, path *field.Path) {
	if divisor.IsZero() {
		return
	}
	resourceText := ""
	switch {
	case strings.HasSuffix(name, ".cpu"):
		if !slices.Contains(cpuDivisors, divisor.String()) {
			c.invalid(path, name, "only divisor's values 1m and 1 are supported with the cpu resource")
		}
		return
	case strings.HasSuffix(name, ".memory"):
		resourceText = "memory"
	case strings.HasSuffix(name, ".ephemeral-storage"):
		resourceText = "local ephemeral storage"
	case isHugePageField(name):
		resourceText = "hugepages"
	default:
		return
	}
	if !slices.Contains(byteDivisors, divisor.String()) {
		c.invalid(path, name, "only divisor's values "+strings.Join(byteDivisors, ", ")+" are supported with the "+resourceText+" resource")
	}
}
