package podvalidation

import (
	corev1 "k8s.io/api/core/v1"
	unversioned "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
)

// Limits of the token lifetime, in seconds.
const (
	minTokenSeconds = 10 * 60
	maxTokenSeconds = 1 << 32
)

// validateDownwardFile validates a downward API file. As in Kubernetes, errors name the volume and not the
// item.
func (c *errorCollector) validateDownwardFile(file *corev1.DownwardAPIVolumeFile, path *field.Path) {
	if c.requireNonEmpty(file.Path, path.Child("path")) {
		c.validateProjectedPath(file.Path, path.Child("path"))
	}
	switch {
	case file.FieldRef != nil:
		c.validateFieldRef(file.FieldRef, volumeFields, path.Child("fieldRef"))
		if file.ResourceFieldRef != nil {
			c.invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
		}
	case file.ResourceFieldRef != nil:
		c.validateResourceFieldRef(file.ResourceFieldRef, true, path.Child("resourceFieldRef"))
	default:
		c.required(path, "one of fieldRef and resourceFieldRef is required")
	}
	c.validateFileMode(file.Mode, path.Child("mode"))
}

// projection validates a projected volume, whose sources share one directory.
type projection struct {
	*errorCollector
	files      podfields.NameSet
	volumePath *field.Path
}

// addFile records a file and rejects a second one with the same name. source is the invalid value of the error.
func (p *projection) addFile(name, source string) {
	if name != "" && !p.files.Add(name) {
		p.invalid(p.volumePath, source, "conflicting duplicate paths")
	}
}

func (c *errorCollector) validateProjected(volume *corev1.ProjectedVolumeSource, path *field.Path) {
	c.validateFileMode(volume.DefaultMode, path.Child("defaultMode"))
	p := projection{errorCollector: c, files: podfields.NameSet{}, volumePath: path}
	for i := range volume.Sources {
		p.validateSource(&volume.Sources[i], path.Child("sources").Index(i))
	}
}

func (p *projection) validateSource(s *corev1.VolumeProjection, path *field.Path) {
	sources := 0
	isFirst := func(set bool, name string) bool {
		if !set {
			return false
		}
		sources++
		if sources > 1 {
			p.forbidden(path.Child(name), "may not specify more than 1 volume type")
		}
		return sources == 1
	}
	if isFirst(s.Secret != nil, "secret") {
		p.validateKeys(s.Secret.Name, s.Secret.Items, path.Child("secret"))
	}
	if isFirst(s.ConfigMap != nil, "configMap") {
		p.validateKeys(s.ConfigMap.Name, s.ConfigMap.Items, path.Child("configMap"))
	}
	if isFirst(s.DownwardAPI != nil, "downwardAPI") {
		for i := range s.DownwardAPI.Items {
			item := &s.DownwardAPI.Items[i]
			p.validateDownwardFile(item, path.Child("downwardAPI"))
			p.addFile(item.Path, item.Path)
		}
	}
	if isFirst(s.ServiceAccountToken != nil, "serviceAccountToken") {
		p.validateToken(s.ServiceAccountToken, path.Child("serviceAccountToken"))
	}
	if isFirst(s.ClusterTrustBundle != nil, "clusterTrustBundle") {
		p.validateTrustBundle(s.ClusterTrustBundle, path.Child("clusterTrustBundle"))
	}
	if isFirst(s.PodCertificate != nil, "podCertificate") {
		p.validateCertificate(s.PodCertificate, path.Child("podCertificate"))
	}
}

func (p *projection) validateKeys(name string, items []corev1.KeyToPath, path *field.Path) {
	p.requireNonEmpty(name, path.Child("name"))
	p.validateKeysToPaths(items, path.Child("items"))
	for _, item := range items {
		p.addFile(item.Path, name)
	}
}

func (p *projection) validateToken(token *corev1.ServiceAccountTokenProjection, path *field.Path) {
	if seconds := token.ExpirationSeconds; seconds != nil {
		if *seconds < minTokenSeconds {
			p.invalid(path.Child("expirationSeconds"), *seconds, "may not specify a duration less than 10 minutes")
		}
		if *seconds > maxTokenSeconds {
			p.invalid(path.Child("expirationSeconds"), *seconds, "may not specify a duration larger than 2^32 seconds")
		}
	}
	if p.requireNonEmpty(token.Path, path.Child("path")) {
		p.validateProjectedPath(token.Path, path.Child("path"))
	}
}

func (p *projection) validateTrustBundle(bundle *corev1.ClusterTrustBundleProjection, path *field.Path) {
	bySigner, byName := bundle.SignerName != nil, bundle.Name != nil
	switch {
	case bySigner && byName:
		p.invalid(path, bundle, "only one of name and signerName may be used")
	case bySigner:
		p.requireNonEmpty(*bundle.SignerName, path.Child("signerName"))
		p.add(unversioned.ValidateLabelSelector(bundle.LabelSelector, unversioned.LabelSelectorValidationOptions{}, path.Child("labelSelector"))...)
	case byName:
		p.requireNonEmpty(*bundle.Name, path.Child("name"))
		if bundle.LabelSelector != nil {
			p.invalid(path.Child("labelSelector"), bundle.LabelSelector, "labelSelector must be unset if name is specified")
		}
	default:
		p.required(path, "either name or signerName must be specified")
	}
	p.requireUniquePath(bundle.Path, path.Child("path"))
}

func (p *projection) validateCertificate(certificate *corev1.PodCertificateProjection, path *field.Path) {
	p.requireNonEmpty(certificate.SignerName, path.Child("signerName"))
	requireOneOf(p.errorCollector, certificate.KeyType, path.Child("keyType"),
		"RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
	for _, f := range []struct{ name, file string }{
		{"credentialBundlePath", certificate.CredentialBundlePath},
		{"keyPath", certificate.KeyPath},
		{"certificateChainPath", certificate.CertificateChainPath},
	} {
		if f.file != "" {
			p.requireUniquePath(f.file, path.Child(f.name))
		}
	}
}

// requireUniquePath requires a path that is unique in the volume.
func (p *projection) requireUniquePath(name string, path *field.Path) {
	if !p.requireNonEmpty(name, path) {
		return
	}
	p.validateProjectedPath(name, path)
	if !p.files.Add(name) {
		p.invalid(path, name, "conflicting duplicate paths")
	}
}
